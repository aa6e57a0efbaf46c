//! Checks and metrics of a threshold on tags, such as `kind=write: checks > 99%` or `kind=write metric size`.
//! A recorder counts them a second time, under the name that the thresholds about them share.

use crate::measures::MeasureKind;
use lgoose_base::tags::{Tags, split_selector};
use lgoose_base::threshold::{FigureKind, Threshold};

/// The checks and metrics of the thresholds of one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaggedMeasures {
    /// The name of the thresholds.
    pub(crate) name: String,
    tags: Tags,
    /// `None` for both kinds.
    kind: Option<MeasuredKind>,
    /// The name of the check or metric; empty for all checks.
    called: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MeasuredKind {
    Check,
    Metric,
}

impl TaggedMeasures {
    /// Returns the checks and metrics of these thresholds, each name once: two limits on one figure do not count it twice.
    pub(crate) fn of_all(thresholds: &[Threshold]) -> Vec<TaggedMeasures> {
        let mut all: Vec<TaggedMeasures> = Vec::new();
        for one in thresholds.iter().filter_map(TaggedMeasures::of) {
            match all.iter_mut().find(|other| other.name == one.name) {
                Some(other) if other.kind != one.kind => other.kind = None,
                Some(_) => {}
                None => all.push(one),
            }
        }
        all
    }

    /// Returns the checks and metrics with tags that a threshold names; `None` if it names neither.
    fn of(threshold: &Threshold) -> Option<TaggedMeasures> {
        let name = threshold.name.clone()?;
        let (tags, rest) = split_selector(&name)?;
        let (kind, called) = match rest.split_once(' ') {
            Some(("check", called)) => (Some(MeasuredKind::Check), called),
            Some(("metric", called)) => (Some(MeasuredKind::Metric), called),
            _ if rest == "checks" => (Some(MeasuredKind::Check), ""),
            _ if threshold.figure == FigureKind::Checks => (Some(MeasuredKind::Check), rest),
            // Without a name, it is about requests.
            _ if rest.is_empty() => return None,
            _ => (None, rest),
        };
        let called = called.to_owned();
        Some(TaggedMeasures {
            name,
            tags,
            kind,
            called,
        })
    }

    /// Returns whether it is about a check or metric of that name with these tags.
    pub(crate) fn has(&self, kind: MeasureKind, name: &str, tags: &Tags) -> bool {
        let kind = if kind.is_check() {
            MeasuredKind::Check
        } else {
            MeasuredKind::Metric
        };
        self.kind.is_none_or(|own| own == kind)
            && (self.called.is_empty() || self.called == name)
            && self.tags.are_in(tags)
    }
}
