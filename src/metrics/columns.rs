//! How one request name went over time, as columns of equal length.
//!
//! Columns and not points: with 100 names there are hundreds of thousands of them, and a table of numbers is
//! what scripts want.

use serde::{Deserialize, Serialize};

/// The requests of one name over time. A stretch without any is left out, so times are told and not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NameSeries {
    /// Whole seconds from the start of the measurement to the start of each stretch.
    pub second: Vec<u64>,
    /// How long each lasted, pauses left out: a second, more in long runs or of many names; rates divide by it.
    pub seconds: Vec<f64>,
    /// Requests that ended in each.
    pub count: Vec<u64>,
    /// Of these, failed.
    pub failures: Vec<u64>,
    /// Shortest latency of each in milliseconds, exact as the next two.
    pub min_ms: Vec<f64>,
    /// Longest.
    pub max_ms: Vec<f64>,
    /// All latencies added up.
    pub sum_ms: Vec<f64>,
    /// Median latency in milliseconds, within 0.1 % or half a microsecond, or 0.4 % where stretches were joined, as
    /// all three.
    pub p50_ms: Vec<f64>,
    /// 95th percentile.
    pub p95_ms: Vec<f64>,
    /// 99th percentile.
    pub p99_ms: Vec<f64>,
    /// The latencies of each in microseconds to two significant digits: HdrHistogram V2 (not compressed), base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<String>,
}

impl NameSeries {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.second.is_empty()
    }
}
