//! The result of a search for the greatest load that a site can take. Filled in by `lgoose capacity`.

use crate::delta::plausible;
use serde::{Deserialize, Serialize};

/// Result of a search for the greatest load that a site can take. The report that contains it is that of the confirming
/// run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Capacity {
    /// What the search raised: iterations started per second, or users.
    pub by: LoadKind,
    /// The rate of good iterations, in which nothing failed, at the greatest load that held, per second; absent if none held, and
    /// in a search by users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The greatest number of users that held; absent if none held, and in a search by rate.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "plausible::count"
    )]
    pub users: Option<u64>,
    /// The greatest load that held; `null` if none held.
    pub low: Option<f64>,
    /// The smallest load above `low` that failed; `null` if none failed.
    pub high: Option<f64>,
    /// The limit that breaks first: a limit of `--slo` as given, or `drift`, `failures` or `no answer`; `null` if none
    /// broke.
    pub limited_by: Option<String>,
    /// How the search ended.
    pub outcome: CapacityOutcome,
    /// Whether a separate run has confirmed `low`.
    pub confirmed: bool,
    /// The limits that each step had to keep.
    #[serde(default)]
    pub slo: Vec<String>,
    /// Width of the interval from `low` to `high` that the search aimed at, as a share of `low`.
    pub within: f64,
    /// The result in one sentence.
    pub text: String,
    /// Steps, in the order in which they ran.
    #[serde(default)]
    pub steps: Vec<CapacityStep>,
    /// The load beyond which latency grows faster than before; `null` if the steps show none.
    pub knee: Option<f64>,
    /// The universal scalability law fitted to the steps; `null` if there are too few or they do not follow it.
    pub usl: Option<Usl>,
}

/// What a search raises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoadKind {
    /// Iterations started per second, however long responses take.
    #[default]
    Rate,
    /// Concurrent users.
    Users,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CapacityOutcome {
    /// The greatest load that holds was found and confirmed.
    Found,
    /// The greatest allowed load (`--to`) holds.
    AtLeast,
    /// The first step already failed.
    FirstStepFails,
    /// Not even the first load held long enough.
    NothingHolds,
    /// lgoose, not the site, was the limit.
    Generator,
    /// The site did not recover after a step.
    NotRecovered,
    /// The load that seemed to hold failed repeatedly in the confirming run.
    NotConfirmed,
    /// The time for the search (`--time`) was up; `low` and `high` are the best interval until then.
    TimeUp,
    /// Iterations take longer than the steps, which show too little of them.
    StepsTooShort,
    /// The search was stopped.
    #[default]
    Stopped,
}

/// A step of a search: one load, applied until its figures were steady.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct CapacityStep {
    /// Iterations started per second, or users.
    pub load: f64,
    /// Whether the step was run to confirm the result.
    pub confirms: bool,
    /// Result of the step.
    pub result: StepResult,
    /// Why the load did not hold, in words; `null` if it held.
    pub reason: Option<String>,
    /// The limit that the step broke, as in [`Capacity::limited_by`], or `lgoose` or `users` if lgoose was the limit;
    /// `null` if none.
    pub limited_by: Option<String>,
    /// Seconds at the start of the step that were left out as transient.
    pub settling_s: f64,
    /// Seconds that were judged.
    pub measured_s: f64,
    /// Requests in `measured_s`.
    #[serde(deserialize_with = "plausible::count")]
    pub count: u64,
    /// Failed requests among them.
    #[serde(deserialize_with = "plausible::count")]
    pub failures: u64,
    /// Successful requests per second.
    pub throughput: f64,
    /// Iterations that started in `measured_s`; `null` in a search by users.
    #[serde(default, deserialize_with = "plausible::count")]
    pub iterations_started: Option<u64>,
    /// Iterations that ended in it.
    #[serde(default, deserialize_with = "plausible::count")]
    pub iterations_ended: u64,
    /// Iterations among those in which a request or task failed.
    #[serde(default, deserialize_with = "plausible::count")]
    pub iterations_failed: u64,
    /// Seconds within which 99 % of those were over, in the scenario whose iterations take longest; `null` if none ended.
    #[serde(default)]
    pub iteration_s: Option<f64>,
    /// Mean number of requests in flight, by Little's law: requests per second times mean latency.
    pub concurrency: f64,
    /// Mean latency in milliseconds; `null` without requests, like the next three.
    pub avg_ms: Option<f64>,
    /// Median latency.
    pub p50_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// The figure for each limit of `slo`, in its unit; `null` if there was no data.
    #[serde(default)]
    pub figures: Vec<Option<f64>>,
    /// Length of the pause after the step, with a light load, in seconds.
    pub pause_s: f64,
    /// Whether the site was as fast after the pause as at first; `null` if that was not measured.
    pub recovered: Option<bool>,
}

/// Result of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// The figures were steady and within all limits.
    Held,
    /// The figures were not steady, or broke a limit.
    Failed,
    /// lgoose, not the site, was the limit.
    Generator,
    /// Fewer iterations ended than started when the step was over: it says nothing about the load.
    TooShort,
    /// The step was stopped.
    #[default]
    Stopped,
}

/// The fitted universal scalability law: N requests in flight get λN / (1 + α(N − 1) + βN(N − 1)) responses per second
/// (N. J. Gunther, *Guerrilla Capacity Planning*, Springer 2007).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Usl {
    /// Responses per second with one request in flight (λ).
    pub lambda: f64,
    /// Contention (α): the share of the work that is done serially.
    pub alpha: f64,
    /// Coherency (β): what each pair of requests in flight costs the others.
    pub beta: f64,
    /// Share of the variance of the responses per second that the law explains, from 0 to 1.
    pub r_squared: f64,
    /// The most responses per second that the law allows; `null` if it has no maximum, or one far beyond all
    /// measurements.
    pub peak: Option<f64>,
    /// Requests in flight at `peak`; `null` in the same cases.
    pub peak_concurrency: Option<f64>,
    /// What the coefficients mean, in one sentence.
    pub text: String,
}

impl Capacity {
    /// Returns a load with its unit: `340 iterations/s`, `12 users`.
    pub fn shown(&self, load: f64) -> String {
        self.by.shown(load)
    }
}

impl LoadKind {
    /// Returns a load with its unit: `340 iterations/s`, `12 users`.
    pub fn shown(self, load: f64) -> String {
        match self {
            LoadKind::Rate if load == 1.0 => "1 iteration/s".to_owned(),
            LoadKind::Rate => format!("{} iterations/s", self.number(load)),
            LoadKind::Users => lgoose_base::units::counted(load as u64, "user"),
        }
    }

    /// Returns a load without its unit: `340`, `0.25`.
    pub fn number(self, load: f64) -> String {
        if load.fract() == 0.0 {
            lgoose_base::units::show_count(load as u64)
        } else {
            format!("{load}")
        }
    }
}

impl StepResult {
    /// Returns the word for it in tables.
    pub fn word(self) -> &'static str {
        match self {
            StepResult::Held => "held",
            StepResult::Failed => "failed",
            StepResult::Generator => "lgoose too slow",
            StepResult::TooShort => "too short",
            StepResult::Stopped => "stopped",
        }
    }
}
