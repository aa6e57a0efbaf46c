//! The result of a run, from which every output is made, and the schema of the JSON output.
//!
//! Made by the [`Store`](crate::Store); read back from JSON by `lgoose report`. Scripts rely on the keys: add new ones,
//! but never rename one. A figure that does not exist, such as the latency of no requests, is `null`.

mod capacity;
mod detail;
mod ending;
mod error;
mod identity;
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

use crate::delta::plausible;
use crate::over_time::NameSeries;
pub use crate::over_time::{Event, EventKind};
pub use capacity::{Capacity, CapacityOutcome, CapacityStep, LoadKind, StepResult, Usl};
pub use detail::Detail;
pub use ending::{Cause, Ending, MOST_MISSING};
pub use error::{ErrorRow, Exemplar};
pub use identity::RunIdentity;
pub use latency::{Latency, PhasesMs};
pub use measured::{Check, Metric, MetricKind};
pub use omission::{Cadence, CoFigures, CoMitigation, CoRow};
pub use part::PartRow;
pub use series::{PointGenerator, PointLatency, SeriesPoint};
pub use settings::{MachineRow, RunSettings};
pub use tag::TagRow;
pub use trace::{HopRow, LatestTrace, SlowRequest, TraceRow};
pub use verdict::{ReasonKind, Verdict, VerdictResult};
pub use worker::{LabelRow, WorkerRow, WorkerState};

use lgoose_base::threshold::Threshold;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Report of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of lgoose that ran the test.
    pub version: String,
    /// Path of the plan, as given.
    pub plan: String,
    /// Base URL of the target.
    pub host: String,
    /// Start of the run, RFC 3339.
    pub started: String,
    /// Seconds that the figures cover, without pauses; rates are counts divided by this.
    pub elapsed_s: f64,
    /// Seconds that the run was paused in that time.
    #[serde(default)]
    pub paused_s: f64,
    /// The part of the load that the report covers, with the data for joining the parts; only with `--part`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRow>,
    /// Start of the measurement, which is second 0 of `series`, in nanoseconds since the start of the run, as in the
    /// logs; greater than 0 after `test_start`, `--warmup` or a reset.
    #[serde(default, deserialize_with = "plausible::large")]
    pub origin_ns: u64,
    /// The most users at the same time.
    #[serde(deserialize_with = "plausible::count")]
    pub users: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Why and when the run ended; absent in the report of a running test, and in reports within a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The verdict; absent in the same cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Everything that determined the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<RunSettings>,
    /// The result of a search for the greatest load (`lgoose capacity`); everything else in the report is then about
    /// the run that confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Box<Capacity>>,
    /// Warnings about the run.
    pub warnings: Vec<String>,
    /// One row for each request name, in order of first appearance.
    pub requests: Vec<RequestRow>,
    /// All requests together.
    pub aggregated: Figures,
    /// The figures for each tag, and for each scenario as a tag; only in runs with several scenarios or with tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_tag: Vec<TagRow>,
    /// The requests of `test_start` and `test_stop`, which are counted nowhere else; only if there were any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_stop: Vec<RequestRow>,
    /// One row for each scenario.
    pub scenarios: Vec<ScenarioRow>,
    /// One row for each task or transaction.
    pub tasks: Vec<TaskRow>,
    /// All requests over time.
    #[serde(default)]
    pub series: Vec<SeriesPoint>,
    /// Events of the run, by time.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Named checks of the plan.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Custom metrics of the plan.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// Errors, the most frequent first. After 100 kinds, one row without a name counts the rest.
    #[serde(default)]
    pub errors: Vec<ErrorRow>,
    /// Latencies corrected for coordinated omission; `null` if the correction is off.
    #[serde(default)]
    pub co_mitigation: Option<CoMitigation>,
    /// Thresholds and whether they held.
    #[serde(default)]
    pub thresholds: Vec<ThresholdRow>,
    /// The logs that were written; only if there were any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogRow>,
    /// Started and dropped iterations; only in a run at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsRow>,
    /// The load on lgoose itself; `null` if it was not measured.
    #[serde(default)]
    pub generator: Option<GeneratorRow>,
    /// Workers in the order in which they joined; only in a run on workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRow>,
    /// The figures for each label of the workers, at most 50 labels; only in a run on workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_label: Vec<LabelRow>,
    /// Report of the warm-up (`--warmup`); only in runs that had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Box<Report>>,
    /// Reports of what was measured before each reset of the figures, by a command or by a reload of the plan: the last
    /// 20, without the series of names. Only in runs whose figures were reset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Report>,
}

/// A log that the run wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct LogRow {
    /// `requests`, `tasks`, `errors` or `debug`.
    pub log: String,
    /// Path of the log file as it was given; that of a plan is seen from its folder, in `lgoose serve` from `files` of the run.
    pub file: String,
    /// Number of lines, without the header and a last line about lines that were left out.
    #[serde(deserialize_with = "plausible::count")]
    pub lines: u64,
    /// Number of lines that were left out, because the file could not be written fast enough or at all.
    #[serde(deserialize_with = "plausible::count")]
    pub left_out: u64,
}

/// Iterations that were due in a run at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct ArrivalsRow {
    /// Iterations that were started.
    #[serde(deserialize_with = "plausible::large")]
    pub started: u64,
    /// Iterations that found no free user, or no turn under a limit on the rate of requests until the run ended.
    #[serde(deserialize_with = "plausible::large")]
    pub dropped: u64,
    /// Iterations of which nothing is known: they were due on workers that were lost.
    #[serde(default, deserialize_with = "plausible::count")]
    pub missing: u64,
    /// Delay of the starts against the schedule; `null` if no iteration was started.
    pub delay_ms: Option<Latency>,
}

/// The load on lgoose itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct GeneratorRow {
    /// Threads that drove users.
    #[serde(deserialize_with = "plausible::count")]
    pub threads: u64,
    /// Share of the time in which the threads ran or waited for a core, from 0 to 1.
    pub busy: f64,
    /// The same share for the busiest thread in its busiest second; a short last piece counts with the second before.
    pub busiest: f64,
    /// Mean delay of timers in milliseconds.
    pub lag_avg_ms: f64,
    /// Longest delay of a timer in milliseconds.
    pub lag_max_ms: f64,
    /// Share of the time in which the threads were ready to run but got no core, from 0 to 1.
    #[serde(default)]
    pub starved: f64,
    /// The limit on processor time of the control group of this process; `null` without one.
    #[serde(default)]
    pub cpu_limit: Option<CpuLimitRow>,
    /// Estimate of the part of the median latency that is due to lgoose, in milliseconds: how long responses waited
    /// before lgoose read them and, in a run at a rate, how late it started iterations. It is that of the successful requests:
    /// where a connection is refused or cut, nothing says what the site would have taken. `null` if it was not measured.
    #[serde(default)]
    pub own_p50_ms: Option<f64>,
    /// The same for the 99th percentile.
    #[serde(default)]
    pub own_p99_ms: Option<f64>,
    /// The most connections open at the same time; 0 with `--client reqwest`, which does not report them.
    #[serde(deserialize_with = "plausible::count")]
    pub connections: u64,
    /// Seconds of saturation, in which lgoose and not the target set the latency: lgoose's own part was at least a
    /// millisecond and more than a tenth of the median or of the 99th percentile, or a thread was busy for 90 % of the
    /// time. If lgoose's own part was not measured: a thread was that busy, or timers woke late by more than 10 ms and
    /// a tenth of the median latency.
    pub saturated_s: f64,
    /// Seconds that were checked for saturation.
    pub judged_s: f64,
}

/// A limit on processor time, as containers have one, and what the kernel withheld for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct CpuLimitRow {
    /// How many cores may be used, such as 0.5.
    pub cores: f64,
    /// The file of the control group that says so.
    pub file: CpuLimitFile,
    /// How often the group was held back for the rest of a period.
    #[serde(deserialize_with = "plausible::count")]
    pub times: u64,
    /// For how many seconds, all cores together.
    pub held_back_s: f64,
}

/// The file that sets a limit on processor time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub enum CpuLimitFile {
    /// That of version 1 of control groups.
    #[serde(rename = "cpu.cfs_quota_us")]
    CfsQuota,
    /// That of version 2.
    #[serde(rename = "cpu.max")]
    CpuMax,
}

impl CpuLimitFile {
    /// Returns the name of the file.
    pub fn name(self) -> &'static str {
        match self {
            CpuLimitFile::CfsQuota => "cpu.cfs_quota_us",
            CpuLimitFile::CpuMax => "cpu.max",
        }
    }
}

/// Figures for one request name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct RequestRow {
    /// `GET`; empty in the row `(other)`.
    pub method: String,
    /// Name from the plan.
    pub name: String,
    /// The figures; in JSON their keys are in the row itself.
    #[serde(flatten)]
    pub figures: Figures,
    /// The figures over time.
    #[serde(default, skip_serializing_if = "NameSeries::is_empty")]
    pub series: NameSeries,
    /// The three slowest requests; of those that one thread has measured within one second, the slowest only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowRequest>,
    /// The three slowest requests whose trace the site was asked to keep; only with `--trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<SlowRequest>,
    /// The latest such request in each latency bucket, by the bucket's number, for the metrics of a running test.
    #[serde(skip)]
    pub latest_traces: BTreeMap<u8, LatestTrace>,
    /// The latest such request that failed, for the same metrics.
    #[serde(skip)]
    pub latest_failed_trace: Option<LatestTrace>,
}

/// Figures of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Figures {
    /// Number of requests; a request counts once, whatever redirects it followed.
    #[serde(deserialize_with = "plausible::count")]
    pub count: u64,
    /// Failed requests among them.
    #[serde(deserialize_with = "plausible::count")]
    pub failures: u64,
    /// Redirects that were followed; not included in `count`.
    #[serde(deserialize_with = "plausible::count")]
    pub redirects: u64,
    /// Requests that were sent again because the site had closed the connection that was kept alive for them.
    #[serde(default, deserialize_with = "plausible::count")]
    pub retries: u64,
    /// Requests per second.
    pub rate: f64,
    /// Bytes received: heads and bodies of all hops, without TLS. Over HTTP/2, the frames of heads and bodies.
    #[serde(deserialize_with = "plausible::bytes")]
    pub bytes: u64,
    /// Bytes sent, counted in the same way; `null` in reports of earlier versions.
    #[serde(default, deserialize_with = "plausible::bytes")]
    pub bytes_sent: Option<u64>,
    /// Messages of protocols other than HTTP; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// Latency of all requests, failed ones with the time they took; `null` if there were none.
    pub latency_ms: Option<Latency>,
    /// Latency of successful requests; `null` if there were none.
    pub latency_ok_ms: Option<Latency>,
    /// Latency from the actual start of each request; only in a run at a rate, where `latency_ms` counts from the
    /// scheduled start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ms: Option<Latency>,
    /// Time from the beginning of each stream until its first event, line or piece had come; only if there were streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_ms: Option<Latency>,
    /// Time from one event, line or piece of a stream to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_gap_ms: Option<Latency>,
    /// Mean time of each phase of the latency.
    pub phases_ms: PhasesMs,
    /// Number of requests by the status of their final response; `"0"` means no response.
    #[serde(deserialize_with = "plausible::count")]
    pub status: BTreeMap<String, u64>,
    /// Latencies in microseconds, as an HdrHistogram V2 (not compressed) in base64.
    pub histogram: String,
    /// Latencies of the failed requests among them, in the same form; absent without failures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed_histogram: String,
}

/// Messages of streams, and of protocols other than HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Messages {
    /// Messages sent.
    #[serde(deserialize_with = "plausible::count")]
    pub sent: u64,
    /// Messages received.
    #[serde(deserialize_with = "plausible::count")]
    pub received: u64,
}

/// Figures for one scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct ScenarioRow {
    /// Name from the plan.
    pub name: String,
    /// The most users at the same time; in a snapshot, the current users.
    #[serde(deserialize_with = "plausible::count")]
    pub users: u64,
    /// Completed iterations.
    #[serde(deserialize_with = "plausible::count")]
    pub iterations: u64,
    /// Iterations among them in which a request or task failed.
    #[serde(default, deserialize_with = "plausible::count")]
    pub iterations_failed: u64,
    /// Iterations that were due in a run at a rate; `null` in a run of users.
    #[serde(default)]
    pub arrivals: Option<ScenarioArrivals>,
    /// Users that were started, each as often as it was.
    #[serde(default, deserialize_with = "plausible::count")]
    pub users_started: u64,
    /// Users among them that an error ended in `on_start`.
    #[serde(default, deserialize_with = "plausible::count")]
    pub users_lost: u64,
    /// Duration of the iterations, from the start of the first task to the end of the last, including the pauses
    /// between tasks; absent in a snapshot, and if none was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration_ms: Option<Latency>,
}

/// Iterations of a scenario that were due in a run at a rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct ScenarioArrivals {
    /// Iterations that were started.
    #[serde(deserialize_with = "plausible::count")]
    pub started: u64,
    /// Iterations that found no free user, or no turn under a limit on the rate of requests until the run ended.
    #[serde(deserialize_with = "plausible::count")]
    pub dropped: u64,
}

impl ScenarioArrivals {
    /// Returns how many iterations were due.
    pub fn due(self) -> u64 {
        self.started + self.dropped
    }

    /// Adds those of another scenario.
    pub fn add(&mut self, other: ScenarioArrivals) {
        self.started += other.started;
        self.dropped += other.dropped;
    }
}

/// Figures for one task or transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct TaskRow {
    /// Name of the scenario.
    pub scenario: String,
    /// Name from the plan.
    pub name: String,
    /// Finished runs.
    #[serde(deserialize_with = "plausible::count")]
    pub runs: u64,
    /// Failed runs among them.
    #[serde(deserialize_with = "plausible::count")]
    pub failures: u64,
    /// Duration of the runs; `null` if there were none.
    pub latency_ms: Option<Latency>,
}

/// A threshold and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct ThresholdRow {
    /// Text of the threshold: `p95 < 300ms during 30s`.
    pub threshold: String,
    /// The name that the threshold applies to; `null` for the whole run.
    pub name: Option<String>,
    /// The figure in the threshold's unit: for the whole run, for its worst interval, or the one that stopped the run.
    /// `null` if there was no data, in which case the threshold fails.
    pub value: Option<f64>,
    /// The limit in the same unit.
    pub limit: f64,
    /// `us`, `ms`, `s`, `%`, `/s`, or empty for a plain number.
    pub unit: String,
    /// Whether the threshold held.
    pub passed: bool,
    /// When an interval broke the threshold or the threshold stopped the run, in seconds since the start of the
    /// measurement; `null` if neither happened.
    pub broken_s: Option<f64>,
    /// The rows that the threshold is about; `null` in reports of older versions.
    #[serde(default)]
    pub subject: Option<SubjectRow>,
}

/// The rows that a threshold is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct SubjectRow {
    /// Kind of the rows.
    pub kind: SubjectKind,
    /// Their name; `null` for all rows of the kind. A name of requests may begin with their method, one of checks and metrics
    /// that are selected by tags with these.
    pub name: Option<String>,
    /// The scenarios that the rows belong to, as far as the run has shown; empty for all.
    pub scenarios: Vec<String>,
}

/// Kind of the rows that a threshold is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SubjectKind {
    /// Requests.
    Requests,
    /// Runs of a task or transaction, or iterations.
    Task,
    /// Iterations that were due in a run at a rate.
    Arrivals,
    /// Checks.
    Check,
    /// A custom metric.
    Metric,
}

impl Report {
    /// Returns how many requests, tasks and checks failed, each with how many there were.
    pub fn failures(&self) -> [(u64, u64); 3] {
        let add = |(failed, all): (u64, u64), (more, of)| (failed + more, all + of);
        let tasks = self.tasks.iter().map(|row| (row.failures, row.runs));
        let checks = self.checks.iter();
        let checks = checks.map(|row| (row.failures, row.failures + row.passes));
        [
            (self.aggregated.failures, self.aggregated.count),
            tasks.fold((0, 0), add),
            checks.fold((0, 0), add),
        ]
    }
}

impl ThresholdRow {
    /// Returns the threshold as it was set; `None` where its text is none, as in a report that was edited by hand.
    pub fn parsed(&self) -> Option<Threshold> {
        let parsed = match &self.name {
            Some(name) => Threshold::read_for(name, &self.threshold),
            None => Threshold::read(&self.threshold),
        };
        parsed.ok()
    }

    /// Returns the figure that is judged, with what it is about and its options, and the limit: `ok p95 during 30s` and
    /// `< 300ms`, `first_byte p90` and `< 6s`.
    pub fn figure_and_limit(&self) -> (String, String) {
        let words: Vec<&str> = self.threshold.split(' ').collect();
        let operator = words
            .iter()
            .position(|word| matches!(*word, "<" | "<=" | ">" | ">="));
        let Some(at) = operator else {
            return (self.threshold.clone(), String::new());
        };
        let (figure, rest) = words.split_at(at);
        let (limit, options) = rest.split_at(rest.len().min(2));
        ([figure, options].concat().join(" "), limit.join(" "))
    }
}
