//! One HTTP/1.1 connection of one user. It owns nothing but its socket: a request is written from a buffer
//! of the shard's, an answer is read into another, and only the answer itself is copied out. That is what
//! makes a user cheap, and one `write` and one `read` the whole cost of a small request.

use super::incoming::{Answer, Body, Outgoing, Read, take};
use super::stream::Stream;
use super::watch::Watch;
use super::wire::{Chunks, Framing};
use super::{ErrorClass, Failure, Origin};
use bytes::{BufMut as _, BytesMut};
use std::cell::RefCell;
use std::future::poll_fn;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};

/// Holds a page of most sites, so that it is read at once.
const READ_SIZE: usize = 64 * 1024;
/// Reserve no more than this on the word of a `Content-Length` alone.
const TRUSTED_LENGTH: u64 = 1024 * 1024;
/// How long a server that was asked whether it wants the body may stay silent (as curl).
const CONTINUE_PATIENCE: Duration = Duration::from_secs(1);

/// The buffer that all connections of a shard read into. Borrowed only within one poll.
#[derive(Debug)]
pub(super) struct ReadSpace(RefCell<Box<[u8]>>);

impl Default for ReadSpace {
    fn default() -> Self {
        ReadSpace(RefCell::new(vec![0; READ_SIZE].into()))
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) origin: Rc<Origin>,
    pub(super) number: Option<NonZeroU64>,
    stream: Stream,
    /// Bytes of the current answer received so far.
    received: u64,
}

impl Connection {
    /// The connection of that number to `origin` over a stream that was just opened.
    pub(super) fn over(
        origin: Rc<Origin>,
        stream: Stream,
        number: Option<NonZeroU64>,
    ) -> Connection {
        Connection {
            origin,
            number,
            stream,
            received: 0,
        }
    }

    /// Whether the server has chosen HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.stream.is_http2()
    }

    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    /// Whether the connection can take another request: the server has neither closed it nor sent what
    /// nobody asked for. Costs no system call.
    pub(super) fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        let mut byte = [0];
        Pin::new(&mut self.stream)
            .poll_read(cx, &mut ReadBuf::new(&mut byte))
            .is_pending()
    }

    /// Bytes received for the exchange under way or just ended.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Sends one request and reads the whole answer. `watch` gets what is known also when this fails.
    pub(super) async fn exchange(
        &mut self,
        outgoing: Outgoing<'_>,
        space: &ReadSpace,
        watch: &mut Watch,
    ) -> Result<Answer, Failure> {
        self.received = 0;
        // What has come of an answer that one read did not bring whole.
        let mut part = BytesMut::new();
        watch.enter(|timings| &mut timings.send);
        let (written, unasked) = match outgoing.body_at {
            None => (self.write(outgoing.bytes).await, None),
            Some(_) => Box::pin(self.ask(&outgoing, space, &mut part, watch)).await?,
        };
        watch.lap(|timings| &mut timings.send);
        watch.enter(match self.received {
            0 => |timings| &mut timings.first_byte,
            _ => |timings| &mut timings.receive,
        });
        let read = match unasked {
            Some(read) => Ok(read),
            None => self.read_head(&outgoing, space, &mut part, watch).await,
        };
        let answer = match read {
            // It came with its first byte, which is lapped where it is seen.
            Ok(Read::Whole(answer)) => return Ok(answer),
            // Boxed: a small answer's future need not have room for what a large one takes.
            Ok(read) => Box::pin(self.read_rest(read, &outgoing, space, part, watch)).await,
            Err(failure) => Err(failure),
        };
        match self.received {
            0 => watch.lap(|timings| &mut timings.first_byte),
            _ => watch.lap(|timings| &mut timings.receive),
        }
        // A server may answer and close before it has read a large request.
        match (answer, written) {
            (Err(_), Err(error)) => Err(Failure::exchanging(&error)),
            (answer, _) => answer,
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Sends the head, and the body if the server wants it or does not say; else the final answer that came
    /// instead (RFC 9110, section 10.1.1).
    async fn ask(
        &mut self,
        outgoing: &Outgoing<'_>,
        space: &ReadSpace,
        part: &mut BytesMut,
        watch: &mut Watch,
    ) -> Result<(std::io::Result<()>, Option<Read>), Failure> {
        let (head, body) = outgoing
            .bytes
            .split_at(outgoing.body_at.unwrap_or_default());
        if let Err(error) = self.write(head).await {
            return Ok((Err(error), None));
        }
        watch.enter(|timings| &mut timings.first_byte);
        let heard = self.read_head(outgoing, space, part, watch);
        match tokio::time::timeout(CONTINUE_PATIENCE, heard).await {
            Ok(Ok(Read::Continue)) | Err(_) => Ok((self.write(body).await, None)),
            Ok(Ok(answer)) => Ok((Ok(()), Some(answer.last()))),
            Ok(Err(failure)) => Err(failure),
        }
    }

    /// Reads until the head of the final answer is there, or a '100 Continue'.
    async fn read_head(
        &mut self,
        outgoing: &Outgoing<'_>,
        space: &ReadSpace,
        part: &mut BytesMut,
        watch: &mut Watch,
    ) -> Result<Read, Failure> {
        loop {
            let read = poll_fn(|cx| self.poll_some(cx, outgoing, space, part, watch)).await?;
            if !matches!(read, Read::More) {
                return Ok(read);
            }
        }
    }

    /// Reads once into the shard's buffer. An answer that is whole then is copied out at its exact size.
    fn poll_some(
        &mut self,
        cx: &mut Context<'_>,
        outgoing: &Outgoing<'_>,
        space: &ReadSpace,
        part: &mut BytesMut,
        watch: &mut Watch,
    ) -> Poll<Result<Read, Failure>> {
        let space = &mut space.0.borrow_mut()[..];
        let mut buffer = ReadBuf::new(space);
        match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(Failure::exchanging(&error))),
            Poll::Ready(Ok(())) => {}
        }
        let new = buffer.filled();
        if self.received == 0 {
            watch.lap(|timings| &mut timings.first_byte);
            watch.enter(|timings| &mut timings.receive);
        }
        self.received += new.len() as u64;
        if new.is_empty() {
            return Poll::Ready(Err(Failure::new(ErrorClass::ClosedEarly, "")));
        }
        if part.is_empty() {
            return Poll::Ready(take(new, outgoing, part));
        }
        part.extend_from_slice(new);
        let joined = part.split();
        Poll::Ready(take(&joined, outgoing, part))
    }

    /// Reads what is missing of an answer after its first piece.
    async fn read_rest(
        &mut self,
        mut read: Read,
        outgoing: &Outgoing<'_>,
        space: &ReadSpace,
        mut part: BytesMut,
        watch: &mut Watch,
    ) -> Result<Answer, Failure> {
        let mut head = loop {
            match read {
                Read::Whole(answer) => return Ok(answer),
                Read::Head(head) => break head,
                Read::Continue | Read::More => {
                    read = self.read_head(outgoing, space, &mut part, watch).await?;
                }
            }
        };
        let mut body = Body::behind(part, head.length, outgoing.limits);
        match head.framing {
            Framing::Length(length) => self.read_length(length, &mut body).await?,
            Framing::Chunked => head.keep_alive &= self.read_chunks(&mut body).await?,
            Framing::Close => self.read_to_end(&mut body).await?,
        }
        Ok(Answer {
            head,
            bytes: body.bytes.freeze(),
            http2: false,
        })
    }

    async fn read_length(&mut self, length: u64, body: &mut Body) -> Result<(), Failure> {
        if body.limits.keep_body {
            body.bytes.reserve(length.min(TRUSTED_LENGTH) as usize);
        }
        while body.length < length {
            let left = usize::try_from(length - body.length).unwrap_or(usize::MAX);
            let spare = body.bytes.capacity() - body.bytes.len();
            self.read_into(body, left.min(spare.max(READ_SIZE))).await?;
        }
        Ok(())
    }

    /// True if nothing followed the last chunk.
    async fn read_chunks(&mut self, body: &mut Body) -> Result<bool, Failure> {
        let mut raw = body.take_back();
        let mut chunks = Chunks::default();
        loop {
            let mut rest = &raw[..];
            let before = body.bytes.len();
            let done = chunks.decode(&mut rest, &mut body.bytes)?;
            body.count_from(before)?;
            if done {
                return Ok(rest.is_empty());
            }
            raw.clear();
            self.read_some(&mut raw, READ_SIZE).await?;
        }
    }

    async fn read_to_end(&mut self, body: &mut Body) -> Result<(), Failure> {
        // What came with the head counts too.
        body.count_from(body.bytes.len())?;
        loop {
            match self.read_into(body, READ_SIZE).await {
                Ok(()) => {}
                Err(failure) if failure.class == ErrorClass::ClosedEarly => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Reads some bytes of a body, at most `room`.
    async fn read_into(&mut self, body: &mut Body, room: usize) -> Result<(), Failure> {
        let before = body.bytes.len();
        self.read_some(&mut body.bytes, room).await?;
        body.count_from(before)
    }

    /// Appends what one read brings, at most `room` bytes.
    async fn read_some(&mut self, bytes: &mut BytesMut, room: usize) -> Result<(), Failure> {
        match self.stream.read_buf(&mut bytes.limit(room)).await {
            Ok(0) => Err(Failure::new(ErrorClass::ClosedEarly, "")),
            Ok(count) => {
                self.received += count as u64;
                Ok(())
            }
            Err(error) => Err(Failure::exchanging(&error)),
        }
    }
}
