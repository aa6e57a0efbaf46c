//! The HTTP side of every demo site: accepts, reads requests, counts them, delays or fails them as configured, and has
//! the imitated site respond. Driven by `Demo`, one call of [`run`] a thread; knows no page.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::behaviour::Behaviour;
use super::calls::{self, CallGate};
use super::chat;
use super::counts::RouteCounts;
use super::events::with_events;
use super::redis::Redis;

/// The largest request body that is kept; a larger one is read to its end and refused with 413.
const BODY_LIMIT: usize = 1 << 20;

/// The response of a site: its whole body is known, or it has [events](super::events::SiteEvents) instead.
pub(super) type SiteResponse = Response<Full<Bytes>>;

/// A request that has been read to its end.
pub(super) struct SiteRequest<'a> {
    pub(super) method: &'a Method,
    /// The path alone, without the query.
    pub(super) path: &'a str,
    /// The part behind the '?', empty without one.
    pub(super) query: &'a str,
    /// The address that the request came from.
    pub(super) peer: IpAddr,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    /// The time at which the body had been read.
    pub(super) received: Instant,
}

impl<'a> SiteRequest<'a> {
    /// The host and port of the request; `None` if they could not be put into a page or a header.
    pub(super) fn host(&self) -> Option<&'a str> {
        let host = self.headers.get(HOST)?.to_str().ok()?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b);
        (!host.is_empty() && host.bytes().all(plain)).then_some(host)
    }
}

/// The handler of a site's requests.
pub(super) trait Handler: Send + Sync {
    /// All labels that requests are counted under; the last is for all others.
    fn labels(&self) -> &'static [&'static str];
    /// The label that a request is counted under.
    fn label(&self, method: &Method, path: &str) -> &'static str;
    /// Responds to one request.
    fn respond(&self, request: &SiteRequest<'_>) -> SiteResponse;
    /// Responds with status 500, for the share of requests that [`Behaviour`] sets.
    fn failure(&self) -> SiteResponse {
        let text = "The website encountered an unexpected error. Please try again later.\n";
        plain(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
    /// Returns whether the site has methods of gRPC.
    fn has_calls(&self) -> bool {
        false
    }
    /// Returns whether a path is that of the chat room.
    fn is_chat(&self, _path: &str) -> bool {
        false
    }
    /// The store of a site that speaks the protocol of Redis in place of HTTP.
    fn redis(&self) -> Option<&Redis> {
        None
    }
    /// The content of `/_demo/sent`; `None` if the site does not log its streams.
    fn sent(&self) -> Option<serde_json::Value> {
        None
    }
}

/// The time that a site takes for a response before its head is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SiteDelay(pub(super) Duration);

/// The state that the threads of one running site share.
pub(super) struct SiteState {
    pub(super) site: Box<dyn Handler>,
    pub(super) behaviour: Behaviour,
    pub(super) counts: RouteCounts,
}

/// One thread's view of the site. Each thread has an `Arc` of its own to clone for every request.
pub(super) struct SiteThread {
    pub(super) shared: Arc<SiteState>,
    pub(super) thread: usize,
}

impl CallGate for SiteThread {
    fn enter(&self, path: &str) -> Option<Duration> {
        let label = self.shared.site.label(&Method::POST, path);
        self.shared.counts.add(self.thread, label);
        self.shared.behaviour.delay()
    }

    fn fails(&self) -> bool {
        self.shared.behaviour.fails()
    }
}

/// Accepts and serves connections until the sender of `stop` is dropped.
pub(super) async fn run(
    listener: TcpListener,
    worker: Arc<SiteThread>,
    mut stop: watch::Receiver<()>,
) {
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((tcp, peer)) => {
                    tokio::spawn(serve(tcp, peer.ip(), worker.clone()));
                    // Lets another thread take the next connection of a burst.
                    tokio::task::yield_now().await;
                }
                // Out of file descriptors, most likely: some come back when connections close.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            _ = stop.changed() => return,
        }
    }
}

/// Serves one connection until either side closes it. How it ends does not matter.
async fn serve(tcp: TcpStream, peer: IpAddr, worker: Arc<SiteThread>) {
    let _ = tcp.set_nodelay(true);
    if let Some(store) = worker.shared.site.redis() {
        let count = |label| worker.shared.counts.add(worker.thread, label);
        return store.serve(tcp, &worker.shared.behaviour, count).await;
    }
    if worker.shared.site.has_calls() && calls::is_http2(&tcp).await {
        return calls::serve(tcp, worker).await;
    }
    let service = service_fn(move |request| {
        let worker = worker.clone();
        async move { Ok::<_, Infallible>(with_events(handle_request(&worker, peer, request).await)) }
    });
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(tcp), service)
        .with_upgrades()
        .await;
}

async fn handle_request(
    worker: &SiteThread,
    peer: IpAddr,
    mut request: Request<Incoming>,
) -> SiteResponse {
    let shared = &worker.shared;
    let is_chat = shared.site.is_chat(request.uri().path());
    let upgrade = is_chat.then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if let Some(name) = path.strip_prefix("/_demo/") {
        return demo_page(shared, name);
    }
    shared
        .counts
        .add(worker.thread, shared.site.label(&head.method, path));
    let body = match read(body).await {
        Ok(body) => body,
        Err(status) => return plain(status, "The body of the request could not be taken.\n"),
    };
    let received = Instant::now();
    if let Some(delay) = shared.behaviour.delay() {
        tokio::time::sleep(delay).await;
    }
    if shared.behaviour.fails() {
        return shared.site.failure();
    }
    if let Some(opened) = upgrade.and_then(|upgrade| chat::open(&head.headers, upgrade)) {
        return opened;
    }
    let mut response = shared.site.respond(&SiteRequest {
        method: &head.method,
        path,
        query: head.uri.query().unwrap_or_default(),
        peer,
        headers: &head.headers,
        body: &body,
        received,
    });
    if let Some(SiteDelay(delay)) = response.extensions_mut().remove() {
        tokio::time::sleep(delay).await;
    }
    response
}

/// Responds to a request for a page of the demo itself: never counted, delayed or failed.
fn demo_page(shared: &SiteState, name: &str) -> SiteResponse {
    let shown = match name {
        "served" => Some(serde_json::json!(shared.counts.totals())),
        "sent" => shared.site.sent(),
        _ => None,
    };
    let Some(shown) = shown else {
        return plain(StatusCode::NOT_FOUND, "There is only /_demo/served.\n");
    };
    let mut response = Response::new(Full::from(shown.to_string()));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Reads the whole body. One that is too large is still read, as a client whose connection closes while it sends may
/// never see the response.
async fn read(mut body: Incoming) -> Result<Bytes, StatusCode> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    match Limited::new(&mut body, BODY_LIMIT).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            while let Some(frame) = body.frame().await {
                frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            }
            Err(StatusCode::PAYLOAD_TOO_LARGE)
        }
        Err(_) => Err(StatusCode::BAD_REQUEST),
    }
}

/// A response of one line of text.
pub(super) fn plain(status: StatusCode, text: &'static str) -> SiteResponse {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// A refusal of any method but those.
pub(super) fn not_allowed(methods: &'static str) -> SiteResponse {
    let mut response = plain(
        StatusCode::METHOD_NOT_ALLOWED,
        "This method is not for this page.\n",
    );
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(methods));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Visitor;

    fn visitor() -> Visitor {
        Visitor::new(Behaviour::default(), 2)
    }

    #[test]
    fn every_request_is_counted_once_whatever_its_response() {
        let visitor = visitor();
        for path in ["/", "/node/5", "/node/5", "/node/99999", "/misc/none.js"] {
            visitor.get(path);
        }
        visitor.get("/nowhere");
        visitor.send("DELETE", "/node/5", "", "");
        let served = visitor.demo.served();
        for (label, count) in [
            ("GET /", 1),
            ("GET /node/%", 3),
            ("GET /misc", 1),
            ("other", 2),
        ] {
            assert_eq!(served[label], count, "{label}");
        }
        let counted = visitor.get("/_demo/served");
        let counted: serde_json::Value = serde_json::from_slice(&counted.body).expect("it is JSON");
        assert_eq!(counted, serde_json::json!(served));
        assert_eq!(visitor.demo.served(), served);
    }

    #[test]
    fn head_has_the_headers_of_get_and_no_body() {
        let visitor = visitor();
        for (path, length) in [("/misc/drupal.js", "20611"), ("/_demo/none", "29")] {
            let reply = visitor.send("HEAD", path, "", "");
            assert_eq!(reply.header("content-length"), Some(length));
            assert!(reply.body.is_empty());
        }
    }

    #[test]
    fn other_methods_are_refused() {
        let visitor = visitor();
        for (method, path) in [("PUT", "/"), ("BREW", "/user"), ("POST", "/misc/drupal.js")] {
            let reply = visitor.send(method, path, "", "");
            assert_eq!(reply.status, 405, "{method}");
            assert!(
                reply
                    .header("allow")
                    .is_some_and(|methods| methods.contains("GET"))
            );
        }
    }

    #[test]
    fn an_oversize_body_is_read_and_refused() {
        let visitor = visitor();
        for (bytes, status) in [(BODY_LIMIT, 200), (BODY_LIMIT + 1, 413)] {
            let length = format!("Content-Length: {bytes}\r\n");
            let reply = visitor.send("POST", "/user", &length, &"x".repeat(bytes));
            assert_eq!(reply.status, status);
        }
        assert_eq!(visitor.demo.served()["POST /user"], 2);
    }

    #[test]
    fn all_responses_fail_when_requested_and_still_count() {
        let behaviour = Behaviour {
            latency: Duration::from_millis(1),
            jitter: Duration::from_millis(1),
            errors: 1.0,
        };
        let visitor = Visitor::new(behaviour, 1);
        assert_eq!(visitor.get("/").status, 500);
        assert_eq!(visitor.get("/_demo/served").status, 200);
        assert_eq!(visitor.demo.served()["GET /"], 1);
    }

    #[test]
    fn a_host_that_could_break_a_page_is_none() {
        let plain = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            let request = SiteRequest {
                method: &Method::GET,
                path: "/",
                query: "",
                peer: IpAddr::from([127, 0, 0, 1]),
                headers: &headers,
                body: b"",
                received: Instant::now(),
            };
            request.host().is_some()
        };
        assert!(plain("localhost:8080") && plain("[::1]:80"));
        assert!(!plain("a\"b") && !plain("") && !plain("a/b"));
    }
}
