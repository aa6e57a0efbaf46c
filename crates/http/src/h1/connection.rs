//! One HTTP/1.1 connection of one user. It owns only its socket: requests are written from a buffer of the shard, and
//! responses are read into another one, from which only the response itself is copied. So users are cheap, and a
//! small request costs one `write` and one `read`.

use super::chunks::ChunkDecoder;
use super::reader::{BodyBuffer, ReadOutcome, ResponseRules, read_start};
use super::sending::{send_expecting, send_listening, write};
use super::write_buffer::EncodedRequest;
use crate::connect::NetStream;
use crate::failure::{ErrorClass, Failure};
use crate::message::{Framing, InterimResponses, RawResponse, reserve_rest};
use crate::read_buffer::{READ_SIZE, ReadBuffer};
use crate::stopwatch::Stopwatch;
use crate::target::Origin;
use bytes::{BufMut as _, BytesMut};
use std::future::poll_fn;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead as _, AsyncReadExt as _, ReadBuf};
use tokio::time::Instant;

/// The size of the first read where the body is discarded: from here on, another system call that has the kernel drop
/// the rest costs less than copying it.
const DISCARDED_READ_SIZE: usize = 16 * 1024;

/// An HTTP/1.1 connection, idle or in an exchange.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) origin: Rc<Origin>,
    pub(crate) number: Option<NonZeroU64>,
    pub(super) stream: NetStream,
    /// The bytes of the current response received so far.
    pub(super) received: u64,
    /// The bytes of the current request sent so far.
    pub(super) sent: u64,
    /// The interim responses of the current exchange so far.
    pub(super) interim: InterimResponses,
}

impl Connection {
    /// A connection to `origin` with that number, over a stream that was just opened.
    pub(crate) fn over(
        origin: Rc<Origin>,
        stream: NetStream,
        number: Option<NonZeroU64>,
    ) -> Connection {
        Connection {
            origin,
            number,
            stream,
            received: 0,
            sent: 0,
            interim: InterimResponses::default(),
        }
    }

    /// Whether the server chose HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.stream.is_http2()
    }

    /// The stream, for a connection that continues with HTTP/2.
    pub(crate) fn into_stream(self) -> NetStream {
        self.stream
    }

    /// Whether the connection can take another request: the server has neither closed it nor sent anything unasked.
    pub(crate) fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        self.stream.is_quiet(cx)
    }

    /// The bytes received in the exchange under way or just ended.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// The bytes sent in the exchange under way or just ended.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends one request, whose buffer is then free, and reads the whole response. `stopwatch` gets the known phases also if
    /// this fails.
    pub(crate) async fn exchange(
        &mut self,
        request: &mut EncodedRequest<'_>,
        rules: &ResponseRules<'_>,
        buffer: &ReadBuffer,
        stopwatch: &mut Stopwatch,
    ) -> Result<RawResponse, Failure> {
        (self.received, self.sent) = (0, 0);
        self.interim = InterimResponses::default();
        // The bytes of a response that one read did not complete.
        let mut partial = BytesMut::new();
        stopwatch.enter(|phases| &mut phases.send);
        let (written, early) = match request.body_at {
            // One 'send' takes most requests as a whole.
            None if request.bytes.len() <= READ_SIZE => (write(self, &request.bytes).await, None),
            None => {
                let sending =
                    send_listening(self, &request.bytes, rules, buffer, &mut partial, stopwatch);
                let (written, early) = Box::pin(sending).await?;
                (written, early.map(Box::new))
            }
            Some(body_at) => {
                let (head, body) = request.bytes.split_at(body_at);
                let sending =
                    send_expecting(self, head, body, rules, buffer, &mut partial, stopwatch);
                let (written, early) = Box::pin(sending).await?;
                (written, early.map(Box::new))
            }
        };
        request.release();
        stopwatch.lap(|phases| &mut phases.send);
        if partial.is_empty() {
            stopwatch.enter(|phases| &mut phases.first_byte);
        } else {
            stopwatch.enter(|phases| &mut phases.receive);
        }
        let read = match early {
            Some(read) => Ok(*read),
            None => self.read_head(rules, buffer, &mut partial, stopwatch).await,
        };
        let response = match read {
            // The read that completed the response has already stamped its phases.
            Ok(ReadOutcome::Complete(response)) => return Ok(response),
            // Boxed: the future of a small response need not have room for the state of a large one.
            Ok(read) => Box::pin(self.read_rest(read, rules, buffer, partial, stopwatch)).await,
            Err(failure) => Err(failure),
        };
        stopwatch.interrupt_at(Instant::now());
        // A server may respond and close before it has read all of a large request.
        match (response, written) {
            (Err(_), Err(error)) => Err(Failure::from_io_error(&error)),
            (response, _) => response,
        }
    }

    /// Reads until the head of the final response or a '100 Continue' is complete.
    pub(super) async fn read_head(
        &mut self,
        rules: &ResponseRules<'_>,
        buffer: &ReadBuffer,
        partial: &mut BytesMut,
        stopwatch: &mut Stopwatch,
    ) -> Result<ReadOutcome, Failure> {
        loop {
            let read = poll_fn(|cx| self.poll_some(cx, rules, buffer, partial, stopwatch)).await?;
            if !matches!(read, ReadOutcome::Partial) {
                return Ok(read);
            }
        }
    }

    /// Reads once into the shard's buffer. If the response is then complete, it is copied out at its exact size.
    pub(super) fn poll_some(
        &mut self,
        cx: &mut Context<'_>,
        rules: &ResponseRules<'_>,
        buffer: &ReadBuffer,
        partial: &mut BytesMut,
        stopwatch: &mut Stopwatch,
    ) -> Poll<Result<ReadOutcome, Failure>> {
        let mut buffer = buffer.borrow();
        let room = if rules.limits.retain_body {
            READ_SIZE
        } else {
            DISCARDED_READ_SIZE
        };
        let mut filled = ReadBuf::new(&mut buffer[..room]);
        match Pin::new(&mut self.stream).poll_read(cx, &mut filled) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(Failure::from_io_error(&error))),
            Poll::Ready(Ok(())) => {}
        }
        let new = filled.filled();
        // The read that brings the first bytes of a head ends the wait for it. If the head turns out to be that of an
        // interim response, the wait goes on.
        let mut is_stamped = partial.is_empty();
        if is_stamped {
            stopwatch.lap(|phases| &mut phases.first_byte);
            stopwatch.enter(|phases| &mut phases.receive);
        }
        let interim_before = self.interim.number();
        self.received += new.len() as u64;
        if new.is_empty() {
            return Poll::Ready(Err(Failure::new(ErrorClass::ClosedEarly, "")));
        }
        let read = if partial.is_empty() {
            read_start(new, rules, &mut self.interim, partial)
        } else {
            partial.extend_from_slice(new);
            let joined = partial.split();
            read_start(&joined, rules, &mut self.interim, partial)
        };
        if !is_stamped && self.interim.number() > interim_before {
            stopwatch.lap(|phases| &mut phases.first_byte);
            is_stamped = true;
        }
        let read = match read? {
            // Mostly it is there already.
            ReadOutcome::Discarding(response, remaining) => {
                match self.poll_discard(cx, &mut buffer) {
                    Poll::Ready(count) => {
                        is_stamped = false;
                        ReadOutcome::after(count?, response, remaining)
                    }
                    Poll::Pending => ReadOutcome::Discarding(response, remaining),
                }
            }
            read => read,
        };
        match read {
            // The read that completes a response is its end.
            ReadOutcome::Complete(_) if !is_stamped => stopwatch.lap(|phases| &mut phases.receive),
            ReadOutcome::Continue | ReadOutcome::Partial if partial.is_empty() => {
                stopwatch.enter(|phases| &mut phases.first_byte);
            }
            _ => {}
        }
        Poll::Ready(Ok(read))
    }

    /// Receives bytes that nobody wants, at most as many as `scratch` holds; returns how many.
    fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut [u8],
    ) -> Poll<Result<u64, Failure>> {
        let count = match ready!(self.stream.poll_discard(cx, scratch)) {
            Ok(0) => return Poll::Ready(Err(Failure::new(ErrorClass::ClosedEarly, ""))),
            Ok(count) => count as u64,
            Err(error) => return Poll::Ready(Err(Failure::from_io_error(&error))),
        };
        self.received += count;
        Poll::Ready(Ok(count))
    }

    /// Reads the rest of a response after its first piece.
    async fn read_rest(
        &mut self,
        mut read: ReadOutcome,
        rules: &ResponseRules<'_>,
        buffer: &ReadBuffer,
        mut partial: BytesMut,
        stopwatch: &mut Stopwatch,
    ) -> Result<RawResponse, Failure> {
        let mut head = loop {
            match read {
                ReadOutcome::Complete(response) => return Ok(response),
                ReadOutcome::Head(head) => break head,
                ReadOutcome::Discarding(response, remaining) => {
                    let count = poll_fn(|cx| self.poll_discard(cx, &mut buffer.borrow())).await?;
                    read = ReadOutcome::after(count, response, remaining);
                }
                ReadOutcome::Continue | ReadOutcome::Partial => {
                    read = self
                        .read_head(rules, buffer, &mut partial, stopwatch)
                        .await?;
                }
            }
        };
        let mut body =
            BodyBuffer::behind(partial, head.length, rules.limits.of_status(head.status));
        match head.framing {
            Framing::Length(length) => self.read_length(length, &mut body).await?,
            Framing::Chunked => head.keep_alive &= self.read_chunks(&mut body).await?,
            Framing::Close => self.read_to_end(&mut body).await?,
        }
        Ok(RawResponse {
            head,
            bytes: body.bytes.freeze(),
        })
    }

    /// Reads a body of `length` bytes.
    async fn read_length(&mut self, length: u64, body: &mut BodyBuffer) -> Result<(), Failure> {
        body.begin()?;
        if !body.is_stream() {
            reserve_rest(&mut body.bytes, length.saturating_sub(body.length));
        }
        while body.length < length {
            let remaining = usize::try_from(length - body.length).unwrap_or(usize::MAX);
            if body.is_stream() {
                self.read_into(body, remaining.min(READ_SIZE)).await?;
                body.let_read().await;
                continue;
            }
            if body.bytes.len() == body.bytes.capacity() {
                reserve_rest(&mut body.bytes, remaining as u64);
            }
            let spare = body.bytes.capacity() - body.bytes.len();
            self.read_into(body, remaining.min(spare.max(READ_SIZE)))
                .await?;
        }
        Ok(())
    }

    /// Reads a chunked body. Returns whether nothing followed the last chunk.
    async fn read_chunks(&mut self, body: &mut BodyBuffer) -> Result<bool, Failure> {
        let mut raw = body.take_encoded();
        let mut chunks = ChunkDecoder::default();
        loop {
            let mut rest = &raw[..];
            body.make_room();
            let before = body.bytes.len();
            let done = chunks.decode(&mut rest, &mut body.bytes)?;
            body.count_from(before)?;
            if done {
                return Ok(rest.is_empty());
            }
            raw.clear();
            body.let_read().await;
            self.read_some(&mut raw, READ_SIZE).await?;
        }
    }

    /// Reads a body until the server closes.
    async fn read_to_end(&mut self, body: &mut BodyBuffer) -> Result<(), Failure> {
        body.begin()?;
        // The bytes that came with the head count, too.
        body.count_from(body.bytes.len())?;
        loop {
            body.make_room();
            let before = body.bytes.len();
            if self.read_or_end(&mut body.bytes, READ_SIZE).await? == 0 {
                return Ok(());
            }
            body.count_from(before)?;
            body.let_read().await;
        }
    }

    /// Reads some bytes of a body, at most `room`.
    async fn read_into(&mut self, body: &mut BodyBuffer, room: usize) -> Result<(), Failure> {
        let before = body.bytes.len();
        self.read_some(&mut body.bytes, room).await?;
        body.count_from(before)
    }

    /// Reads once and appends the bytes, at most `room`.
    async fn read_some(&mut self, bytes: &mut BytesMut, room: usize) -> Result<(), Failure> {
        match self.read_or_end(bytes, room).await? {
            0 => Err(Failure::new(ErrorClass::ClosedEarly, "")),
            _ => Ok(()),
        }
    }

    /// Reads once and appends the bytes, at most `room`. Returns how many; none if the server has closed. Over TLS, an end
    /// that the server has not announced is a failure: someone else may have cut the connection (RFC 9112, section 9.8).
    async fn read_or_end(&mut self, bytes: &mut BytesMut, room: usize) -> Result<usize, Failure> {
        let read = self.stream.read_buf(&mut bytes.limit(room)).await;
        let count = read.map_err(|error| Failure::from_io_error(&error))?;
        self.received += count as u64;
        Ok(count)
    }
}
