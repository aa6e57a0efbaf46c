//! Parts of a recording that are not in its plan, and the notes on them.

use super::entry::HarEntry;
use crate::lua_text::comment;
use std::collections::BTreeMap;
use url::{Position, Url};

/// The most examples of requests that are left out for one reason.
const MAX_EXAMPLES: usize = 5;
/// The most entries with a fault that have a note of their own.
const MAX_MISTAKES: usize = 20;

/// Reasons to leave out a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OmissionReason {
    NoResponse,
    /// A request that stays open, or expects no response.
    Stream,
    Preflight,
    /// A request that is not over HTTP, or has a method of proxies.
    NoHttp,
}

impl OmissionReason {
    /// Returns why no plan has a request: it had no response, or plans do not send its kind.
    pub(super) fn of(
        entry: &HarEntry,
        method: &str,
        url: &Url,
        headers: &[(String, String)],
    ) -> Option<OmissionReason> {
        let has = |wanted: &str| headers.iter().any(|(name, _)| name == wanted);
        let is_name = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic());
        let kind = entry.resource_type.as_deref();
        let status = entry.response.as_ref().and_then(|response| response.status);
        match kind {
            Some("ping" | "websocket" | "eventsource" | "csp-violation-report") => {
                return Some(OmissionReason::Stream);
            }
            Some("preflight") => return Some(OmissionReason::Preflight),
            _ => {}
        }
        match url.scheme() {
            "ws" | "wss" => return Some(OmissionReason::Stream),
            "http" | "https" if is_name && method != "CONNECT" => {}
            _ => return Some(OmissionReason::NoHttp),
        }
        match status {
            Some(101) => Some(OmissionReason::Stream),
            _ if method == "OPTIONS" && has("access-control-request-method") => {
                Some(OmissionReason::Preflight)
            }
            Some(100..=599) => None,
            _ => Some(OmissionReason::NoResponse),
        }
    }

    fn note(self, listed: &OmittedRequests) -> String {
        let shown = listed.shown();
        match self {
            OmissionReason::NoResponse => format!(
                "left out {} without an answer (blocked, cut short, or lost on the way): {shown}; \
                 record again, or write what the visit needs of them into the plan",
                listed.counted("request")
            ),
            OmissionReason::Stream => format!(
                "left out {} for WebSockets, event streams, beacons and the like: {shown}",
                listed.counted("request")
            ),
            OmissionReason::Preflight => format!(
                "left out {}, which browsers send by themselves: {shown}",
                listed.counted("preflight request")
            ),
            OmissionReason::NoHttp => format!(
                "left out {} that no plan sends: {shown}",
                listed.counted("request")
            ),
        }
    }
}

/// Requests that are left out so far.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    requests: BTreeMap<OmissionReason, OmittedRequests>,
    mistakes: OmittedRequests,
    untimed: OmittedRequests,
    headers: OmittedRequests,
    validators: OmittedRequests,
}

/// The number of requests, and the first of them.
#[derive(Debug, Default)]
struct OmittedRequests {
    count: usize,
    first: Vec<String>,
}

impl OmittedRequests {
    fn add(&mut self, most: usize, one: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < most {
            self.first.push(one());
        }
    }

    /// Returns the first, and that there are more.
    fn shown(&self) -> String {
        let more = if self.count > self.first.len() {
            ", …"
        } else {
            ""
        };
        format!("{}{more}", self.first.join(", "))
    }

    fn counted(&self, what: &str) -> String {
        match self.count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        }
    }
}

impl LeftOut {
    pub(super) fn request(&mut self, reason: OmissionReason, method: &str, url: &Url) {
        let listed = self.requests.entry(reason).or_default();
        listed.add(MAX_EXAMPLES, || {
            comment(&format!("{method} {}", shown(url)))
        });
    }

    /// An entry of the file, counted from 1, that cannot be read.
    pub(super) fn mistake(&mut self, number: usize, why: &str) {
        self.mistakes.add(MAX_MISTAKES, || {
            format!("left out entry {number} of the recording: {}", comment(why))
        });
    }

    /// An entry whose time cannot be read.
    pub(super) fn untimed(&mut self, number: usize) {
        self.untimed.add(MAX_EXAMPLES, || number.to_string());
    }

    /// A header that is too long.
    pub(super) fn header(&mut self, name: &str) {
        self.headers.add(MAX_EXAMPLES, || comment(name));
    }

    /// A header that the browser's cache may have sent, and a script as well.
    pub(super) fn validator(&mut self, name: &str, url: &Url) {
        self.validators.add(MAX_EXAMPLES, || {
            comment(&format!("{name} of {}", shown(url)))
        });
    }

    /// Returns the notes.
    pub(super) fn notes(self) -> Vec<String> {
        let mut notes = self.mistakes.first;
        if self.mistakes.count > notes.len() {
            let more = self.mistakes.count - notes.len();
            notes.push(format!("left out {more} more entries that cannot be read"));
        }
        for (reason, listed) in self.requests {
            notes.push(reason.note(&listed));
        }
        if self.untimed.count > 0 {
            let (entries, come) = match self.untimed.count {
                1 => ("1 entry".to_owned(), "comes"),
                count => (format!("{count} entries"), "come"),
            };
            notes.push(format!(
                "{entries} of the recording without a time that can be read {come} after the one before: {}",
                self.untimed.shown()
            ));
        }
        if self.headers.count > 0 {
            notes.push(format!(
                "left out {} that are too long: {}",
                self.headers.counted("header"),
                self.headers.shown()
            ));
        }
        if self.validators.count > 0 {
            notes.push(format!(
                "left out {} that the browser's cache sent, as it seems: {}",
                self.validators.counted("header"),
                self.validators.shown()
            ));
        }
        notes
    }
}

/// Returns a URL without user, password and query, which may have secrets; for a URL without a host the scheme alone.
fn shown(url: &Url) -> String {
    let scheme = url.scheme();
    if !url.has_host() {
        return format!("{scheme}:…");
    }
    let query = if url.query().is_some() { "?…" } else { "" };
    let place = &url[Position::BeforeHost..Position::AfterPath];
    format!("{scheme}://{place}{query}")
}
