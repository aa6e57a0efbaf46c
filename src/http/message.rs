//! What goes into a session and comes out of it: a [`Request`], a [`Response`], and the [`Exchange`] that
//! tells how it went.

use super::incoming::{Answer, Limits};
use super::{ClientConfig, Failure, Target, Timings, encoding, wire};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use std::cell::OnceCell;
use std::num::NonZeroU64;
use std::time::Duration;
use tokio::time::Instant;

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

    /// What may come back.
    pub(super) fn limits(&self, config: &ClientConfig) -> Limits {
        Limits {
            max_body: config.max_body,
            keep_body: !self.discard,
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
    /// Whether it came over HTTP/2.
    pub http2: bool,
    /// Its head and, behind it, its body as received.
    bytes: Bytes,
    head_length: usize,
    /// Boxed: most bodies of most tests are never looked at, or are not compressed.
    coded: Option<Box<Coded>>,
}

/// A body with a content coding, taken off when it is first looked at.
#[derive(Debug)]
struct Coded {
    coding: String,
    most: u64,
    decoded: OnceCell<Result<Bytes, Failure>>,
}

impl Response {
    /// The response that an answer is. A compressed body may be `most` bytes long when it is decoded.
    pub(super) fn new(answer: Answer, target: Target, most: u64) -> Response {
        let head = &answer.head;
        let coding = head.coding.clone();
        let coded = coding.filter(|_| answer.bytes.len() > head.length);
        Response {
            status: head.status,
            target,
            http2: answer.http2,
            head_length: head.length,
            coded: coded.map(|place| {
                Box::new(Coded {
                    coding: String::from_utf8_lossy(&answer.bytes[place]).into_owned(),
                    most,
                    decoded: OnceCell::new(),
                })
            }),
            bytes: answer.bytes,
        }
    }

    /// An answer that was not received: without headers, for measurements and tests.
    pub fn of(status: u16, target: Target, body: impl Into<Bytes>) -> Response {
        Response {
            status,
            target,
            http2: false,
            bytes: body.into(),
            head_length: 0,
            coded: None,
        }
    }

    /// The body, decoded and not copied; empty if it cannot be decoded.
    pub fn body(&self) -> Bytes {
        match self.decoded() {
            None => self.bytes.slice(self.head_length..),
            Some(decoded) => decoded.clone().unwrap_or_default(),
        }
    }

    /// The body's bytes, as [`Response::body`].
    pub fn body_bytes(&self) -> &[u8] {
        match self.decoded() {
            None => &self.bytes[self.head_length..],
            Some(decoded) => decoded.as_deref().unwrap_or_default(),
        }
    }

    /// Why the body cannot be decoded; known once it has been looked at.
    pub fn decoding_failure(&self) -> Option<&Failure> {
        self.coded.as_ref()?.decoded.get()?.as_ref().err()
    }

    /// What it takes in memory, in bytes.
    pub fn held_bytes(&self) -> usize {
        let decoded = self.coded.as_ref().and_then(|coded| coded.decoded.get());
        let more = decoded.and_then(|decoded| decoded.as_ref().ok());
        self.bytes.len() + more.map_or(0, Bytes::len)
    }

    fn decoded(&self) -> Option<&Result<Bytes, Failure>> {
        let coded = self.coded.as_ref()?;
        let body = || self.bytes.slice(self.head_length..);
        let decode = || encoding::decode(&coded.coding, &body(), coded.most);
        Some(coded.decoded.get_or_init(decode))
    }

    /// The headers in their order, names in lower case. Read anew with every call.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        wire::headers(&self.bytes[..self.head_length])
    }
}

/// A request that has been carried out, redirects included.
#[derive(Debug)]
pub struct Exchange {
    /// When it began.
    pub begin: Instant,
    /// The number of the connection that carried it, the last of them with redirects; none if none did, or if
    /// it is reqwest's.
    pub connection: Option<NonZeroU64>,
    /// From the call until the last byte of the final answer, or until it failed.
    pub latency: Duration,
    /// The phases, hops added up.
    pub timings: Timings,
    /// Hops followed.
    pub redirects: u32,
    /// Sent again because a kept-alive connection had been closed by the server.
    pub retries: u32,
    /// Bytes received, headers and hops included.
    pub bytes: u64,
    /// The answer, or why there is none.
    pub outcome: Result<Response, Failure>,
}
