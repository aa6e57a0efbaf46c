//! An HTTP/2 connection with its socket. Each task that waits for something on the connection drives it: a request
//! costs one write, one read, and no task other than that of its user. While nobody waits, an attendant task drives the
//! connection: it responds to pings while a user thinks, and closes its side after the server.

use super::engine::Engine;
use super::frame::H2ErrorCode;
use crate::connect::NetStream;
use crate::failure::Failure;
use crate::read_buffer::ReadBuffer;
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

/// The capacity of the write buffer that an idle connection keeps.
const IDLE_CAPACITY: usize = 1024;

/// The most reads before other users of the thread have their turn: a server may send frames of nine bytes as fast as they
/// are read.
const MOST_READS: u32 = 8;

/// A connection that the requests of one user share.
#[derive(Debug)]
pub(super) struct H2Connection {
    // None of these is borrowed across an await.
    pub(super) engine: RefCell<Engine>,
    /// Empty once the connection has ended.
    stream: RefCell<Option<NetStream>>,
    /// The read buffer of the shard.
    buffer: Rc<ReadBuffer>,
    /// The waker of the attendant, once it has begun and unless it is woken.
    attendant: RefCell<Option<Waker>>,
}

impl H2Connection {
    /// A connection over that stream. lgoose's settings are written with the first request.
    pub(super) fn over(buffer: Rc<ReadBuffer>, stream: NetStream) -> Rc<H2Connection> {
        let link = Rc::new(H2Connection {
            engine: RefCell::new(Engine::new()),
            stream: RefCell::new(Some(stream)),
            buffer,
            attendant: RefCell::new(None),
        });
        tokio::task::spawn_local(attend(Rc::downgrade(&link)));
        link
    }

    /// Writes and reads as much as possible at once. From now on, the socket wakes the task of `cx`, and no task that
    /// polled before.
    pub(super) fn poll(&self, cx: &mut Context<'_>) {
        let mut stream = self.stream.borrow_mut();
        let mut engine = self.engine.borrow_mut();
        if let Some(open) = &mut *stream
            && let Err(failure) = self.go_on(&mut engine, Pin::new(open), cx)
        {
            match failure {
                Some(failure) => engine.end(failure),
                None => engine.closed(),
            }
        }
        if engine.is_over()
            && let Some(open) = stream.take()
        {
            close(&mut engine, open);
        }
    }

    /// Writes and reads until the socket can do neither, or others are to have their turn.
    ///
    /// # Errors
    /// The failure for an error of the socket; `None` if the server has closed the connection.
    fn go_on(
        &self,
        engine: &mut Engine,
        mut stream: Pin<&mut NetStream>,
        cx: &mut Context<'_>,
    ) -> Result<(), Option<Failure>> {
        let io_error = |error| Some(Failure::from_io_error(&error));
        for _ in 0..MOST_READS {
            let written = write(engine, stream.as_mut(), cx);
            if let Poll::Ready(Err(error)) = written {
                return Err(io_error(error));
            }
            // If the server reads nothing, nothing is read from it.
            if written.is_pending() && engine.is_full() {
                return Ok(());
            }
            let mut buffer = self.buffer.borrow();
            let mut filled = ReadBuf::new(&mut buffer);
            match stream.as_mut().poll_read(cx, &mut filled) {
                Poll::Pending if engine.out.is_empty() || written.is_pending() => return Ok(()),
                Poll::Pending => {}
                Poll::Ready(Err(error)) => return Err(io_error(error)),
                Poll::Ready(Ok(())) if filled.filled().is_empty() => return Err(None),
                Poll::Ready(Ok(())) => engine.read(filled.filled()),
            }
            // The pending bytes go out with the next request, if that comes at once, and else by the attendant.
            if engine.has_only_response() {
                return Ok(());
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Leaves the connection to a task that still waits, or to the attendant.
    pub(super) fn rest(&self) {
        let wakes = self.engine.borrow_mut().wake_one();
        if wakes {
            return;
        }
        // An attendant that has not begun polls when it does.
        if let Some(attendant) = self.attendant.borrow_mut().take() {
            attendant.wake();
        }
    }
}

impl Drop for H2Connection {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.get_mut().take() {
            close(self.engine.get_mut(), stream);
        }
        if let Some(attendant) = self.attendant.get_mut().take() {
            attendant.wake();
        }
    }
}

/// Drives the connection while nobody waits for anything on it, until it has ended or is no longer used.
async fn attend(link: Weak<H2Connection>) {
    poll_fn(|cx| {
        let Some(link) = link.upgrade() else {
            return Poll::Ready(());
        };
        if link.stream.borrow().is_none() {
            return Poll::Ready(());
        }
        link.attendant.replace(Some(cx.waker().clone()));
        if link.engine.borrow().is_idle() {
            link.poll(cx);
        }
        match *link.stream.borrow() {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        }
    })
    .await;
}

/// Writes whatever there is to write.
fn write(
    engine: &mut Engine,
    mut stream: Pin<&mut NetStream>,
    cx: &mut Context<'_>,
) -> Poll<std::io::Result<()>> {
    loop {
        engine.send_bodies();
        if engine.out.is_empty() {
            if engine.out.capacity() > IDLE_CAPACITY {
                engine.out = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let mut written = 0;
        let outcome = loop {
            if written == engine.out.len() {
                break Poll::Ready(Ok(()));
            }
            match stream.as_mut().poll_write(cx, &engine.out[written..]) {
                Poll::Ready(Ok(0)) => {
                    break Poll::Ready(Err(std::io::ErrorKind::WriteZero.into()));
                }
                Poll::Ready(Ok(count)) => written += count,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        engine.out.drain(..written);
        ready!(outcome)?;
        ready!(stream.as_mut().poll_flush(cx))?;
    }
}

/// Sends GOAWAY, as far as this is possible without waiting, and closes the connection.
fn close(engine: &mut Engine, mut stream: NetStream) {
    let mut cx = Context::from_waker(Waker::noop());
    if !engine.has_ended() {
        engine.send_goaway(H2ErrorCode::NO_ERROR);
    }
    // The connection is no longer used, so failures do not matter.
    let _written = write(engine, Pin::new(&mut stream), &mut cx);
    let _closed = Pin::new(&mut stream).poll_shutdown(&mut cx);
}
