//! The heads of requests for each transport, with the headers of the request, the user and the run.

use super::Session;
use super::cookies::with_own;
use crate::http::failure::{ErrorClass, Failure};
use crate::http::h1::{RequestFraming, write_end, write_start};
use crate::http::h2::{encode_field, encode_start, encode_text, is_connection_header};
use crate::http::hop::Hop;
use crate::http::message::{Request, write_header};
#[cfg(feature = "reqwest")]
use crate::http::reqwest::OutgoingRequest;
use crate::http::target::Target;
use crate::http::tracer::TRACEPARENT;
use crate::trace::{Trace, TraceContext};
#[cfg(feature = "reqwest")]
use http::HeaderMap;
use http::uri::{Authority, InvalidUri};
use http::{HeaderName, HeaderValue, header};

impl Session {
    /// Begins the trace of a request, if requests have one: the trace that the request or the user has set, or else a
    /// new one.
    pub fn begin_trace(&self, request: &Request) -> Option<Box<Trace>> {
        let tracer = self.client.tracer.as_ref()?;
        let user = self.headers.borrow();
        let mut own = request.headers.iter().chain(user.iter());
        let own = own.find(|(name, _)| *name == TRACEPARENT);
        tracer.begin(own.map(|(_, value)| value)).map(Box::new)
    }

    /// The headers with which a request of that trace is sent, in order, `host` first. The cookies are those that the
    /// jar has now.
    pub fn headers_of(
        &self,
        base: &Target,
        request: &Request,
        trace: Option<&Trace>,
    ) -> Vec<(String, Vec<u8>)> {
        let hop = Hop::first(&request.method, &request.body);
        let Ok(target) = super::resolve(base, &request.url) else {
            return Vec::new();
        };
        let host = self.host_header(&target, &hop, request);
        let mut headers = vec![("host".to_owned(), host.as_bytes().to_vec())];
        self.each_header(&target, &hop, request, |name, value| {
            headers.push((name.as_str().to_owned(), value.as_bytes().to_vec()));
        });
        if let Some(trace) = trace.filter(|trace| !trace.given) {
            let value = trace.first.header().to_vec();
            headers.push((TRACEPARENT.as_str().to_owned(), value));
        }
        headers
    }

    /// Writes an HTTP/1.1 request to `out`. Returns the offset of its body if the server must be asked before the
    /// body is sent (RFC 9110, section 10.1.1).
    pub(super) fn write_http1(
        &self,
        out: &mut Vec<u8>,
        target: &Target,
        hop: &Hop,
        request: &Request,
        trace: Option<&Trace>,
    ) -> Option<usize> {
        let host = self.host_header(target, hop, request);
        write_start(out, &hop.method, &target.path, &host);
        let mut framing = RequestFraming::default();
        if self.sends_defaults(target, hop, request) {
            out.extend_from_slice(&self.client.header_lines);
            if let Some(cookies) = self.cookies(target, hop, request) {
                write_header(out, &header::COOKIE, &cookies);
            }
            self.each_of_page(target, hop, request, |name, value| {
                write_header(out, name, value);
            });
        } else {
            self.each_header(target, hop, request, |name, value| {
                framing.note(name, value);
                write_header(out, name, value);
            });
        }
        if let Some(context) = sent(trace) {
            out.extend_from_slice(b"traceparent: ");
            out.extend_from_slice(&context.header());
            out.extend_from_slice(b"\r\n");
        }
        if !self.client.config.keep_alive {
            out.extend_from_slice(b"connection: close\r\n");
        }
        write_end(out, hop, framing)
    }

    /// Writes the head block of an HTTP/2 request to `out`, without fields that concern one connection (RFC 9113,
    /// section 8.2.2).
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if the request's own 'Host' is not a valid authority.
    pub(super) fn write_http2(
        &self,
        out: &mut Vec<u8>,
        target: &Target,
        hop: &Hop,
        request: &Request,
        trace: Option<&Trace>,
    ) -> Result<(), Failure> {
        let host = self.host_header(target, hop, request);
        if host != target.origin.host_header {
            let bad = |error: InvalidUri| Failure::new(ErrorClass::BadUrl, error.to_string());
            Authority::try_from(host.as_bytes()).map_err(bad)?;
        }
        let secure = target.origin.secure;
        encode_start(out, &hop.method, secure, host.as_bytes(), &target.path);
        if self.sends_defaults(target, hop, request) {
            out.extend_from_slice(&self.client.header_fields);
            if let Some(cookies) = self.cookies(target, hop, request) {
                encode_field(out, &header::COOKIE, &cookies);
            }
            self.each_of_page(target, hop, request, |name, value| {
                encode_field(out, name, value);
            });
        } else {
            self.each_header(target, hop, request, |name, value| {
                if !is_connection_header(name) {
                    encode_field(out, name, value);
                }
            });
        }
        if let Some(context) = sent(trace) {
            encode_text(out, TRACEPARENT.as_str(), &context.header());
        }
        if let Some(length) = hop.content_length() {
            encode_field(out, &header::CONTENT_LENGTH, &length.into());
        }
        Ok(())
    }

    /// A request to be sent by reqwest.
    #[cfg(feature = "reqwest")]
    pub(super) fn reqwest_request<'a>(
        &self,
        target: &'a Target,
        hop: &'a Hop,
        request: &Request,
        trace: Option<&Trace>,
    ) -> OutgoingRequest<'a> {
        let mut headers = HeaderMap::new();
        self.each_header(target, hop, request, |name, value| {
            headers.append(name, value.clone());
        });
        if let Some(context) = sent(trace)
            && let Ok(value) = HeaderValue::from_bytes(&context.header())
        {
            headers.insert(TRACEPARENT, value);
        }
        OutgoingRequest {
            target,
            hop,
            host: self.host_header(target, hop, request),
            headers,
            limits: self.limits(request),
            keep_alive: self.client.config.keep_alive,
        }
    }

    /// The `Host` header: the request's or the user's own, else that of the target.
    fn host_header(&self, target: &Target, hop: &Hop, request: &Request) -> HeaderValue {
        let user = self.headers.borrow();
        let own = request.headers.iter().chain(user.iter());
        own.filter(|_| !hop.cross_origin)
            .find(|(name, _)| *name == header::HOST)
            .map_or_else(
                || target.origin.host_header.clone(),
                |(_, value)| value.clone(),
            )
    }

    /// Whether a hop has only the headers of the run, apart from cookies and those of the referring page.
    fn sends_defaults(&self, target: &Target, hop: &Hop, request: &Request) -> bool {
        request.headers.is_empty()
            && self.headers.borrow().is_empty()
            && !hop.cross_origin
            && target.origin.credentials.is_none()
            && hop.authorization.is_none()
    }

    /// The `Cookie` header, if there is one to send.
    fn cookies(&self, target: &Target, hop: &Hop, request: &Request) -> Option<HeaderValue> {
        let jar = self.jar.borrow_mut().header(target);
        match &request.extras {
            // Like other secrets of a request, its cookies are only sent to the host that it was meant for.
            Some(extras) if !extras.cookies.is_empty() && !hop.cross_origin => {
                with_own(jar, &extras.cookies)
            }
            _ => jar,
        }
    }

    /// Calls `put` with each header of a hop. Headers of the request replace those of the user, and these replace the
    /// defaults.
    pub(super) fn each_header(
        &self,
        target: &Target,
        hop: &Hop,
        request: &Request,
        mut put: impl FnMut(&HeaderName, &HeaderValue),
    ) {
        let user = self.headers.borrow();
        let in_request =
            |wanted: &HeaderName| request.headers.iter().any(|(name, _)| name == wanted);
        let of_user = |wanted: &HeaderName| user.iter().any(|(name, _)| name == wanted);
        for (name, value) in &self.client.config.headers {
            if !in_request(name) && !of_user(name) && hop.sends(name, &request.body) {
                put(name, value);
            }
        }
        let remaining = user.iter().filter(|(name, _)| !in_request(name));
        for (name, value) in request.headers.iter().chain(remaining) {
            if hop.sends(name, &request.body) {
                put(name, value);
            }
        }
        if !in_request(&header::COOKIE)
            && !of_user(&header::COOKIE)
            && let Some(cookies) = self.cookies(target, hop, request)
        {
            put(&header::COOKIE, &cookies);
        }
        let of_run = &self.client.config.headers;
        if let Some(answer) = &hop.authorization {
            put(&header::AUTHORIZATION, answer);
        } else if let Some(credentials) = &target.origin.credentials
            && !in_request(&header::AUTHORIZATION)
            && !of_user(&header::AUTHORIZATION)
            && !of_run.contains_key(header::AUTHORIZATION)
        {
            put(&header::AUTHORIZATION, credentials);
        }
        self.each_of_page(target, hop, request, |name, value| {
            if !in_request(name) && !of_user(name) {
                put(name, value);
            }
        });
    }

    /// Calls `put` with the headers that name the page with the link to the request, except those that the run sets.
    fn each_of_page(
        &self,
        target: &Target,
        hop: &Hop,
        request: &Request,
        mut put: impl FnMut(&HeaderName, &HeaderValue),
    ) {
        let config = &self.client.config;
        let Some(page) = request.referrer().filter(|_| config.referer) else {
            return;
        };
        let told = [
            (header::REFERER, page.referer(target)),
            (
                header::ORIGIN,
                page.origin_of(&hop.method, target, hop.tainted),
            ),
        ];
        for (name, value) in told {
            if let Some(value) = value.filter(|_| !config.headers.contains_key(&name)) {
                put(&name, &value);
            }
        }
    }
}

/// The trace context that lgoose adds to a hop. One that the plan has set is already among the headers.
fn sent(trace: Option<&Trace>) -> Option<TraceContext> {
    trace.filter(|trace| !trace.given).map(Trace::latest)
}
