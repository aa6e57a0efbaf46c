//! Choice of gathers: which of those that are present adds up the figures of which workers.

use super::terms::REPLY_TIMEOUT;
use crate::broker::Broker;
use crate::gather::GatherRequest;
use crate::messages::GatherPresence;
use crate::names;
use lgoose_metrics::label_texts;
use std::collections::BTreeMap;

/// Leaves out gathers of another version, and reports which one of several with the same label stands by.
pub(super) fn fitting(present: Vec<GatherPresence>, notify: impl Fn(&str)) -> Vec<GatherPresence> {
    const OWN: &str = env!("CARGO_PKG_VERSION");
    let mut fitting: Vec<GatherPresence> = Vec::new();
    for gather in present {
        if gather.version != OWN {
            notify(&format!(
                "gather '{}': it runs lgoose {}, and this is {OWN}: it was left out",
                gather.name, gather.version
            ));
            continue;
        }
        for other in &fitting {
            for label in other.labels.intersection(&gather.labels) {
                notify(&format!(
                    "gathers '{}' and '{}' both have the label '{label}': the first adds up its workers, the second \
                     stands by",
                    other.name, gather.name
                ));
            }
        }
        fitting.push(gather);
    }
    fitting
}

/// Returns whether a gather adds up the figures of workers with these labels.
pub(super) fn fits(gather: &GatherPresence, labels: &BTreeMap<String, String>) -> bool {
    let mut texts = label_texts(labels);
    texts.any(|label| gather.labels.contains(&label))
}

/// Requests a gather to add up a slot.
pub(super) async fn request_gather(
    broker: &Broker,
    id: &str,
    run: &str,
    slot: &str,
) -> Result<(), String> {
    let request = GatherRequest::Gather {
        run: run.to_owned(),
        slot: slot.to_owned(),
    };
    let reply = broker
        .reply(names::gather(id), &request, REPLY_TIMEOUT)
        .await;
    reply.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn gather(name: &str, version: &str, labels: &[&str]) -> GatherPresence {
        GatherPresence {
            id: name.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            labels: labels.iter().map(ToString::to_string).collect(),
            runs: Vec::new(),
            wall: 0,
        }
    }

    #[test]
    fn gathers_of_another_version_are_excluded_and_those_that_share_a_label_are_reported() {
        let own = env!("CARGO_PKG_VERSION");
        let present = vec![
            gather("a", own, &["region=eu", "region=ap"]),
            gather("b", "0.0.9", &["region=us"]),
            gather("c", own, &["region=ap", "region=us"]),
        ];
        let notices = RefCell::new(Vec::new());
        let fitting = fitting(present, |text| notices.borrow_mut().push(text.to_owned()));
        let names: Vec<&str> = fitting.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["a", "c"]);
        let expected = [
            format!("gather 'b': it runs lgoose 0.0.9, and this is {own}: it was left out"),
            "gathers 'a' and 'c' both have the label 'region=ap': the first adds up its workers, the second stands by"
                .to_owned(),
        ];
        assert_eq!(*notices.borrow(), expected);
        let of = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let first = |labels| {
            fitting
                .iter()
                .find(|one| fits(one, &labels))
                .map(|one| &*one.name)
        };
        assert_eq!(first(of("region", "us")), Some("c"));
        assert_eq!(first(of("region", "ap")), Some("a"));
        assert_eq!(first(of("zone", "eu")), None);
    }
}
