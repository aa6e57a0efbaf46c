//! The messages of HTTP: the [`Request`] that a session sends, the [`Response`] that it gets, and the [`Exchange`] of
//! the two. The transports give each response the form of HTTP/1.1, a head as text followed by the body, so that
//! nothing else needs to know which version of HTTP was used.

mod date;
mod encoded;
mod encoding;
mod head;
mod interim;
mod known_heads;
mod malformed_headers;
mod patience;
mod raw;
mod referrer;
mod streamed;

pub(super) use date::{read_date, read_month};
use encoded::EncodedBody;
pub use encoding::ACCEPTED as ACCEPTED_CODINGS;
pub(super) use encoding::decode;
#[cfg(feature = "reqwest")]
pub(super) use head::head_as_text;
pub(super) use head::{Framing, MAX_HEAD, ResponseHead, headers, write_header};
pub(super) use interim::InterimResponses;
pub(super) use known_heads::KnownHeads;
pub(super) use malformed_headers::{MendedHead, mended};
use patience::DecodingTime;
pub(super) use raw::{
    BodyLimits, BodyPart, RawResponse, body_too_large, reserve_more, reserve_rest,
};
pub use raw::{BodyRoom, Discard};
pub(super) use referrer::NamedPage;
pub use referrer::Referrer;
pub use streamed::{MAX_BUFFER, StreamPiece, StreamedBody};

use super::failure::Failure;
use super::grpc::GrpcCall;
use super::target::Target;
use super::transfer::Transfer;
use super::websocket::SocketSide;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use lgoose_base::phases::Phases;
use lgoose_base::trace::Trace;
use std::fmt;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// One request of a plan.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method, such as GET.
    pub method: Method,
    /// A path, joined to the user's host, or an absolute URL.
    pub url: Rc<str>,
    /// Headers of this request, which replace default headers of the same name.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, empty for none.
    pub body: Bytes,
    /// The timeout of this request, if it has one of its own.
    pub timeout: Option<Duration>,
    /// The redirects that are followed.
    pub redirects: Redirects,
    /// The bodies that are only counted, and not kept.
    pub discard: Discard,
    /// Options that few requests have; copies of a request share them.
    pub extras: Option<Rc<RequestExtras>>,
}

/// The number of redirects to follow for a request, and the outcome at one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// As the run sets it. If it sets nothing, ten are followed, and one more is a failure.
    OfRun,
    /// This many are followed, and one more is a failure; with 0, the redirect itself is the response.
    AtMost(u8),
    /// This many are followed, and one more is the response.
    UpTo(u8),
}

impl Redirects {
    /// The number to follow, and whether one more is the response. `of_run` is the setting of the run.
    pub(super) fn limit(self, of_run: Option<u32>) -> (u32, bool) {
        const USUAL: u32 = 10;
        match self {
            Redirects::OfRun => of_run.map_or((USUAL, false), |most| (most, true)),
            Redirects::AtMost(most) => (most.into(), false),
            Redirects::UpTo(most) => (most.into(), true),
        }
    }
}

/// Options that few requests have, behind one pointer.
#[derive(Debug, Clone, Default)]
pub struct RequestExtras {
    /// Names and values of cookies that are sent with this request only; they replace those of the jar.
    pub cookies: Vec<(String, String)>,
    /// The page that contains the link to it.
    pub referrer: Option<Referrer>,
    /// The credentials for challenges of digest authentication.
    pub digest: Option<Rc<DigestCredentials>>,
    /// The receiver of its response piece by piece, in place of a whole body.
    pub stream: Option<Rc<StreamedBody>>,
}

impl RequestExtras {
    /// The memory that they take, in bytes.
    pub fn bytes(&self) -> usize {
        /// The memory of a cookie beside its texts.
        const COOKIE_BYTES: usize = size_of::<(String, String)>();
        let cookies = self.cookies.iter();
        let cookies = cookies.map(|(name, value)| name.len() + value.len() + COOKIE_BYTES);
        let referrer = self.referrer.as_ref().map_or(0, Referrer::bytes);
        size_of::<RequestExtras>() + cookies.sum::<usize>() + referrer
    }
}

/// User name and password for digest authentication.
#[derive(Clone)]
pub struct DigestCredentials {
    /// The user name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for DigestCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestCredentials(…)")
    }
}

impl Request {
    /// A request without headers or body that follows redirects as the run says.
    pub fn new(method: Method, url: impl Into<Rc<str>>) -> Self {
        Request {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            timeout: None,
            redirects: Redirects::OfRun,
            discard: Discard::OfRun,
            extras: None,
        }
    }

    /// The page that contains the link to it, if that is known.
    pub(super) fn referrer(&self) -> Option<&Referrer> {
        self.extras.as_ref()?.referrer.as_ref()
    }

    /// The receiver of its response piece by piece, if its reader takes it so.
    pub fn stream(&self) -> Option<&Rc<StreamedBody>> {
        self.extras.as_ref()?.stream.as_ref()
    }

    /// The WebSocket that it opens.
    pub fn socket(&self) -> Option<&SocketSide> {
        self.stream()?.socket()
    }

    /// The call of gRPC that it is.
    pub(crate) fn call(&self) -> Option<&GrpcCall> {
        self.stream()?.call()
    }

    /// Returns the rarely used options, to set them.
    pub fn extras(&mut self) -> &mut RequestExtras {
        Rc::make_mut(self.extras.get_or_insert_default())
    }
}

/// A complete response.
#[derive(Debug)]
pub struct Response {
    /// The status of the final response.
    pub status: u16,
    /// The part of the user's cache in it.
    pub cache: CacheUse,
    /// The target of the last hop, after redirects.
    pub target: Target,
    /// The head and, after it, the body, both as received.
    bytes: Bytes,
    head_length: usize,
    /// Boxed: in most tests, most bodies are not compressed, and few redirects set cookies.
    extras: Option<Box<ResponseExtras>>,
}

/// The fields that few responses have.
#[derive(Debug)]
struct ResponseExtras {
    encoded: Option<EncodedBody>,
    /// The `Set-Cookie` lines of the redirects before the response.
    hop_cookies: Vec<Vec<u8>>,
    malformed_header: Option<Box<str>>,
    left_site: bool,
}

impl Response {
    /// Gives a response whose body was read while it came that body, decoded.
    pub fn set_body(&mut self, body: &[u8]) {
        let head = &self.bytes[..self.head_length];
        self.bytes = [head, body].concat().into();
    }

    /// A response from `target`. When an encoded body is decoded, it may take up to `max_body` bytes. `left_site` is
    /// whether redirects have led to another host.
    pub(super) fn new(
        mut raw: RawResponse,
        target: Target,
        max_body: u64,
        hop_cookies: Vec<Vec<u8>>,
        left_site: bool,
    ) -> Response {
        let malformed_header = raw.head.malformed_header.take();
        let head = &raw.head;
        let is_encoded = head.is_encoded && raw.bytes.len() > head.length;
        let encoded =
            is_encoded.then(|| EncodedBody::of(&headers(&raw.bytes[..head.length]), max_body));
        let has_more =
            encoded.is_some() || !hop_cookies.is_empty() || malformed_header.is_some() || left_site;
        Response {
            cache: CacheUse::Nothing,
            status: head.status,
            target,
            head_length: head.length,
            extras: has_more.then(|| {
                Box::new(ResponseExtras {
                    encoded,
                    hop_cookies,
                    malformed_header,
                    left_site,
                })
            }),
            bytes: raw.bytes,
        }
    }

    /// The response to a request with that stream which its reader has closed: its head, if that had come.
    pub(crate) fn of_stream(
        stream: &StreamedBody,
        method: &Method,
        target: Target,
    ) -> Option<Response> {
        let bytes = stream.head()?;
        let head = ResponseHead::parse(&bytes, method).ok()??;
        let raw = RawResponse { head, bytes };
        Some(Response::new(raw, target, 0, Vec::new(), false))
    }

    /// A response that was not received, without headers, for measurements and tests.
    pub fn of(status: u16, target: Target, body: impl Into<Bytes>) -> Response {
        Response {
            cache: CacheUse::Nothing,
            status,
            target,
            bytes: body.into(),
            head_length: 0,
            extras: None,
        }
    }

    /// A copy of the response from a cache; it shares the bytes.
    pub(super) fn copy(&self, cache: CacheUse) -> Response {
        let encoded = self.encoded().map(EncodedBody::afresh);
        Response {
            cache,
            status: self.status,
            target: self.target.clone(),
            bytes: self.bytes.clone(),
            head_length: self.head_length,
            extras: encoded.map(|encoded| {
                Box::new(ResponseExtras {
                    encoded: Some(encoded),
                    hop_cookies: Vec::new(),
                    malformed_header: None,
                    left_site: false,
                })
            }),
        }
    }

    /// The decoded body, not copied; empty if it cannot be decoded.
    pub fn body(&self) -> Bytes {
        match self.decoded() {
            None => self.received_body(),
            Some(decoded) => decoded.clone().unwrap_or_default(),
        }
    }

    /// The same as [`Response::body`], as a slice.
    pub fn body_bytes(&self) -> &[u8] {
        match self.decoded() {
            None => &self.bytes[self.head_length..],
            Some(decoded) => decoded.as_deref().unwrap_or_default(),
        }
    }

    /// The same as [`Response::body`] for a reader that can do without it, such as a report: empty, too, if decoding takes more than a moment.
    pub fn body_at_hand(&self) -> &[u8] {
        let soon = |encoded: &EncodedBody| {
            encoded.decode_soon(&DecodingTime::to_show(), || self.received_body())
        };
        if self.encoded().is_none_or(soon) {
            self.body_bytes()
        } else {
            // A plan that reads it has more time.
            &[]
        }
    }

    /// The reason why the body cannot be decoded, once it has been read.
    pub fn decoding_failure(&self) -> Option<&Failure> {
        self.encoded()?.get_decoded()?.as_ref().err()
    }

    /// The memory that the response takes, in bytes.
    pub fn held_bytes(&self) -> usize {
        let decoded = self.encoded().and_then(EncodedBody::get_decoded);
        let more = decoded.and_then(|decoded| decoded.as_ref().ok());
        let hops = self
            .extras
            .as_ref()
            .map_or(&[][..], |extras| &extras.hop_cookies);
        self.bytes.len()
            + self.target.path.len()
            + more.map_or(0, Bytes::len)
            + hops.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether reading the body needs no decoding: it has no coding, or has been read before.
    pub fn is_decoded(&self) -> bool {
        let encoded = self.encoded();
        encoded.is_none_or(|encoded| encoded.get_decoded().is_some())
    }

    /// Decodes the body unless it takes more than `most_bytes` bytes. Returns whether it can be read now.
    pub fn decode_within(&self, most_bytes: u64) -> bool {
        let encoded = self.encoded();
        encoded.is_none_or(|encoded| encoded.decode_within(most_bytes, || self.received_body()))
    }

    /// Forgets the decoded body if it is large. The next reader decodes it again.
    pub fn forget_decoded(&mut self) {
        const LARGE_BODY: usize = 1 << 20;
        let extras = self.extras.as_mut();
        let Some(encoded) = extras.and_then(|extras| extras.encoded.as_mut()) else {
            return;
        };
        if let Some(Ok(body)) = encoded.get_decoded()
            && body.len() > LARGE_BODY
        {
            *encoded = encoded.afresh();
        }
    }

    /// Forgets head and body for good, and the path of its target if that is longer than logs show it.
    pub fn forget(&mut self) {
        const LONG_PATH: usize = 1024;
        self.bytes = Bytes::new();
        self.head_length = 0;
        self.extras = None;
        if self.target.path.len() > LONG_PATH {
            self.target.path = Rc::default();
        }
    }

    /// The first malformed line of the head, if one was left out or mended.
    pub fn malformed_header(&self) -> Option<&str> {
        self.extras.as_ref()?.malformed_header.as_deref()
    }

    /// Whether redirects have led to another host or port than the requested one. From http to https of a host does not
    /// count.
    pub fn left_site(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.left_site)
    }

    fn encoded(&self) -> Option<&EncodedBody> {
        self.extras.as_ref()?.encoded.as_ref()
    }

    fn decoded(&self) -> Option<&Result<Bytes, Failure>> {
        let encoded = self.encoded()?;
        Some(encoded.decoded(|| self.received_body()))
    }

    fn received_body(&self) -> Bytes {
        self.bytes.slice(self.head_length..)
    }

    /// The `Set-Cookie` lines of the redirects before the response, then those of the response.
    pub fn set_cookie_lines(&self) -> Vec<Vec<u8>> {
        let hops = self
            .extras
            .as_ref()
            .map_or(&[][..], |extras| &extras.hop_cookies);
        let own = self.headers().into_iter();
        let own = own.filter(|(name, _)| name == "set-cookie");
        hops.iter()
            .cloned()
            .chain(own.map(|(_, value)| value))
            .collect()
    }

    /// The value of `Content-Type`, empty without one.
    pub fn content_type(&self) -> &[u8] {
        const NAME: &[u8] = b"content-type";
        let mut rest = &self.bytes[..self.head_length];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            if let Some((name, value)) = line.split_at_checked(NAME.len())
                && let Some(value) = value.strip_prefix(b":")
                && name.eq_ignore_ascii_case(NAME)
            {
                return value.trim_ascii();
            }
            rest = after;
        }
        b""
    }

    /// The head as received.
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.head_length]
    }

    /// The headers in order, with names in lower case. Each call parses them again.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        headers(&self.bytes[..self.head_length])
    }
}

/// The part of the user's cache in a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheUse {
    /// Not at all: the site sent the response.
    #[default]
    Nothing,
    /// The response is from the cache, without a request to the site.
    Fresh,
    /// The response is from the cache: the site has confirmed that it is still valid.
    NotModified,
}

/// An exchange that has ended: a request, redirects included, or with other types for its value and its traffic one of another
/// protocol.
#[derive(Debug)]
pub struct Exchange<T = Response, F = Transfer> {
    /// The time at which it began.
    pub start: Instant,
    /// The number of the connection that carried it, with redirects that of the last hop; `None` if there was no
    /// connection or it is reqwest's.
    pub connection: Option<NonZeroU64>,
    /// The time from the call until the last byte of the final response, or until the failure.
    pub latency: Duration,
    /// The phases, summed over all hops.
    pub timings: Phases,
    /// The traffic, over all hops.
    pub transfer: F,
    /// The trace that its hops carried; `None` if requests have no trace context, or if the one that the plan set is
    /// not valid. Boxed: most runs have no traces.
    pub trace: Option<Box<Trace>>,
    /// The response or value, or the reason why there is none.
    pub outcome: Result<T, Failure>,
}

impl Exchange {
    /// Takes what came after `at` out of its times.
    pub(crate) fn end_at(&mut self, at: Instant) {
        let latency = at.saturating_duration_since(self.start).min(self.latency);
        self.timings = self.timings.without(self.latency - latency);
        self.latency = latency;
    }

    /// The part of the user's cache in the response.
    pub fn cache(&self) -> CacheUse {
        let response = self.outcome.as_ref();
        response.map_or(CacheUse::Nothing, |response| response.cache)
    }
}
