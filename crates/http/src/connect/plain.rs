//! Reads and writes of a socket without TLS. They call the kernel directly and register nothing as long as the socket
//! is known to be ready: by way of the C library, whose calls may be cancelled, and of tokio's own calls, a small
//! request would cost some 2 % more.

use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead as _, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop;

/// Lets the kernel drop received bytes, instead of copying them (tcp(7)). Elsewhere than on Linux the flag means
/// something else.
#[cfg(target_os = "linux")]
const DISCARD: RecvFlags = RecvFlags::TRUNC;
#[cfg(not(target_os = "linux"))]
const DISCARD: RecvFlags = RecvFlags::empty();

/// Reads some bytes, as [`AsyncRead`](tokio::io::AsyncRead) does.
pub(super) fn poll_read(
    tcp: &mut TcpStream,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    // Zeros would have to be written first.
    if buf.initialized().len() < buf.capacity() {
        return Pin::new(tcp).poll_read(cx, buf);
    }
    let received = poll_receive(tcp, cx, buf.initialize_unfilled(), RecvFlags::empty());
    received.map_ok(|count| buf.advance(count))
}

/// Receives bytes without copying them where the kernel can, at most as many as `scratch` holds; returns how many.
pub(super) fn poll_discard(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    scratch: &mut [u8],
) -> Poll<io::Result<usize>> {
    poll_receive(tcp, cx, scratch, DISCARD)
}

/// Reads some bytes as soon as there are any; returns how many.
fn poll_receive(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    bytes: &mut [u8],
    flags: RecvFlags,
) -> Poll<io::Result<usize>> {
    let turn = ready!(coop::poll_proceed(cx));
    loop {
        match receive(tcp, bytes, flags) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ready!(tcp.poll_read_ready(cx))?;
            }
            received => {
                turn.made_progress();
                return Poll::Ready(received);
            }
        }
    }
}

/// Writes some bytes, as [`AsyncWrite`](tokio::io::AsyncWrite) does.
pub(super) fn poll_write(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    let turn = ready!(coop::poll_proceed(cx));
    loop {
        // A server that is gone is an error, not a signal.
        let send = || Ok(rustix::net::send(tcp, bytes, SendFlags::NOSIGNAL)?);
        match tcp.try_io(Interest::WRITABLE, send) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ready!(tcp.poll_write_ready(cx))?;
            }
            sent => {
                turn.made_progress();
                return Poll::Ready(sent);
            }
        }
    }
}

/// Reads the available bytes. A read that does not fill `bytes` has emptied the socket: it is reported to tokio as one
/// that would block, so that nobody reads again before there is more.
fn receive(tcp: &TcpStream, bytes: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
    let mut last = None;
    let result = tcp.try_io(Interest::READABLE, || {
        let (count, _) = rustix::net::recv(tcp, &mut *bytes, flags)?;
        if 0 < count && count < bytes.len() {
            last = Some(count);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(count)
    });
    last.map_or(result, Ok)
}
