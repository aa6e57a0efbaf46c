//! What goes into a session and comes out of it: a [`Request`], a [`Response`], and the [`Exchange`] that
//! tells how it went.

use super::{Failure, Target, Timings, wire};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use std::time::Duration;

/// One request as a plan asks for it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// A path, joined to the user's host, or an absolute URL.
    pub url: String,
    /// Headers of this request; they win over the defaults.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, empty for none.
    pub body: Bytes,
    /// This request's own timeout.
    pub timeout: Option<Duration>,
    /// How many redirects are followed.
    pub redirects: u32,
    /// Count the body, do not keep it.
    pub discard: bool,
}

impl Request {
    /// A request without headers and body that follows ten redirects.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Request {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            timeout: None,
            redirects: 10,
            discard: false,
        }
    }
}

/// A complete answer.
#[derive(Debug)]
pub struct Response {
    /// The status of the final answer.
    pub status: u16,
    /// Where it came from after redirects.
    pub target: Target,
    /// Its head and, behind it, its body.
    pub(super) bytes: Bytes,
    pub(super) head_length: usize,
}

impl Response {
    /// An answer that was not received: without headers, for measurements and tests.
    pub fn of(status: u16, target: Target, body: impl Into<Bytes>) -> Response {
        Response {
            status,
            target,
            bytes: body.into(),
            head_length: 0,
        }
    }

    /// The body as received, without copying it.
    pub fn body(&self) -> Bytes {
        self.bytes.slice(self.head_length..)
    }

    /// The body's bytes.
    pub fn body_bytes(&self) -> &[u8] {
        &self.bytes[self.head_length..]
    }

    /// The headers in their order, names in lower case. Read anew with every call.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        wire::headers(&self.bytes[..self.head_length])
    }
}

/// A request that has been carried out, redirects included.
#[derive(Debug)]
pub struct Exchange {
    /// From the call until the last byte of the final answer, or until it failed.
    pub latency: Duration,
    /// The phases, hops added up.
    pub timings: Timings,
    /// Hops followed.
    pub redirects: u32,
    /// Bytes received, headers and hops included.
    pub bytes: u64,
    /// The answer, or why there is none.
    pub outcome: Result<Response, Failure>,
}
