//! The session of one user, which is what the user's browser would own: cookies, default headers, redirects and up
//! to six connections a host. Every send gives an [`Exchange`] with its times, whether it succeeded or not.

mod cookies;
mod headers;
mod pool;
mod timer;

pub(super) use cookies::CookieJar;

#[cfg(feature = "gaggle")]
use super::allowed::AllowedHosts;
use super::client::Client;
use super::failure::{ErrorClass, Failure};
use super::h1::{Connection, EncodedRequest, ReadBuffer};
use super::h2::SharedConnection;
use super::hop::{Hop, is_redirect, redirect_target};
use super::message::{self, Exchange, RawResponse, Request, Response};
use super::progress::Progress;
#[cfg(feature = "reqwest")]
use super::reqwest;
use super::stopwatch::Stopwatch;
use super::target::Target;
#[cfg(feature = "reqwest")]
use super::transport::Version;
use crate::trace::{HopSpan, Trace};
use http::{HeaderName, HeaderValue};
use pool::{Channel, Pool};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use timer::DeadlineTimer;
use tokio::time::Instant;

/// The session of one user. Requests may run side by side; each takes a connection of its own.
#[derive(Debug)]
pub struct Session {
    client: Rc<Client>,
    // Never borrowed across an await.
    base: RefCell<Rc<Target>>,
    /// Headers of this user's own, over the defaults.
    headers: RefCell<Vec<(HeaderName, HeaderValue)>>,
    jar: RefCell<CookieJar>,
    pool: Pool,
    timer: DeadlineTimer,
}

impl Session {
    /// A session without cookies or connections. `base` is the URL that paths are joined to; a path of its
    /// own comes before theirs.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if `base` cannot be requested.
    pub fn new(client: Rc<Client>, base: &str) -> Result<Session, Failure> {
        let base = client.base(base)?;
        Ok(Session {
            client,
            base: RefCell::new(base),
            headers: RefCell::default(),
            jar: RefCell::default(),
            pool: Pool::default(),
            timer: DeadlineTimer::default(),
        })
    }

    /// The number of connections that all sessions of its shard have open.
    pub fn shard_connections(&self) -> u64 {
        self.client.open_connections()
    }

    /// The URL that paths are joined to.
    pub fn base(&self) -> String {
        self.base.borrow().text()
    }

    /// The URL that paths are joined to, as a target that stays the same when the session's changes.
    pub fn base_target(&self) -> Rc<Target> {
        self.base.borrow().clone()
    }

    /// Sets the URL that paths are joined to.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if it cannot be requested.
    pub fn set_base(&self, base: &str) -> Result<(), Failure> {
        self.base.replace(self.client.base(base)?);
        Ok(())
    }

    /// Sets a header of every request from now on; `None` removes it.
    pub fn set_header(&self, name: &HeaderName, value: Option<HeaderValue>) {
        let mut headers = self.headers.borrow_mut();
        headers.retain(|(known, _)| known != name);
        headers.extend(value.map(|value| (name.clone(), value)));
    }

    /// The value of the cookie that requests to the base URL send under this name.
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.jar.borrow().get(&self.base.borrow(), name)
    }

    /// Sets a cookie for the base URL's host. False if its name or value cannot be a cookie's.
    pub fn set_cookie(&self, name: &str, value: &str) -> bool {
        self.jar.borrow_mut().set(&self.base.borrow(), name, value)
    }

    /// Removes all cookies.
    pub fn clear_cookies(&self) {
        self.jar.borrow_mut().clear();
    }

    /// Carries out one request that begins now, in that trace, and is the session's only one for that time. Never fails
    /// as a call: the outcome says what happened.
    pub async fn send(
        &self,
        request: &Request,
        begin: Instant,
        trace: Option<Box<Trace>>,
    ) -> Exchange {
        let mut progress = Progress::starting(begin, trace);
        let outcome = {
            let follow = std::pin::pin!(self.follow(request, &mut progress));
            self.timer
                .limit(begin + self.time_limit(request), follow)
                .await
        };
        progress.exchange(begin, outcome)
    }

    /// Carries out one request that begins now while others of the same session are under way.
    pub async fn send_beside(
        &self,
        request: &Request,
        begin: Instant,
        trace: Option<Box<Trace>>,
    ) -> Exchange {
        let mut progress = Progress::starting(begin, trace);
        let outcome = tokio::time::timeout(
            self.time_limit(request),
            self.follow(request, &mut progress),
        )
        .await;
        progress.exchange(begin, outcome.ok())
    }

    /// The time that a request may take.
    fn time_limit(&self, request: &Request) -> Duration {
        request.timeout.unwrap_or(self.client.config.timeout)
    }

    /// Sends a request and follows its redirects.
    async fn follow(
        &self,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<Response, Failure> {
        let mut target = resolve(&self.base.borrow(), &request.url)?;
        let mut hop = Hop::first(&request.method, &request.body);
        loop {
            let response = self.exchange(&target, &hop, request, progress).await?;
            let status = response.head.status;
            if response.head.sets_cookie && self.client.config.cookies {
                let headers = message::headers(&response.bytes[..response.head.length]);
                let lines = headers.iter().filter(|(name, _)| name == "set-cookie");
                self.jar
                    .borrow_mut()
                    .store(&target, lines.map(|(_, value)| value.as_slice()));
            }
            let followed = request.redirects > 0 && is_redirect(status);
            let Some(location) = response.head.location.clone().filter(|_| followed) else {
                if hop.cross_origin && self.client.config.sticky_follow {
                    self.base.replace(Rc::new(target.root()));
                }
                return Ok(Response::new(response, target, self.client.config.max_body));
            };
            if progress.redirects >= request.redirects {
                let detail = format!("more than {}", request.redirects);
                return Err(Failure::new(ErrorClass::TooManyRedirects, detail));
            }
            let next = redirect_target(&target, &response.bytes[location])?;
            if self.client.config.show_hops {
                let head = &response.bytes[..response.head.length];
                progress.show_hop(status, &target, head);
            }
            progress.redirects += 1;
            hop.redirect(status, !next.origin.same(&target.origin));
            self.enter_hop(progress);
            target = next;
        }
    }

    /// Gives a hop after a redirect a span of its own.
    fn enter_hop(&self, progress: &mut Progress) {
        if let (Some(trace), Some(tracer)) = (&mut progress.trace, &self.client.tracer)
            && !trace.given
        {
            trace.hops.push(HopSpan {
                span_id: tracer.span_id(),
                begin: progress.stopwatch.last().into_std(),
            });
        }
    }

    /// Sends one hop and waits for its response. A kept-alive connection that the server closed meanwhile is
    /// replaced once if sending again does no harm (RFC 9110, section 9.2.2), as browsers do; so is a stream
    /// that the server refused to look at.
    async fn exchange(
        &self,
        target: &Target,
        hop: &Hop,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<RawResponse, Failure> {
        self.client.config.allowed.check(&target.origin.host)?;
        let mut again = false;
        loop {
            #[cfg_attr(
                not(feature = "reqwest"),
                expect(unused_mut, reason = "only reqwest tells it with the answer")
            )]
            let (channel, mut reused) = self
                .pool
                .channel(&self.client, &target.origin, again, progress)
                .await?;
            let received = progress.bytes;
            let response = match channel {
                Channel::Http1(connection) => {
                    progress.connection = connection.number;
                    self.exchange_http1(connection, target, hop, request, progress)
                        .await
                }
                Channel::Http2(connection) => {
                    progress.connection = connection.number;
                    self.exchange_http2(&connection, target, hop, request, progress)
                        .await
                }
                #[cfg(feature = "reqwest")]
                Channel::Reqwest(sender) => {
                    let trace = progress.trace.as_deref();
                    let outgoing = self.reqwest_request(target, hop, request, trace);
                    let may_be_http2 =
                        target.origin.secure || self.client.config.version == Version::Http2;
                    let under_way = may_be_http2.then(|| self.pool.under_way());
                    let exchange = reqwest::exchange(&self.client, sender, outgoing, progress);
                    // Boxed: the futures of the direct transport must not have room for it.
                    let (response, was_open) = Box::pin(exchange).await;
                    if let Some(under_way) = under_way {
                        under_way.ended(response.is_ok().then_some(progress.is_http2));
                    }
                    reused = was_open;
                    response
                }
            };
            match response {
                Err(failure)
                    if progress.retries == 0
                        && progress.bytes == received
                        && (failure.is_unseen()
                            || reused && failure.is_stale() && hop.method.is_idempotent()) =>
                {
                    progress.retries += 1;
                    // A server that refuses a stream has closed nothing else.
                    again = !failure.is_refused_stream();
                }
                response => return response,
            }
        }
    }

    /// Sends one hop over a connection of HTTP/2.
    async fn exchange_http2(
        &self,
        connection: &SharedConnection,
        target: &Target,
        hop: &Hop,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<RawResponse, Failure> {
        let mut block = self.client.write_buffer.take();
        let written = self.write_http2(&mut block, target, hop, request, progress.trace.as_deref());
        let limits = request.limits(self.client.config.max_body);
        let request = written
            .map(|()| connection.begin(&block, &hop.method, hop.body.clone(), limits, progress));
        self.client.write_buffer.replace(block);
        request?.response().await
    }

    /// Sends one hop over a connection of HTTP/1.1, and puts that back if it can be used again.
    async fn exchange_http1(
        &self,
        connection: Connection,
        target: &Target,
        hop: &Hop,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<RawResponse, Failure> {
        let mut bytes = self.client.write_buffer.take();
        let body_at = self.write_http1(&mut bytes, target, hop, request, progress.trace.as_deref());
        let encoded = EncodedRequest {
            bytes: &bytes,
            body_at,
            method: &hop.method,
            limits: request.limits(self.client.config.max_body),
        };
        let mut counted = Counted {
            connection: Some(connection),
            bytes: &mut progress.bytes,
        };
        let response = counted
            .exchange(encoded, &self.client.read_buffer, &mut progress.stopwatch)
            .await;
        self.client.write_buffer.replace(bytes);
        let connection = counted.end();
        if response
            .as_ref()
            .is_ok_and(|response| response.head.keep_alive)
            && self.client.config.keep_alive
            && let Some(connection) = connection
        {
            self.pool.put_back(connection);
        }
        response
    }
}

/// A connection in an exchange, whose bytes count also when the exchange is given up.
struct Counted<'a> {
    /// There until the end.
    connection: Option<Connection>,
    bytes: &'a mut u64,
}

impl Counted<'_> {
    async fn exchange(
        &mut self,
        request: EncodedRequest<'_>,
        buffer: &ReadBuffer,
        stopwatch: &mut Stopwatch,
    ) -> Result<RawResponse, Failure> {
        match &mut self.connection {
            Some(connection) => connection.exchange(request, buffer, stopwatch).await,
            None => Err(Failure::new(ErrorClass::ClosedEarly, "")),
        }
    }

    /// Counts the bytes and gives the connection back.
    fn end(mut self) -> Option<Connection> {
        self.count()
    }

    fn count(&mut self) -> Option<Connection> {
        let connection = self.connection.take()?;
        *self.bytes += connection.received();
        Some(connection)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let _given_up = self.count();
    }
}

/// The target of `path` joined to the base: below its path if it starts with one slash, else as URLs resolve.
fn resolve(base: &Target, path: &Rc<str>) -> Result<Target, Failure> {
    let path_of_base = base.path.split('?').next().unwrap_or_default();
    let below = path_of_base.trim_end_matches('/');
    match path.starts_with('/') && !path.starts_with("//") && !below.is_empty() {
        true => base.join(&format!("{below}{path}")),
        false => base.join_shared(path),
    }
}

/// The absolute URL of a path joined to a base, as it is requested; the path itself if it cannot be.
pub(crate) fn absolute(base: &Target, path: &str) -> String {
    resolve(base, &path.into()).map_or_else(|_| path.to_owned(), |target| target.text())
}

/// Whether a base URL can be requested.
///
/// # Errors
/// A [`Failure`] of class `bad url` that says why not.
pub(crate) fn check_base(base: &str) -> Result<(), Failure> {
    Target::of_base(base).map(|_| ())
}

/// Whether requests to a base URL are allowed.
///
/// # Errors
/// A [`Failure`] that says why not.
#[cfg(feature = "gaggle")]
pub(crate) fn check_allowed(base: &str, allowed: &AllowedHosts) -> Result<(), Failure> {
    allowed.check(&Target::of_base(base)?.origin.host)
}
