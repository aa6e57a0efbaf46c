//! HTTP/2 (RFC 9113) over the `h2` crate: one connection of a user carries all of its requests to a host.

mod liveness;

use super::connect::NetStream;
use super::failure::{ErrorClass, Failure};
use super::message::{
    BodyLimits, InterimResponses, MAX_HEAD, RawResponse, ResponseHead, body_too_large, head_as_text,
};
use super::progress::Progress;
use super::target::Origin;
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderName, header};
use liveness::{Liveness, Unfinished};
use std::future::{Future as _, poll_fn};
use std::num::NonZeroU64;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The flow-control windows of a stream and of the whole connection, those of Chrome: enough for any page, so that
/// the window never is what is measured.
pub(super) const STREAM_WINDOW: u32 = 6 << 20;
pub(super) const CONNECTION_WINDOW: u32 = 15 << 20;

/// A connection that the requests of a user share.
#[derive(Debug, Clone)]
pub(super) struct SharedConnection {
    pub(super) origin: Rc<Origin>,
    pub(super) number: Option<NonZeroU64>,
    sender: SendRequest<Bytes>,
    liveness: Rc<Liveness>,
}

impl SharedConnection {
    /// The connection of that number to `origin`, once both sides have exchanged their settings over the stream.
    pub(super) async fn handshake(
        origin: Rc<Origin>,
        number: Option<NonZeroU64>,
        stream: NetStream,
    ) -> Result<SharedConnection, Failure> {
        let (sender, liveness) = handshake(stream).await?;
        Ok(SharedConnection {
            origin,
            number,
            sender,
            liveness: Rc::new(liveness),
        })
    }

    /// Whether a request was given up on it and nothing has shown since that the server is still there.
    pub(super) fn is_doubtful(&self) -> bool {
        self.liveness.is_doubtful()
    }

    /// Whether the server answers a ping, which is waited for a short time.
    pub(super) async fn answers(&self) -> bool {
        self.liveness.answers().await
    }

    /// Whether both are handles of one connection.
    pub(super) fn is_same(&self, other: &SharedConnection) -> bool {
        Rc::ptr_eq(&self.liveness, &other.liveness)
    }

    /// Whether the connection has ended.
    pub(super) fn has_ended(&mut self, cx: &mut Context<'_>) -> bool {
        matches!(self.sender.poll_ready(cx), Poll::Ready(Err(_)))
    }
}

/// Does the handshake over an open stream. The connection is driven by a task of its own, which ends with its
/// last request handle.
async fn handshake(stream: NetStream) -> Result<(SendRequest<Bytes>, Liveness), Failure> {
    let (sender, mut connection) = h2::client::Builder::new()
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_HEAD as u32)
        .handshake(stream)
        .await
        .map_err(|error| failure(&error))?;
    let liveness = Liveness::new(connection.ping_pong());
    tokio::task::spawn_local(async move {
        // Each request under way gets the same error.
        let _outcome = connection.await;
    });
    Ok((sender, liveness))
}

/// Whether a header field belongs to one connection of HTTP/1.1 (RFC 9113, section 8.2.2).
pub(super) fn is_connection_header(name: &HeaderName) -> bool {
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

/// Sends one request and reads the whole response.
pub(super) async fn exchange(
    connection: SharedConnection,
    head: http::Request<()>,
    body: &Bytes,
    limits: BodyLimits,
    progress: &mut Progress,
) -> Result<RawResponse, Failure> {
    let method = head.method().clone();
    let unfinished = Unfinished::on(&connection.liveness);
    progress.stopwatch.enter(|phases| &mut phases.send);
    let sent = send(connection.sender, head, body).await;
    progress.stopwatch.lap(|phases| &mut phases.send);
    progress.stopwatch.enter(|phases| &mut phases.first_byte);
    let answered = async { final_response(sent?).await }.await;
    progress.stopwatch.lap(|phases| &mut phases.first_byte);
    progress.stopwatch.enter(|phases| &mut phases.receive);
    let (parts, mut stream) = match answered {
        Ok(answered) => answered.into_parts(),
        Err(failure) => {
            unfinished.ended();
            return Err(failure);
        }
    };
    let mut bytes = head_as_text(&parts);
    let length = bytes.len();
    progress.bytes += length as u64;
    let mut received = 0;
    let outcome = loop {
        match stream.data().await {
            Some(Ok(piece)) => {
                received += piece.len() as u64;
                // Counted as it comes: a request whose time is up ends here.
                progress.bytes += piece.len() as u64;
                if received > limits.max_body {
                    break Err(body_too_large(limits.max_body));
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
    progress.stopwatch.lap(|phases| &mut phases.receive);
    unfinished.ended();
    outcome?;
    let head = ResponseHead::parse(&bytes[..length], &method)?
        .ok_or_else(|| Failure::new(ErrorClass::Protocol, "a head without end"))?;
    Ok(RawResponse {
        head,
        bytes: bytes.freeze(),
    })
}

/// Waits for the final response, which only so many interim ones may come before.
async fn final_response(
    mut answer: ResponseFuture,
) -> Result<http::Response<h2::RecvStream>, Failure> {
    let mut interim = InterimResponses::default();
    poll_fn(|cx| {
        while let Poll::Ready(Some(Ok(_))) = answer.poll_informational(cx) {
            interim.count()?;
        }
        Pin::new(&mut answer)
            .poll(cx)
            .map_err(|error| failure(&error))
    })
    .await
}

/// Sends the head and the body of a request.
async fn send(
    sender: SendRequest<Bytes>,
    head: http::Request<()>,
    body: &Bytes,
) -> Result<ResponseFuture, Failure> {
    let failed = |error: h2::Error| failure(&error);
    let mut sender = sender.ready().await.map_err(failed)?;
    let (answer, mut stream) = sender.send_request(head, body.is_empty()).map_err(failed)?;
    if !body.is_empty() {
        stream.send_data(body.clone(), true).map_err(failed)?;
    }
    Ok(answer)
}

/// The failure that an error of HTTP/2 means.
pub(super) fn failure(error: &h2::Error) -> Failure {
    if let Some(error) = error.get_io() {
        return Failure::from_io_error(error);
    }
    match error.reason() {
        // Only streams above the last one that the server has looked at end so, whatever its reason to leave (RFC
        // 9113, section 6.8); those below end with the connection.
        Some(_) if error.is_go_away() && error.is_remote() => Failure::refused_stream(),
        Some(h2::Reason::REFUSED_STREAM) => Failure::refused_stream(),
        Some(reason) => {
            let class = match error.is_remote() {
                true => ErrorClass::Reset,
                false => ErrorClass::Protocol,
            };
            Failure::from_http2(class, reason.description())
        }
        None => Failure::from_http2(ErrorClass::Protocol, error),
    }
}
