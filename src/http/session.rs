//! A [`Session`] is what one user's browser would own: cookies, default headers, redirects and up to six
//! connections a host. Every send gives an [`Exchange`] with its times, whether it succeeded or not.

use super::connection::{Answer, Connection, ReadSpace};
use super::cookies::Jar;
use super::timer::Timer;
use super::watch::Watch;
use super::{ErrorClass, Exchange, Failure, Origin, Request, Resolver, Response, Target, wire};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Settings that all sessions of a run share.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// From the call until the last byte of the final answer.
    pub timeout: Duration,
    /// The largest body that is read, in bytes.
    pub max_body: u64,
    /// Sent with every request unless the request has one of that name.
    pub headers: HeaderMap,
}

/// What the sessions of one shard share.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    resolver: Arc<Resolver>,
    /// The default headers as they are sent.
    header_lines: Vec<u8>,
    read_space: ReadSpace,
    /// Where requests are put together; taken while one is being written.
    write_space: RefCell<Vec<u8>>,
}

impl Client {
    /// A client for the users of one shard; the resolver is the process's.
    pub fn new(config: ClientConfig, resolver: Arc<Resolver>) -> Rc<Client> {
        let mut header_lines = Vec::new();
        for (name, value) in &config.headers {
            wire::write_header(&mut header_lines, name, value);
        }
        Rc::new(Client {
            config,
            resolver,
            header_lines,
            read_space: ReadSpace::default(),
            write_space: RefCell::default(),
        })
    }
}

/// One user's browser. Requests may run side by side; each takes a connection of its own.
#[derive(Debug)]
pub struct Session {
    client: Rc<Client>,
    // Never borrowed across an await.
    base: RefCell<Target>,
    /// Headers of this user's own, over the defaults.
    headers: RefCell<Vec<(HeaderName, HeaderValue)>>,
    jar: RefCell<Jar>,
    idle: RefCell<Vec<Connection>>,
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
            base: RefCell::new(base_target(base)?),
            headers: RefCell::default(),
            jar: RefCell::default(),
            idle: RefCell::default(),
            timer: Timer::default(),
        })
    }

    /// The URL that paths are joined to.
    pub fn base(&self) -> String {
        self.base.borrow().text()
    }

    /// Joins paths to another URL from now on.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if it cannot be requested.
    pub fn set_base(&self, base: &str) -> Result<(), Failure> {
        self.base.replace(base_target(base)?);
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

    /// Carries out one request while others of the same session are under way.
    pub async fn send_beside(&self, request: &Request) -> Exchange {
        let begin = Instant::now();
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
        let mut target = self.resolve(&request.url)?;
        let mut hop = Hop {
            method: request.method.clone(),
            body: request.body.clone(),
            foreign: false,
        };
        loop {
            let answer = self.exchange(&target, &hop, request, progress).await?;
            let status = answer.head.status;
            if answer.head.sets_cookie {
                let headers = wire::headers(&answer.bytes[..answer.head.length]);
                let lines = headers.iter().filter(|(name, _)| name == "set-cookie");
                self.jar
                    .borrow_mut()
                    .store(&target, lines.map(|(_, value)| value.as_slice()));
            }
            let followed = request.redirects > 0 && is_redirect(status);
            let Some(location) = answer.head.location.filter(|_| followed) else {
                let bytes = match request.discard {
                    true => Bytes::copy_from_slice(&answer.bytes[..answer.head.length]),
                    false => answer.bytes,
                };
                return Ok(Response {
                    status,
                    target,
                    bytes,
                    head_length: answer.head.length,
                });
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

    /// `path` joined to the base: below its path if it starts with one slash, else as URLs resolve.
    fn resolve(&self, path: &str) -> Result<Target, Failure> {
        let base = self.base.borrow();
        let path_of_base = base.path.split('?').next().unwrap_or_default();
        let below = path_of_base.trim_end_matches('/');
        match path.starts_with('/') && !path.starts_with("//") && !below.is_empty() {
            true => base.join(&format!("{below}{path}")),
            false => base.join(path),
        }
    }

    /// Puts a request together in the shard's buffer: a header of the request wins over one of the user's,
    /// that over a default.
    fn write(&self, out: &mut Vec<u8>, target: &Target, hop: &Hop, request: &Request) {
        let user = self.headers.borrow();
        let has = |headers: &[(HeaderName, HeaderValue)], wanted: &HeaderName| {
            headers.iter().any(|(name, _)| name == wanted)
        };
        let own = || {
            request
                .headers
                .iter()
                .chain(user.iter().filter(|(name, _)| !has(&request.headers, name)))
        };
        let host = own().find(|(name, _)| *name == header::HOST && !hop.foreign);
        let host = host.map_or(&target.origin.host_header, |(_, value)| value);
        out.clear();
        wire::write_start(out, &hop.method, &target.path, host);
        if request.headers.is_empty() && user.is_empty() {
            out.extend_from_slice(&self.client.header_lines);
        } else {
            let defaults = self.client.config.headers.iter();
            for (name, value) in
                defaults.filter(|(name, _)| !own().any(|(known, _)| known == *name))
            {
                wire::write_header(out, name, value);
            }
            for (name, value) in own().filter(|(name, _)| hop.sends(name, &request.body)) {
                wire::write_header(out, name, value);
            }
        }
        if let Some(cookies) = self.jar.borrow_mut().header(target)
            && !own().any(|(name, _)| *name == header::COOKIE)
        {
            wire::write_header(out, &header::COOKIE, &cookies);
        }
        wire::write_end(out, &hop.method, &hop.body);
    }

    async fn exchange(
        &self,
        target: &Target,
        hop: &Hop,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<Answer, Failure> {
        let mut connection = match self.idle_connection(&target.origin).await {
            Some(connection) => connection,
            None => {
                progress.connecting = true;
                let opened =
                    Connection::open(&target.origin, &self.client.resolver, &mut progress.watch)
                        .await;
                progress.connecting = false;
                opened?
            }
        };
        let mut bytes = self.client.write_space.take();
        self.write(&mut bytes, target, hop, request);
        let max_body = self.client.config.max_body;
        let answer = connection
            .exchange(
                &bytes,
                &hop.method,
                max_body,
                &self.client.read_space,
                &mut progress.watch,
            )
            .await;
        self.client.write_space.replace(bytes);
        progress.bytes += connection.received();
        if answer.as_ref().is_ok_and(|answer| answer.head.keep_alive) {
            self.idle.borrow_mut().push(connection);
        }
        answer
    }

    /// The connection to `origin` used last that the server has not closed.
    async fn idle_connection(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let mut connection = {
                let mut idle = self.idle.borrow_mut();
                let place = idle
                    .iter()
                    .rposition(|connection| connection.origin.same(origin))?;
                idle.swap_remove(place)
            };
            if poll_fn(|cx| Poll::Ready(connection.is_usable(cx))).await {
                return Some(connection);
            }
        }
    }
}

/// How far a request came, kept outside its future so that a timeout does not lose it.
#[derive(Debug)]
struct Progress {
    watch: Watch,
    redirects: u32,
    bytes: u64,
    connecting: bool,
}

impl Progress {
    fn starting(begin: Instant) -> Self {
        Progress {
            watch: Watch::starting(begin),
            redirects: 0,
            bytes: 0,
            connecting: false,
        }
    }

    /// `outcome` is `None` if the time was up.
    fn exchange(self, begin: Instant, outcome: Option<Result<Response, Failure>>) -> Exchange {
        let timeout = match self.connecting {
            true => ErrorClass::ConnectTimeout,
            false => ErrorClass::Timeout,
        };
        // A failure may come after the last phase that was stamped, an answer comes with one.
        let end = match &outcome {
            Some(Ok(_)) => self.watch.last(),
            _ => Instant::now(),
        };
        Exchange {
            latency: end - begin,
            timings: self.watch.timings(),
            redirects: self.redirects,
            bytes: self.bytes,
            outcome: outcome.unwrap_or_else(|| Err(Failure::new(timeout, ""))),
        }
    }
}

/// What changes of a request from one redirect to the next.
struct Hop {
    method: Method,
    body: Bytes,
    /// Whether it has left the origin it was meant for.
    foreign: bool,
}

impl Hop {
    /// The Fetch standard's rule: 303 turns all but GET and HEAD into GET, 301 and 302 turn POST into GET.
    /// Another origin gets no credentials.
    fn redirect(&mut self, status: u16, leaves_origin: bool) {
        let becomes_get = match status {
            303 => !matches!(self.method, Method::GET | Method::HEAD),
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
        }
        self.foreign |= leaves_origin;
    }

    /// Whether a header of the request is still sent.
    fn sends(&self, name: &HeaderName, original_body: &Bytes) -> bool {
        let of_body = [header::CONTENT_TYPE, header::CONTENT_ENCODING];
        let secret = [header::AUTHORIZATION, header::COOKIE];
        let body_dropped = self.body.is_empty() && !original_body.is_empty();
        *name != header::HOST
            && *name != header::CONTENT_LENGTH
            && !(body_dropped && of_body.contains(name))
            && !(self.foreign && secret.contains(name))
    }
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

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

fn redirect_target(from: &Target, location: &[u8]) -> Result<Target, Failure> {
    let bad = |detail: String| Failure::new(ErrorClass::BadRedirect, detail);
    // Servers send raw UTF-8 in Location; browsers take it as such.
    let text =
        std::str::from_utf8(location).map_err(|_| bad("Location is not UTF-8".to_owned()))?;
    from.join(text).map_err(|failure| bad(failure.detail))
}
