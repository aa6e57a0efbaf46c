//! The messages of HTTP: the [`Request`] that goes into a session, the [`Response`] that comes out of it, and
//! the [`Exchange`] of the two. The transports give each answer the form of one of HTTP/1.1, a head as text and
//! the body behind it, so that nobody else needs to know which HTTP was spoken.

mod encoding;
mod head;
mod interim;
mod raw;
mod referrer;

pub(crate) use encoding::ACCEPTED as ACCEPTED_CODINGS;
use encoding::Codings;
#[cfg(any(test, feature = "internals"))]
pub(super) use encoding::decode;
pub(super) use head::{
    Framing, MAX_HEAD, ResponseHead, head_as_text, headers, unfolded, write_header,
};
pub(super) use interim::InterimResponses;
pub(super) use raw::{BodyLimits, RawResponse, body_too_large};
pub(crate) use referrer::Referrer;

use super::failure::{ErrorClass, Failure};
use super::target::Target;
use crate::phases::Phases;
use crate::trace::Trace;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use std::cell::OnceCell;
use std::fmt;
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
    /// The redirects that are followed.
    pub redirects: Redirects,
    /// Whether the body is counted only, not kept.
    pub discard: bool,
    /// What few requests have; shared by the copies of a request.
    pub extras: Option<Rc<Extras>>,
}

/// How many redirects of a request are followed, and what comes of one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// As the run says; ten if it says nothing, and one more is a failure.
    OfRun,
    /// So many, and one more is a failure; with 0 the redirect itself is the answer.
    AtMost(u8),
    /// So many, and one more is the answer.
    UpTo(u8),
}

impl Redirects {
    /// How many are followed, and whether one more is the answer. `of_run` is what the run says.
    pub(super) fn limit(self, of_run: Option<u32>) -> (u32, bool) {
        const USUAL: u32 = 10;
        match self {
            Redirects::OfRun => of_run.map_or((USUAL, false), |most| (most, true)),
            Redirects::AtMost(most) => (most.into(), false),
            Redirects::UpTo(most) => (most.into(), true),
        }
    }
}

/// What few requests have, behind one pointer.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// Names and values of cookies that are sent with this request alone, over those of the jar.
    pub cookies: Vec<(String, String)>,
    /// The page that it was found on.
    pub referrer: Option<Referrer>,
    /// What it answers a challenge of digest authentication with.
    pub digest: Option<Rc<DigestCredentials>>,
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
    /// A request without headers and body that follows redirects as the run says.
    pub fn new(method: Method, url: impl Into<Rc<str>>) -> Self {
        Request {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            timeout: None,
            redirects: Redirects::OfRun,
            discard: false,
            extras: None,
        }
    }

    /// The page that it was found on, if that is known.
    pub(super) fn referrer(&self) -> Option<&Referrer> {
        self.extras.as_ref()?.referrer.as_ref()
    }

    /// Returns the rarer parts for setting them.
    pub fn extras(&mut self) -> &mut Extras {
        Rc::make_mut(self.extras.get_or_insert_default())
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
    /// The part that the user's cache had in it.
    pub cache: CacheUse,
    /// The target that it came from, after redirects.
    pub target: Target,
    /// Head and, behind it, body as received.
    bytes: Bytes,
    head_length: usize,
    /// Boxed: most bodies of most tests are not compressed, and few redirects set cookies.
    beside: Option<Box<Beside>>,
}

/// What only some responses have.
#[derive(Debug)]
struct Beside {
    encoded: Option<EncodedBody>,
    /// The `Set-Cookie` lines of the redirects before it.
    hop_cookies: Vec<Vec<u8>>,
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
    pub(super) fn new(
        raw: RawResponse,
        target: Target,
        max_body: u64,
        hop_cookies: Vec<Vec<u8>>,
    ) -> Response {
        let head = &raw.head;
        let is_encoded = head.is_encoded && raw.bytes.len() > head.length;
        let encoded = is_encoded.then(|| EncodedBody {
            codings: Codings::of(&headers(&raw.bytes[..head.length])),
            max_body,
            decoded: OnceCell::new(),
        });
        let has_more = encoded.is_some() || !hop_cookies.is_empty();
        Response {
            cache: CacheUse::Nothing,
            status: head.status,
            target,
            head_length: head.length,
            beside: has_more.then(|| {
                Box::new(Beside {
                    encoded,
                    hop_cookies,
                })
            }),
            bytes: raw.bytes,
        }
    }

    /// A response that was not received: without headers, for measurements and tests.
    #[cfg(feature = "internals")]
    pub fn of(status: u16, target: Target, body: impl Into<Bytes>) -> Response {
        Response {
            cache: CacheUse::Nothing,
            status,
            target,
            bytes: body.into(),
            head_length: 0,
            beside: None,
        }
    }

    /// The same response once more, from a cache; its bytes are shared.
    pub(super) fn copy(&self, cache: CacheUse) -> Response {
        let encoded = self.encoded().map(|body| EncodedBody {
            codings: body.codings.clone(),
            max_body: body.max_body,
            decoded: OnceCell::new(),
        });
        Response {
            cache,
            status: self.status,
            target: self.target.clone(),
            bytes: self.bytes.clone(),
            head_length: self.head_length,
            beside: encoded.map(|encoded| {
                Box::new(Beside {
                    encoded: Some(encoded),
                    hop_cookies: Vec::new(),
                })
            }),
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
        self.encoded()?.decoded.get()?.as_ref().err()
    }

    /// The memory that it takes, in bytes.
    pub fn held_bytes(&self) -> usize {
        let decoded = self.encoded().and_then(|body| body.decoded.get());
        let more = decoded.and_then(|decoded| decoded.as_ref().ok());
        let hops = self
            .beside
            .as_ref()
            .map_or(&[][..], |beside| &beside.hop_cookies);
        self.bytes.len() + more.map_or(0, Bytes::len) + hops.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether the body can be read as it is: it came without a coding, or has been looked at before.
    pub fn is_decoded(&self) -> bool {
        let encoded = self.encoded();
        encoded.is_none_or(|encoded| encoded.decoded.get().is_some())
    }

    /// Decodes the body unless that takes more than so many bytes. Returns whether it now can be read.
    pub fn decode_within(&self, most_bytes: u64) -> bool {
        let Some(encoded) = self.encoded() else {
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
        let beside = self.beside.as_mut();
        let Some(encoded) = beside.and_then(|beside| beside.encoded.as_mut()) else {
            return;
        };
        if let Some(Ok(body)) = encoded.decoded.get()
            && body.len() > LARGE
        {
            encoded.decoded = OnceCell::new();
        }
    }

    fn encoded(&self) -> Option<&EncodedBody> {
        self.beside.as_ref()?.encoded.as_ref()
    }

    fn decoded(&self) -> Option<&Result<Bytes, Failure>> {
        let encoded = self.encoded()?;
        let body = || self.bytes.slice(self.head_length..);
        let decode = || encoded.codings.decode(&body(), encoded.max_body);
        Some(encoded.decoded.get_or_init(decode))
    }

    /// The `Set-Cookie` lines of the response and of the redirects before it, in their order.
    pub fn set_cookie_lines(&self) -> Vec<Vec<u8>> {
        let hops = self
            .beside
            .as_ref()
            .map_or(&[][..], |beside| &beside.hop_cookies);
        let own = self.headers().into_iter();
        let own = own.filter(|(name, _)| name == "set-cookie");
        hops.iter()
            .cloned()
            .chain(own.map(|(_, value)| value))
            .collect()
    }

    /// The headers in their order, names in lower case. Read anew with every call.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        headers(&self.bytes[..self.head_length])
    }
}

/// The part that the cache of a user has in an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheUse {
    /// None: the site has sent it.
    #[default]
    Nothing,
    /// All: nobody was asked.
    Fresh,
    /// The site was asked, and has said that the kept one still holds.
    NotModified,
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
    /// The number of times it was sent again because the server had closed a kept-alive connection, or asked for a digest.
    pub retries: u32,
    /// Bytes received, headers and hops included.
    pub bytes: u64,
    /// The trace that its hops carried; none if requests have no trace context, or if that which the plan has set is
    /// none. Boxed: most runs have none.
    pub trace: Option<Box<Trace>>,
    /// The response, or the reason why there is none.
    pub outcome: Result<Response, Failure>,
}

impl Exchange {
    /// The part that the user's cache had in it.
    pub fn cache(&self) -> CacheUse {
        let response = self.outcome.as_ref();
        response.map_or(CacheUse::Nothing, |response| response.cache)
    }
}
