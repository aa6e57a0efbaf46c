//! What a search for the greatest load that a site holds has found. Filled in by `lgoose capacity`.

use serde::{Deserialize, Serialize};

/// Result of a search for the greatest load that a site holds, beside the report of the run that confirmed it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Capacity {
    /// What was raised: iterations started per second, or users.
    pub by: LoadKind,
    /// The greatest rate that held, in iterations started per second; absent if none did, and in a search by users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The most users that held; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// The greatest load that held; `null` if none did.
    pub low: Option<f64>,
    /// The least load above it that failed; `null` if none did.
    pub high: Option<f64>,
    /// The limit that breaks first: a limit of `--slo` as it was written, or `drift`, `failures`, `no answer`; `null`
    /// if none broke.
    pub limited_by: Option<String>,
    /// How the search ended.
    pub outcome: CapacityOutcome,
    /// Whether a run of its own has confirmed `low`.
    pub confirmed: bool,
    /// The limits that had to be kept.
    #[serde(default)]
    pub slo: Vec<String>,
    /// Width of the interval that was wanted, as a share of `low`.
    pub within: f64,
    /// The result in one sentence.
    pub text: String,
    /// Steps in the order in which they were run.
    #[serde(default)]
    pub steps: Vec<CapacityStep>,
    /// The load beyond which latency grows faster than before; `null` if the steps show none.
    pub knee: Option<f64>,
    /// The universal scalability law fitted to the steps; `null` if they are too few or do not follow it.
    pub usl: Option<Usl>,
}

/// What a search raises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LoadKind {
    /// Iterations started per second, however long answers take.
    #[default]
    Rate,
    /// Users at the same time.
    Users,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CapacityOutcome {
    /// The greatest load that holds was found and confirmed.
    Found,
    /// The greatest load that was allowed (`--to`) holds.
    AtLeast,
    /// The first step failed already.
    FirstStepFails,
    /// Not even the first load held long enough.
    NothingHolds,
    /// lgoose and not the site was the limit.
    Generator,
    /// The site did not recover after a step.
    NotRecovered,
    /// What seemed to hold failed again and again in the run that was to confirm it.
    NotConfirmed,
    /// Somebody stopped the search.
    #[default]
    Stopped,
}

/// A step of a search: one load, held until its figures were steady.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CapacityStep {
    /// Iterations started per second, or users.
    pub load: f64,
    /// Whether the run was to confirm the result.
    pub confirms: bool,
    /// Its result.
    pub result: StepResult,
    /// Why it did not hold, in words; `null` if it did.
    pub reason: Option<String>,
    /// The limit that it broke, as in [`Capacity::limited_by`]; `null` if none.
    pub limited_by: Option<String>,
    /// Seconds at its beginning that were left out as transient.
    pub settling_s: f64,
    /// Seconds that were judged.
    pub measured_s: f64,
    /// Requests in them.
    pub count: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Requests that succeeded per second.
    pub throughput: f64,
    /// Requests under way on average, by Little's law: requests per second times their mean latency.
    pub concurrency: f64,
    /// Mean latency in milliseconds; `null` without requests, as the next three.
    pub avg_ms: Option<f64>,
    /// Median latency.
    pub p50_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// The figure of each limit of `slo`, in its unit; `null` is no data.
    #[serde(default)]
    pub figures: Vec<Option<f64>>,
    /// Seconds of the pause after it, with a light load.
    pub pause_s: f64,
    /// Whether the site was as quick after that as at first; `null` if nobody looked.
    pub recovered: Option<bool>,
}

/// Results of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepResult {
    /// Its figures were steady and kept every limit.
    Held,
    /// They were not.
    Failed,
    /// lgoose and not the site was the limit.
    Generator,
    /// Somebody stopped it.
    #[default]
    Stopped,
}

/// The universal scalability law, fitted: N requests under way get λN / (1 + α(N − 1) + βN(N − 1)) answers per second
/// (N. J. Gunther, *Guerrilla Capacity Planning*, Springer 2007).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Usl {
    /// Answers per second of one request at a time (λ).
    pub lambda: f64,
    /// Contention: the share of the work that is done one after the other.
    pub alpha: f64,
    /// Coherency: what each pair of requests under way costs the others.
    pub beta: f64,
    /// Share of the variance of the answers per second that the law explains, from 0 to 1.
    pub r_squared: f64,
    /// Answers per second that the law allows at most; `null` if it knows none, or one far beyond
    /// all that was measured.
    pub peak: Option<f64>,
    /// Requests under way at that peak; `null` likewise.
    pub peak_concurrency: Option<f64>,
    /// What the coefficients mean, in one sentence.
    pub text: String,
}

impl Capacity {
    /// Returns a load as it is read: `340 iterations/s`, `12 users`.
    pub fn shown(&self, load: f64) -> String {
        self.by.shown(load)
    }
}

impl LoadKind {
    /// Returns a load as it is read: `340 iterations/s`, `12 users`.
    pub fn shown(self, load: f64) -> String {
        match self {
            LoadKind::Rate if load == 1.0 => "1 iteration/s".to_owned(),
            LoadKind::Rate => format!("{} iterations/s", self.number(load)),
            LoadKind::Users => crate::units::counted(load as u64, "user"),
        }
    }

    /// Returns a load without its unit: `340`, `0.25`.
    pub fn number(self, load: f64) -> String {
        match load.fract() == 0.0 {
            true => crate::units::show_count(load as u64),
            false => format!("{load}"),
        }
    }
}

impl StepResult {
    /// Returns its word in tables.
    pub fn word(self) -> &'static str {
        match self {
            StepResult::Held => "held",
            StepResult::Failed => "failed",
            StepResult::Generator => "lgoose too slow",
            StepResult::Stopped => "stopped",
        }
    }
}
