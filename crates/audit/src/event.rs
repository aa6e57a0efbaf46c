//! The events that are sorted by time and matched: requests of the run, hop by hop, and lines of access logs.

use crate::format::{LoggedBytes, Moment};
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// A request of the run, or a line of an access log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum LogEvent {
    /// A request of the run.
    Sent(SentRequest),
    /// A line of an access log.
    Logged(LoggedRequest),
}

/// A request that the run has sent, or a hop of one that was redirected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SentRequest {
    /// The hop.
    pub(crate) hop: Hop,
    /// The number of its name.
    pub(crate) name: u32,
    /// The number of its host.
    pub(crate) host: u32,
    /// The method; of the last hop that of the first one.
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// The status of the final response; 0 without one.
    pub(crate) status: u16,
    /// Whether the log may have any status of it, or no line at all: there was no response, or it is none of plain HTTP.
    pub(crate) is_loose: bool,
    /// The start of the request, in nanoseconds since 1970.
    pub(crate) start_ns: i64,
    /// The time at which it had a connection.
    pub(crate) connected_ns: i64,
    /// The end of the request.
    pub(crate) end_ns: i64,
    /// Bytes received for the request with all of its hops.
    pub(crate) bytes: u64,
    /// The number of times that it was sent again.
    pub(crate) retries: u32,
    /// The trace id.
    pub(crate) trace: Option<u128>,
    /// The number of the class of its failure.
    pub(crate) class: u32,
    /// Its line in the request log.
    pub(crate) row: u64,
}

/// A hop of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Hop {
    /// There was no redirect.
    Only,
    /// The first of several: the server has responded with a redirect.
    First,
    /// So many between the first and the last, whose URLs a request log does not have.
    Between(u32),
    /// The last of several.
    Last,
}

/// A line of an access log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoggedRequest {
    /// The method.
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// The status; 0 if the server has logged none.
    pub(crate) status: u16,
    /// The time, in nanoseconds since 1970.
    pub(crate) at_ns: i64,
    /// The resolution of the time: the true time may be up to so much later.
    pub(crate) resolution_ns: u64,
    /// The moment of the request that the time stands for.
    pub(crate) moment: Moment,
    /// The bytes of the response.
    pub(crate) bytes: Option<LoggedBytes>,
    /// The time that the server took.
    pub(crate) server_ns: Option<u64>,
    /// The time that the upstream server took.
    pub(crate) upstream_ns: Option<u64>,
    /// The number of the user agent.
    pub(crate) agent: u32,
    /// The trace id.
    pub(crate) trace: Option<u128>,
    /// The number of the file.
    pub(crate) file: u32,
    /// The line in it.
    pub(crate) line: u64,
    /// A number that is the same for lines of the same text.
    pub(crate) text_hash: u64,
    /// Whether a line before it has the same text; known while they are matched.
    #[serde(skip)]
    pub(crate) is_copy: bool,
}

impl LogEvent {
    /// Returns the time by which events are sorted: the start of a request, the time of a line.
    pub(crate) fn at_ns(&self) -> i64 {
        match self {
            LogEvent::Sent(request) => request.start_ns,
            LogEvent::Logged(line) => line.at_ns,
        }
    }
}

impl LoggedRequest {
    /// Returns how far a request is from the line, in nanoseconds: below 0 if the request was before the line.
    pub(crate) fn distance_ns(&self, request: &SentRequest) -> i64 {
        let whole = request.is_loose || matches!(request.hop, Hop::First | Hop::Between(_));
        let (from, to) = match self.moment {
            _ if whole => (request.start_ns, request.end_ns),
            Moment::Either => (request.start_ns, request.end_ns),
            // The request log does not have the start of the last hop.
            Moment::Start if request.hop == Hop::Last => (request.start_ns, request.end_ns),
            Moment::Start => (request.start_ns, request.connected_ns),
            Moment::End => (request.end_ns, request.end_ns),
        };
        let last = self.end_ns() - 1;
        if to < self.at_ns {
            to - self.at_ns
        } else if from > last {
            from - last
        } else {
            0
        }
    }

    /// Returns the time that the line's true time is below.
    pub(crate) fn end_ns(&self) -> i64 {
        self.at_ns
            .saturating_add(i64::try_from(self.resolution_ns.max(1)).unwrap_or(i64::MAX))
    }
}

/// Returns a number that is the same for the same contents, in every run of the program.
pub(crate) fn hash_of(contents: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    contents.hash(&mut hasher);
    hasher.finish()
}
