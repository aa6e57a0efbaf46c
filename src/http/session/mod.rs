//! The session of one user, which is what the user's browser would own: cookies, default headers, redirects and up
//! to six connections a host. Every send gives an [`Exchange`] with its times, whether it succeeded or not.

mod cache;
mod cookies;
mod digest;
mod exchange;
mod headers;
mod pool;
mod timer;

pub(super) use cookies::CookieJar;
pub(crate) use cookies::{CookieScope, KeptCookie, is_cookie, parse_set_cookie};

#[cfg(feature = "gaggle")]
use super::allowed::AllowedHosts;
use super::client::Client;
use super::failure::{ErrorClass, Failure};
use super::hop::{Hop, is_redirect, redirect_target};
use super::message::{self, Exchange, RawResponse, Request, Response};
use super::progress::Progress;
use super::target::Target;
use crate::trace::{HopSpan, Trace};
use crate::units::masked_url;
use cache::Cache;
use digest::Digest;
use http::{HeaderName, HeaderValue};
use pool::Pool;
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
    /// Made for users that answer challenges.
    digest: RefCell<Option<Box<Digest>>>,
    /// There if what browsers would not ask for again is kept.
    cache: Option<Box<RefCell<Cache>>>,
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
            cache: client.config.cache.then(Box::default),
            client,
            base: RefCell::new(base),
            headers: RefCell::default(),
            jar: RefCell::default(),
            digest: RefCell::default(),
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
        let mut target = self.client.base(base)?;
        let known = self.base.borrow().origin.clone();
        if known.same(&target.origin) && target.origin.credentials.is_none() {
            // The same site goes on with its credentials.
            target = Rc::new(Target {
                origin: known,
                path: target.path.clone(),
            });
        }
        self.base.replace(target);
        Ok(())
    }

    /// Sets a header of every request from now on; `None` removes it.
    pub fn set_header(&self, name: &HeaderName, value: Option<HeaderValue>) {
        let mut headers = self.headers.borrow_mut();
        headers.retain(|(known, _)| known != name);
        headers.extend(value.map(|value| (name.clone(), value)));
    }

    /// Whether requests tell the page that they were found on.
    pub(crate) fn tells_pages(&self) -> bool {
        self.client.config.referer
    }

    /// Closes its connections; the next requests open others.
    pub fn close_connections(&self) {
        self.pool.close();
    }

    /// The value of the cookie that requests to the base URL send under this name.
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.jar.borrow().get(&self.base.borrow(), name)
    }

    /// Sets a cookie, for the base URL's host unless the scope says another. False if it cannot be a cookie.
    pub(crate) fn set_cookie(&self, name: &str, value: &str, scope: &CookieScope) -> bool {
        let mut jar = self.jar.borrow_mut();
        jar.set(&self.base.borrow(), name, value, scope)
    }

    /// All cookies that are valid, by domain, path and name.
    pub(crate) fn cookies_kept(&self) -> Vec<KeptCookie> {
        self.jar.borrow().list()
    }

    /// Removes the cookies of that name, of all domains and paths unless the scope says which. Returns how many.
    pub(crate) fn delete_cookie(&self, name: &str, scope: &CookieScope) -> usize {
        self.jar.borrow_mut().delete(name, scope)
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
        let conditional = self.conditional(request);
        let outcome = {
            let sent = conditional.as_deref().unwrap_or(request);
            let follow = std::pin::pin!(self.follow(sent, &mut progress));
            self.timer
                .limit(begin + self.time_limit(request), follow)
                .await
        };
        let mut exchange = progress.exchange(begin, outcome);
        self.note_answer(request, conditional.is_some(), &mut exchange);
        exchange
    }

    /// Carries out one request that begins now while others of the same session are under way.
    pub async fn send_beside(
        &self,
        request: &Request,
        begin: Instant,
        trace: Option<Box<Trace>>,
    ) -> Exchange {
        let mut progress = Progress::starting(begin, trace);
        let conditional = self.conditional(request);
        let sent = conditional.as_deref().unwrap_or(request);
        let outcome =
            tokio::time::timeout(self.time_limit(request), self.follow(sent, &mut progress)).await;
        let mut exchange = progress.exchange(begin, outcome.ok());
        self.note_answer(request, conditional.is_some(), &mut exchange);
        exchange
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
        let mut hop_cookies = Vec::new();
        let mut credentials = self.digest_credentials(request);
        let mut challenged = false;
        loop {
            if let Some(credentials) = &credentials {
                hop.authorization = self.digest_answer(credentials, &target, &hop);
            }
            let response = self.exchange(&target, &hop, request, progress).await?;
            let status = response.head.status;
            let unauthorized = status == 401 && credentials.is_some() && !challenged;
            if unauthorized && self.take_challenge(&target, &response) {
                let _cookies = self.keep_cookies(&target, &response);
                challenged = true;
                progress.retries += 1;
                continue;
            }
            let (most, ends_there) = request.redirects.limit(self.client.config.max_redirects);
            let followed = is_redirect(status)
                && match ends_there {
                    true => progress.redirects < most,
                    false => most > 0,
                };
            if response.head.sets_cookie {
                let lines = self.keep_cookies(&target, &response);
                if followed && response.head.location.is_some() {
                    hop_cookies.extend(lines);
                }
            }
            let Some(location) = response.head.location.clone().filter(|_| followed) else {
                if hop.cross_origin && self.client.config.sticky_follow {
                    self.base.replace(Rc::new(target.root()));
                }
                let max_body = self.client.config.max_body;
                return Ok(Response::new(response, target, max_body, hop_cookies));
            };
            if progress.redirects >= most {
                let detail = format!("more than {most}");
                return Err(Failure::new(ErrorClass::TooManyRedirects, detail));
            }
            let next = redirect_target(&target, &response.bytes[location])?;
            if self.client.config.show_hops {
                let head = &response.bytes[..response.head.length];
                progress.show_hop(status, &target, head);
            }
            progress.redirects += 1;
            let leaves_origin = !next.origin.same(&target.origin);
            hop.redirect(status, leaves_origin);
            challenged = false;
            if leaves_origin {
                credentials = None;
                hop.authorization = None;
            }
            hop.tainted |=
                leaves_origin && request.referrer().is_some_and(|page| !page.is_of(&target));
            self.enter_hop(progress);
            target = next;
        }
    }

    /// Stores the cookies of a response if there is a jar, and returns its lines of them.
    fn keep_cookies(&self, target: &Target, response: &RawResponse) -> Vec<Vec<u8>> {
        let headers = message::headers(&response.bytes[..response.head.length]);
        let lines = headers.into_iter().filter(|(name, _)| name == "set-cookie");
        let lines: Vec<_> = lines.map(|(_, value)| value).collect();
        if self.client.config.cookies {
            let mut jar = self.jar.borrow_mut();
            jar.store(target, lines.iter().map(Vec::as_slice));
        }
        lines
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
    let resolved = resolve(base, &path.into());
    resolved.map_or_else(|_| masked_url(path).into_owned(), |target| target.text())
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
