//! Latencies corrected for coordinated omission, in the report.

use super::latency::Latency;
use crate::units::{show_count, show_duration};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Cadences that a user's cycle is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Cadence {
    /// The mean of its cycles so far.
    Average,
    /// The shortest of them.
    Minimum,
    /// The longest of them.
    Maximum,
}

/// Latencies corrected for coordinated omission: while users waited for a slow answer, they did not make the
/// requests that they would have made at their pace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CoMitigation {
    /// Cadence that a user's cycle is compared with.
    pub cadence: Cadence,
    /// Cycles that took more than twice the cadence of their user.
    pub late_cycles: u64,
    /// Mean cadence of those users; `null` if none was late.
    pub cadence_ms: Option<f64>,
    /// The 99th percentile as measured, to compare with that of `aggregated`; `null` without requests.
    #[serde(default)]
    pub measured_p99_ms: Option<f64>,
    /// One row for each request name for which something was filled in.
    pub requests: Vec<CoRow>,
    /// All requests together.
    pub aggregated: CoFigures,
}

impl CoMitigation {
    /// Returns a warning for readers of the percentiles of a run of users, if these hide much.
    pub(crate) fn warning(&self) -> Option<String> {
        let (measured, corrected) = (self.measured_p99_ms?, self.aggregated.latency_ms?.p99);
        (corrected > 1.5 * measured).then(|| {
            format!(
                "while users waited, they did not make {} requests that they would have made at their pace: with those, p99 is {} instead of {} (coordinated omission); for latencies as visitors see them, run at a rate ('--rate')",
                show_count(self.aggregated.filled),
                show_ms(corrected),
                show_ms(measured),
            )
        })
    }
}

fn show_ms(ms: f64) -> String {
    show_duration(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default())
}

/// The corrected figures of one request name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CoRow {
    /// `GET`; empty in the row `(other)`.
    pub method: String,
    /// Name given by the plan.
    pub name: String,
    /// The figures, on the same level in JSON.
    #[serde(flatten)]
    pub figures: CoFigures,
}

/// Latencies of measured requests and of those that were filled in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CoFigures {
    /// Requests that were made or filled in.
    pub count: u64,
    /// Requests among them that were filled in.
    pub filled: u64,
    /// Latency of all of them; `null` when there were none.
    pub latency_ms: Option<Latency>,
    /// Latencies in microseconds: HdrHistogram V2 (not compressed), base64.
    pub histogram: String,
}
