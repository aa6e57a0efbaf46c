//! The bytes of a connection, plain or encrypted.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

#[derive(Debug)]
pub(super) struct Stream {
    wire: Wire,
    _open: Open,
}

#[derive(Debug)]
enum Wire {
    Plain(TcpStream),
    /// Boxed: a session of TLS is a kilobyte, a plain connection must not pay for it.
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(test)]
    Scripted(tokio::io::DuplexStream),
}

/// How many connections the sessions of one shard have open.
#[derive(Debug, Default)]
pub(super) struct OpenConnections(Rc<Cell<u64>>);

/// One of them.
#[derive(Debug)]
struct Open(Rc<Cell<u64>>);

impl OpenConnections {
    pub(super) fn count(&self) -> u64 {
        self.0.get()
    }

    fn one_more(&self) -> Open {
        self.0.set(self.0.get() + 1);
        Open(self.0.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Stream {
    pub(super) fn plain(tcp: TcpStream, open: &OpenConnections) -> Stream {
        Stream {
            wire: Wire::Plain(tcp),
            _open: open.one_more(),
        }
    }

    pub(super) fn tls(tls: TlsStream<TcpStream>, open: &OpenConnections) -> Stream {
        Stream {
            wire: Wire::Tls(Box::new(tls)),
            _open: open.one_more(),
        }
    }

    #[cfg(test)]
    pub(super) fn scripted(pipe: tokio::io::DuplexStream, open: &OpenConnections) -> Stream {
        Stream {
            wire: Wire::Scripted(pipe),
            _open: open.one_more(),
        }
    }

    /// Whether the server has chosen HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        match &self.wire {
            Wire::Plain(_) => false,
            #[cfg(test)]
            Wire::Scripted(_) => false,
            Wire::Tls(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Wire::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            #[cfg(test)]
            Wire::Scripted(pipe) => Pin::new(pipe).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Wire::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
            #[cfg(test)]
            Wire::Scripted(pipe) => Pin::new(pipe).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_flush(cx),
            #[cfg(test)]
            Wire::Scripted(pipe) => Pin::new(pipe).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            #[cfg(test)]
            Wire::Scripted(pipe) => Pin::new(pipe).poll_shutdown(cx),
        }
    }
}
