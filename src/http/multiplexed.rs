//! HTTP/2 (RFC 9113) over the `h2` crate: one connection of a user carries all of its requests to a host. An
//! answer becomes what one of HTTP/1.1 is, a head as text and the body behind it, so that nobody else needs
//! to know which it was.

use super::incoming::{Answer, Limits, too_large};
use super::progress::Progress;
use super::stream::Stream;
use super::wire::{self, Head};
use super::{ErrorClass, Failure};
use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderName, header};

/// What Chrome allows a server to send ahead, for a stream and for the whole connection: enough for any
/// page, so that the window never is what is measured.
pub(super) const STREAM_WINDOW: u32 = 6 << 20;
pub(super) const CONNECTION_WINDOW: u32 = 15 << 20;

/// Shakes hands over an open stream. The connection is driven by a task of its own, which ends with its
/// last request handle.
pub(super) async fn start(stream: Stream) -> Result<SendRequest<Bytes>, Failure> {
    let (sender, connection) = h2::client::Builder::new()
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(wire::MOST_HEAD as u32)
        .handshake(stream)
        .await
        .map_err(|error| failure(&error))?;
    tokio::task::spawn_local(async move {
        // Each request under way is told of the same error.
        let _told = connection.await;
    });
    Ok(sender)
}

/// Whether a header field is about one connection of HTTP/1.1.
pub(super) fn is_of_connection(name: &HeaderName) -> bool {
    [
        header::CONNECTION,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        header::HOST,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ]
    .contains(name)
}

/// Sends one request and reads the whole answer.
pub(super) async fn exchange(
    sender: SendRequest<Bytes>,
    head: http::Request<()>,
    body: &Bytes,
    limits: Limits,
    progress: &mut Progress,
) -> Result<Answer, Failure> {
    let method = head.method().clone();
    progress.watch.enter(|timings| &mut timings.send);
    let sent = send(sender, head, body).await;
    progress.watch.lap(|timings| &mut timings.send);
    progress.watch.enter(|timings| &mut timings.first_byte);
    let answered = async { sent?.await.map_err(|error| failure(&error)) }.await;
    progress.watch.lap(|timings| &mut timings.first_byte);
    progress.watch.enter(|timings| &mut timings.receive);
    let (parts, mut stream) = answered?.into_parts();
    let mut bytes = head_as_text(&parts);
    let length = bytes.len();
    progress.bytes += length as u64;
    let mut received = 0;
    let outcome = loop {
        match stream.data().await {
            Some(Ok(piece)) => {
                received += piece.len() as u64;
                if received > limits.max_body {
                    break Err(too_large(limits.max_body));
                }
                // Read: the server may send as much again. Fails only for a stream that has ended.
                let _ended = stream.flow_control().release_capacity(piece.len());
                if limits.keep_body {
                    bytes.extend_from_slice(&piece);
                }
            }
            Some(Err(error)) => break Err(failure(&error)),
            None => break Ok(()),
        }
    };
    progress.bytes += received;
    progress.watch.lap(|timings| &mut timings.receive);
    outcome?;
    let head = Head::parse(&bytes[..length], &method)?
        .ok_or_else(|| Failure::new(ErrorClass::Protocol, "a head without end"))?;
    Ok(Answer {
        head,
        bytes: bytes.freeze(),
        http2: true,
    })
}

async fn send(
    sender: SendRequest<Bytes>,
    head: http::Request<()>,
    body: &Bytes,
) -> Result<h2::client::ResponseFuture, Failure> {
    let failed = |error: h2::Error| failure(&error);
    let mut sender = sender.ready().await.map_err(failed)?;
    let (answer, mut stream) = sender.send_request(head, body.is_empty()).map_err(failed)?;
    if !body.is_empty() {
        stream.send_data(body.clone(), true).map_err(failed)?;
    }
    Ok(answer)
}

/// The head as HTTP/1.1 would have sent it.
pub(super) fn head_as_text(parts: &http::response::Parts) -> BytesMut {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"HTTP/1.1 ");
    text.extend_from_slice(parts.status.as_str().as_bytes());
    text.extend_from_slice(b" \r\n");
    for (name, value) in &parts.headers {
        wire::write_header(&mut text, name, value);
    }
    text.extend_from_slice(b"\r\n");
    BytesMut::from(&text[..])
}

/// What an error of HTTP/2 means.
pub(super) fn failure(error: &h2::Error) -> Failure {
    if let Some(error) = error.get_io() {
        return Failure::exchanging(error);
    }
    match error.reason() {
        // A server that ends the connection in order answers what it has looked at before.
        Some(h2::Reason::NO_ERROR) if error.is_go_away() && error.is_remote() => {
            Failure::refused_stream()
        }
        Some(h2::Reason::REFUSED_STREAM) => Failure::refused_stream(),
        Some(reason) => {
            let class = match error.is_remote() {
                true => ErrorClass::Reset,
                false => ErrorClass::Protocol,
            };
            Failure::of_http2(class, reason.description())
        }
        None => Failure::of_http2(ErrorClass::Protocol, error),
    }
}
