//! Traces of requests, for finding them in the tracing system of the site.

use crate::delta::plausible;
use serde::{Deserialize, Serialize};

/// The trace of a request, as sent in its `traceparent`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct TraceRow {
    /// ID of the trace, 32 hexadecimal digits.
    pub trace_id: String,
    /// ID of the request's span, 16 hexadecimal digits: the parent of the site's own span.
    pub span_id: String,
    /// Whether the site was asked to keep the trace; if not, it may not be found there.
    pub sampled: bool,
    /// The hops after redirects, each with its own span below that of the request.
    pub hops: Vec<HopRow>,
}

/// A hop of a request after a redirect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct HopRow {
    /// ID of the hop's span, 16 hexadecimal digits.
    pub span_id: String,
    /// Start of the hop, in nanoseconds since the start of the run.
    #[serde(deserialize_with = "plausible::large")]
    pub start_ns: u64,
}

/// One of the slowest requests of a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct SlowRequest {
    /// Start of the request, in nanoseconds since the start of the run, as in the request log.
    #[serde(deserialize_with = "plausible::large")]
    pub start_ns: u64,
    /// Number of the user, from 1; 0 for `test_start` and `test_stop`.
    #[serde(deserialize_with = "plausible::count")]
    pub user: u64,
    /// Scenario of the user.
    pub scenario: String,
    /// The task that made the request.
    pub task: String,
    /// URL of the request, at most the first 2 KiB.
    pub url: String,
    /// Status of the final response; 0 if there was none.
    pub status: u16,
    /// Why the request failed; `null` if it succeeded.
    pub error: Option<String>,
    /// Latency in milliseconds.
    pub latency_ms: f64,
    /// How many milliseconds after its scheduled start the request began in a run at a rate; else 0.
    pub delay_ms: f64,
    /// Trace of the request; `null` without `--trace`.
    pub trace: Option<TraceRow>,
}

/// The latest sampled request of a name in a latency bucket; only for a running test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatestTrace {
    /// ID of the trace.
    pub trace_id: u128,
    /// The latency in seconds, from the scheduled start in a run at a rate.
    pub latency_s: f64,
    /// End of the request, in nanoseconds since the start of the run.
    pub end_ns: u64,
}
