//! The result of a run as every output needs it, and the schema of the JSON output.
//!
//! Made by the [`Store`](super::Store); read back from JSON by `lgoose report`. Keys are a promise to
//! scripts: add some, never rename one. Figures that do not exist (the latency of no requests) are `null`.

mod capacity;
mod ending;
mod error;
mod latency;
mod measured;
mod omission;
mod part;
mod series;
mod settings;
mod tag;
mod trace;
mod verdict;
mod worker;

use super::columns::NameSeries;
pub use super::events::{Event, EventKind};
pub use capacity::{Capacity, CapacityOutcome, CapacityStep, LoadKind, StepResult, Usl};
pub use ending::{Cause, Ending};
pub use error::{ErrorRow, Exemplar};
pub use latency::{Latency, PhasesMs};
pub use measured::{Check, Metric, MetricKind};
pub(crate) use omission::Cadence;
pub use omission::{CoFigures, CoMitigation, CoRow};
pub use part::PartRow;
pub use series::{PointGenerator, PointLatency, SeriesPoint};
pub use settings::{MachineRow, RunSettings};
pub use tag::TagRow;
pub(crate) use trace::LatestTrace;
pub use trace::{HopRow, TraceRow, TracedRequest};
pub use verdict::{Verdict, VerdictResult};
pub use worker::{LabelRow, WorkerRow, WorkerState};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Version of lgoose that ran it.
    pub version: String,
    /// The plan's path as given.
    pub plan: String,
    /// Base URL of the target.
    pub host: String,
    /// Beginning of the run, RFC 3339.
    pub started: String,
    /// Seconds that the figures cover, pauses left out; rates divide by it.
    pub elapsed_s: f64,
    /// Seconds that the run was paused in the meantime.
    #[serde(default)]
    pub paused_s: f64,
    /// The part of a load that the report covers, and all that joining it with the others takes; only with
    /// `--part`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRow>,
    /// Where the measurement begins, and so second 0 of `series`, in nanoseconds on the clock of the logs, which
    /// begins with the run: more than nothing after `test_start`, `--warmup` or a reset.
    #[serde(default)]
    pub origin_ns: u64,
    /// The most users at a time.
    pub users: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Cause and time of the run's end; not in a report of a run that goes on, nor in those within a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The verdict; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Everything that decided the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<RunSettings>,
    /// What a search for the greatest load has found (`lgoose capacity`); the rest is then the run that confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Box<Capacity>>,
    /// Warnings of lgoose about the run.
    pub warnings: Vec<String>,
    /// One row for each request name, in the order of first appearance.
    pub requests: Vec<RequestRow>,
    /// All requests together.
    pub aggregated: Figures,
    /// The figures of each tag, and of each scenario as one; only in runs of several scenarios or with tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_tag: Vec<TagRow>,
    /// The requests of `test_start` and `test_stop`, which count nowhere else; only in runs that have some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_stop: Vec<RequestRow>,
    /// One row for each scenario.
    pub scenarios: Vec<ScenarioRow>,
    /// One row for each task or transaction.
    pub tasks: Vec<TaskRow>,
    /// All requests over time.
    #[serde(default)]
    pub series: Vec<SeriesPoint>,
    /// Events of the run, in order of time.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Named checks of the plan.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Custom metrics of the plan.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// Errors, the most frequent first; beyond 100 kinds, one row without a name counts the rest.
    #[serde(default)]
    pub errors: Vec<ErrorRow>,
    /// Latencies corrected for the requests that late users could not make; `null` if the correction is off.
    #[serde(default)]
    pub co_mitigation: Option<CoMitigation>,
    /// Verdicts on thresholds.
    #[serde(default)]
    pub thresholds: Vec<ThresholdRow>,
    /// The logs that were kept; only in runs that kept some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogRow>,
    /// The starts of a run at a rate; only in such runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsRow>,
    /// How hard lgoose itself worked; `null` if it was not measured.
    #[serde(default)]
    pub generator: Option<GeneratorRow>,
    /// Workers in the order in which they joined; only in runs that were spread over some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRow>,
    /// The figures of each label that workers have, at most 50; likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_label: Vec<LabelRow>,
    /// Report of the time before the figures began to count (`--warmup`); only in runs that had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Box<Report>>,
    /// What was measured before the figures began anew, where the plan was loaded anew on the way or somebody wanted it,
    /// the last 20 of them, without the series of names; only in runs in which that was so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Report>,
}

/// A log that a run has kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LogRow {
    /// `requests`, `tasks`, `errors` or `debug`.
    pub log: String,
    /// File of the log.
    pub file: String,
    /// Lines of the log, without its header and its last line about what was left out.
    pub lines: u64,
    /// The lines that were left out because the file could not be written as fast as they came, or at all.
    pub left_out: u64,
}

/// Iterations that were due to start in a run at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ArrivalsRow {
    /// Iterations that were started.
    pub started: u64,
    /// Iterations that found no free user.
    pub dropped: u64,
    /// Delay of the starts behind the schedule; `null` when there was none.
    pub delay_ms: Option<Latency>,
}

/// How hard lgoose itself worked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GeneratorRow {
    /// Threads that drove users.
    pub threads: u64,
    /// Share of their time that the threads were on a core or waited for one, from 0 to 1.
    pub busy: f64,
    /// The same share of the busiest thread in its busiest second.
    pub busiest: f64,
    /// Mean delay of timers in milliseconds.
    pub lag_avg_ms: f64,
    /// Longest delay of a timer in milliseconds.
    pub lag_max_ms: f64,
    /// Share of their time that the threads were ready for a core without getting one, from 0 to 1.
    #[serde(default)]
    pub starved: f64,
    /// lgoose's own part of the median latency, estimated, in milliseconds: how long answers waited before it
    /// looked at them, and how late it was with starts in a run at a rate. `null` if it was not measured.
    #[serde(default)]
    pub own_p50_ms: Option<f64>,
    /// lgoose's own part of the 99th percentile, likewise.
    #[serde(default)]
    pub own_p99_ms: Option<f64>,
    /// The most connections open at a time; 0 with `--client reqwest`, which keeps them to itself.
    pub connections: u64,
    /// Seconds of the points in which lgoose and not the target set the latency: more than a tenth of the median or
    /// of the 99th percentile was its own, and that is a millisecond or more, or a thread was busy for 90 % of
    /// the time. Where its own part is not measured: a thread was so busy, or timers woke more than 10 ms and a tenth
    /// of the median latency late.
    pub saturated_s: f64,
    /// Seconds that were examined for saturation.
    pub judged_s: f64,
}

/// The figures of one request name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RequestRow {
    /// `GET`; empty in the row `(other)`.
    pub method: String,
    /// Name given by the plan.
    pub name: String,
    /// The figures, on the same level in JSON.
    #[serde(flatten)]
    pub figures: Figures,
    /// The figures over time.
    #[serde(default, skip_serializing_if = "NameSeries::is_empty")]
    pub series: NameSeries,
    /// The slowest three requests whose trace the site was asked to keep; only with `--trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<TracedRequest>,
    /// The latest such request by the number of its bucket of latencies, for the metrics of a run under way.
    #[serde(skip)]
    pub(crate) latest_traces: BTreeMap<u8, LatestTrace>,
    /// The latest such request that failed, likewise.
    #[serde(skip)]
    pub(crate) latest_failed_trace: Option<LatestTrace>,
}

/// Figures of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Figures {
    /// Number of requests; a chain of redirects is one.
    pub count: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Redirects that were followed in addition.
    pub redirects: u64,
    /// Requests sent again because the site had closed the connection that was kept for them.
    #[serde(default)]
    pub retries: u64,
    /// Requests per second.
    pub rate: f64,
    /// Bytes received.
    pub bytes: u64,
    /// Latency of all requests, failed ones at the time they took; `null` when there were none.
    pub latency_ms: Option<Latency>,
    /// Latency of the successful ones alone; `null` when there were none.
    pub latency_ok_ms: Option<Latency>,
    /// Only in a run at a rate, where `latency_ms` is counted from the scheduled start: the latency from the
    /// actual start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ms: Option<Latency>,
    /// Phases of the latency.
    pub phases_ms: PhasesMs,
    /// Requests by the status of their final response; `"0"` is no response.
    pub status: BTreeMap<String, u64>,
    /// Latencies in microseconds: HdrHistogram V2 (not compressed), base64.
    pub histogram: String,
}

/// Figures of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ScenarioRow {
    /// Name given by the plan.
    pub name: String,
    /// The most users at a time; in a snapshot, the users now.
    pub users: u64,
    /// Iterations that were completed.
    pub iterations: u64,
    /// How long they took, from the first task of each to the end of its last, pauses between tasks included; absent
    /// in a snapshot and if none was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration_ms: Option<Latency>,
}

/// Figures of one task or transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TaskRow {
    /// Scenario of the task.
    pub scenario: String,
    /// Name given by the plan.
    pub name: String,
    /// Finished runs.
    pub runs: u64,
    /// Failed runs among them.
    pub failures: u64,
    /// Duration of the runs; `null` when there was none.
    pub latency_ms: Option<Latency>,
}

/// A threshold and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ThresholdRow {
    /// Text of the threshold: `p95 < 300ms during 30s`.
    pub threshold: String,
    /// The name that the threshold is about; `null` for everything.
    pub name: Option<String>,
    /// The figure in the threshold's unit: of the whole run, of its worst stretch, or that which stopped the
    /// run; `null` is no data, which fails.
    pub value: Option<f64>,
    /// The limit in the same unit.
    pub limit: f64,
    /// `us`, `ms`, `s`, `%`, `/s`, or empty for a plain number.
    pub unit: String,
    /// Whether it held.
    pub passed: bool,
    /// Seconds into the measurement when a stretch broke it or it stopped the run; `null` if neither.
    pub broken_s: Option<f64>,
}
