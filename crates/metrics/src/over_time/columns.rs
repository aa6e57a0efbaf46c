//! Series of one request name over time, as columns of equal length.
//!
//! Columns instead of points: with 100 names there would be hundreds of thousands of points, and scripts want tables of
//! numbers.

use crate::delta::plausible;
use crate::latencies::ExactFigures;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The requests of one name over time, as columns with one value per interval. Intervals without requests are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NameSeries {
    /// Start of each interval, in whole seconds since the start of the measurement.
    #[serde(deserialize_with = "plausible::count")]
    pub second: Vec<u64>,
    /// Length of each interval in seconds, without pauses: one, or more in long runs or with many names; rates are
    /// counts divided by this.
    pub seconds: Vec<f64>,
    /// Requests that ended in each interval.
    #[serde(deserialize_with = "plausible::count")]
    pub count: Vec<u64>,
    /// Failed requests among them.
    #[serde(deserialize_with = "plausible::count")]
    pub failures: Vec<u64>,
    /// Shortest latency in milliseconds; exact, like the next two columns.
    pub min_ms: Vec<f64>,
    /// Longest latency in milliseconds.
    pub max_ms: Vec<f64>,
    /// Sum of all latencies in milliseconds.
    pub sum_ms: Vec<f64>,
    /// Median latency in milliseconds. This and the next two columns are accurate to 0.1 % or half a microsecond, or to
    /// 0.4 % for joined intervals.
    pub p50_ms: Vec<f64>,
    /// 95th percentile in milliseconds.
    pub p95_ms: Vec<f64>,
    /// 99th percentile in milliseconds.
    pub p99_ms: Vec<f64>,
    /// Latencies in microseconds to two significant digits, each interval as an HdrHistogram V2 (not compressed) in
    /// base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<String>,
    /// Latencies of the failed requests among them, in the same form; empty for an interval without failures, and absent if
    /// no interval has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_histogram: Vec<String>,
}

impl NameSeries {
    /// Returns whether the series is empty.
    pub fn is_empty(&self) -> bool {
        self.second.is_empty()
    }

    /// Adds an interval, with the figures, the failures and the percentiles of its requests.
    pub(crate) fn push(
        &mut self,
        second: u64,
        lasted: Duration,
        exact: &ExactFigures,
        failures: u64,
        percentiles: [Duration; 3],
    ) {
        let [p50, p95, p99] = percentiles.map(ms);
        self.second.push(second);
        self.seconds.push(rounded(lasted.as_secs_f64(), 1e3));
        self.count.push(exact.count);
        self.failures.push(failures);
        self.min_ms.push(ms(exact.min()));
        self.max_ms.push(ms(exact.max()));
        self.sum_ms.push(rounded(exact.sum_ms(), 1e4));
        self.p50_ms.push(p50);
        self.p95_ms.push(p95);
        self.p99_ms.push(p99);
    }
}

fn ms(time: Duration) -> f64 {
    rounded(time.as_secs_f64() * 1e3, 1e4)
}

/// Rounds to a short decimal number: more digits than a histogram has are noise.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
