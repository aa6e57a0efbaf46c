//! Workers of a run on several machines, and their labels.

use super::{Figures, RequestRow, SeriesPoint};
use crate::delta::plausible;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures for one worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct WorkerRow {
    /// Name of the worker.
    pub name: String,
    /// Labels of the worker.
    pub labels: BTreeMap<String, String>,
    /// Version of lgoose on the worker.
    pub version: String,
    /// Number of threads that drove users.
    #[serde(deserialize_with = "plausible::count")]
    pub threads: u64,
    /// The most users at the same time.
    #[serde(deserialize_with = "plausible::count")]
    pub users: u64,
    /// Requests of its users.
    #[serde(deserialize_with = "plausible::count")]
    pub requests: u64,
    /// Failed requests among them.
    #[serde(deserialize_with = "plausible::count")]
    pub failures: u64,
    /// Bytes received.
    #[serde(deserialize_with = "plausible::bytes")]
    pub bytes: u64,
    /// 95th percentile of the latencies in milliseconds, accurate to 0.4 %; `null` without requests.
    pub p95_ms: Option<f64>,
    /// Share of the time in which its threads ran or waited for a core, from 0 to 1.
    pub busy: f64,
    /// Mean delay of its timers in milliseconds.
    pub lag_ms: f64,
    /// Seconds in which the worker and not the target set the latency: a thread was busy for 90 % of the time, or
    /// timers woke late by more than 10 ms and a tenth of the worker's median latency.
    pub saturated_s: f64,
    /// How far the worker's wall clock was ahead of the manager's, in milliseconds.
    pub offset_ms: f64,
    /// Maximum error of `offset_ms`, in milliseconds.
    pub offset_within_ms: f64,
    /// When the worker was last lost, in seconds since the start of the measurement; negative if before it, `null` if
    /// the worker was never lost.
    pub lost_at_s: Option<f64>,
    /// State of the worker at the end.
    pub state: WorkerState,
}

/// State of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WorkerState {
    /// The worker takes part in the run.
    #[default]
    Running,
    /// The worker has delivered all its figures.
    Done,
    /// The worker is no longer heard from; what it has delivered counts.
    Lost,
}

impl WorkerState {
    /// Returns the state in a word.
    pub fn text(self) -> &'static str {
        match self {
            WorkerState::Running => "running",
            WorkerState::Done => "done",
            WorkerState::Lost => "lost",
        }
    }
}

/// Figures for all workers with one label.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct LabelRow {
    /// The label with its value, such as `region=eu`.
    pub label: String,
    /// Number of workers with the label.
    #[serde(deserialize_with = "plausible::count")]
    pub workers: u64,
    /// One row for each request name, without series.
    pub requests: Vec<RequestRow>,
    /// All requests of these workers together.
    pub aggregated: Figures,
    /// The same requests over time, without histograms.
    pub series: Vec<SeriesPoint>,
}
