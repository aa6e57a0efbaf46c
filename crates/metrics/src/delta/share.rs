//! Share of a worker in figures that a gather has added up: some numbers, and latencies only as precise as tables of
//! workers show them.

use super::plausible;
use crate::latencies::{Coarse, ExactFigures};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of one worker, by measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerShare(pub(crate) BTreeMap<u64, WorkerCounts>);

/// Counts of one worker in one measurement, as tables of workers need them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerCounts {
    pub(crate) exact: ExactFigures,
    /// Failures; negative where a verdict was taken back.
    #[serde(deserialize_with = "plausible::change")]
    pub(crate) failures: i64,
    #[serde(deserialize_with = "plausible::bytes")]
    pub(crate) bytes: u64,
    /// Requests by second of the measurement.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) seconds: BTreeMap<u64, u64>,
    pub(crate) latencies: Coarse,
}
