//! One finished request as the HTTP session hands it to its shard's recorder.

use std::time::Duration;

/// A request name known to one shard's [`Recorder`](super::Recorder); means nothing to another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub(super) u32);

/// A task or transaction known to one shard's [`Recorder`](super::Recorder); means nothing to another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskId(pub(super) u32);

/// How long each part of a request took; zero where the part did not happen (a reused connection has no
/// `connect`). With redirects, the sum over all hops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Looking the host up.
    pub dns: Duration,
    /// Opening the TCP connection.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// Writing the request.
    pub send: Duration,
    /// Waiting from the last byte sent to the first byte of the answer.
    pub first_byte: Duration,
    /// From the first to the last byte of the answer.
    pub receive: Duration,
}

impl Phases {
    /// The phases in the order they happen.
    pub(super) fn in_order(&self) -> [Duration; 6] {
        [
            self.dns,
            self.connect,
            self.tls,
            self.send,
            self.first_byte,
            self.receive,
        ]
    }
}

/// One finished request. A chain of redirects is one sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The name it counts under, from [`Recorder::request`](super::Recorder::request).
    pub request: RequestId,
    /// From the call until the last byte of the body of the final response.
    pub latency: Duration,
    /// In a run at a rate, how much later than on schedule it began: its latency as a visitor sees it is
    /// both together. `None` in a run of users.
    pub delay: Option<Duration>,
    /// What the latency was made of.
    pub phases: Phases,
    /// Status of the final response, 0 when there was no answer.
    pub status: u16,
    /// Redirect hops before the final response.
    pub redirects: u32,
    /// Sent again on a new connection because the site had closed a kept one.
    pub retries: u32,
    /// Bytes received, body and head, over all hops.
    pub bytes: u64,
    /// Why it counts as failed; `None` is a success.
    pub failure: Option<Failure<'a>>,
}

/// Why a request, task or transaction counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    /// One sentence without figures that change each time, so that equal failures count together.
    pub message: &'a str,
    /// The plan's line, as in `plans/drupal.lua:12`.
    pub line: Option<&'a str>,
}
