//! Traces of requests, for finding them in the site's own tracing.

use serde::{Deserialize, Serialize};

/// The trace of a request, as its `traceparent` carried it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TraceRow {
    /// The trace, 32 hexadecimal digits.
    pub trace_id: String,
    /// The span of the request, 16 hexadecimal digits: the parent of the site's own.
    pub span_id: String,
    /// Whether the site was asked to keep the trace; one that was not may not be found there.
    pub sampled: bool,
    /// The hops after redirects, each with a span of its own below that of the request.
    pub hops: Vec<HopRow>,
}

/// A hop of a request after a redirect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HopRow {
    /// Its span, 16 hexadecimal digits.
    pub span_id: String,
    /// When it began, in nanoseconds since the run began.
    pub start_ns: u64,
}

/// One of the slowest requests of a name among those whose trace is sampled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TracedRequest {
    /// When it began, in nanoseconds since the run began, as in the request log.
    pub start_ns: u64,
    /// The user's number, from 1; 0 is that of `test_start` and `test_stop`.
    pub user: u64,
    /// The user's scenario.
    pub scenario: String,
    /// The task that made it.
    pub task: String,
    /// The URL asked for, its first 2 KiB.
    pub url: String,
    /// Status of the final answer, 0 without one.
    pub status: u16,
    /// Reason of the failure; `null` if it succeeded.
    pub error: Option<String>,
    /// Latency in milliseconds.
    pub latency_ms: f64,
    /// In a run at a rate, how many milliseconds later than on schedule it began; else 0.
    pub delay_ms: f64,
    /// Its trace.
    pub trace: TraceRow,
}

/// The latest request of a name in a bucket of latencies whose trace is sampled; only for a run under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LatestTrace {
    /// The trace.
    pub(crate) trace_id: u128,
    /// The latency in seconds, from the scheduled start in a run at a rate.
    pub(crate) latency_s: f64,
    /// When it ended, in nanoseconds since the run began.
    pub(crate) end_ns: u64,
}
