//! Errors, equal ones counted together, with exemplars.

use super::latency::PhasesMs;
use super::trace::TraceRow;
use crate::delta::plausible;
use lgoose_base::error::NOT_AS_EXPECTED;
use serde::{Deserialize, Serialize};

/// How the name of a task's error begins.
const TASK: &str = "task ";

/// Equal errors, counted together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct ErrorRow {
    /// Number of errors.
    #[serde(deserialize_with = "plausible::count")]
    pub count: u64,
    /// The request or task that failed, such as `GET front page` or `task log in`.
    pub name: String,
    /// The message.
    pub message: String,
    /// The line of the plan, such as `plans/drupal.lua:12`.
    pub line: Option<String>,
    /// When the error first occurred, in seconds since the start of the measurement, exact to a quarter of a second.
    pub first_s: f64,
    /// When the error last occurred, on the same clock.
    pub last_s: f64,
    /// Exemplars of the failed requests: the first, and the slowest three of the others; for an error of a task, of the
    /// latest requests that its runs had made. Credentials in headers are masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exemplars: Vec<Exemplar>,
    /// The plan's calls at the error of a task, the innermost first: `plan.lua:3: in function 'login'`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

impl ErrorRow {
    /// Returns the task that failed, if it was not a request.
    pub fn task(&self) -> Option<&str> {
        self.name.strip_prefix(TASK)
    }

    /// Returns the request among `all` errors that failed and so ended the task of this one: the report counts both.
    pub fn cause<'a>(&self, all: &'a [ErrorRow]) -> Option<&'a ErrorRow> {
        let task = self.task()?;
        let message = self.message.strip_prefix(NOT_AS_EXPECTED)?;
        all.iter().find(|row| {
            // Live figures have no exemplars.
            let first = row.exemplars.first();
            let of_task = first.is_none_or(|first| first.task == task);
            row.message == message && row.task().is_none() && of_task
        })
    }
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Exemplar {
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
    /// Method of the request.
    pub method: String,
    /// URL of the request, at most the first 2 KiB.
    pub url: String,
    /// URL of the final response, after redirects; empty without redirects.
    pub final_url: String,
    /// Status of the final response; 0 if there was none.
    pub status: u16,
    /// Latency in milliseconds.
    pub latency_ms: f64,
    /// Phases of the latency; `null` for a phase that did not happen.
    pub phases_ms: PhasesMs,
    /// Headers as sent, `name: value` each, with credentials masked; at most 4 KiB.
    pub request_headers: Vec<String>,
    /// Headers of the response, in the same form.
    pub response_headers: Vec<String>,
    /// The first 2 KiB of the response body; bytes that are not UTF-8 are replaced.
    pub body: String,
    /// Length of the response body in bytes.
    #[serde(deserialize_with = "plausible::bytes")]
    pub body_bytes: u64,
    /// The reason that the page gave for what it refused, its first 200 characters: the messages of its form, or the
    /// heading of an error page; empty if it gave none.
    #[serde(default)]
    pub page_says: String,
    /// Trace of the request; `null` without `--trace`, or if the plan set an invalid `traceparent`.
    #[serde(default)]
    pub trace: Option<TraceRow>,
}
