//! Latencies in a report, and their phases.

use serde::{Deserialize, Serialize};

/// A distribution of latencies in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Latency {
    /// Mean, exact.
    pub avg: f64,
    /// Shortest, exact.
    pub min: f64,
    /// Longest, exact.
    pub max: f64,
    /// Median. All percentiles are accurate to 0.1 % or half a microsecond, and always between `min` and `max`.
    pub p50: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 98th percentile.
    pub p98: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: f64,
    /// 99.99th percentile.
    #[serde(rename = "p99.99")]
    pub p99_99: f64,
    /// Standard deviation of all of them (not of a sample), as accurate as the percentiles; absent in reports of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdev: Option<f64>,
}

/// Mean milliseconds of each phase, over the requests that had it; `null` if none had it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct PhasesMs {
    /// Looking up the host name.
    pub dns: Option<f64>,
    /// Opening the TCP connection.
    pub connect: Option<f64>,
    /// The TLS handshake.
    pub tls: Option<f64>,
    /// Writing the request.
    pub send: Option<f64>,
    /// Waiting for the first byte of the response.
    pub first_byte: Option<f64>,
    /// Receiving the response, from the first to the last byte.
    pub receive: Option<f64>,
}

impl PhasesMs {
    /// Takes the milliseconds of the phases in the order in which they happen.
    pub(crate) fn in_order(phases: [Option<f64>; 6]) -> PhasesMs {
        let [dns, connect, tls, send, first_byte, receive] = phases;
        PhasesMs {
            dns,
            connect,
            tls,
            send,
            first_byte,
            receive,
        }
    }
}
