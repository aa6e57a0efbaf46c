//! A [`Session`] is what one user's browser would own: cookies, default headers, redirects and up to six
//! connections a host. Every send gives an [`Exchange`] with its times, whether it succeeded or not.

use super::client::Client;
use super::connection::Connection;
use super::cookies::Jar;
use super::delegated;
use super::hop::{Hop, is_redirect, redirect_target};
use super::incoming::{Answer, Outgoing};
use super::pool::{Channel, Pool};
use super::progress::Progress;
use super::timer::Timer;
use super::{ErrorClass, Exchange, Failure, Request, Response, Target, multiplexed, wire};
use http::{HeaderName, HeaderValue};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// One user's browser. Requests may run side by side; each takes a connection of its own.
#[derive(Debug)]
pub struct Session {
    pub(super) client: Rc<Client>,
    // Never borrowed across an await.
    base: RefCell<Rc<Target>>,
    /// Headers of this user's own, over the defaults.
    pub(super) headers: RefCell<Vec<(HeaderName, HeaderValue)>>,
    pub(super) jar: RefCell<Jar>,
    pool: Pool,
    timer: Timer,
}

impl Session {
    /// A session without cookies or connections. `base` is the URL that paths are joined to; a path of its
    /// own comes before theirs.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if `base` cannot be requested.
    pub fn new(client: Rc<Client>, base: &str) -> Result<Session, Failure> {
        Ok(Session {
            client,
            base: RefCell::new(Rc::new(base_target(base)?)),
            headers: RefCell::default(),
            jar: RefCell::default(),
            pool: Pool::default(),
            timer: Timer::default(),
        })
    }

    /// The URL that paths are joined to.
    pub fn base(&self) -> String {
        self.base.borrow().text()
    }

    /// The same as a target; it stays what it is when the session's changes.
    pub fn base_target(&self) -> Rc<Target> {
        self.base.borrow().clone()
    }

    /// Joins paths to another URL from now on.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if it cannot be requested.
    pub fn set_base(&self, base: &str) -> Result<(), Failure> {
        self.base.replace(Rc::new(base_target(base)?));
        Ok(())
    }

    /// Sends a header with every request from now on; `None` no longer.
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

    /// Forgets all cookies.
    pub fn clear_cookies(&self) {
        self.jar.borrow_mut().clear();
    }

    /// Carries out one request that begins now; the session's only one for that time. Never fails as a
    /// call: the outcome says what happened.
    pub async fn send(&self, request: &Request, begin: Instant) -> Exchange {
        let mut progress = Progress::starting(begin);
        let outcome = {
            let follow = std::pin::pin!(self.follow(request, &mut progress));
            self.timer.limit(begin + self.limit(request), follow).await
        };
        progress.exchange(begin, outcome)
    }

    /// Carries out one request that begins now while others of the same session are under way.
    pub async fn send_beside(&self, request: &Request, begin: Instant) -> Exchange {
        let mut progress = Progress::starting(begin);
        let outcome =
            tokio::time::timeout(self.limit(request), self.follow(request, &mut progress)).await;
        progress.exchange(begin, outcome.ok())
    }

    fn limit(&self, request: &Request) -> Duration {
        request.timeout.unwrap_or(self.client.config.timeout)
    }

    async fn follow(
        &self,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<Response, Failure> {
        let mut target = resolve(&self.base.borrow(), &request.url)?;
        let mut hop = Hop {
            method: request.method.clone(),
            body: request.body.clone(),
            foreign: false,
        };
        loop {
            let answer = self.exchange(&target, &hop, request, progress).await?;
            let status = answer.head.status;
            if answer.head.sets_cookie && self.client.config.cookies {
                let headers = wire::headers(&answer.bytes[..answer.head.length]);
                let lines = headers.iter().filter(|(name, _)| name == "set-cookie");
                self.jar
                    .borrow_mut()
                    .store(&target, lines.map(|(_, value)| value.as_slice()));
            }
            let followed = request.redirects > 0 && is_redirect(status);
            let Some(location) = answer.head.location.clone().filter(|_| followed) else {
                if hop.foreign && self.client.config.sticky_follow {
                    self.base.replace(Rc::new(target.root()));
                }
                return Ok(Response::new(answer, target, self.client.config.max_body));
            };
            if progress.redirects >= request.redirects {
                let detail = format!("more than {}", request.redirects);
                return Err(Failure::new(ErrorClass::TooManyRedirects, detail));
            }
            let next = redirect_target(&target, &answer.bytes[location])?;
            progress.redirects += 1;
            hop.redirect(status, !next.origin.same(&target.origin));
            target = next;
        }
    }

    /// Sends one hop and waits for its answer. A kept-alive connection that the server closed meanwhile is
    /// replaced once if sending again does no harm (RFC 9110, section 9.2.2), as browsers do; so is a stream
    /// that the server refused to look at.
    async fn exchange(
        &self,
        target: &Target,
        hop: &Hop,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<Answer, Failure> {
        let mut again = false;
        loop {
            let (channel, mut reused) = self
                .pool
                .channel(&self.client, &target.origin, again, progress)
                .await?;
            let received = progress.bytes;
            let answer = match channel {
                Channel::Http1(connection) => {
                    progress.connection = connection.number;
                    self.exchange_http1(connection, target, hop, request, progress)
                        .await
                }
                Channel::Http2(shared) => {
                    progress.connection = shared.number;
                    let head = self.head_http2(target, hop, request)?;
                    let limits = request.limits(&self.client.config);
                    let exchange =
                        multiplexed::exchange(shared.sender, head, &hop.body, limits, progress);
                    Box::pin(exchange).await
                }
                Channel::Delegated(agent) => {
                    let sending = self.sending(target, hop, request);
                    let exchange = delegated::exchange(&self.client, agent, sending, progress);
                    // Boxed: users of the direct transport must not carry its place.
                    let (answer, over_open) = Box::pin(exchange).await;
                    reused = over_open;
                    answer
                }
            };
            match answer {
                Err(failure)
                    if progress.retries == 0
                        && progress.bytes == received
                        && (failure.is_refused_stream()
                            || reused && failure.is_stale() && hop.method.is_idempotent()) =>
                {
                    progress.retries += 1;
                    // A server that refuses a stream has closed nothing else.
                    again = !failure.is_refused_stream();
                }
                answer => return answer,
            }
        }
    }

    async fn exchange_http1(
        &self,
        mut connection: Connection,
        target: &Target,
        hop: &Hop,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<Answer, Failure> {
        let mut bytes = self.client.write_space.take();
        let body_at = self.write(&mut bytes, target, hop, request);
        let outgoing = Outgoing {
            bytes: &bytes,
            body_at,
            method: &hop.method,
            limits: request.limits(&self.client.config),
        };
        let answer = connection
            .exchange(outgoing, &self.client.read_space, &mut progress.watch)
            .await;
        self.client.write_space.replace(bytes);
        progress.bytes += connection.received();
        if answer.as_ref().is_ok_and(|answer| answer.head.keep_alive)
            && self.client.config.keep_alive
        {
            self.pool.give_back(connection);
        }
        answer
    }
}

/// `path` joined to the base: below its path if it starts with one slash, else as URLs resolve.
pub(super) fn resolve(base: &Target, path: &str) -> Result<Target, Failure> {
    let path_of_base = base.path.split('?').next().unwrap_or_default();
    let below = path_of_base.trim_end_matches('/');
    match path.starts_with('/') && !path.starts_with("//") && !below.is_empty() {
        true => base.join(&format!("{below}{path}")),
        false => base.join(path),
    }
}

/// The absolute URL of a path joined to a base, as it is requested; the path itself if it cannot be.
pub fn absolute(base: &Target, path: &str) -> String {
    resolve(base, path).map_or_else(|_| path.to_owned(), |target| target.text())
}

/// Whether a base URL can be requested.
///
/// # Errors
/// A [`Failure`] of class `bad url` that says why not.
pub fn check_base(base: &str) -> Result<(), Failure> {
    base_target(base).map(|_| ())
}

fn base_target(base: &str) -> Result<Target, Failure> {
    let bad = |error: &dyn std::fmt::Display| {
        Failure::new(ErrorClass::BadUrl, format!("'{base}': {error}"))
    };
    Target::of(&url::Url::parse(base).map_err(|error| bad(&error))?)
}
