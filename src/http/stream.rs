//! A TCP stream that stamps when the request had been written and when the answer began, and counts the
//! bytes received. Sits between hyper and the socket; knows nothing of HTTP.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What the stream saw of the exchange under way; read by the connection.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    /// When the last bytes were handed to the kernel.
    pub(super) sent: Cell<Option<Instant>>,
    /// When the first bytes came since [`Stamps::reset`].
    pub(super) first_byte: Cell<Option<Instant>>,
    /// Bytes received since [`Stamps::reset`].
    pub(super) received: Cell<u64>,
}

impl Stamps {
    pub(super) fn reset(&self) {
        self.sent.set(None);
        self.first_byte.set(None);
        self.received.set(0);
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    tcp: TcpStream,
    stamps: Rc<Stamps>,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream, stamps: Rc<Stamps>) -> Self {
        Stream { tcp, stamps }
    }

    fn wrote(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(_)) = result {
            self.stamps.sent.set(Some(Instant::now()));
        }
        result
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.tcp).poll_read(cx, buffer);
        let read = buffer.filled().len() - before;
        if read > 0 {
            if self.stamps.first_byte.get().is_none() {
                self.stamps.first_byte.set(Some(Instant::now()));
            }
            self.stamps.received.set(self.stamps.received.get() + read as u64);
        }
        result
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.tcp).poll_write(cx, bytes);
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.tcp).poll_write_vectored(cx, parts);
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
