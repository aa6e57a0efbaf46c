//! Workers of a run that was spread over machines, and the labels that they had.

use super::{Figures, RequestRow, SeriesPoint};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of one worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WorkerRow {
    /// Name of the worker.
    pub name: String,
    /// Labels of the worker.
    pub labels: BTreeMap<String, String>,
    /// Version of lgoose there.
    pub version: String,
    /// Threads that drove users there.
    pub threads: u64,
    /// The most users at a time.
    pub users: u64,
    /// Requests that its users made.
    pub requests: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Bytes received.
    pub bytes: u64,
    /// 95th percentile of the latencies in milliseconds, within 0.4 %; `null` without requests.
    pub p95_ms: Option<f64>,
    /// Share of their time that its threads were on a core or waited for one, from 0 to 1.
    pub busy: f64,
    /// Mean delay of its timers in milliseconds.
    pub lag_ms: f64,
    /// Seconds in which a thread of it was busy for 90 % of the time, or timers woke more than 10 ms and a tenth of
    /// its median latency late: then it and not the target set the latency.
    pub saturated_s: f64,
    /// What its wall clock showed more than the manager's, in milliseconds.
    pub offset_ms: f64,
    /// The most by which `offset_ms` may be wrong.
    pub offset_within_ms: f64,
    /// Seconds into the measurement when nothing was heard of it any more, the last time; negative if that was
    /// before the measurement began, `null` if it was never lost.
    pub lost_at_s: Option<f64>,
    /// State of the worker at the end.
    pub state: WorkerState,
}

/// States of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WorkerState {
    /// It takes part.
    #[default]
    Running,
    /// It has handed everything over.
    Done,
    /// Nothing is heard of it; what it delivered counts.
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

/// Figures of all workers with one label.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LabelRow {
    /// Label with its value: `region=eu`.
    pub label: String,
    /// Workers that have it.
    pub workers: u64,
    /// One row for each request name, without figures over time.
    pub requests: Vec<RequestRow>,
    /// All requests of these workers together.
    pub aggregated: Figures,
    /// The same over time; without histograms.
    pub series: Vec<SeriesPoint>,
}
