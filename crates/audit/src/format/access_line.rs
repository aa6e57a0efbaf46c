//! One line of an access log as plain data, whatever its format.

use std::num::NonZeroU128;

/// A request as a server has logged it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AccessLine {
    /// The method.
    pub(crate) method: String,
    /// Path and query, as they were sent.
    pub(crate) target: String,
    /// The status; 0 if the server has logged none.
    pub(crate) status: u16,
    /// The time of the line.
    pub(crate) time: LoggedTime,
    /// The bytes of the response.
    pub(crate) bytes: Option<LoggedBytes>,
    /// The time that the server took, in nanoseconds.
    pub(crate) server_ns: Option<u64>,
    /// The time that the upstream server took, in nanoseconds.
    pub(crate) upstream_ns: Option<u64>,
    /// The user agent; `None` if the format has none, or the client sent none.
    pub(crate) agent: Option<String>,
    /// The trace id of the request's `traceparent`.
    pub(crate) trace: Option<NonZeroU128>,
}

/// The time of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LoggedTime {
    /// Nanoseconds since 1970, rounded down to the resolution.
    pub(crate) at_ns: i64,
    /// The resolution of the time in nanoseconds: a second where the log has whole seconds.
    pub(crate) resolution_ns: u64,
    /// The moment of the request that the time stands for.
    pub(crate) moment: Moment,
}

/// The moment of a request that a log gives the time of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Moment {
    /// The request came: `%t` of Apache, and HAProxy.
    Start,
    /// The response was sent: nginx and Caddy.
    End,
    /// One of the two: the common format is written by servers of both kinds.
    #[default]
    Either,
}

/// The bytes that a log has of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum LoggedBytes {
    /// Head and body: `$bytes_sent` of nginx, `%O` of Apache.
    Whole(u64),
    /// The body alone: `$body_bytes_sent` of nginx, `%b` of Apache.
    Body(u64),
    /// One of the two: Debian's Apache puts `%O` where the combined format has the body.
    Either(u64),
}

impl LoggedBytes {
    /// Returns the number.
    pub(crate) fn count(self) -> u64 {
        match self {
            LoggedBytes::Whole(count) | LoggedBytes::Body(count) | LoggedBytes::Either(count) => {
                count
            }
        }
    }
}
