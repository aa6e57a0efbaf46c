//! Snapshot of a run at one tick, for live views. Immutable and shared; a slow view skips snapshots.

mod ended;

use crate::report::{
    Check, ErrorRow, Event, Metric, ScenarioRow, SeriesPoint, TagRow, ThresholdRow, WorkerState,
};
use crate::workers::labels_text;
use lgoose_base::tags::SCENARIO;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Phase of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunPhase {
    /// Users start and run tasks.
    #[default]
    Running,
    /// No task starts until the run is resumed.
    Paused,
    /// Running tasks finish.
    Stopping,
}

impl RunPhase {
    /// Every phase.
    pub const ALL: [RunPhase; 3] = [RunPhase::Running, RunPhase::Paused, RunPhase::Stopping];

    /// Returns its name in JSON and metrics.
    pub fn name(self) -> &'static str {
        match self {
            RunPhase::Running => "running",
            RunPhase::Paused => "paused",
            RunPhase::Stopping => "stopping",
        }
    }
}

/// Load that a run aims at, according to its options and to later commands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Aim {
    /// The target number of users: that of the end of the current stage, 0 once the run stops. In a run at a rate, the
    /// most users at the same time.
    pub users: u64,
    /// The target iterations per second; only in a run at a rate.
    pub rate: Option<f64>,
    /// When the run is to end by itself, as the time since its start, including the pauses so far; `None` for never.
    pub ends: Option<Duration>,
    /// The same without pauses, on the clock of [`Progress::played`].
    pub lasts: Option<Duration>,
    /// The current stage, from 1, and the number of stages; `None` without stages.
    pub stage: Option<(u64, u64)>,
    /// Iterations that all users are to run in total; `None` if iterations are not limited.
    pub iterations: Option<u64>,
    /// When the warm-up ends, as the time since the start of the run; `None` after the warm-up, and without one.
    pub warmup_ends: Option<Duration>,
}

/// Progress of a run: its phase, the load that it aims at, and its clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Phase of the run.
    pub phase: RunPhase,
    /// Load that the run aims at.
    pub wanted: Aim,
    /// Time since the start of the run.
    pub elapsed: Duration,
    /// Time since the start of the run, without pauses.
    pub played: Duration,
    /// Time that the figures cover: since the start of the run, or since their last reset.
    pub measured: Duration,
    /// Measured time without pauses; rates are counts divided by this.
    pub active: Duration,
}

impl Progress {
    /// Returns when the measurement began, as the time since the start of the run.
    pub fn measured_since(&self) -> Duration {
        self.elapsed.saturating_sub(self.measured)
    }
}

/// State of a run at one tick.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Phase, target load and clocks of the run.
    pub progress: Progress,
    /// Users now.
    pub users: u64,
    /// The loads of the run if scenarios have their own; else empty.
    pub loads: Arc<[LiveLoad]>,
    /// Requests of all names.
    pub requests: LiveRequests,
    /// Tags that requests have so far, such as `region=eu`, in alphabetical order.
    pub tags: Arc<[Arc<str>]>,
    /// Each scenario with its current users.
    pub scenarios: Vec<ScenarioRow>,
    /// Tasks that have run so far.
    pub tasks: Vec<LiveTask>,
    /// Named checks of the plan so far.
    pub checks: Arc<[Check]>,
    /// Custom metrics of the plan so far.
    pub metrics: Arc<[Metric]>,
    /// The most frequent errors, at most 20, and a row for the rest.
    pub errors: Vec<ErrorRow>,
    /// Starts of iterations in a run at a rate.
    pub arrivals: LiveArrivals,
    /// Open connections; 0 with `--client reqwest`, which does not report them.
    pub connections: u64,
    /// Warnings about the run.
    pub warnings: Arc<[String]>,
    /// Thresholds with their current figures: for the whole run so far, or for the latest interval.
    pub thresholds: Vec<ThresholdRow>,
    /// The last two minutes, one point a second (coarser in runs of more than an hour).
    pub recent: Vec<SeriesPoint>,
    /// The latest events of the current measurement, by time; at most 50.
    pub events: Vec<Event>,
    /// Workers in the order in which they joined; updated only once a second if there are many. Empty in a run of this
    /// process alone.
    pub workers: Arc<[LiveWorker]>,
}

/// Figures for one worker in a [`Snapshot`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveWorker {
    /// Name of the worker.
    pub name: Arc<str>,
    /// Labels of the worker.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Version of lgoose on the worker.
    pub version: Arc<str>,
    /// Number of threads that drive users.
    pub threads: u64,
    /// Users now.
    pub users: u64,
    /// Requests so far.
    pub requests: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Requests per second over the last 10 s.
    pub rate_now: f64,
    /// 95th percentile of the latencies so far; zero without requests.
    pub p95: Duration,
    /// Share of the latest second in which the busiest thread was busy, from 0 to 1.
    pub busy: f64,
    /// Mean delay of the timers in that second, in the thread where it was longest.
    pub lag: Duration,
    /// Whether the worker and not the target set the latency in that second.
    pub saturated: bool,
    /// How far the worker's wall clock is ahead of the manager's, in milliseconds.
    pub offset_ms: f64,
    /// Maximum error of `offset_ms`, in milliseconds.
    pub offset_within_ms: f64,
    /// State of the worker.
    pub state: WorkerState,
}

impl LiveWorker {
    /// Returns the labels on one line: `region=eu zone=a`.
    pub fn labels_text(&self) -> String {
        labels_text(&self.labels)
    }
}

/// A task of a running test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveTask {
    /// Name of its scenario.
    pub scenario: Arc<str>,
    /// Name of the task.
    pub name: Arc<str>,
    /// How often it has run.
    pub runs: u64,
    /// How often it has failed.
    pub failures: u64,
}

/// One of several loads of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveLoad {
    /// The scenario that has this load of its own; `None` for the load that all others share.
    pub scenario: Option<Arc<str>>,
    /// The target number of users, even before the load begins; for a load at a rate, the most users at the same time.
    pub users: u64,
    /// The target iterations per second; only for a load at a rate.
    pub rate: Option<f64>,
    /// Whether the load has begun and not yet ended.
    pub is_under_way: bool,
}

/// Requests with one tag, so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveTag {
    /// The tag with its value: `region=eu`.
    pub tag: Arc<str>,
    /// Figures as in a [`Snapshot`]; [`LiveRow::worst_now`] is not known for tags, so it is zero.
    pub requests: LiveRequests,
    /// All figures, if requested.
    pub row: Option<TagRow>,
}

impl LiveTag {
    /// Returns the name of the scenario if the tag stands for one.
    pub fn scenario(&self) -> Option<&str> {
        let (key, scenario) = self.tag.split_once('=')?;
        (key == SCENARIO).then_some(scenario)
    }
}

/// Requests in a [`Snapshot`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveRequests {
    /// Figures for all requests together; method and name are empty.
    pub total: LiveRow,
    /// Median, 95th and 99th percentile of the latencies of successful requests; zero if there are none.
    pub ok: [Duration; 3],
    /// Bytes received, heads and bodies.
    pub bytes: u64,
    /// Bytes sent, likewise.
    pub bytes_sent: u64,
    /// One row for each request name, in order of first appearance.
    pub rows: Vec<LiveRow>,
}

/// Starts of iterations in a [`Snapshot`] of a run at a rate; zero in a run of users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveArrivals {
    /// Iterations that were started.
    pub started: u64,
    /// Iterations that found no free user.
    pub dropped: u64,
    /// 99th percentile of the delay of starts against the schedule.
    pub late_p99: Duration,
}

/// Figures for one request name in a [`Snapshot`]. Latencies are zero while `count` is zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveRow {
    /// `GET`.
    pub method: Arc<str>,
    /// Name from the plan.
    pub name: Arc<str>,
    /// Requests so far.
    pub count: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Messages received so far, of streams and the like.
    pub messages: u64,
    /// Requests per second over the whole measured time.
    pub rate: f64,
    /// Requests per second over the last 10 s.
    pub rate_now: f64,
    /// Failures per second over the last 10 s.
    pub failures_now: f64,
    /// Median latency.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Longest latency, exact.
    pub max: Duration,
    /// The highest p50, p95, p99 and maximum of any of the last ten full seconds; zero if there was no request in them.
    pub worst_now: [Duration; 4],
}
