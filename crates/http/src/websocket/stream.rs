//! The byte stream of a WebSocket once its handshake is over.

use crate::connect::NetStream;
use crate::failure::Failure;
use crate::read_buffer::ReadBuffer;
use bytes::BytesMut;
use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

/// A connection of its own, or a stream of one that it shares with requests.
pub(crate) trait SocketStream: Debug {
    /// Receives bytes into `into`. Ready with their number, 0 at the end.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &ReadBuffer,
        into: &mut BytesMut,
    ) -> Poll<Result<usize, Failure>>;

    /// Sends some of the bytes. Ready with their number.
    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Failure>>;

    /// Ready once everything has gone out.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>>;

    /// Ends this side after the closing handshake. Unless the server is known to have read everything, it is notified
    /// of the end.
    fn finish(&mut self, cx: &mut Context<'_>, is_read: bool);

    /// Whether it is a stream of a shared connection (RFC 8441), whose handshake has no key.
    fn is_tunnel(&self) -> bool;

    /// The bytes sent and received beyond those that were handed over here.
    fn framing(&self) -> [u64; 2];
}

impl SocketStream for NetStream {
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &ReadBuffer,
        into: &mut BytesMut,
    ) -> Poll<Result<usize, Failure>> {
        let mut buffer = buffer.borrow();
        let mut filled = ReadBuf::new(&mut buffer);
        let read = ready!(Pin::new(self).poll_read(cx, &mut filled));
        into.extend_from_slice(filled.filled());
        Poll::Ready(failure_of(read.map(|()| filled.filled().len())))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Failure>> {
        let written = ready!(Pin::new(self).poll_write(cx, bytes));
        Poll::Ready(failure_of(match written {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            other => other,
        }))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let flushed = ready!(Pin::new(self).poll_flush(cx));
        Poll::Ready(failure_of(flushed))
    }

    /// The connection ends when it is dropped.
    fn finish(&mut self, _cx: &mut Context<'_>, _is_read: bool) {}

    fn is_tunnel(&self) -> bool {
        false
    }

    fn framing(&self) -> [u64; 2] {
        [0; 2]
    }
}

fn failure_of<T>(outcome: io::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::from_io_error(&error))
}
