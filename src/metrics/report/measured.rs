//! Checks and metrics of a plan in the report.

use serde::{Deserialize, Serialize};

/// A named check of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Check {
    /// Name given by the plan.
    pub name: String,
    /// How often it held.
    pub passes: u64,
    /// How often it did not.
    pub failures: u64,
}

/// A custom metric of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Metric {
    /// Name given by the plan.
    pub name: String,
    /// Kind of the metric.
    pub kind: MetricKind,
    /// How many values were added.
    pub count: u64,
    /// Sum, last value, share from 0 to 1 or mean, by kind; `null` when nothing was added.
    pub value: Option<f64>,
    /// Smallest value, exact; `null` but for gauges and trends.
    pub min: Option<f64>,
    /// Largest value, exact; `null` but for gauges and trends.
    pub max: Option<f64>,
    /// Median; `null` but for trends. This and all percentiles are within 0.1 %, and never outside `min` and
    /// `max`.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// The kinds of custom metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MetricKind {
    /// A sum.
    Counter,
    /// A level: the latest value, the smallest and the largest.
    Gauge,
    /// The share of values that were true.
    Rate,
    /// A distribution: mean, extremes and percentiles.
    Trend,
}
