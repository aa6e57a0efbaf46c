//! The byte stream of a connection, plain or encrypted, and the count of open ones.

use super::plain;
use rustls::pki_types::ServerName;
use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The byte stream of a connection, counted while it is open.
#[derive(Debug)]
pub(crate) struct NetStream {
    socket: Socket,
    _open: OpenGuard,
}

/// The kinds of streams.
#[derive(Debug)]
enum Socket {
    Plain(TcpStream),
    /// Boxed: a TLS session takes a kilobyte, which a plain connection must not pay for.
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
    #[cfg(any(test, feature = "test-support"))]
    Scripted(tokio::io::DuplexStream),
}

/// The number of connections that the sessions of one shard have open.
#[derive(Debug, Default)]
pub(super) struct OpenConnections(Rc<Cell<u64>>);

/// One open connection, which counts until this is dropped.
#[derive(Debug)]
struct OpenGuard(Rc<Cell<u64>>);

impl OpenConnections {
    /// The number of open connections.
    pub(super) fn count(&self) -> u64 {
        self.0.get()
    }

    /// Counts one more connection.
    fn guard(&self) -> OpenGuard {
        self.0.set(self.0.get() + 1);
        OpenGuard(self.0.clone())
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl NetStream {
    /// A connection without TLS.
    pub(super) fn plain(tcp: TcpStream, open: &OpenConnections) -> NetStream {
        NetStream {
            socket: Socket::Plain(tcp),
            _open: open.guard(),
        }
    }

    /// A connection of a Unix socket.
    pub(super) fn unix(socket: UnixStream, open: &OpenConnections) -> NetStream {
        NetStream {
            socket: Socket::Unix(socket),
            _open: open.guard(),
        }
    }

    /// A connection after its handshake.
    pub(super) fn tls(tls: TlsStream<TcpStream>, open: &OpenConnections) -> NetStream {
        NetStream {
            socket: Socket::Tls(Box::new(tls)),
            _open: open.guard(),
        }
    }

    /// A connection to the site inside the test.
    #[cfg(any(test, feature = "test-support"))]
    pub(super) fn scripted(pipe: tokio::io::DuplexStream, open: &OpenConnections) -> NetStream {
        NetStream {
            socket: Socket::Scripted(pipe),
            _open: open.guard(),
        }
    }

    /// The connection after a TLS handshake that begins now, on one that has had none.
    pub(super) async fn secured(
        self,
        connector: TlsConnector,
        name: ServerName<'static>,
    ) -> io::Result<NetStream> {
        let NetStream { socket, _open } = self;
        let tcp = match socket {
            Socket::Plain(tcp) => tcp,
            Socket::Unix(_) => return Err(io::Error::other("a Unix socket takes no TLS")),
            _ => return Err(io::Error::other("the connection has TLS already")),
        };
        let tls = connector.connect(name, tcp).await?;
        Ok(NetStream {
            socket: Socket::Tls(Box::new(tls)),
            _open,
        })
    }

    /// Whether it is encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        matches!(self.socket, Socket::Tls(_))
    }

    /// Whether the server chose HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        match &self.socket {
            Socket::Plain(_) | Socket::Unix(_) => false,
            #[cfg(any(test, feature = "test-support"))]
            Socket::Scripted(_) => false,
            Socket::Tls(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Whether there is nothing to read: no bytes, no end and no error. For a plain connection, this costs no system
    /// call, since tokio knows it.
    pub(crate) fn is_quiet(&mut self, cx: &mut Context<'_>) -> bool {
        if let Socket::Plain(tcp) = &self.socket
            && tcp.poll_read_ready(cx).is_pending()
        {
            return true;
        }
        let mut byte = [0];
        let mut byte = ReadBuf::new(&mut byte);
        Pin::new(self).poll_read(cx, &mut byte).is_pending()
    }

    /// Receives bytes that nobody wants, at most as many as `scratch` holds, and returns how many; none if the peer has
    /// closed. They may be left in `scratch`, or nowhere.
    pub(crate) fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if let Socket::Plain(tcp) = &mut self.socket {
            return plain::poll_discard(tcp, cx, scratch);
        }
        let mut discarded = ReadBuf::new(scratch);
        ready!(Pin::new(self).poll_read(cx, &mut discarded))?;
        Poll::Ready(Ok(discarded.filled().len()))
    }
}

impl AsyncRead for NetStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().socket {
            Socket::Plain(tcp) => plain::poll_read(tcp, cx, buf),
            Socket::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            Socket::Unix(unix) => Pin::new(unix).poll_read(cx, buf),
            #[cfg(any(test, feature = "test-support"))]
            Socket::Scripted(pipe) => Pin::new(pipe).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for NetStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().socket {
            Socket::Plain(tcp) => plain::poll_write(tcp, cx, bytes),
            Socket::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
            Socket::Unix(unix) => Pin::new(unix).poll_write(cx, bytes),
            #[cfg(any(test, feature = "test-support"))]
            Socket::Scripted(pipe) => Pin::new(pipe).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().socket {
            Socket::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_flush(cx),
            Socket::Unix(unix) => Pin::new(unix).poll_flush(cx),
            #[cfg(any(test, feature = "test-support"))]
            Socket::Scripted(pipe) => Pin::new(pipe).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().socket {
            Socket::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            Socket::Unix(unix) => Pin::new(unix).poll_shutdown(cx),
            #[cfg(any(test, feature = "test-support"))]
            Socket::Scripted(pipe) => Pin::new(pipe).poll_shutdown(cx),
        }
    }
}
