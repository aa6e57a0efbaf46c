//! The second transport: one hop carried out by `reqwest`, which knows proxies. All that makes a user a
//! browser stays the session's, so here it only sends and receives; an answer becomes what one of the
//! direct transport is, a head as text and the body behind it.

use super::blame::failure;
use super::client::Client;
use super::incoming::{Answer, Limits, too_large};
use super::multiplexed::{self, head_as_text};
use super::progress::Progress;
use super::setup::{Names, Setup, Stamp};
use super::wire::{self, Head};
use super::{ErrorClass, Failure, Target, Version};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::BodyExt as _;
use std::future::poll_fn;
use std::sync::Arc;
use url::Url;

/// The idle connections that a user keeps for each host: what a browser opens.
const MOST_IDLE: usize = 6;

/// What carries requests out.
#[derive(Debug, Clone, Default)]
pub enum Transport {
    /// lgoose's own.
    #[default]
    Direct,
    /// reqwest, through a proxy or not.
    Reqwest(Proxied),
}

/// What reqwest sends requests through.
#[derive(Debug, Clone)]
pub enum Proxied {
    /// Nothing.
    No,
    /// What the variables of the environment say.
    ByEnvironment,
    /// This proxy.
    By(Url),
}

impl Transport {
    /// Whether it is lgoose's own.
    pub fn is_direct(&self) -> bool {
        matches!(self, Transport::Direct)
    }

    /// Whether TLS is spoken to its proxy, as far as that is known before a request.
    pub fn needs_tls(&self) -> bool {
        matches!(self, Transport::Reqwest(Proxied::By(proxy)) if proxy.scheme() == "https")
    }
}

/// One request as reqwest is to send it.
pub(super) struct Sending<'a> {
    pub(super) target: &'a Target,
    pub(super) method: &'a Method,
    pub(super) host: HeaderValue,
    pub(super) fields: HeaderMap,
    pub(super) body: &'a Bytes,
    pub(super) limits: Limits,
    pub(super) keep_alive: bool,
}

/// A user's own reqwest, from what all users share; its connections are nobody else's.
///
/// # Errors
/// A [`Failure`] of class `bad url` if a proxy is not one that reqwest knows.
pub(super) fn agent(client: &Client, proxied: &Proxied) -> Result<reqwest::Client, Failure> {
    let config = &client.config;
    let bad = |error: reqwest::Error| Failure::new(ErrorClass::BadUrl, deepest(&error));
    let names = Names::new(client.resolver.clone(), proxied);
    let builder = reqwest::Client::builder()
        // Without one of ours each client would read the system's certificates: 2 ms and 109 KiB.
        .tls_backend_preconfigured(config.tls.of_user_or_nobody()?)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .local_address(config.local_address)
        .tcp_keepalive(None)
        .dns_resolver(Arc::new(names))
        .connector_layer(Stamp)
        .pool_idle_timeout(None)
        .pool_max_idle_per_host(if config.keep_alive { MOST_IDLE } else { 0 })
        .http2_initial_stream_window_size(multiplexed::STREAM_WINDOW)
        .http2_initial_connection_window_size(multiplexed::CONNECTION_WINDOW)
        .http2_max_header_list_size(wire::MOST_HEAD as u32);
    // A connection may take as long as the request's own timeout allows.
    #[cfg(target_os = "linux")]
    let builder = builder.tcp_user_timeout(None);
    let builder = match config.version {
        Version::Any => builder,
        Version::Http1 => builder.http1_only(),
        Version::Http2 => builder.http2_prior_knowledge(),
    };
    let builder = match proxied {
        Proxied::No => builder.no_proxy(),
        Proxied::ByEnvironment => builder,
        Proxied::By(proxy) => builder.proxy(reqwest::Proxy::all(proxy.clone()).map_err(bad)?),
    };
    builder.build().map_err(bad)
}

/// Sends one request and reads the whole answer. Beside it, whether the request went over a connection that
/// was open before. A request that a closed connection has not taken a byte of is sent again in here, which
/// nobody is told of.
pub(super) async fn exchange(
    client: &Client,
    agent: reqwest::Client,
    sending: Sending<'_>,
    progress: &mut Progress,
) -> (Result<Answer, Failure>, bool) {
    let setup = Arc::new(Setup::towards(&sending.target.origin));
    let answer = receive(client, agent, sending, &setup, progress).await;
    (answer, !setup.has_begun())
}

async fn receive(
    client: &Client,
    agent: reqwest::Client,
    sending: Sending<'_>,
    setup: &Arc<Setup>,
    progress: &mut Progress,
) -> Result<Answer, Failure> {
    let target = sending.target;
    let (method, limits) = (sending.method, sending.limits);
    if target.origin.secure {
        client.config.tls.check()?;
    }
    let blame = |error: &reqwest::Error| failure(error, &target.origin, &client.config);
    let mut sent = std::pin::pin!(Setup::scope(setup, agent.execute(request(sending))));
    let answered = poll_fn(|cx| {
        let polled = sent.as_mut().poll(cx);
        // Known after a timeout too, which drops this future where it is.
        progress.connecting = setup.follow(&mut progress.watch) && polled.is_pending();
        polled
    })
    .await;
    // What did not connect has not waited for an answer.
    if !answered.as_ref().is_err_and(reqwest::Error::is_connect) {
        progress.watch.lap(|timings| &mut timings.first_byte);
    }
    progress.watch.enter(|timings| &mut timings.receive);
    let answered: http::Response<reqwest::Body> = answered.map_err(|error| blame(&error))?.into();
    let (parts, mut body) = answered.into_parts();
    let mut bytes: BytesMut = head_as_text(&parts);
    let length = bytes.len();
    progress.bytes += length as u64;
    if hyper::body::Body::size_hint(&body).lower() > limits.max_body {
        return Err(too_large(limits.max_body));
    }
    let mut received = 0;
    let outcome = loop {
        match body.frame().await {
            Some(Ok(frame)) => {
                let Ok(piece) = frame.into_data() else {
                    continue;
                };
                received += piece.len() as u64;
                if received > limits.max_body {
                    break Err(too_large(limits.max_body));
                }
                if limits.keep_body {
                    bytes.extend_from_slice(&piece);
                }
            }
            Some(Err(error)) => break Err(blame(&error)),
            None => break Ok(()),
        }
    };
    progress.bytes += received;
    progress.watch.lap(|timings| &mut timings.receive);
    outcome?;
    let head = Head::parse(&bytes[..length], method)?
        .ok_or_else(|| Failure::new(ErrorClass::Protocol, "a head without end"))?;
    Ok(Answer {
        head,
        bytes: bytes.freeze(),
        http2: parts.version == http::Version::HTTP_2,
    })
}

fn request(sending: Sending<'_>) -> reqwest::Request {
    let mut request = reqwest::Request::new(sending.method.clone(), sending.target.url());
    let headers = request.headers_mut();
    *headers = sending.fields;
    if sending.host != sending.target.origin.host_header {
        headers.insert(header::HOST, sending.host);
    }
    if !sending.keep_alive {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if !headers.contains_key(header::TRANSFER_ENCODING)
        && let Some(length) = wire::length_of(sending.method, sending.body)
    {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    if !sending.body.is_empty() {
        *request.body_mut() = Some(sending.body.clone().into());
    }
    request
}

/// The cause of all causes.
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
