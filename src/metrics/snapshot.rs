//! Snapshot of a run at one tick, for live views. Immutable and shared; a slow view skips some.

use super::report::{
    Check, ErrorRow, Event, Metric, ScenarioRow, SeriesPoint, TagRow, ThresholdRow, WorkerState,
};
use super::workers::labels_text;
use crate::tags::SCENARIO;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Phases of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunPhase {
    /// Users start and work.
    #[default]
    Running,
    /// No task is started until somebody resumes the run.
    Paused,
    /// Running tasks finish.
    Stopping,
}

impl RunPhase {
    /// Every phase.
    #[cfg(any(feature = "otlp", feature = "web"))]
    pub(crate) const ALL: [RunPhase; 3] = [RunPhase::Running, RunPhase::Paused, RunPhase::Stopping];

    /// Returns its name in JSON and metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RunPhase::Running => "running",
            RunPhase::Paused => "paused",
            RunPhase::Stopping => "stopping",
        }
    }
}

/// Load that a run aims at, by its options and by whoever has steered it since.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Aim {
    /// The users that the run is on its way to: those at the end of the current stage, none once it stops. In a run
    /// at a rate, the most at a time.
    pub users: u64,
    /// The iterations per second that the run is on its way to; only in a run at a rate.
    pub rate: Option<f64>,
    /// When the run is to end by itself, since it began and with the pauses so far; `None` for never.
    pub ends: Option<Duration>,
    /// The same without any pause, as [`Snapshot::played`] counts.
    pub lasts: Option<Duration>,
    /// The stage that it is in, counted from 1, and how many there are; `None` without stages.
    pub stage: Option<(u64, u64)>,
    /// Iterations that all users are to run together; `None` where nothing but time ends them.
    pub iterations: Option<u64>,
    /// When the warm-up ends, since the run began; `None` once it has, and without one.
    pub warmup_ends: Option<Duration>,
}

/// How far a run has come, and what is wanted of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Phase of the run.
    pub phase: RunPhase,
    /// Load that the run aims at.
    pub wanted: Aim,
    /// Time since the run began.
    pub elapsed: Duration,
    /// The same without pauses, which stands still while the run does.
    pub played: Duration,
    /// What the figures cover: since the run began or the figures were reset.
    pub measured: Duration,
    /// Measured time without pauses, by which rates are divided.
    pub active: Duration,
}

impl Progress {
    /// Returns when the measurement began, since the run began.
    pub fn measured_since(&self) -> Duration {
        self.elapsed.saturating_sub(self.measured)
    }
}

/// State of a run at one tick.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Phase, aim and times of the run.
    pub progress: Progress,
    /// Users at work now.
    pub users: u64,
    /// The loads of the run, where scenarios have some of their own; else empty.
    pub loads: Arc<[LiveLoad]>,
    /// Requests of all names.
    pub requests: LiveRequests,
    /// Tags that requests have so far, as `region=eu`, in the order of the alphabet.
    pub tags: Arc<[Arc<str>]>,
    /// Each scenario with its users now.
    pub scenarios: Vec<ScenarioRow>,
    /// Named checks of the plan so far.
    pub checks: Arc<[Check]>,
    /// Custom metrics of the plan so far.
    pub metrics: Arc<[Metric]>,
    /// The most frequent errors first, at most 20, and what was left out.
    pub errors: Vec<ErrorRow>,
    /// Starts of a run at a rate.
    pub arrivals: LiveArrivals,
    /// Connections open now; 0 with `--client reqwest`.
    pub connections: u64,
    /// Warnings of lgoose about the run.
    pub warnings: Arc<[String]>,
    /// Thresholds with their current figures: of the whole run so far, or of the last stretch.
    pub thresholds: Vec<ThresholdRow>,
    /// The last two minutes, one point a second (coarser in runs of more than an hour).
    pub recent: Vec<SeriesPoint>,
    /// What happened lately in the measurement under way, in order of time; at most 50.
    pub events: Vec<Event>,
    /// Workers in the order in which they joined; renewed once a second where there are many. Empty in a run of
    /// this process alone.
    pub workers: Arc<[LiveWorker]>,
}

/// Figures of one worker in a [`Snapshot`].
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LiveWorker {
    /// Name of the worker.
    pub name: Arc<str>,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Version of lgoose there.
    pub version: Arc<str>,
    /// Threads that drive users there.
    pub threads: u64,
    /// Users at work now.
    pub users: u64,
    /// Requests so far.
    pub requests: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Requests per second over the last 10 s.
    pub rate_now: f64,
    /// 95th percentile of its latencies so far; zero without requests.
    pub p95: Duration,
    /// Share of its latest second that its busiest thread was busy, from 0 to 1.
    pub busy: f64,
    /// Mean delay of the timers of its latest thread in that second.
    pub lag: Duration,
    /// Whether it and not the target set the latency in that second.
    pub saturated: bool,
    /// What its wall clock shows more than the manager's, in milliseconds.
    pub offset_ms: f64,
    /// The most by which `offset_ms` may be wrong.
    pub offset_within_ms: f64,
    /// State of the worker.
    pub state: WorkerState,
}

impl LiveWorker {
    /// Returns its labels on one line: `region=eu zone=a`.
    pub fn labels_text(&self) -> String {
        labels_text(&self.labels)
    }
}

/// One of several loads of a run.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LiveLoad {
    /// The scenario whose own load it is; `None` for the load that all others share.
    pub scenario: Option<Arc<str>>,
    /// The users that it is on its way to, begun or not; of one at a rate, the most at a time.
    pub users: u64,
    /// The iterations per second that it is on its way to; only of one at a rate.
    pub rate: Option<f64>,
    /// Whether it has begun and has not ended.
    pub is_under_way: bool,
}

/// Requests of one tag at a moment.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LiveTag {
    /// The tag with its value: `region=eu`.
    pub tag: Arc<str>,
    /// Figures as in a [`Snapshot`]; those of the worst second are not known by tag and zero.
    pub requests: LiveRequests,
    /// All figures, if they were asked for.
    pub row: Option<TagRow>,
}

impl LiveTag {
    /// Returns the name of the scenario whose requests these are, if the tag is that of one.
    pub fn scenario(&self) -> Option<&str> {
        let (key, scenario) = self.tag.split_once('=')?;
        (key == SCENARIO).then_some(scenario)
    }
}

/// Requests in a [`Snapshot`].
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LiveRequests {
    /// Figures of all of them together; method and name are empty.
    pub total: LiveRow,
    /// Median, 95th and 99th percentile of the successful ones alone; zero if there are none.
    pub ok: [Duration; 3],
    /// Body and head bytes received.
    pub bytes: u64,
    /// One row a request name, in the order of first appearance.
    pub rows: Vec<LiveRow>,
}

/// Starts of iterations in a [`Snapshot`] of a run at a rate; zero in a run of users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveArrivals {
    /// Iterations that found no free user.
    pub dropped: u64,
    /// How late 99 % of them were started at most.
    pub late_p99: Duration,
}

/// Figures of one request name in a [`Snapshot`]. Latencies are zero as long as `count` is.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LiveRow {
    /// `GET`.
    pub method: Arc<str>,
    /// Name given by the plan.
    pub name: Arc<str>,
    /// Requests so far.
    pub count: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Requests per second over all the measured time.
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
    /// The highest that p50, p95, p99 and the longest were in a second of the last ten that are over; zero
    /// without a request in them.
    pub worst_now: [Duration; 4],
}
