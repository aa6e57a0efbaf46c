//! The session of one user, with the state of a browser: cookies, default headers, redirects and up to six connections
//! a host. Every send returns an [`Exchange`] with its times, whether it succeeded or not.

mod cache;
mod cookies;
mod digest;
mod exchange;
mod freshness;
mod headers;
mod pool;
mod socket;
mod timer;

pub(super) use cookies::{CookieJar, joined_cookies};
pub use cookies::{CookieScope, SetCookie, StoredCookie, is_cookie};
pub(super) use pool::ConnectionPool;

use super::allowed::AllowedHosts;
use super::client::Client;
use super::failure::{ErrorClass, Failure};
use super::grpc::GrpcCall;
use super::hop::{Hop, is_redirect, redirect_target};
use super::message::{
    self, BodyLimits, BodyRoom, DigestCredentials, Exchange, RawResponse, Request, Response,
    StreamedBody,
};
use super::progress::RequestProgress;
use super::sockets::SocketOpener;
use super::target::{Target, UNIX};
use super::tracer::TRACEPARENT;
use super::transfer::TransferMeter;
use cache::Cache;
use digest::{DigestState, challenge_of};
use exchange::OutgoingHop;
use http::{HeaderName, HeaderValue, Method};
use lgoose_base::error::masked_url;
use lgoose_base::trace::{HopSpan, Trace};
use socket::serve;
use std::cell::{OnceCell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use timer::DeadlineTimers;
use tokio::time::Instant;

/// The session of one user. Requests may run side by side; over HTTP/1.1, each takes a connection of its own.
#[derive(Debug)]
pub struct Session {
    client: Rc<Client>,
    // Never borrowed across an await.
    base: RefCell<Rc<Target>>,
    /// Headers of this user, which replace defaults of the same name.
    headers: RefCell<Vec<(HeaderName, HeaderValue)>>,
    jar: RefCell<CookieJar>,
    /// Made only for users with digest authentication.
    digest: RefCell<Option<Box<DigestState>>>,
    /// Present if users cache responses as a browser does.
    cache: Option<Box<Cache>>,
    pool: ConnectionPool,
    /// Made only for users that open sockets of their own.
    sockets: OnceCell<Rc<SocketOpener>>,
    timers: DeadlineTimers,
    /// The room for the bodies of requests that run side by side.
    room: RefCell<Option<Rc<BodyRoom>>>,
}

impl Session {
    /// A session without cookies or connections. `base` is the URL that paths are joined to; if it has a path, that
    /// comes before theirs.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if `base` cannot be requested.
    pub fn new(client: Rc<Client>, base: &str) -> Result<Session, Failure> {
        let base = client.base(base)?;
        Ok(Session {
            cache: client.config.cache.then(Box::default),
            client,
            base: RefCell::new(base),
            headers: RefCell::default(),
            jar: RefCell::default(),
            digest: RefCell::default(),
            pool: ConnectionPool::default(),
            sockets: OnceCell::new(),
            timers: DeadlineTimers::default(),
            room: RefCell::default(),
        })
    }

    /// The number of connections that all sessions of its shard have open.
    pub fn shard_connections(&self) -> u64 {
        self.client.open_connections()
    }

    /// Returns the opener of sockets on which the plan speaks a protocol of its own.
    pub fn sockets(&self) -> &Rc<SocketOpener> {
        self.sockets
            .get_or_init(|| Rc::new(SocketOpener::new(self.client.clone())))
    }

    /// The URL that paths are joined to, or the Unix socket in place of one.
    pub fn base(&self) -> String {
        let base = self.base.borrow();
        match &base.origin.socket {
            None => base.text(),
            Some(socket) => socket.shown.clone(),
        }
    }

    /// The URL that paths are joined to, as a target that does not change with the session's.
    pub fn base_target(&self) -> Rc<Target> {
        self.base.borrow().clone()
    }

    /// Sets the URL that paths are joined to.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if it cannot be requested.
    pub fn set_base(&self, base: &str) -> Result<(), Failure> {
        let mut target = self.client.base(base)?;
        let base_origin = self.base.borrow().origin.clone();
        if base_origin.same(&target.origin) && target.origin.credentials.is_none() {
            // The credentials of the same site are kept.
            target = Rc::new(Target {
                origin: base_origin,
                path: target.path.clone(),
            });
        }
        self.base.replace(target);
        Ok(())
    }

    /// The bytes of the names and values of this user's headers.
    pub fn header_bytes(&self) -> usize {
        let headers = self.headers.borrow();
        let bytes = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len());
        bytes.sum()
    }

    /// Sets a header of all requests from now on; `None` removes it.
    pub fn set_header(&self, name: &HeaderName, value: Option<HeaderValue>) {
        let mut headers = self.headers.borrow_mut();
        headers.retain(|(key, _)| key != name);
        headers.extend(value.map(|value| (name.clone(), value)));
    }

    /// Whether requests name the page that contains the link to them.
    pub fn sends_referrer(&self) -> bool {
        self.client.config.referer
    }

    /// Sets the room for the bodies of all requests from now on; `None`: each body has the limit of a request.
    pub fn set_room(&self, room: Option<Rc<BodyRoom>>) {
        self.room.replace(room);
    }

    /// The limits for the body of a response.
    fn limits(&self, request: &Request) -> BodyLimits {
        BodyLimits::of(request, &self.client.config, self.room.borrow().clone())
    }

    /// Closes the session's connections; later requests open new ones.
    pub fn close_connections(&self) {
        self.pool.close();
    }

    /// The value of the cookie that requests to the base URL send under this name.
    pub fn cookie(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.jar.borrow().get(&self.base.borrow(), name)
    }

    /// Sets a cookie, for the base URL's host unless the scope names another. Returns false if it cannot be a cookie.
    pub fn set_cookie(&self, name: &str, value: &str, scope: &CookieScope) -> bool {
        let mut jar = self.jar.borrow_mut();
        jar.set(&self.base.borrow(), name, value, scope)
    }

    /// All cookies that have not expired, sorted by domain, path and name.
    pub fn stored_cookies(&self) -> Vec<StoredCookie> {
        self.jar.borrow().list()
    }

    /// Removes the cookies with that name; the scope may restrict them to a domain and a path. Returns how many it
    /// removed.
    pub fn delete_cookie(&self, name: &str, scope: &CookieScope) -> usize {
        self.jar.borrow_mut().delete(name, scope)
    }

    /// Removes all cookies.
    pub fn clear_cookies(&self) {
        self.jar.borrow_mut().clear();
    }

    /// Sets the credentials for challenges of all requests from now on; `None` removes them.
    pub fn set_digest(&self, credentials: Option<DigestCredentials>) {
        let mut digest = self.digest.borrow_mut();
        if credentials.is_some() || digest.is_some() {
            digest.get_or_insert_default().credentials = credentials.map(Rc::new);
        }
    }

    /// The memory that the cache takes, in bytes.
    pub fn cached_bytes(&self) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.bytes())
    }

    /// The response to a request that need not be sent, since the cache has a fresh one; else `None`.
    #[inline]
    pub fn from_cache(&self, request: &Request) -> Option<Box<Exchange>> {
        // Most plans have no cache, and pay for none.
        self.cache.as_ref()?.fresh(self, request).map(Box::new)
    }

    /// Begins the trace of a request, if requests have one: the trace that the request or the user has set, or else a
    /// new one.
    pub fn start_trace(&self, request: &Request) -> Option<Box<Trace>> {
        let tracer = self.client.tracer.as_ref()?;
        let user = self.headers.borrow();
        let mut own = request.headers.iter().chain(user.iter());
        let own = own.find(|(name, _)| *name == TRACEPARENT);
        tracer
            .start_trace(own.map(|(_, value)| value))
            .map(Box::new)
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
        let Ok(target) = base.resolve(&request.url) else {
            return Vec::new();
        };
        let outgoing = OutgoingHop {
            session: self,
            target: &target,
            hop: &hop,
            request,
        };
        let head = outgoing.head();
        let host = head.host_header();
        let mut headers = vec![("host".to_owned(), host.as_bytes().to_vec())];
        head.each_header(|name, value| {
            headers.push((name.as_str().to_owned(), value.as_bytes().to_vec()));
        });
        if let Some(trace) = trace.filter(|trace| !trace.set_by_plan) {
            let value = trace.first.header().to_vec();
            headers.push((TRACEPARENT.as_str().to_owned(), value));
        }
        headers
    }

    /// Sends one request that begins at `start` as part of `trace`. It has no error: the exchange has the outcome.
    /// `meter` counts the bytes transferred meanwhile; it is new, and keeps its counts if this future is dropped.
    pub async fn send(
        &self,
        request: &Request,
        start: Instant,
        trace: Option<Box<Trace>>,
        meter: &TransferMeter,
    ) -> Box<Exchange> {
        let mut progress = RequestProgress::starting(start, trace, meter);
        let cache = self.cache.as_ref().filter(|_| request.stream().is_none());
        let conditional = cache.and_then(|cache| cache.conditional(self, request));
        let outcome = {
            let sent = conditional.as_deref().unwrap_or(request);
            let follow = std::pin::pin!(self.follow(sent, &mut progress));
            match request.stream() {
                None => {
                    let deadline = start + self.time_limit(request);
                    self.timers.limit(deadline, follow).await
                }
                Some(stream) => match stream.call().and_then(GrpcCall::refused) {
                    Some(failure) => Some(Err(failure)),
                    // Boxed: few requests are streams.
                    None => {
                        let limited = stream.limit(self.time_limit(request), follow);
                        Box::pin(limited).await
                    }
                },
            }
        };
        let mut exchange = progress.exchange(start, outcome);
        if request.stream().is_some_and(|stream| stream.is_closed()) {
            self.settle_stream(request, &mut exchange);
        }
        if let Some(cache) = cache {
            cache.record(self, request, conditional.is_some(), &mut exchange);
        }
        exchange
    }

    /// Lets a request succeed whose stream has ended as its reader wanted, whatever became of the connection.
    pub fn settle_stream(&self, request: &Request, exchange: &mut Exchange) {
        if let Some(stream) = request.stream()
            && exchange.outcome.is_err()
            && let Ok(target) = self.resolve(request)
            && let Some(response) = Response::of_stream(stream, &request.method, target)
        {
            exchange.outcome = Ok(response);
            if let Some(at) = stream.completed_at() {
                exchange.end_at(at);
            }
        }
    }

    /// The time limit of a request.
    fn time_limit(&self, request: &Request) -> Duration {
        request.timeout.unwrap_or(self.client.config.timeout)
    }

    /// Sends a request and follows its redirects.
    async fn follow(
        &self,
        request: &Request,
        progress: &mut RequestProgress<'_>,
    ) -> Result<Response, Failure> {
        let mut target = self.resolve(request)?;
        let site = target.origin.clone();
        let method = match request.stream() {
            Some(stream) if stream.socket().is_some() => &Method::GET,
            Some(stream) if stream.call().is_some() => &Method::POST,
            _ => &request.method,
        };
        let mut hop = Hop::first(method, &request.body);
        let mut hop_cookies = Vec::new();
        let mut credentials = self.digest_credentials(request);
        let mut challenged = false;
        loop {
            if let Some(credentials) = &credentials {
                hop.authorization = self.authorization(credentials, &target, &hop);
            }
            let outgoing = OutgoingHop {
                session: self,
                target: &target,
                hop: &hop,
                request,
            };
            let exchanged = outgoing.exchange(progress);
            let (response, stored) = match request.stream() {
                Some(stream) => Box::pin(self.stream_hop(stream, &target, exchanged)).await?,
                None => (exchanged.await?, false),
            };
            let status = response.head.status;
            let unauthorized = status == 401 && credentials.is_some() && !challenged;
            if unauthorized && self.take_challenge(&target, &response) {
                let _cookies = self.store_cookies(&target, &response);
                challenged = true;
                progress.meter.count_retry();
                continue;
            }
            let redirects = progress.meter.so_far().redirects;
            let (most, ends_there) = request.redirects.limit(self.client.config.max_redirects);
            let followed = is_redirect(status)
                && if ends_there {
                    redirects < most
                } else {
                    most > 0
                };
            if response.head.sets_cookie && !stored {
                let lines = self.store_cookies(&target, &response);
                if followed && response.head.location.is_some() {
                    hop_cookies.extend(lines);
                }
            }
            let Some(location) = response.head.location.clone().filter(|_| followed) else {
                if hop.cross_origin && self.client.config.sticky_follow {
                    self.base.replace(Rc::new(target.root()));
                }
                let max_body = self.client.config.max_body;
                let left_site = hop.cross_origin && !target.origin.is_host_of(&site);
                if let (Some(stream), 101) = (request.stream(), status)
                    && let Some(socket) = stream.socket()
                {
                    let buffer = &self.client.read_buffer;
                    Box::pin(serve(stream, socket, buffer, progress.meter)).await?;
                }
                return Ok(Response::new(
                    response,
                    target,
                    max_body,
                    hop_cookies,
                    left_site,
                ));
            };
            if redirects >= most {
                let detail = format!("more than {most}");
                return Err(Failure::new(ErrorClass::TooManyRedirects, detail));
            }
            let next = redirect_target(&target, &response.bytes[location])?;
            if self.client.config.show_hops {
                let head = &response.bytes[..response.head.length];
                progress.show_hop(status, &target, head);
            }
            progress.meter.count_redirect();
            let leaves_origin = !next.origin.same(&target.origin);
            hop.redirect(status, leaves_origin);
            challenged = false;
            if leaves_origin {
                credentials = None;
                hop.authorization = None;
            }
            if let Some(page) = request.referrer() {
                hop.tainted |= leaves_origin && !page.is_of(&target);
                let head = message::headers(&response.bytes[..response.head.length]);
                let policies = head.iter().filter(|(name, _)| name == "referrer-policy");
                let policies: Vec<_> = policies
                    .map(|(_, value)| String::from_utf8_lossy(value))
                    .collect();
                hop.redirect_page(page, &target, &policies.join(","));
            }
            self.enter_hop(progress);
            target = next;
        }
    }

    /// The target of a request.
    fn resolve(&self, request: &Request) -> Result<Target, Failure> {
        self.base.borrow().resolve(&request.url)
    }

    /// The credentials of a request for challenges of the site that it is meant for.
    fn digest_credentials(&self, request: &Request) -> Option<Rc<DigestCredentials>> {
        let own = request.extras.as_ref();
        let own = own.and_then(|extras| extras.digest.clone());
        own.or_else(|| self.digest.borrow().as_ref()?.credentials.clone())
    }

    /// The `Authorization` of a hop to a site, if the site's challenge is known.
    fn authorization(
        &self,
        credentials: &DigestCredentials,
        target: &Target,
        hop: &Hop,
    ) -> Option<HeaderValue> {
        let mut digest = self.digest.borrow_mut();
        digest.as_mut()?.authorization(credentials, target, hop)
    }

    /// Keeps the challenge of a 401 response. Returns whether it has one.
    fn take_challenge(&self, target: &Target, response: &RawResponse) -> bool {
        let Some(challenge) = challenge_of(response) else {
            return false;
        };
        let mut digest = self.digest.borrow_mut();
        digest.get_or_insert_default().remember(target, challenge);
        true
    }

    /// Waits for a hop whose response is a stream. Its cookies are stored when its head has come, before the plan sees that;
    /// returns whether they are.
    async fn stream_hop(
        &self,
        stream: &StreamedBody,
        target: &Target,
        exchanged: impl Future<Output = Result<RawResponse, Failure>>,
    ) -> Result<(RawResponse, bool), Failure> {
        let mut exchanged = pin!(exchanged);
        let mut stored = false;
        let response = poll_fn(|cx| {
            let polled = exchanged.as_mut().poll(cx);
            if !stored && stream.status().is_some() {
                stored = true;
                self.store_lines(target, stream.headers());
            }
            polled
        });
        Ok((response.await?, stored))
    }

    /// Stores the cookies of a response if cookies are kept, and returns its `Set-Cookie` lines.
    fn store_cookies(&self, target: &Target, response: &RawResponse) -> Vec<Vec<u8>> {
        let headers = message::headers(&response.bytes[..response.head.length]);
        self.store_lines(target, headers)
    }

    fn store_lines(&self, target: &Target, headers: Vec<(String, Vec<u8>)>) -> Vec<Vec<u8>> {
        let lines = headers.into_iter().filter(|(name, _)| name == "set-cookie");
        let lines: Vec<_> = lines.map(|(_, value)| value).collect();
        if self.client.config.cookies {
            let mut jar = self.jar.borrow_mut();
            jar.store(target, lines.iter().map(Vec::as_slice));
        }
        lines
    }

    /// Gives the hop after a redirect its own span.
    fn enter_hop(&self, progress: &mut RequestProgress<'_>) {
        if let (Some(trace), Some(tracer)) = (&mut progress.trace, &self.client.tracer)
            && !trace.set_by_plan
        {
            trace.hops.push(HopSpan {
                span_id: tracer.span_id(),
                start: progress.stopwatch.last().into_std(),
            });
        }
    }
}

/// The absolute URL of a path joined to a base, as it is requested; the path itself if that is not possible.
pub fn absolute(base: &Target, path: &str) -> String {
    let resolved = base.resolve(&path.into());
    resolved.map_or_else(|_| masked_url(path).into_owned(), |target| target.text())
}

/// Checks that a base URL can be requested.
///
/// # Errors
/// A [`Failure`] of class `bad url` that says why it cannot.
pub fn check_base(base: &str) -> Result<(), Failure> {
    Target::of_base(base).map(|_| ())
}

/// Whether a base URL is the address of a Unix socket, `unix:PATH`.
pub fn is_unix_socket(base: &str) -> bool {
    base.starts_with(UNIX)
}

/// Checks that requests to a base URL are allowed.
///
/// # Errors
/// A [`Failure`] that says why not.
pub fn check_allowed(base: &str, allowed: &AllowedHosts) -> Result<(), Failure> {
    allowed.check(&Target::of_base(base)?.origin)
}
