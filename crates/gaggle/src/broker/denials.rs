//! Permissions that the broker denies. It reports them on the connection; the denied request gets no reply.

use lgoose_base::error::{Error, Trouble};
use std::collections::BTreeSet;
use tokio::sync::watch;

/// The most denials that are remembered.
const MAX_DENIALS: usize = 64;

/// Returns the permission that an error of the broker denies, such as `Publish to "SUBJECT"`. The protocol of NATS has no other form
/// for it than this text.
pub(super) fn denied_by(error: &str) -> Option<&str> {
    error.strip_prefix("Permissions Violation for ")
}

/// Permissions that the broker has denied, each as `publish to "SUBJECT"` or `subscribe to "SUBJECT"`.
#[derive(Debug, Default)]
pub(super) struct Denials(BTreeSet<String>);

impl Denials {
    /// Records a denied permission, as [`denied_by`] returns it; returns whether it is a new one.
    pub(super) fn note(&mut self, what: &str) -> bool {
        let what = what
            .replacen("Publish", "publish", 1)
            .replacen("Subscription", "subscribe", 1);
        self.0.len() < MAX_DENIALS && self.0.insert(what)
    }

    /// Forgets all denials: the next connection may have other permissions.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    fn find(&self, subject: &str) -> Option<&String> {
        self.0.iter().find(|what| what.contains(subject))
    }
}

/// Permissions of this connection, as far as the broker has denied them. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Permissions {
    denials: watch::Receiver<Denials>,
    /// The broker's URL, for trouble.
    url: String,
}

impl Permissions {
    pub(super) fn new(denials: watch::Receiver<Denials>, url: &str) -> Permissions {
        Permissions {
            denials,
            url: url.to_owned(),
        }
    }

    /// Returns trouble with that action if the broker has denied a subject that contains this text.
    pub(crate) fn denied(&self, action: &str, subject: &str) -> Option<Error> {
        let denials = self.denials.borrow();
        denials
            .find(subject)
            .map(|what| self.not_permitted(action, what))
    }

    /// Waits until the broker denies a subject that contains one of these texts, and returns trouble with that
    /// action.
    pub(crate) async fn denial(&self, action: &str, subjects: &[String]) -> Error {
        let mut denials = self.denials.clone();
        let find = |denials: &Denials| {
            let mut all = subjects.iter();
            all.find_map(|subject| denials.find(subject)).cloned()
        };
        let denied = denials.wait_for(|denials| find(denials).is_some()).await;
        let what = denied.ok().and_then(|denials| find(&denials));
        match what {
            Some(what) => self.not_permitted(action, &what),
            // The connection is closed for good: no more denials will come.
            None => std::future::pending().await,
        }
    }

    fn not_permitted(&self, action: &str, what: &str) -> Error {
        Trouble::cannot(action)
            .with_address(&self.url)
            .because(format!("the account may not {what}"))
            .help("'lgoose help workers' lists the permissions that are needed, under \"Security\"")
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_found_by_its_subject_until_the_connection_is_made_anew() {
        let mut denials = Denials::default();
        assert_eq!(denied_by("Maximum Payload Violation"), None);
        let text = "Permissions Violation for Publish to \"lgoose.run.r.down.beat\"";
        let denial = denied_by(text).expect("a denial");
        assert!(denials.note(denial));
        assert!(!denials.note(denial));
        let found = denials.find("lgoose.run.r.").map(String::as_str);
        assert_eq!(found, Some("publish to \"lgoose.run.r.down.beat\""));
        assert_eq!(denials.find("lgoose.run.other."), None);
        denials.forget();
        assert_eq!(denials.find("lgoose.run.r."), None);
    }

    #[test]
    fn no_more_denials_are_remembered_than_serve() {
        let mut denials = Denials::default();
        for number in 0..2 * MAX_DENIALS {
            denials.note(&format!("Publish to \"{number}\""));
        }
        assert_eq!(denials.0.len(), MAX_DENIALS);
    }
}
