//! Samples: finished requests of any protocol, as the engine hands them to its shard's recorder.

use crate::delta::plausible;
use lgoose_base::phases::Phases;
use lgoose_base::tags::Tags;
use lgoose_base::trace::Trace;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// A request name known to one shard's [`Recorder`](crate::Recorder); means nothing to another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub(crate) u32);

impl RequestId {
    /// Requests that no figure has. All methods of a recorder ignore their samples.
    pub const UNCOUNTED: RequestId = RequestId(u32::MAX);

    /// Returns its place among all request names of the shard, from 0.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// A task or transaction known to one shard's [`Recorder`](crate::Recorder); means nothing to another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskId(pub(crate) u32);

/// One finished request of HTTP or call of another protocol. A chain of redirects is one sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The kind, name and tags it counts under, from [`Recorder::request`](crate::Recorder::request).
    pub request: RequestId,
    /// When it began; it counts in the second in which it ended, which is `latency` later.
    pub start: Instant,
    /// Time from the call until the last byte of the response, with HTTP of the body of the final one.
    pub latency: Duration,
    /// Delay of the start against the schedule in a run at a rate. The latency as a visitor sees it is `delay` and
    /// `latency` together. `None` in a run of users.
    pub delay: Option<Duration>,
    /// Phases of the latency.
    pub phases: Phases,
    /// The response.
    pub response: SampleResponse,
    /// Redirect hops before the final response.
    pub redirects: u32,
    /// How often it was sent again on a new connection because the site had closed a kept one.
    pub retries: u32,
    /// Bytes and messages sent and received, over all hops.
    pub traffic: Traffic,
    /// Reason why it counts as failed; `None` is a success.
    pub failure: Option<SampleFailure<'a>>,
    /// Facts for logs and exemplars, in addition to the figures; without them, neither has this request.
    pub context: Option<Context<'a>>,
}

/// Response to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleResponse {
    /// No response.
    Missing,
    /// A response of a protocol whose responses have no status.
    WithoutStatus,
    /// A response with that status; with HTTP, that of the final response.
    Status(u16),
}

impl SampleResponse {
    /// Makes a response with that status, of which 0 stands for no response.
    pub fn of_status(status: u16) -> SampleResponse {
        match status {
            0 => SampleResponse::Missing,
            status => SampleResponse::Status(status),
        }
    }

    /// Returns the status; 0 without one.
    pub fn status(self) -> u16 {
        match self {
            SampleResponse::Missing | SampleResponse::WithoutStatus => 0,
            SampleResponse::Status(status) => status,
        }
    }
}

/// Bytes and messages sent and received by a request, or by all of a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes received, with HTTP heads and bodies.
    #[serde(deserialize_with = "plausible::bytes")]
    pub received: u64,
    /// Bytes sent, likewise.
    #[serde(deserialize_with = "plausible::bytes")]
    pub sent: u64,
    /// Messages received, of a protocol that has messages.
    #[serde(deserialize_with = "plausible::count")]
    pub messages_received: u64,
    /// Messages sent, likewise.
    #[serde(deserialize_with = "plausible::count")]
    pub messages_sent: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, more: Traffic) {
        self.received += more.received;
        self.sent += more.sent;
        self.messages_received += more.messages_received;
        self.messages_sent += more.messages_sent;
    }
}

impl Traffic {
    /// Returns the traffic of a request of which only the bytes received are known.
    pub fn received(bytes: u64) -> Traffic {
        Traffic::without_messages(bytes, 0)
    }

    /// Returns the traffic of a request of a protocol without messages, in bytes.
    pub fn without_messages(received: u64, sent: u64) -> Traffic {
        Traffic {
            received,
            sent,
            ..Traffic::default()
        }
    }
}

/// Origin of a request.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The user's number, from 1; 0 stands for `test_start` and `test_stop`.
    pub user: u64,
    /// The user's scenario.
    pub scenario: &'a str,
    /// The task that made it.
    pub task: &'a str,
    /// The number of the connection that carried it; `None` if none did or if it is not known.
    pub connection: Option<NonZeroU64>,
    /// Its trace, if it has one.
    pub trace: Option<&'a Trace>,
    /// The exchange itself.
    pub details: &'a dyn ExchangeDetails,
}

/// Details of an exchange, read only for a log or an exemplar. Those that a protocol lacks are empty.
pub trait ExchangeDetails: std::fmt::Debug {
    /// Returns the method, or the kind of another protocol's call.
    fn method(&self) -> &str;
    /// Returns the tags that it has beside those that its task declares.
    fn tags(&self) -> Option<&Tags> {
        None
    }
    /// Passes the requested URL or target to `put` in two pieces, once.
    fn url(&self, put: &mut dyn FnMut(&str, &str));
    /// Returns the URL of the final response if it is not the requested one; else empty.
    fn final_url(&self) -> String {
        String::new()
    }
    /// Returns the class of a failure without a response; else empty.
    fn class(&self) -> &str;
    /// Returns how many messages it has sent and received, of a protocol that has messages.
    fn messages(&self) -> Option<[u64; 2]> {
        None
    }
    /// Returns the headers as sent.
    fn request_headers(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }
    /// Returns the headers of the response.
    fn response_headers(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }
    /// Returns the body of the response.
    fn body(&self) -> &[u8] {
        &[]
    }
    /// Returns the reason that the page gives for a failure, on one line.
    fn page_says(&self) -> Option<String> {
        None
    }
}

/// One run of a task or transaction.
#[derive(Debug, Clone, Copy)]
pub struct TaskRun<'a> {
    /// The name it counts under, from [`Recorder::task`](crate::Recorder::task).
    pub task: TaskId,
    /// When it began; it counts in the second in which it ended.
    pub start: Instant,
    /// Duration of the run.
    pub latency: Duration,
    /// Reason why it counts as failed; `None` is a success.
    pub failure: Option<SampleFailure<'a>>,
    /// Facts for the logs of tasks and errors; without them, neither has this run.
    pub context: Option<TaskContext<'a>>,
}

/// Origin of a run of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskContext<'a> {
    /// The user's number.
    pub user: u64,
    /// The user's scenario.
    pub scenario: &'a str,
    /// Name of the task, or its place in the plan.
    pub name: &'a str,
    /// Whether it is a transaction.
    pub transaction: bool,
    /// The plan's calls at the error that it raised, the innermost first, a line each.
    pub stack: Option<&'a str>,
}

/// Reason why a request, task or transaction counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleFailure<'a> {
    /// One sentence without figures that change each time, so that equal failures count together.
    pub message: &'a str,
    /// The plan's line, as in `plans/drupal.lua:12`.
    pub line: Option<&'a str>,
}

/// Counts of a request before its verdict was final.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProvisionalCounts<'a> {
    /// Whether it counted as failed.
    pub failed: bool,
    /// The error that was recorded for it.
    pub failure: Option<SampleFailure<'a>>,
}
