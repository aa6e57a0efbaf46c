//! Points over time of a run.

use crate::delta::plausible;
use serde::{Deserialize, Serialize};

/// All requests that ended within an interval of the run: a second, or more in runs of over an hour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct SeriesPoint {
    /// Start of the point, in whole seconds since the start of the measurement.
    #[serde(deserialize_with = "plausible::count")]
    pub second: u64,
    /// Length of the point in seconds, without pauses; rates are counts divided by this. The last point may be shorter
    /// than a second.
    pub seconds: f64,
    /// Users at the end of the point; for joined points, the most of them.
    #[serde(deserialize_with = "plausible::count")]
    pub users: u64,
    /// Requests that ended within the point.
    #[serde(deserialize_with = "plausible::count")]
    pub count: u64,
    /// Failed requests among them.
    #[serde(deserialize_with = "plausible::count")]
    pub failures: u64,
    /// Bytes received.
    #[serde(deserialize_with = "plausible::bytes")]
    pub bytes: u64,
    /// Latencies of the requests; in JSON their keys are in the point itself.
    #[serde(flatten)]
    pub latency: PointLatency,
    /// Requests in flight at the end of the point; for joined points, the most of them.
    #[serde(default, deserialize_with = "plausible::count")]
    pub under_way: u64,
    /// Age of the oldest request in flight, in milliseconds; for joined points, the greatest of them.
    #[serde(default)]
    pub oldest_ms: f64,
    /// The load on lgoose itself; in JSON its keys are in the point itself.
    #[serde(flatten)]
    pub generator: PointGenerator,
    /// Latencies in microseconds to two significant digits, as an HdrHistogram V2 (not compressed) in base64; empty
    /// without requests and in live views.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub histogram: String,
    /// Latencies of the failed requests among them, in the same form; empty without failures and in live views.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed_histogram: String,
}

impl SeriesPoint {
    /// Returns the requests per second; `None` for a point of less than half a second, which says little about a whole
    /// second.
    pub fn rate(&self) -> Option<f64> {
        self.rate_of(self.count)
    }

    /// Returns the rate of `count` of its requests, under the same condition.
    pub fn rate_of(&self, count: u64) -> Option<f64> {
        (self.seconds >= 0.5).then(|| count as f64 / self.seconds)
    }
}

/// Latencies of the requests of a [`SeriesPoint`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
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
    /// Median latency in milliseconds; `null` without requests, like the next two. These three are accurate to 0.1 % or
    /// half a microsecond, or to 0.4 % for joined points.
    pub p50_ms: Option<f64>,
    /// 95th percentile in milliseconds.
    pub p95_ms: Option<f64>,
    /// 99th percentile in milliseconds.
    pub p99_ms: Option<f64>,
    /// 95th percentile of the successful requests in milliseconds; for joined points, the highest of them; `null` if
    /// none succeeded.
    #[serde(default)]
    pub ok_p95_ms: Option<f64>,
    /// 95th percentile of the failed requests in milliseconds; for joined points, the highest of them; `null` if none
    /// failed.
    #[serde(default)]
    pub failed_p95_ms: Option<f64>,
}

/// The load on lgoose itself in a [`SeriesPoint`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct PointGenerator {
    /// Share of the time in which lgoose's busiest thread was busy, from 0 to 1; for joined points, the worst of them.
    #[serde(default)]
    pub busy: f64,
    /// Mean delay of the timers in the thread where it was longest, in milliseconds; for joined points, the worst of
    /// them.
    #[serde(default)]
    pub lag_ms: f64,
    /// Whether lgoose and not the target set the latency; for joined points, in any of them.
    #[serde(default)]
    pub saturated: bool,
    /// Estimate of the part of the median latency that is due to lgoose, in milliseconds; for joined points, the worst
    /// of them; `null` if it was not measured.
    #[serde(default)]
    pub own_p50_ms: Option<f64>,
    /// The same for the 99th percentile.
    #[serde(default)]
    pub own_p99_ms: Option<f64>,
}
