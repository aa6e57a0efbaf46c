//! One exchange over `reqwest`: sends a request and reads its response.

use super::connector::ConnectTrace;
use super::errors::failure;
use crate::client::Client;
use crate::failure::{ErrorClass, Failure};
use crate::hop::Hop;
use crate::message::{
    BodyLimits, BodyPart, RawResponse, ResponseHead, body_too_large, head_as_text, reserve_more,
    reserve_rest,
};
use crate::progress::RequestProgress;
use crate::target::{Origin, Target};
use bytes::BytesMut;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt as _;
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::Poll;

/// One request to be sent by reqwest.
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) target: &'a Target,
    pub(crate) hop: &'a Hop,
    pub(crate) host: HeaderValue,
    pub(crate) headers: HeaderMap,
    pub(crate) limits: BodyLimits,
    pub(crate) keep_alive: bool,
}

/// Sends one request and reads the whole response. Also returns whether the request went over a connection that was
/// already open. If a closed connection has not taken any byte of a request, reqwest itself sends it again, and does
/// not say so.
pub(crate) async fn exchange(
    client: &Client,
    sender: reqwest::Client,
    request: OutgoingRequest<'_>,
    progress: &mut RequestProgress<'_>,
) -> (Result<RawResponse, Failure>, bool) {
    let trace = Arc::new(ConnectTrace::new(&request.target.origin));
    let response = send(client, sender, request, &trace, progress).await;
    (response, !trace.has_started())
}

/// Sends one request; if a new connection is opened for it, that is traced.
async fn send(
    client: &Client,
    sender: reqwest::Client,
    request: OutgoingRequest<'_>,
    trace: &Arc<ConnectTrace>,
    progress: &mut RequestProgress<'_>,
) -> Result<RawResponse, Failure> {
    let target = request.target;
    let (method, limits) = (&request.hop.method, request.limits.clone());
    check_pin(client, &target.origin)?;
    if target.origin.secure {
        client.config.tls.check()?;
    }
    let failed = |error: &reqwest::Error| failure(error, &target.origin, &client.config);
    let built = built(request);
    let mut unsent = Some(length_of(&built));
    let mut sent = std::pin::pin!(ConnectTrace::scope(trace, sender.execute(built)));
    let result = poll_fn(|cx| {
        let polled = sent.as_mut().poll(cx);
        // Updated here, so that it is known after a timeout too, which drops this future.
        progress.connecting = trace.apply(&mut progress.stopwatch) && polled.is_pending();
        let connects = matches!(&polled, Poll::Ready(Err(error)) if error.is_connect());
        if !progress.connecting && !connects {
            progress.meter.count_sent(unsent.take().unwrap_or_default());
        }
        polled
    })
    .await;
    // A request without a connection has not waited for a response.
    if !result.as_ref().is_err_and(reqwest::Error::is_connect) {
        progress.stopwatch.lap(|phases| &mut phases.first_byte);
    }
    progress.stopwatch.enter(|phases| &mut phases.receive);
    let response: http::Response<reqwest::Body> = result.map_err(|error| failed(&error))?.into();
    let (parts, mut body) = response.into_parts();
    let mut limits = limits.of_status(parts.status.as_u16());
    let mut part = BodyPart::of(&limits);
    progress.is_http2 = parts.version == http::Version::HTTP_2;
    let mut bytes: BytesMut = head_as_text(&parts);
    let length = bytes.len();
    progress.meter.count_received(length as u64);
    limits.begin(parts.status.as_u16(), &bytes);
    if hyper::body::Body::size_hint(&body).lower() > limits.max_body {
        return Err(body_too_large(limits.max_body));
    }
    let mut received = 0;
    let outcome = loop {
        match body.frame().await {
            Some(Ok(frame)) => {
                let Ok(piece) = frame.into_data() else {
                    continue;
                };
                received += piece.len() as u64;
                // Counted as it comes, since a timeout may drop this future here.
                progress.meter.count_received(piece.len() as u64);
                if received > limits.max_body {
                    break Err(body_too_large(limits.max_body));
                }
                if let Some(stream) = &limits.stream {
                    if let Err(failure) = stream.push(&piece) {
                        break Err(failure);
                    }
                    // Its reader takes that first, however fast more comes.
                    tokio::task::yield_now().await;
                    stream.room_to_read().await;
                    continue;
                }
                limits.retain_body &= part.grow(piece.len());
                if limits.retain_body {
                    if bytes.capacity() - bytes.len() < piece.len() {
                        let hint = hyper::body::Body::size_hint(&body);
                        match hint.exact() {
                            Some(rest) => reserve_rest(&mut bytes, piece.len() as u64 + rest),
                            None => {
                                let remaining = limits.max_body - received;
                                reserve_more(&mut bytes, piece.len(), remaining);
                            }
                        }
                    }
                    bytes.extend_from_slice(&piece);
                } else if bytes.len() > length {
                    bytes = BytesMut::from(&bytes[..length]);
                    part = BodyPart::default();
                }
            }
            Some(Err(error)) => break Err(failed(&error)),
            // hyper also ends a body here that the server has given up without an error (RFC 9113, section 8.1).
            None if progress.is_http2 && !hyper::body::Body::is_end_stream(&body) => {
                let reason = h2::Reason::NO_ERROR.description();
                break Err(Failure::from_http2(ErrorClass::Reset, reason));
            }
            None => break Ok(()),
        }
    };
    progress.stopwatch.lap(|phases| &mut phases.receive);
    outcome?;
    let head = ResponseHead::parse(&bytes[..length], method)?
        .ok_or_else(|| Failure::new(ErrorClass::Protocol, "a head without end"))?;
    Ok(RawResponse {
        head,
        bytes: bytes.freeze(),
    })
}

/// Checks that the address that '--resolve' sets for an origin, if there is one, will be used: reqwest connects to
/// addresses as they are, and most proxies look up names themselves.
///
/// # Errors
/// A [`Failure`] of class `connect failed` with the remedy.
fn check_pin(client: &Client, origin: &Origin) -> Result<(), Failure> {
    let host = &origin.host;
    let resolver = client.connector.resolver();
    if resolver.pinned(host, origin.port).is_none() {
        return Ok(());
    }
    let proxy = client.config.transport.intercept(origin);
    let scheme = proxy.as_ref().and_then(|proxy| proxy.uri().scheme_str());
    let detail = match scheme {
        Some(scheme) if scheme != "socks5" => format!(
            "'--resolve' sets an address for '{host}', but the proxy looks that up itself: use a socks5:// proxy"
        ),
        _ if host.parse::<IpAddr>().is_ok() => format!(
            "'--resolve' leads the address {host} elsewhere, which only '--client direct' can do"
        ),
        _ => return Ok(()),
    };
    Err(Failure::new(ErrorClass::Connect, detail))
}

/// The length of a request as HTTP/1.1 has it, without the headers that reqwest adds.
fn length_of(request: &reqwest::Request) -> u64 {
    let url = request.url();
    let path = url.path().len() + url.query().map_or(0, |query| 1 + query.len());
    let line = request.method().as_str().len() + path + " ".len() + " HTTP/1.1\r\n".len();
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let body = request.body().and_then(reqwest::Body::as_bytes);
    (line + headers.sum::<usize>() + "\r\n".len() + body.map_or(0, <[u8]>::len)) as u64
}

/// The request in reqwest's own type.
fn built(outgoing: OutgoingRequest<'_>) -> reqwest::Request {
    let mut request = reqwest::Request::new(outgoing.hop.method.clone(), outgoing.target.url());
    let headers = request.headers_mut();
    *headers = outgoing.headers;
    if outgoing.host != outgoing.target.origin.host_header {
        headers.insert(header::HOST, outgoing.host);
    }
    if !outgoing.keep_alive {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if !headers.contains_key(header::TRANSFER_ENCODING)
        && let Some(length) = outgoing.hop.content_length()
    {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    if !outgoing.hop.body.is_empty() {
        *request.body_mut() = Some(outgoing.hop.body.clone().into());
    }
    request
}
