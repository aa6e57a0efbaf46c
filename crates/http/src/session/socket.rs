//! The connection of a WebSocket while it is open: sends the plan's messages, hands on those received, and responds to
//! pings and closes. Part of the request that opened it.

use crate::failure::{ErrorClass, Failure};
use crate::message::StreamedBody;
use crate::read_buffer::ReadBuffer;
use crate::transfer::TransferMeter;
use crate::websocket::{
    CLOSE_TIMEOUT, CloseFrame, Deflater, FrameMistake, FrameReader, FrameWriter, Incoming,
    Inflater, MOST_UNSENT, Opcode, SocketSide, SocketStream,
};
use bytes::Bytes;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// Serves the connection of a WebSocket until it is closed.
///
/// # Errors
/// The handshake is wrong, or the server broke a rule, or closed unprompted with another code than 1000.
pub(super) async fn serve(
    body: &StreamedBody,
    socket: &SocketSide,
    buffer: &ReadBuffer,
    meter: &TransferMeter,
) -> Result<(), Failure> {
    let Some(stream) = socket.connection.take() else {
        return Err(Failure::new(ErrorClass::Protocol, "the connection is gone"));
    };
    let terms = socket.offer.check(&body.headers(), stream.is_tunnel())?;
    socket.subprotocol.replace(terms.subprotocol);
    let deflate = terms.deflate;
    let deflater =
        deflate.map(|terms| Deflater::new(terms.client_keeps_context, terms.client_window_bits));
    let inflater = deflate.map(|terms| Inflater::new(terms.server_keeps_context));
    socket.writer.replace(Some(FrameWriter::new(deflater)));
    let mut reader = FrameReader::new(body.max_buffer(), inflater);
    reader.buffer().extend_from_slice(&socket.first.take());
    body.show();
    let mut serving = Serving {
        socket,
        stream,
        reader,
        ping: None,
        sending: Vec::new(),
        sent: 0,
        meter,
    };
    let outcome = serving.run(body, buffer).await;
    let [framing_sent, framing_received] = serving.stream.framing();
    meter.count_sent(framing_sent);
    meter.count_received(framing_received);
    // Nothing can be sent any more, and nobody needs to wait for that.
    socket.writer.take();
    socket.sent.notify_waiters();
    outcome
}

/// How far the received bytes were read.
enum Taken {
    All,
    /// There are more, for which there has to be room first.
    Some,
    /// Up to the close of the server.
    Close(CloseFrame),
}

/// A connection that is served.
struct Serving<'a> {
    socket: &'a SocketSide,
    stream: Box<dyn SocketStream>,
    reader: FrameReader,
    /// The latest ping without a response.
    ping: Option<Bytes>,
    /// Frames of which the first bytes are sent.
    sending: Vec<u8>,
    sent: usize,
    meter: &'a TransferMeter,
}

impl Serving<'_> {
    async fn run(&mut self, body: &StreamedBody, buffer: &ReadBuffer) -> Result<(), Failure> {
        /// The reads before others of the thread have their turn: a server may send empty fragments as fast as they are read.
        const MOST_READS: u32 = 8;
        let mut reads = 0;
        loop {
            reads = (reads + 1) % MOST_READS;
            if reads == 0 {
                tokio::task::yield_now().await;
            }
            match self.take_messages(body) {
                Ok(Taken::All) => {}
                Ok(Taken::Some) => {
                    // Others of the thread have their turn, however fast the server sends.
                    tokio::task::yield_now().await;
                    self.send_until(body.room_to_read()).await?;
                    continue;
                }
                Ok(Taken::Close(close)) => return self.end(close).await,
                Err(mistake) => {
                    self.socket.close(&CloseFrame::of(Some(mistake.code)));
                    self.flush().await;
                    return Err(mistake.failure());
                }
            }
            if self.transfer(buffer).await? == 0 {
                if self.socket.is_closing.get() {
                    self.finish(true).await;
                    return Ok(());
                }
                let detail = "the server closed the connection of a socket without a close frame";
                return Err(Failure::new(ErrorClass::ClosedEarly, detail));
            }
        }
    }

    /// Hands on the messages that have come, as far as there is room for them.
    fn take_messages(&mut self, body: &StreamedBody) -> Result<Taken, FrameMistake> {
        /// The frames that are read before others have their turn.
        const MOST_FRAMES: usize = 256;
        for _ in 0..MOST_FRAMES {
            if body.is_full() && !self.socket.is_closing.get() {
                return Ok(Taken::Some);
            }
            let Some(incoming) = self.reader.next()? else {
                self.respond_to_ping();
                return Ok(Taken::All);
            };
            match incoming {
                Incoming::Message { is_text, bytes } => body.push_message(is_text, bytes),
                // Each gets a response, as from browsers, and the latest one where much still waits to be sent (RFC 6455,
                // section 5.5.3).
                Incoming::Ping(payload) => {
                    self.ping = Some(payload);
                    self.respond_to_ping();
                }
                Incoming::Pong(payload) => body.take_pong(&payload),
                Incoming::Close(close) => return Ok(Taken::Close(close)),
            }
        }
        self.respond_to_ping();
        Ok(Taken::Some)
    }

    /// Responds to the latest ping without a response, unless much still waits to be sent.
    fn respond_to_ping(&mut self) {
        let mut unsent = self.socket.unsent.borrow_mut();
        if unsent.len() < MOST_UNSENT
            && !self.socket.is_closing.get()
            && let Some(writer) = &mut *self.socket.writer.borrow_mut()
            && let Some(payload) = self.ping.take()
        {
            writer.control(&mut unsent, Opcode::Pong, &payload);
        }
    }

    /// Ends a connection that the server closes.
    async fn end(&mut self, close: CloseFrame) -> Result<(), Failure> {
        let is_own = self.socket.is_closing.get();
        self.socket.close(&CloseFrame::of(close.code));
        self.flush().await;
        // The server's reply to a close comes after it has read that.
        self.finish(is_own).await;
        self.socket.closed.replace(Some(close.clone()));
        match close.code {
            code if !self.socket.expects.is_empty() => {
                let codes = &self.socket.expects;
                // A close without a code counts as this one (RFC 6455, section 7.1.5).
                let code = code.unwrap_or(1005);
                if is_own || codes.contains(&code) {
                    return Ok(());
                }
                let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
                let detail = format!("expected close code {}, got {code}", codes.join(" or "));
                Err(Failure::new(ErrorClass::ClosedEarly, detail))
            }
            None | Some(1000) => Ok(()),
            _ if is_own => Ok(()),
            Some(code) => {
                let reason = match close.reason.as_str() {
                    "" => String::new(),
                    reason => format!(" '{reason}'"),
                };
                let detail = format!("the server closed the socket: {code}{reason}");
                Err(Failure::new(ErrorClass::ClosedEarly, detail))
            }
        }
    }

    async fn finish(&mut self, is_read: bool) {
        poll_fn(|cx| {
            self.stream.finish(cx, is_read);
            Poll::Ready(())
        })
        .await;
    }

    /// Sends the waiting bytes, as far as the connection takes them.
    async fn flush(&mut self) {
        let sent = poll_fn(|cx| self.poll_send(cx));
        let _in_time = tokio::time::timeout(CLOSE_TIMEOUT, sent).await;
    }

    /// Sends the waiting bytes until something else is over.
    async fn send_until(&mut self, other: impl Future<Output = ()>) -> Result<(), Failure> {
        let mut other = pin!(other);
        loop {
            let socket = self.socket;
            let mut woken = pin!(socket.to_send.notified());
            let is_over = poll_fn(|cx| {
                if other.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Ok(true));
                }
                if let Poll::Ready(Err(failure)) = self.poll_send(cx) {
                    return Poll::Ready(Err(failure));
                }
                woken.as_mut().poll(cx).map(|()| Ok(false))
            });
            if is_over.await? || socket.is_closing.get() {
                return Ok(());
            }
        }
    }

    /// Sends the waiting bytes, and waits for received ones. Returns their number, 0 at the end.
    async fn transfer(&mut self, buffer: &ReadBuffer) -> Result<usize, Failure> {
        loop {
            let socket = self.socket;
            let mut woken = pin!(socket.to_send.notified());
            let read = poll_fn(|cx| {
                if let Poll::Ready(Err(failure)) = self.poll_send(cx) {
                    return Poll::Ready(Err(failure));
                }
                let into = self.reader.buffer();
                if let Poll::Ready(count) = self.stream.poll_receive(cx, buffer, into)? {
                    self.meter.count_received(count as u64);
                    return Poll::Ready(Ok(Some(count)));
                }
                woken.as_mut().poll(cx).map(|()| Ok(None))
            });
            if let Some(count) = read.await? {
                return Ok(count);
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        loop {
            if self.sent == self.sending.len() {
                self.sending.clear();
                self.sent = 0;
                std::mem::swap(&mut self.sending, &mut self.socket.unsent.borrow_mut());
                self.socket.sent.notify_waiters();
                if self.sending.is_empty() {
                    return self.stream.poll_flush(cx);
                }
            }
            let count = ready!(self.stream.poll_send(cx, &self.sending[self.sent..]))?;
            self.sent += count;
            self.meter.count_sent(count as u64);
        }
    }
}
