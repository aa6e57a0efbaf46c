//! The messages of HTTP: the [`Request`] that goes into a session, the [`Response`] that comes out of it, and
//! the [`Exchange`] of the two. The transports give each answer the form of one of HTTP/1.1, a head as text and
//! the body behind it, so that nobody else needs to know which HTTP was spoken.

mod encoding;
mod head;
mod interim;
mod raw;

pub(crate) use encoding::ACCEPTED as ACCEPTED_CODINGS;
use encoding::Codings;
#[cfg(any(test, feature = "internals"))]
pub(super) use encoding::decode;
pub(super) use head::{
    Framing, MAX_HEAD, ResponseHead, head_as_text, headers, unfolded, write_header,
};
pub(super) use interim::InterimResponses;
pub(super) use raw::{BodyLimits, RawResponse, body_too_large};

use super::failure::{ErrorClass, Failure};
use super::target::Target;
use crate::phases::Phases;
use crate::trace::Trace;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use std::cell::OnceCell;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// One request as a plan asks for it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method, such as GET.
    pub method: Method,
    /// A path, joined to the user's host, or an absolute URL.
    pub url: Rc<str>,
    /// Headers of this request; they win over the defaults.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, empty for none.
    pub body: Bytes,
    /// This request's own timeout.
    pub timeout: Option<Duration>,
    /// The number of redirects that are followed at most.
    pub redirects: u32,
    /// Whether the body is counted only, not kept.
    pub discard: bool,
}

impl Request {
    /// A request without headers and body that follows ten redirects.
    pub fn new(method: Method, url: impl Into<Rc<str>>) -> Self {
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

    /// The limits of the response, with the largest body that the run allows.
    pub(super) fn limits(&self, max_body: u64) -> BodyLimits {
        BodyLimits {
            max_body,
            keep_body: !self.discard,
        }
    }
}

/// A complete response.
#[derive(Debug)]
pub struct Response {
    /// The status of the final response.
    pub status: u16,
    /// The target that it came from, after redirects.
    pub target: Target,
    /// Head and, behind it, body as received.
    bytes: Bytes,
    head_length: usize,
    /// Boxed: most bodies of most tests are never looked at, or are not compressed.
    encoded: Option<Box<EncodedBody>>,
}

/// A body with a content coding, decoded when it is first looked at.
#[derive(Debug)]
struct EncodedBody {
    codings: Codings,
    max_body: u64,
    decoded: OnceCell<Result<Bytes, Failure>>,
}

impl Response {
    /// The response that `target` has sent. A compressed body may be `max_body` bytes long when it is decoded.
    pub(super) fn new(raw: RawResponse, target: Target, max_body: u64) -> Response {
        let head = &raw.head;
        let is_encoded = head.is_encoded && raw.bytes.len() > head.length;
        Response {
            status: head.status,
            target,
            head_length: head.length,
            encoded: is_encoded.then(|| {
                Box::new(EncodedBody {
                    codings: Codings::of(&headers(&raw.bytes[..head.length])),
                    max_body,
                    decoded: OnceCell::new(),
                })
            }),
            bytes: raw.bytes,
        }
    }

    /// A response that was not received: without headers, for measurements and tests.
    #[cfg(feature = "internals")]
    pub fn of(status: u16, target: Target, body: impl Into<Bytes>) -> Response {
        Response {
            status,
            target,
            bytes: body.into(),
            head_length: 0,
            encoded: None,
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

    /// The reason why the body cannot be decoded; known once it has been looked at.
    pub fn decoding_failure(&self) -> Option<&Failure> {
        self.encoded.as_ref()?.decoded.get()?.as_ref().err()
    }

    /// The memory that it takes, in bytes.
    pub fn held_bytes(&self) -> usize {
        let decoded = self.encoded.as_ref().and_then(|body| body.decoded.get());
        let more = decoded.and_then(|decoded| decoded.as_ref().ok());
        self.bytes.len() + more.map_or(0, Bytes::len)
    }

    /// Whether the body can be read as it is: it came without a coding, or has been looked at before.
    pub fn is_decoded(&self) -> bool {
        let encoded = self.encoded.as_ref();
        encoded.is_none_or(|encoded| encoded.decoded.get().is_some())
    }

    /// Decodes the body unless that takes more than so many bytes. Returns whether it now can be read.
    pub fn decode_within(&self, most_bytes: u64) -> bool {
        let Some(encoded) = self.encoded.as_ref() else {
            return true;
        };
        if encoded.decoded.get().is_some() {
            return true;
        }
        let body = self.bytes.slice(self.head_length..);
        let decoded = encoded
            .codings
            .decode(&body, encoded.max_body.min(most_bytes));
        let too_large = matches!(&decoded, Err(failure) if failure.class == ErrorClass::TooLarge);
        if too_large && most_bytes < encoded.max_body {
            return false;
        }
        encoded.decoded.get_or_init(|| decoded);
        true
    }

    /// Forgets the decoded body if it is large. Whoever looks at it again decodes it again.
    pub fn forget_decoded(&mut self) {
        const LARGE: usize = 1 << 20;
        let Some(encoded) = self.encoded.as_mut() else {
            return;
        };
        if let Some(Ok(body)) = encoded.decoded.get()
            && body.len() > LARGE
        {
            encoded.decoded = OnceCell::new();
        }
    }

    fn decoded(&self) -> Option<&Result<Bytes, Failure>> {
        let encoded = self.encoded.as_ref()?;
        let body = || self.bytes.slice(self.head_length..);
        let decode = || encoded.codings.decode(&body(), encoded.max_body);
        Some(encoded.decoded.get_or_init(decode))
    }

    /// The headers in their order, names in lower case. Read anew with every call.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        headers(&self.bytes[..self.head_length])
    }
}

/// A request that has been carried out, redirects included.
#[derive(Debug)]
pub struct Exchange {
    /// The time at which it began.
    pub begin: Instant,
    /// The number of the connection that carried it, the last of them with redirects; none if none did, or if
    /// it is reqwest's.
    pub connection: Option<NonZeroU64>,
    /// The time from the call until the last byte of the final answer, or until it failed.
    pub latency: Duration,
    /// The phases, hops added up.
    pub timings: Phases,
    /// Redirects followed.
    pub redirects: u32,
    /// The number of times it was sent again because the server had closed a kept-alive connection.
    pub retries: u32,
    /// Bytes received, headers and hops included.
    pub bytes: u64,
    /// The trace that its hops carried; none if requests have no trace context, or if that which the plan has set is
    /// none. Boxed: most runs have none.
    pub trace: Option<Box<Trace>>,
    /// The response, or the reason why there is none.
    pub outcome: Result<Response, Failure>,
}
