//! Workers of a run on several machines: their identities, and a light tally of each.
//!
//! The [`Store`](crate::Store) has one tally per worker, for tables; a run may have thousands of workers. Only the
//! figures of the whole run and of each label are exact.

mod lately;
mod tally;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
pub(crate) use tally::WorkerTally;

/// Facts about a worker that are known when it joins a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerIdentity {
    /// Name of the worker.
    pub name: String,
    /// Labels of the worker: `region` is `eu`.
    pub labels: BTreeMap<String, String>,
    /// Version of lgoose there.
    pub version: String,
    /// Threads that drive users there.
    pub threads: usize,
    /// Shards of the worker, by their numbers in the whole run.
    pub shards: Range<usize>,
    /// How far its wall clock is ahead of the manager's, in nanoseconds.
    pub offset: i64,
    /// The most by which `offset` may be wrong.
    pub uncertainty: Duration,
}

impl WorkerIdentity {
    /// Returns its labels as thresholds and reports write them: `region=eu`.
    pub(crate) fn label_texts(&self) -> impl Iterator<Item = String> {
        label_texts(&self.labels)
    }
}

/// Returns labels as thresholds and reports write them: `region=eu`.
pub fn label_texts<'a>(
    labels: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> impl Iterator<Item = String> {
    let labels = labels.into_iter();
    labels.map(|(key, value)| format!("{key}={value}"))
}

/// Returns labels on one line: `region=eu zone=a`.
pub fn labels_text(labels: &BTreeMap<String, String>) -> String {
    label_texts(labels).collect::<Vec<_>>().join(" ")
}
