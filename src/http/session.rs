//! A [`Session`] is what one user's browser would own: cookies, default headers, redirects and up to six
//! connections a host. Every send gives an [`Exchange`] with its times, whether it succeeded or not.

use super::connection::{Answer, Connection};
use super::cookies::Jar;
use super::{ErrorClass, Failure, Origin, Resolver, Target, Timings};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
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
}

impl Client {
    /// A client for the users of one shard; the resolver is the process's.
    pub fn new(config: ClientConfig, resolver: Arc<Resolver>) -> Rc<Client> {
        Rc::new(Client { config, resolver })
    }
}

/// One request as a plan asks for it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// A path, joined to the user's host, or an absolute URL.
    pub url: String,
    /// Headers of this request; they win over the defaults.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, empty for none.
    pub body: Bytes,
    /// This request's own timeout.
    pub timeout: Option<Duration>,
    /// How many redirects are followed.
    pub redirects: u32,
}

impl Request {
    /// A request without headers and body that follows ten redirects.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Request {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            timeout: None,
            redirects: 10,
        }
    }
}

/// A complete answer.
#[derive(Debug)]
pub struct Response {
    /// The status of the final answer.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body as received.
    pub body: Bytes,
    /// Where it came from after redirects.
    pub target: Target,
}

/// A request that has been carried out, redirects included.
#[derive(Debug)]
pub struct Exchange {
    /// From the call until the last byte of the final answer, or until it failed.
    pub latency: Duration,
    /// The phases, hops added up.
    pub timings: Timings,
    /// Hops followed.
    pub redirects: u32,
    /// Bytes received, headers and hops included.
    pub bytes: u64,
    /// The answer, or why there is none.
    pub outcome: Result<Response, Failure>,
}

/// One user's browser. Requests may run side by side; each takes a connection of its own.
#[derive(Debug)]
pub struct Session {
    client: Rc<Client>,
    // Never borrowed across an await.
    base: RefCell<Target>,
    jar: RefCell<Jar>,
    idle: RefCell<Vec<Connection>>,
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
            jar: RefCell::default(),
            idle: RefCell::default(),
        })
    }

    /// The URL that paths are joined to.
    pub fn base(&self) -> String {
        self.base.borrow().text()
    }

    /// Carries out one request. Never fails as a call: the outcome says what happened.
    pub async fn send(&self, request: &Request) -> Exchange {
        let begin = Instant::now();
        let mut progress = Progress::default();
        let limit = request.timeout.unwrap_or(self.client.config.timeout);
        let outcome = match tokio::time::timeout(limit, self.follow(request, &mut progress)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::new(progress.timeout_class(), "")),
        };
        Exchange {
            latency: begin.elapsed(),
            timings: progress.timings,
            redirects: progress.redirects,
            bytes: progress.bytes,
            outcome,
        }
    }

    async fn follow(&self, request: &Request, progress: &mut Progress) -> Result<Response, Failure> {
        let mut target = self.resolve(&request.url)?;
        let mut method = request.method.clone();
        let mut body = request.body.clone();
        let mut headers = self.headers_of(request);
        loop {
            let wire = self.wire_request(&target, &method, &headers, &body)?;
            let answer = self.exchange(&target, wire, progress).await?;
            self.jar.borrow_mut().store(&target, &answer.head.headers);
            let status = answer.head.status;
            let followed = request.redirects > 0 && is_redirect(status);
            let Some(location) = answer.head.headers.get(header::LOCATION).filter(|_| followed) else {
                return Ok(Response {
                    status,
                    headers: answer.head.headers,
                    body: answer.body,
                    target,
                });
            };
            if progress.redirects >= request.redirects {
                let detail = format!("more than {}", request.redirects);
                return Err(Failure::new(ErrorClass::TooManyRedirects, detail));
            }
            let next = redirect_target(&target, location)?;
            progress.redirects += 1;
            if becomes_get(status, &method) {
                method = Method::GET;
                body = Bytes::new();
                for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING] {
                    headers.remove(name);
                }
            }
            if !next.origin.same(&target.origin) {
                for name in [header::AUTHORIZATION, header::COOKIE, header::HOST] {
                    headers.remove(name);
                }
            }
            target = next;
        }
    }

    /// `path` joined to the base: below its path if it starts with one slash, else as URLs resolve.
    fn resolve(&self, path: &str) -> Result<Target, Failure> {
        let base = self.base.borrow();
        let below = base.path.path().trim_end_matches('/');
        match path.starts_with('/') && !path.starts_with("//") && !below.is_empty() {
            true => base.join(&format!("{below}{path}")),
            false => base.join(path),
        }
    }

    fn headers_of(&self, request: &Request) -> HeaderMap {
        let mut headers = self.client.config.headers.clone();
        for (name, value) in &request.headers {
            headers.insert(name, value.clone());
        }
        headers
    }

    fn wire_request(
        &self,
        target: &Target,
        method: &Method,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<http::Request<Full<Bytes>>, Failure> {
        let mut wire = http::Request::new(Full::new(body.clone()));
        *wire.method_mut() = method.clone();
        *wire.uri_mut() = target.path.clone().into();
        let map = wire.headers_mut();
        *map = headers.clone();
        if !map.contains_key(header::HOST) {
            map.insert(header::HOST, target.origin.host_header.clone());
        }
        if let Some(cookies) = self.jar.borrow_mut().header(target) {
            map.entry(header::COOKIE).or_insert(cookies);
        }
        // A body-less POST says so, as browsers do.
        if body.is_empty() && matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
            map.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        Ok(wire)
    }

    async fn exchange(
        &self,
        target: &Target,
        wire: http::Request<Full<Bytes>>,
        progress: &mut Progress,
    ) -> Result<Answer, Failure> {
        let mut connection = match self.idle_connection(&target.origin).await {
            Some(connection) => connection,
            None => {
                progress.connecting = true;
                let mut timings = Timings::default();
                let opened = Connection::open(&target.origin, &self.client.resolver, &mut timings).await;
                progress.timings += timings;
                progress.connecting = false;
                opened?
            }
        };
        let mut timings = Timings::default();
        let answer = connection
            .exchange(wire, self.client.config.max_body, &mut timings)
            .await;
        progress.timings += timings;
        progress.bytes += connection.received();
        if answer.is_ok() {
            self.idle.borrow_mut().push(connection);
        }
        answer
    }

    /// The connection to `origin` used last that the server has not closed.
    async fn idle_connection(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let mut connection = {
                let mut idle = self.idle.borrow_mut();
                let place = idle.iter().rposition(|connection| connection.origin.same(origin))?;
                idle.swap_remove(place)
            };
            if poll_fn(|cx| Poll::Ready(connection.is_usable(cx))).await {
                return Some(connection);
            }
        }
    }
}

/// How far a request came, kept outside its future so that a timeout does not lose it.
#[derive(Debug, Default)]
struct Progress {
    timings: Timings,
    redirects: u32,
    bytes: u64,
    connecting: bool,
}

impl Progress {
    fn timeout_class(&self) -> ErrorClass {
        match self.connecting {
            true => ErrorClass::ConnectTimeout,
            false => ErrorClass::Timeout,
        }
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
    let bad = |error: &dyn std::fmt::Display| Failure::new(ErrorClass::BadUrl, format!("'{base}': {error}"));
    Target::of(&url::Url::parse(base).map_err(|error| bad(&error))?)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The Fetch standard's rule: 303 turns all but GET and HEAD into GET, 301 and 302 turn POST into GET.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        303 => !matches!(*method, Method::GET | Method::HEAD),
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}

fn redirect_target(from: &Target, location: &HeaderValue) -> Result<Target, Failure> {
    let bad = |detail: String| Failure::new(ErrorClass::BadRedirect, detail);
    // Servers send raw UTF-8 in Location; browsers take it as such.
    let text = std::str::from_utf8(location.as_bytes()).map_err(|_| bad("Location is not UTF-8".to_owned()))?;
    from.join(text).map_err(|failure| bad(failure.detail))
}
