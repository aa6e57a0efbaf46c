//! The connection of a WebSocket while it is open: sends the plan's messages, hands on those received, and responds to
//! pings and closes. Part of the request that opened it.

use crate::failure::{ErrorClass, Failure};
use crate::message::StreamedBody;
use crate::read_buffer::ReadBuffer;
use crate::transfer::TransferMeter;
use crate::websocket::{
    CLOSE_TIMEOUT, CloseFrame, Deflater, FrameMistake, FrameReader, FrameWriter, Incoming,
    Inflater, Opcode, SocketSide, SocketStream,
};
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
    let deflater = deflate.map(|terms| Deflater::new(terms.client_keeps_context));
    let inflater = deflate.map(|terms| Inflater::new(terms.server_keeps_context));
    socket.writer.replace(Some(FrameWriter::new(deflater)));
    let mut reader = FrameReader::new(body.max_buffer(), inflater);
    reader.buffer().extend_from_slice(&socket.first.take());
    body.show();
    let mut serving = Serving {
        socket,
        stream,
        reader,
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

/// A connection that is served.
struct Serving<'a> {
    socket: &'a SocketSide,
    stream: Box<dyn SocketStream>,
    reader: FrameReader,
    /// Frames of which the first bytes are sent.
    sending: Vec<u8>,
    sent: usize,
    meter: &'a TransferMeter,
}

impl Serving<'_> {
    async fn run(&mut self, body: &StreamedBody, buffer: &ReadBuffer) -> Result<(), Failure> {
        loop {
            match self.take_messages(body) {
                Ok(None) => {}
                Ok(Some(close)) => return self.end(close).await,
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

    /// Hands on the messages that have come; returns the close of the server.
    fn take_messages(&mut self, body: &StreamedBody) -> Result<Option<CloseFrame>, FrameMistake> {
        while let Some(incoming) = self.reader.next()? {
            match incoming {
                Incoming::Message { is_text, bytes } => {
                    if body.push_message(is_text, bytes).is_err() {
                        let detail = "the plan has left too much of a socket unread ('max_buffer')";
                        return Err(FrameMistake::too_large(detail));
                    }
                }
                Incoming::Ping(payload) => {
                    if let Some(writer) = &mut *self.socket.writer.borrow_mut()
                        && !self.socket.is_closing.get()
                    {
                        let mut unsent = self.socket.unsent.borrow_mut();
                        writer.control(&mut unsent, Opcode::Pong, &payload);
                    }
                }
                Incoming::Pong => {}
                Incoming::Close(close) => return Ok(Some(close)),
            }
        }
        Ok(None)
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
            Some(1000) => Ok(()),
            _ if is_own => Ok(()),
            code => {
                let code =
                    code.map_or_else(|| "without a code".to_owned(), |code| code.to_string());
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
