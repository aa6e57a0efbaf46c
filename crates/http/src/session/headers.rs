//! The heads of requests for each transport, with the headers of the request, the user and the run.

use super::cookies::{CookieJar, joined_cookies};
use crate::client::Client;
use crate::failure::{ErrorClass, Failure};
use crate::h1::{RequestFraming, write_end, write_start};
use crate::h2::{encode_field, encode_start, encode_text, is_connection_header};
use crate::hop::Hop;
#[cfg(feature = "reqwest")]
use crate::message::BodyLimits;
use crate::message::{Request, write_header};
#[cfg(feature = "reqwest")]
use crate::reqwest::OutgoingRequest;
use crate::target::Target;
use crate::tracer::TRACEPARENT;
#[cfg(feature = "reqwest")]
use http::HeaderMap;
use http::uri::{Authority, InvalidUri};
use http::{HeaderName, HeaderValue, Method, header};
use lgoose_base::trace::{Trace, TraceContext};
use std::cell::{Ref, RefCell};

/// The head of one hop of a request, with everything that decides it. It borrows the user's headers, so it lives within
/// one poll.
pub(super) struct HopHead<'a> {
    pub(super) client: &'a Client,
    /// The headers of the user.
    pub(super) user: Ref<'a, Vec<(HeaderName, HeaderValue)>>,
    pub(super) jar: &'a RefCell<CookieJar>,
    pub(super) target: &'a Target,
    pub(super) hop: &'a Hop,
    pub(super) request: &'a Request,
}

impl<'a> HopHead<'a> {
    /// Writes an HTTP/1.1 request to `out`. Returns the offset of its body if that is sent only after '100 Continue'
    /// (RFC 9110, section 10.1.1).
    pub(super) fn write_http1(&self, out: &mut Vec<u8>, trace: Option<&Trace>) -> Option<usize> {
        let host = self.host_header();
        write_start(out, &self.hop.method, &self.target.path, &host);
        let mut framing = RequestFraming::default();
        if self.sends_defaults() {
            out.extend_from_slice(&self.client.header_lines);
            if let Some(cookies) = self.cookies() {
                write_header(out, &header::COOKIE, &cookies);
            }
            self.each_of_page(|name, value| {
                write_header(out, name, value);
            });
        } else {
            self.each_header(|name, value| {
                framing.note(name, value);
                write_header(out, name, value);
            });
        }
        if let Some(context) = sent(trace) {
            out.extend_from_slice(b"traceparent: ");
            out.extend_from_slice(&context.header());
            out.extend_from_slice(b"\r\n");
        }
        if !self.client.config.keep_alive && self.request.socket().is_none() {
            out.extend_from_slice(b"connection: close\r\n");
        }
        write_end(out, self.hop, framing)
    }

    /// Writes the head block of an HTTP/2 request to `out`, without fields that concern one connection (RFC 9113,
    /// section 8.2.2).
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if the request's own 'Host' is not a valid authority.
    pub(super) fn write_http2(
        &self,
        out: &mut Vec<u8>,
        trace: Option<&Trace>,
    ) -> Result<(), Failure> {
        let host = self.host_header();
        if host != self.target.origin.host_header {
            let bad = |error: InvalidUri| Failure::new(ErrorClass::BadUrl, error.to_string());
            Authority::try_from(host.as_bytes()).map_err(bad)?;
        }
        let secure = self.target.origin.secure;
        let is_socket = self.request.socket().is_some();
        // A WebSocket begins with a request to connect (RFC 8441, section 5).
        let method = if is_socket {
            &Method::CONNECT
        } else {
            &self.hop.method
        };
        encode_start(out, method, secure, host.as_bytes(), &self.target.path);
        if is_socket {
            encode_text(out, ":protocol", b"websocket");
        }
        if self.sends_defaults() {
            out.extend_from_slice(&self.client.header_fields);
            if let Some(cookies) = self.cookies() {
                encode_field(out, &header::COOKIE, &cookies);
            }
            self.each_of_page(|name, value| {
                encode_field(out, name, value);
            });
        } else {
            self.each_header(|name, value| {
                let is_of_http1 = is_connection_header(name) || *name == header::SEC_WEBSOCKET_KEY;
                if !is_of_http1 {
                    encode_field(out, name, value);
                }
            });
        }
        if let Some(context) = sent(trace) {
            encode_text(out, TRACEPARENT.as_str(), &context.header());
        }
        // The messages of a call may have no end yet.
        if let Some(length) = self.hop.content_length()
            && self.request.call().is_none()
        {
            encode_field(out, &header::CONTENT_LENGTH, &length.into());
        }
        Ok(())
    }

    /// A request to be sent by reqwest.
    #[cfg(feature = "reqwest")]
    pub(super) fn reqwest_request(
        &self,
        limits: BodyLimits,
        trace: Option<&Trace>,
    ) -> OutgoingRequest<'a> {
        let mut headers = HeaderMap::new();
        self.each_header(|name, value| {
            headers.append(name, value.clone());
        });
        if let Some(context) = sent(trace)
            && let Ok(value) = HeaderValue::from_bytes(&context.header())
        {
            headers.insert(TRACEPARENT, value);
        }
        OutgoingRequest {
            target: self.target,
            hop: self.hop,
            host: self.host_header(),
            headers,
            limits,
            keep_alive: self.client.config.keep_alive,
        }
    }

    /// The `Host` header: the request's or the user's own, else that of the target.
    pub(super) fn host_header(&self) -> HeaderValue {
        let own = self.request.headers.iter().chain(self.user.iter());
        own.filter(|_| !self.hop.cross_origin)
            .find(|(name, _)| *name == header::HOST)
            .map_or_else(
                || self.target.origin.host_header.clone(),
                |(_, value)| value.clone(),
            )
    }

    /// Whether a hop has only the headers of the run, apart from cookies and those of the referring page.
    fn sends_defaults(&self) -> bool {
        self.request.headers.is_empty()
            && self.user.is_empty()
            && !self.hop.cross_origin
            && self.target.origin.credentials.is_none()
            && self.hop.authorization.is_none()
    }

    /// The `Cookie` header, if there is one to send: one line with the cookies of the jar, of a header that the request, the
    /// user or the run sets, and those of the request alone. Each replaces those of its names before it.
    fn cookies(&self) -> Option<HeaderValue> {
        let mut all = self.jar.borrow_mut().header(self.target);
        // Like other secrets of a request, its cookies are only sent to the host that it was meant for.
        if self.hop.cross_origin {
            return all;
        }
        let mut add = |cookies: &[u8]| all = joined_cookies(all.as_ref(), cookies);
        let mut own = [&self.request.headers[..], &self.user].into_iter();
        match own.find(|headers| cookie_lines(headers).next().is_some()) {
            Some(headers) => cookie_lines(headers).for_each(|line| add(line.as_bytes())),
            None => self
                .client
                .cookies
                .iter()
                .for_each(|line| add(line.as_bytes())),
        }
        if let Some(extras) = &self.request.extras {
            for (name, value) in &extras.cookies {
                add(format!("{name}={value}").as_bytes());
            }
        }
        all
    }

    /// Calls `put` with each header of a hop. Headers of the request replace those of the user, and these replace the
    /// defaults.
    pub(super) fn each_header(&self, mut put: impl FnMut(&HeaderName, &HeaderValue)) {
        let in_request =
            |header: &HeaderName| self.request.headers.iter().any(|(name, _)| name == header);
        let of_user = |header: &HeaderName| self.user.iter().any(|(name, _)| name == header);
        let sends = |name: &HeaderName| *name != header::COOKIE && self.hop.sends(name);
        for (name, value) in &self.client.config.headers {
            if !in_request(name) && !of_user(name) && sends(name) {
                put(name, value);
            }
        }
        let remaining = self.user.iter().filter(|(name, _)| !in_request(name));
        for (name, value) in self.request.headers.iter().chain(remaining) {
            if sends(name) {
                put(name, value);
            }
        }
        if let Some(cookies) = self.cookies() {
            put(&header::COOKIE, &cookies);
        }
        let of_run = &self.client.config.headers;
        if let Some(authorization) = &self.hop.authorization {
            put(&header::AUTHORIZATION, authorization);
        } else if let Some(credentials) = &self.target.origin.credentials
            && !in_request(&header::AUTHORIZATION)
            && !of_user(&header::AUTHORIZATION)
            && !of_run.contains_key(header::AUTHORIZATION)
        {
            put(&header::AUTHORIZATION, credentials);
        }
        self.each_of_page(|name, value| {
            if !in_request(name) && !of_user(name) {
                put(name, value);
            }
        });
    }

    /// Calls `put` with the headers that name the page with the link to the request, except those that the run sets.
    fn each_of_page(&self, mut put: impl FnMut(&HeaderName, &HeaderValue)) {
        let config = &self.client.config;
        let Some(page) = self.request.referrer().filter(|_| config.referer) else {
            return;
        };
        let (hop, target) = (self.hop, self.target);
        let named = hop.named_page(page, target);
        let origin = page.origin_of(&hop.method, target, hop.policy, hop.tainted);
        let fields = [
            (header::REFERER, page.referer(named)),
            (header::ORIGIN, origin),
        ];
        for (name, value) in fields {
            if let Some(value) = value.filter(|_| !config.headers.contains_key(&name)) {
                put(&name, &value);
            }
        }
    }
}

/// Returns the `Cookie` lines among some headers.
fn cookie_lines(headers: &[(HeaderName, HeaderValue)]) -> impl Iterator<Item = &HeaderValue> {
    let lines = headers.iter().filter(|(name, _)| *name == header::COOKIE);
    lines.map(|(_, value)| value)
}

/// The trace context that lgoose adds to a hop. One that the plan has set is already among the headers.
fn sent(trace: Option<&Trace>) -> Option<TraceContext> {
    trace.filter(|trace| !trace.set_by_plan).map(Trace::latest)
}
