//! Latencies corrected for coordinated omission, as in the report.

use super::latency::Latency;
use crate::delta::plausible;
use lgoose_base::units::{show_count, show_duration};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Cadence that the cycles of a user are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Cadence {
    /// Mean of the user's cycles so far.
    Average,
    /// Shortest of the user's cycles so far.
    Minimum,
    /// Longest of the user's cycles so far.
    Maximum,
}

/// Latencies corrected for coordinated omission: while users waited for a slow response, they did not make the requests
/// that they would otherwise have made at their usual pace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct CoMitigation {
    /// Cadence that the cycles of a user are compared with.
    pub cadence: Cadence,
    /// Number of cycles that took more than twice the cadence of their user.
    #[serde(deserialize_with = "plausible::count")]
    pub late_cycles: u64,
    /// Mean cadence of the users of those cycles; `null` if there were none.
    pub cadence_ms: Option<f64>,
    /// The 99th percentile as measured, for comparison with the one in `aggregated`; `null` without requests.
    #[serde(default)]
    pub measured_p99_ms: Option<f64>,
    /// One row for each request name for which requests were filled in.
    pub requests: Vec<CoRow>,
    /// All requests together.
    pub aggregated: CoFigures,
}

impl CoMitigation {
    /// Returns a warning about the percentiles of a run of users if coordinated omission hides much.
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

/// Corrected figures for one request name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct CoRow {
    /// `GET`; empty in the row `(other)`.
    pub method: String,
    /// Name from the plan.
    pub name: String,
    /// The figures; in JSON their keys are in the row itself.
    #[serde(flatten)]
    pub figures: CoFigures,
}

/// Latencies of measured and filled-in requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct CoFigures {
    /// Number of requests, measured and filled in.
    #[serde(deserialize_with = "plausible::count")]
    pub count: u64,
    /// Number of filled-in requests among them.
    #[serde(deserialize_with = "plausible::count")]
    pub filled: u64,
    /// Latency of all of them; `null` if there were none.
    pub latency_ms: Option<Latency>,
    /// Latencies in microseconds, as an HdrHistogram V2 (not compressed) in base64.
    pub histogram: String,
}
