//! Equal errors and exemplars of them.

use super::latency::PhasesMs;
use super::trace::TraceRow;
use serde::{Deserialize, Serialize};

/// Equal errors, counted together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorRow {
    /// How many errors were counted.
    pub count: u64,
    /// The request or task that failed: `GET front page`, `task log in`.
    pub name: String,
    /// The message.
    pub message: String,
    /// The plan's line, as in `plans/drupal.lua:12`.
    pub line: Option<String>,
    /// Seconds into the measurement when it first came, exact to a quarter of a second.
    pub first_s: f64,
    /// Seconds into the measurement when it last came, likewise.
    pub last_s: f64,
    /// Exemplars of failed requests: the first and the slowest three others; credentials in headers are masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exemplars: Vec<Exemplar>,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Exemplar {
    /// When it began, in nanoseconds since the run began, as in the request log.
    pub start_ns: u64,
    /// The user's number, from 1; 0 is that of `test_start` and `test_stop`.
    pub user: u64,
    /// The user's scenario.
    pub scenario: String,
    /// The task that made it.
    pub task: String,
    /// The method asked for.
    pub method: String,
    /// The URL asked for, its first 2 KiB.
    pub url: String,
    /// Where the answer came from after redirects; empty without.
    pub final_url: String,
    /// Status of the final answer, 0 without one.
    pub status: u16,
    /// Latency in milliseconds.
    pub latency_ms: f64,
    /// Parts of the latency; `null` where the phase did not happen.
    pub phases_ms: PhasesMs,
    /// `name: value` of each header as sent, credentials masked, 4 KiB at most.
    pub request_headers: Vec<String>,
    /// `name: value` of each header of the answer, likewise.
    pub response_headers: Vec<String>,
    /// The body's first 2 KiB; what is not UTF-8 is replaced.
    pub body: String,
    /// Length of the body in bytes.
    pub body_bytes: u64,
    /// The reason that the page gave for what it refused, its first 200 characters: the messages of its form, or the
    /// heading of an error page; empty if it gave none.
    #[serde(default)]
    pub page_says: String,
    /// Its trace; `null` without `--trace`, or if what the plan has set as `traceparent` is none.
    #[serde(default)]
    pub trace: Option<TraceRow>,
}
