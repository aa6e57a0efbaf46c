//! A TCP connection as hyper wants to read and write it. Driven by the server; knows nothing of HTTP.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Requests to a demo site are small: one read takes in a whole one.
const READ_BYTES: usize = 4096;

/// A [`TcpStream`] between tokio's traits and hyper's. What is read goes through a buffer of its own, which
/// costs a short copy and spares the unsafe code that reading straight into hyper's buffer would need.
pub(super) struct Stream {
    tcp: TcpStream,
    buffer: [u8; READ_BYTES],
}

impl Stream {
    pub(super) fn new(tcp: TcpStream) -> Self {
        Stream {
            tcp,
            buffer: [0; READ_BYTES],
        }
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let room = cursor.remaining().min(READ_BYTES);
        let mut buffer = ReadBuf::new(&mut this.buffer[..room]);
        ready!(Pin::new(&mut this.tcp).poll_read(context, &mut buffer))?;
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(context, slices)
    }
}
