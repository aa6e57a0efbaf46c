//! Series of one request name over time, as columns of equal length.
//!
//! Columns and not points: with 100 names there are hundreds of thousands of them, and a table of numbers is
//! what scripts want.

use serde::{Deserialize, Serialize};

/// The requests of one name over time. A stretch without any is left out, so times are told and not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NameSeries {
    /// Start of each stretch, in whole seconds since the start of the measurement.
    pub second: Vec<u64>,
    /// Length of each stretch in seconds, pauses left out: one, more in long runs or with many names; rates divide
    /// by it.
    pub seconds: Vec<f64>,
    /// Requests that ended in each stretch.
    pub count: Vec<u64>,
    /// Failed requests among them.
    pub failures: Vec<u64>,
    /// Shortest latency of each stretch in milliseconds, exact like the next two columns.
    pub min_ms: Vec<f64>,
    /// Longest latency in milliseconds.
    pub max_ms: Vec<f64>,
    /// Sum of all latencies in milliseconds.
    pub sum_ms: Vec<f64>,
    /// Median latency in milliseconds; it and the next two are within 0.1 % or half a microsecond, or within 0.4 %
    /// where stretches were joined.
    pub p50_ms: Vec<f64>,
    /// 95th percentile in milliseconds.
    pub p95_ms: Vec<f64>,
    /// 99th percentile in milliseconds.
    pub p99_ms: Vec<f64>,
    /// Latencies of each stretch in microseconds to two significant digits: HdrHistogram V2 (not compressed),
    /// base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<String>,
}

impl NameSeries {
    /// Returns whether the series has no stretch.
    pub fn is_empty(&self) -> bool {
        self.second.is_empty()
    }
}
