//! Differences of one kind: how many there are, since when, where, and the first of them.

use crate::event::{LoggedRequest, SentRequest};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most URLs or names by which differences are counted.
const MAX_SUBJECTS: usize = 200;

/// The name under which further ones are counted.
const OTHER: &str = "(other)";

/// Differences of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Differences {
    /// Their number.
    pub count: u64,
    /// The time of the first one, in nanoseconds since 1970; `null` without any.
    pub first_ns: Option<i64>,
    /// The time of the last one.
    pub last_ns: Option<i64>,
    /// Method and URL without query, or the request's name, with their numbers.
    pub by_subject: BTreeMap<String, u64>,
    /// The number in each second of the run's clock.
    pub by_second: BTreeMap<i64, u64>,
    /// The first of them, by time.
    pub lines: Vec<DifferingLine>,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DifferingLine {
    /// Its time in nanoseconds since 1970.
    pub at_ns: i64,
    /// The log that has it, and its line.
    pub place: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub url: String,
    /// The status in the log that has it.
    pub status: u16,
    /// The difference; empty if one side lacks the request.
    pub note: String,
}

impl DifferingLine {
    /// Describes a request of the run.
    pub(super) fn sent(request: &SentRequest, log: &str) -> DifferingLine {
        DifferingLine {
            at_ns: request.end_ns,
            place: format!("{log}:{}", request.row),
            method: request.method.clone(),
            url: request.target.clone(),
            status: request.status,
            note: String::new(),
        }
    }

    /// Describes a line of an access log.
    pub(super) fn logged(line: &LoggedRequest, files: &[String]) -> DifferingLine {
        let file = files.get(line.file as usize).map_or("", |file| file);
        DifferingLine {
            at_ns: line.at_ns,
            place: format!("{file}:{}", line.line),
            method: line.method.clone(),
            url: line.target.clone(),
            status: line.status,
            note: String::new(),
        }
    }
}

impl Differences {
    /// Adds so many differences of one subject, of which `line` is shown if there is room for `shown` lines.
    pub(super) fn add(
        &mut self,
        subject: &str,
        count: u64,
        second: i64,
        line: DifferingLine,
        shown: usize,
    ) {
        self.count += count;
        let at_ns = line.at_ns;
        self.first_ns = Some(self.first_ns.map_or(at_ns, |first| first.min(at_ns)));
        self.last_ns = Some(self.last_ns.map_or(at_ns, |last| last.max(at_ns)));
        *self.by_second.entry(second).or_default() += count;
        let is_known =
            self.by_subject.contains_key(subject) || self.by_subject.len() < MAX_SUBJECTS;
        let subject = if is_known { subject } else { OTHER };
        *self.by_subject.entry(subject.to_owned()).or_default() += count;
        // They come nearly by time.
        let at = self.lines.partition_point(|other| *other < line);
        if at < shown {
            self.lines.insert(at, line);
            self.lines.truncate(shown);
        }
    }

    /// Adds the differences of another part of the run.
    pub(super) fn join(&mut self, other: &Differences, shown: usize) {
        self.count += other.count;
        let firsts = self.first_ns.into_iter().chain(other.first_ns);
        self.first_ns = firsts.min();
        self.last_ns = self.last_ns.max(other.last_ns);
        for (subject, count) in &other.by_subject {
            *self.by_subject.entry(subject.clone()).or_default() += count;
        }
        for (second, count) in &other.by_second {
            *self.by_second.entry(*second).or_default() += count;
        }
        self.lines.extend(other.lines.iter().cloned());
        self.lines.sort();
        self.lines.truncate(shown);
    }

    /// Returns the subjects, the most frequent first.
    pub(crate) fn subjects(&self) -> Vec<(&str, u64)> {
        let mut subjects: Vec<_> = self
            .by_subject
            .iter()
            .map(|(subject, count)| (&**subject, *count))
            .collect();
        subjects.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        subjects
    }
}
