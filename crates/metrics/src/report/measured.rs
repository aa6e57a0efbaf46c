//! Checks and metrics of a plan, as in the report.

use crate::delta::plausible;
use serde::{Deserialize, Serialize};

/// A named check of the plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Check {
    /// Name from the plan.
    pub name: String,
    /// How often the check passed.
    #[serde(deserialize_with = "plausible::count")]
    pub passes: u64,
    /// How often the check failed.
    #[serde(deserialize_with = "plausible::count")]
    pub failures: u64,
    /// When it first failed, in seconds since the start of the measurement; `null` if it never did.
    #[serde(default)]
    pub first_failed_s: Option<f64>,
}

/// A custom metric of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Metric {
    /// Name from the plan.
    pub name: String,
    /// Kind of the metric.
    pub kind: MetricKind,
    /// Number of values that were added.
    #[serde(deserialize_with = "plausible::count")]
    pub count: u64,
    /// Sum, last value, share from 0 to 1, or mean, depending on the kind; `null` if nothing was added.
    pub value: Option<f64>,
    /// Smallest value, exact; only for gauges and trends, else `null`.
    pub min: Option<f64>,
    /// Largest value, exact; only for gauges and trends, else `null`.
    pub max: Option<f64>,
    /// Median; only for trends, else `null`. All percentiles are accurate to 0.1 %, and always between `min` and `max`.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// Kind of a custom metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MetricKind {
    /// A sum.
    Counter,
    /// A level: the latest, the smallest and the largest value.
    Gauge,
    /// The share of values that were true.
    Rate,
    /// A distribution: mean, extremes and percentiles.
    Trend,
}
