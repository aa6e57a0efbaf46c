//! HTTP/2 (RFC 9113): one connection of a user carries all of its requests to a host.
//!
//! It is lgoose's own because the `h2` crate puts a task, locks and maps of headers between a request and its
//! connection. Measured in alternating rounds, a request of the smallest plan took a median of 37.6 µs of CPU with
//! that crate and 30.6 µs with this code; over HTTP/1.1 with TLS it took 24.1 µs. The reqwest transport uses the
//! crate, and so does the server in the tests.

mod engine;
mod fields;
mod frame;
mod hpack;
mod link;
mod liveness;
mod stream;
mod tunnel;

pub(super) use engine::outcomes_of;
#[cfg(feature = "reqwest")]
pub(super) use frame::{CONNECTION_WINDOW, STREAM_WINDOW};
pub(super) use hpack::{encode_field, encode_start, encode_text};

use super::connect::NetStream;
use super::failure::{ErrorClass, Failure};
use super::message::{BodyLimits, RawResponse, ResponseHead};
use super::progress::RequestProgress;
use super::read_buffer::ReadBuffer;
use super::stopwatch::Stopwatch;
use super::target::Origin;
use super::transfer::TransferMeter;
use bytes::Bytes;
use fields::is_of_connection;
use http::{HeaderName, Method, header};
use link::H2Connection;
use liveness::Liveness;
use std::future::poll_fn;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::task::{Context, Poll};
use stream::H2Stream;
pub(super) use tunnel::H2Tunnel;

/// A connection that the requests of a user share.
#[derive(Debug, Clone)]
pub(super) struct SharedConnection {
    pub(super) origin: Rc<Origin>,
    pub(super) number: Option<NonZeroU64>,
    link: Rc<H2Connection>,
    liveness: Rc<Liveness>,
}

impl SharedConnection {
    /// A connection to `origin` with that number over an open stream; it reads into the shard's buffer. lgoose's
    /// settings are sent with the first request.
    pub(super) fn over(
        buffer: &Rc<ReadBuffer>,
        origin: Rc<Origin>,
        number: Option<NonZeroU64>,
        stream: NetStream,
    ) -> SharedConnection {
        SharedConnection {
            origin,
            number,
            link: H2Connection::over(buffer.clone(), stream),
            liveness: Rc::default(),
        }
    }

    /// Whether a request was given up on this connection, and nothing has shown since that the server is still there.
    pub(super) fn is_doubtful(&self) -> bool {
        self.liveness.is_doubtful()
    }

    /// Whether the server takes one more stream that carries another protocol (RFC 8441), and requests beside it. Waits for its
    /// settings, which say so.
    pub(super) async fn takes_tunnels(&self) -> bool {
        let takes = || self.link.engine.borrow().takes_tunnels();
        if takes().is_none() {
            // A server that responds to a ping has sent its settings before.
            self.is_alive().await;
        }
        takes() == Some(true)
    }

    /// Whether the server responds to a ping within a short time.
    pub(super) async fn is_alive(&self) -> bool {
        self.liveness.is_alive(&self.link).await
    }

    /// Whether both are handles to the same connection.
    pub(super) fn is_same(&self, other: &SharedConnection) -> bool {
        Rc::ptr_eq(&self.link, &other.link)
    }

    /// Whether the connection takes no more requests.
    pub(super) fn has_ended(&self) -> bool {
        self.link.engine.borrow().is_closing()
    }

    /// Whether the connection carries no request.
    pub(super) fn is_idle(&self) -> bool {
        Rc::strong_count(&self.link) == 1
    }

    /// Begins the request with that head block.
    pub(super) fn start_request<'a>(
        &'a self,
        block: &[u8],
        method: &'a Method,
        body: Bytes,
        limits: BodyLimits,
        progress: &'a mut RequestProgress<'_>,
    ) -> OpenRequest<'a> {
        let is_head = *method == Method::HEAD;
        progress.stopwatch.enter(|phases| &mut phases.send);
        let key = self
            .link
            .engine
            .borrow_mut()
            .start_request(block, body, is_head, limits);
        OpenRequest {
            key,
            connection: self,
            method,
            stopwatch: &mut progress.stopwatch,
            meter: progress.meter,
            phase: StreamPhase::Send,
        }
    }
}

fn gone() -> Failure {
    Failure::new(ErrorClass::Reset, "")
}

/// A response whose head has that many bytes.
fn raw_response(bytes: Bytes, head: usize, method: &Method) -> Result<RawResponse, Failure> {
    let head = ResponseHead::parse(&bytes[..head], method)?;
    Ok(RawResponse {
        head: head.ok_or_else(|| Failure::new(ErrorClass::Protocol, "a head without end"))?,
        bytes,
    })
}

/// The phases of a request on its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamPhase {
    Send,
    FirstByte,
    Receive,
    Ended,
}

/// A request under way. If it is dropped before it has ended, its stream is given up and the connection is in doubt.
pub(super) struct OpenRequest<'a> {
    key: u64,
    connection: &'a SharedConnection,
    method: &'a Method,
    stopwatch: &'a mut Stopwatch,
    meter: &'a TransferMeter,
    phase: StreamPhase,
}

impl OpenRequest<'_> {
    /// Sends the request and reads the whole response.
    pub(super) async fn response(mut self) -> Result<RawResponse, Failure> {
        poll_fn(|cx| self.poll(cx)).await;
        let H2Stream {
            bytes,
            head,
            outcome,
            ..
        } = self.leave().ok_or_else(gone)?;
        outcome.ok_or_else(gone)??;
        let bytes = Bytes::from(bytes.into_boxed_slice());
        raw_response(bytes, head.unwrap_or_default(), self.method)
    }

    /// Sends a request that is to open a tunnel, and reads its response: the whole one, if it opens none.
    pub(super) async fn tunnel(mut self) -> Result<(RawResponse, Option<H2Tunnel>), Failure> {
        poll_fn(|cx| self.poll(cx)).await;
        let Some(head) = self.take_tunnel_head() else {
            return Ok((self.response().await?, None));
        };
        let tunnel = H2Tunnel::over(self.connection.clone(), self.key);
        self.phase = StreamPhase::Ended;
        self.stopwatch.lap(|phases| &mut phases.receive);
        let length = head.len();
        let response = raw_response(head.into(), length, self.method)?;
        Ok((response, Some(tunnel)))
    }

    /// Takes the head that has opened a tunnel off the stream, and counts its bytes.
    fn take_tunnel_head(&self) -> Option<Vec<u8>> {
        let mut engine = self.connection.link.engine.borrow_mut();
        let stream = engine.stream(self.key)?;
        let head = stream.take_head()?;
        self.meter
            .count_received(std::mem::take(&mut stream.bytes_received));
        self.meter
            .count_sent(std::mem::take(&mut stream.bytes_sent));
        Some(head)
    }

    /// Drives the connection; ready once the stream has ended, or has become a tunnel.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let link = &self.connection.link;
        // The waker is taken out: this task need not be woken for events that it finds itself.
        let mut engine = link.engine.borrow_mut();
        let stream = engine.stream(self.key);
        let is_behind = stream.as_ref().is_some_and(|stream| stream.is_behind());
        let waker = stream.and_then(|stream| stream.waker.take());
        if is_behind {
            engine.catch_up(self.key);
        }
        drop(engine);
        link.poll(cx);
        let mut engine = link.engine.borrow_mut();
        let Some(stream) = engine.stream(self.key) else {
            return Poll::Ready(());
        };
        let stopwatch = &mut *self.stopwatch;
        if self.phase == StreamPhase::Send && (stream.id.is_some() || stream.outcome.is_some()) {
            stopwatch.lap(|phases| &mut phases.send);
            stopwatch.enter(|phases| &mut phases.first_byte);
            self.phase = StreamPhase::FirstByte;
        }
        if self.phase == StreamPhase::FirstByte
            && (stream.head.is_some() || stream.outcome.is_some())
        {
            stopwatch.lap(|phases| &mut phases.first_byte);
            stopwatch.enter(|phases| &mut phases.receive);
            self.phase = StreamPhase::Receive;
        } else if stream.is_done() {
            stopwatch.lap(|phases| &mut phases.receive);
        }
        if !stream.is_done() && !stream.is_tunnel() {
            stream.wait_for_room(cx.waker());
            let current = waker.filter(|waker| waker.will_wake(cx.waker()));
            if let Some(call) = stream.call() {
                call.set_sender(cx.waker());
            }
            stream.waker = Some(current.unwrap_or_else(|| cx.waker().clone()));
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Takes the stream off the connection, and counts the bytes received on it.
    fn leave(&mut self) -> Option<H2Stream> {
        self.phase = StreamPhase::Ended;
        let link = &self.connection.link;
        let stream = link.engine.borrow_mut().take(self.key);
        if let Some(stream) = &stream {
            self.meter.count_received(stream.bytes_received);
            self.meter.count_sent(stream.bytes_sent);
        }
        link.rest();
        stream
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if self.phase != StreamPhase::Ended {
            self.connection.liveness.doubt();
            self.leave();
        }
    }
}

/// Whether a header field is not sent over HTTP/2, because it concerns only one HTTP/1.1 connection or `:authority`
/// replaces it.
pub(super) fn is_connection_header(name: &HeaderName) -> bool {
    *name == header::HOST || is_of_connection(name.as_str().as_bytes())
}
