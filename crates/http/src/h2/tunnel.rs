//! A stream of an HTTP/2 connection that carries another protocol both ways (RFC 8441): a WebSocket that shares the connection
//! of its user's requests.

use super::stream::H2Stream;
use super::{SharedConnection, gone};
use crate::failure::Failure;
use crate::read_buffer::ReadBuffer;
use crate::websocket::SocketStream;
use bytes::{Bytes, BytesMut};
use std::task::{Context, Poll};

/// The most bytes that the stream takes at once.
const MAX_PIECE: usize = 64 << 10;

/// The capacity for received bytes that an idle stream keeps.
const IDLE_CAPACITY: usize = 1024;

/// Such a stream. If it is dropped before it is finished, it is reset, and the connection is in doubt.
#[derive(Debug)]
pub(crate) struct H2Tunnel {
    connection: SharedConnection,
    key: u64,
    is_finished: bool,
    /// The bytes that the plan's protocol has sent and received through it.
    sent: u64,
    received: u64,
}

impl H2Tunnel {
    pub(super) fn over(connection: SharedConnection, key: u64) -> H2Tunnel {
        H2Tunnel {
            connection,
            key,
            is_finished: false,
            sent: 0,
            received: 0,
        }
    }

    /// Drives the connection, and wakes the task of `cx` when the stream has changed.
    fn drive(&self, cx: &mut Context<'_>) {
        // The waker is taken out: this task need not be woken for events that it finds itself.
        self.with_stream(|stream| stream.waker.take());
        self.connection.link.poll(cx);
        self.with_stream(|stream| stream.waker = Some(cx.waker().clone()));
    }

    fn with_stream<T>(&self, act: impl FnOnce(&mut H2Stream) -> T) -> Option<T> {
        let mut engine = self.connection.link.engine.borrow_mut();
        engine.stream(self.key).map(act)
    }

    /// Takes the received bytes. Ready with the number of bytes, 0 at the end.
    fn take(&mut self, into: &mut BytesMut) -> Poll<Result<usize, Failure>> {
        let taken = self.with_stream(|stream| match &stream.outcome {
            _ if !stream.bytes.is_empty() => {
                into.extend_from_slice(&stream.bytes);
                let count = stream.bytes.len();
                stream.bytes.clear();
                // Many sockets may be idle.
                stream.bytes.shrink_to(IDLE_CAPACITY);
                Poll::Ready(Ok(count))
            }
            None => Poll::Pending,
            Some(outcome) => Poll::Ready(outcome.clone().map(|()| 0)),
        });
        let taken = taken.unwrap_or_else(|| Poll::Ready(Err(gone())));
        if let Poll::Ready(Ok(count)) = taken {
            self.received += count as u64;
            let mut engine = self.connection.link.engine.borrow_mut();
            engine.widen_tunnel(self.key);
        }
        taken
    }

    /// Whether everything has gone out; an error if nothing more will.
    fn is_flushed(&self) -> Poll<Result<(), Failure>> {
        let flushed = self.with_stream(|stream| match &stream.outcome {
            Some(Err(failure)) => Poll::Ready(Err(failure.clone())),
            _ if stream.unsent.is_empty() => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        });
        flushed.unwrap_or_else(|| Poll::Ready(Err(gone())))
    }
}

impl SocketStream for H2Tunnel {
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        _buffer: &ReadBuffer,
        into: &mut BytesMut,
    ) -> Poll<Result<usize, Failure>> {
        let taken = self.take(into);
        if taken.is_ready() {
            return taken;
        }
        self.drive(cx);
        self.take(into)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Failure>> {
        if self.poll_flush(cx)?.is_pending() {
            return Poll::Pending;
        }
        let count = bytes.len().min(MAX_PIECE);
        self.with_stream(|stream| stream.unsent = Bytes::copy_from_slice(&bytes[..count]));
        self.sent += count as u64;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let flushed = self.is_flushed();
        if flushed.is_ready() {
            return flushed;
        }
        self.drive(cx);
        self.is_flushed()
    }

    /// If the server has read everything, the stream is reset, as browsers do it: servers that have ended their side
    /// expect no more data on it.
    fn finish(&mut self, cx: &mut Context<'_>, is_read: bool) {
        self.is_finished = true;
        if !is_read {
            self.with_stream(H2Stream::finish_tunnel);
            self.drive(cx);
        }
    }

    fn is_tunnel(&self) -> bool {
        true
    }

    fn framing(&self) -> [u64; 2] {
        let bytes = self.with_stream(|stream| [stream.bytes_sent, stream.bytes_received]);
        let [sent, received] = bytes.unwrap_or_default();
        [
            sent.saturating_sub(self.sent),
            received.saturating_sub(self.received),
        ]
    }
}

impl Drop for H2Tunnel {
    fn drop(&mut self) {
        let link = &self.connection.link;
        if !self.is_finished {
            self.connection.liveness.doubt();
        }
        drop(link.engine.borrow_mut().take(self.key));
        link.rest();
    }
}
