//! Points of a run over time.

use serde::{Deserialize, Serialize};

/// All requests that ended within a stretch of the run: a second, more in runs of over an hour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SeriesPoint {
    /// Whole seconds from the start of the measurement to the start of this point.
    pub second: u64,
    /// Length of the point in seconds, pauses left out; rates divide by it. The last point may be a fragment of a
    /// second.
    pub seconds: f64,
    /// Users at the end of the point; where points were joined, the most.
    pub users: u64,
    /// Requests that ended within the point.
    pub count: u64,
    /// Failed requests among them.
    pub failures: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Latencies of its requests, on the same level in JSON.
    #[serde(flatten)]
    pub latency: PointLatency,
    /// Requests under way at its end; where points were joined, the most.
    #[serde(default)]
    pub under_way: u64,
    /// Age of the oldest of them in milliseconds; where points were joined, the greatest.
    #[serde(default)]
    pub oldest_ms: f64,
    /// How hard lgoose itself worked, on the same level in JSON.
    #[serde(flatten)]
    pub generator: PointGenerator,
    /// Latencies in microseconds to two significant digits: HdrHistogram V2 (not compressed), base64; empty without
    /// requests, and in what live views get.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub histogram: String,
}

impl SeriesPoint {
    /// Returns the requests per second. `None` for a fragment of less than half a second: what happened in so short
    /// a time says little of a second.
    pub fn rate(&self) -> Option<f64> {
        self.rate_of(self.count)
    }

    /// Returns the rate of some of its requests, likewise.
    pub fn rate_of(&self, count: u64) -> Option<f64> {
        (self.seconds >= 0.5).then(|| count as f64 / self.seconds)
    }
}

/// Latencies of the requests of a [`SeriesPoint`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PointLatency {
    /// Shortest latency in milliseconds, exact; `null` without requests.
    #[serde(default)]
    pub min_ms: Option<f64>,
    /// Longest latency in milliseconds, exact; `null` without requests.
    #[serde(default)]
    pub max_ms: Option<f64>,
    /// Sum of all latencies in milliseconds; their mean is this divided by `count`.
    #[serde(default)]
    pub sum_ms: f64,
    /// Median latency in milliseconds; it and the next two are within 0.1 % or half a microsecond, or within 0.4 %
    /// where points were joined; `null` without requests.
    pub p50_ms: Option<f64>,
    /// 95th percentile in milliseconds.
    pub p95_ms: Option<f64>,
    /// 99th percentile in milliseconds.
    pub p99_ms: Option<f64>,
    /// 95th percentile of those that succeeded; where points were joined, the highest. `null` if none did.
    #[serde(default)]
    pub ok_p95_ms: Option<f64>,
    /// The same of those that failed.
    #[serde(default)]
    pub failed_p95_ms: Option<f64>,
}

/// How hard lgoose itself worked in a [`SeriesPoint`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PointGenerator {
    /// Share of its time that lgoose's busiest thread was busy, from 0 to 1; where points were joined, the worse of
    /// them.
    #[serde(default)]
    pub busy: f64,
    /// Mean delay of the timers of the latest thread, in milliseconds; joined likewise.
    #[serde(default)]
    pub lag_ms: f64,
    /// Whether lgoose and not the target set the latency; joined likewise.
    #[serde(default)]
    pub saturated: bool,
    /// lgoose's own part of the median, estimated, in milliseconds; joined likewise. `null` if it was not measured.
    #[serde(default)]
    pub own_p50_ms: Option<f64>,
    /// lgoose's own part of the 99th percentile, likewise.
    #[serde(default)]
    pub own_p99_ms: Option<f64>,
}
