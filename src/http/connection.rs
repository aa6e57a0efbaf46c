//! One HTTP/1.1 connection of one user. It owns nothing but its socket: a request is written from a buffer
//! of the shard's, an answer is read into another, and only the answer itself is copied out. That is what
//! makes a user cheap, and one `write` and one `read` the whole cost of a small request.

use super::watch::Watch;
use super::wire::{Chunks, Framing, Head};
use super::{ErrorClass, Failure, Origin, Resolver};
use bytes::{BufMut as _, Bytes, BytesMut};
use http::Method;
use std::cell::RefCell;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;

/// Holds a page of most sites, so that it is read at once.
const READ_SIZE: usize = 64 * 1024;
/// Reserve no more than this on the word of a `Content-Length` alone.
const TRUSTED_LENGTH: u64 = 1024 * 1024;

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
    tcp: TcpStream,
    /// Bytes of the current answer received so far.
    received: u64,
}

/// What came back: the head as received and the body, decoded from its chunks, behind it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) bytes: Bytes,
}

impl Connection {
    /// Opens a connection to `origin`, trying its addresses in turn.
    pub(super) async fn open(
        origin: &Rc<Origin>,
        resolver: &Resolver,
        watch: &mut Watch,
    ) -> Result<Connection, Failure> {
        if origin.secure {
            return Err(Failure::new(
                ErrorClass::Tls,
                "https:// is not supported yet",
            ));
        }
        let addresses = resolver.resolve(&origin.host, origin.port).await;
        watch.lap(|timings| &mut timings.dns);
        let tcp = connect(&addresses?).await;
        watch.lap(|timings| &mut timings.connect);
        let tcp = tcp?;
        Ok(Connection {
            origin: origin.clone(),
            tcp,
            received: 0,
        })
    }

    /// Whether the connection can take another request: the server has neither closed it nor sent what
    /// nobody asked for. Costs no system call.
    pub(super) fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        let mut byte = [0];
        Pin::new(&mut self.tcp)
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
        request: &[u8],
        method: &Method,
        max_body: u64,
        space: &ReadSpace,
        watch: &mut Watch,
    ) -> Result<Answer, Failure> {
        self.received = 0;
        let written = self.tcp.write_all(request).await;
        watch.lap(|timings| &mut timings.send);
        let answer = self.read_answer(method, max_body, space, watch).await;
        // The first byte is lapped where it is seen.
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

    async fn read_answer(
        &mut self,
        method: &Method,
        max_body: u64,
        space: &ReadSpace,
        watch: &mut Watch,
    ) -> Result<Answer, Failure> {
        // What has come of an answer that one read did not bring whole.
        let mut part = BytesMut::new();
        let mut head = loop {
            let read = poll_fn(|cx| self.poll_some(cx, method, space, &mut part, watch)).await?;
            match read {
                Read::Whole(answer) => return Ok(answer),
                Read::Head(head) => break head,
                Read::More => {}
            }
        };
        match head.framing {
            Framing::Length(length) => self.read_length(&head, length, max_body, &mut part).await?,
            Framing::Chunked => {
                head.keep_alive &= self.read_chunks(&head, max_body, &mut part).await?
            }
            Framing::Close => self.read_to_end(&head, max_body, &mut part).await?,
        }
        Ok(Answer {
            head,
            bytes: part.freeze(),
        })
    }

    /// Reads once into the shard's buffer. An answer that is whole then is copied out at its exact size.
    fn poll_some(
        &mut self,
        cx: &mut Context<'_>,
        method: &Method,
        space: &ReadSpace,
        part: &mut BytesMut,
        watch: &mut Watch,
    ) -> Poll<Result<Read, Failure>> {
        let space = &mut space.0.borrow_mut()[..];
        let mut buffer = ReadBuf::new(space);
        match Pin::new(&mut self.tcp).poll_read(cx, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(Failure::exchanging(&error))),
            Poll::Ready(Ok(())) => {}
        }
        let new = buffer.filled();
        if self.received == 0 {
            watch.lap(|timings| &mut timings.first_byte);
        }
        self.received += new.len() as u64;
        if new.is_empty() {
            return Poll::Ready(Err(Failure::new(ErrorClass::ClosedEarly, "")));
        }
        Poll::Ready(self.take(new, method, part))
    }

    fn take(&mut self, new: &[u8], method: &Method, part: &mut BytesMut) -> Result<Read, Failure> {
        let joined;
        let mut bytes = new;
        if !part.is_empty() {
            part.extend_from_slice(new);
            joined = part.split();
            bytes = &joined;
        }
        loop {
            let Some(head) = Head::parse(bytes, method)? else {
                part.extend_from_slice(bytes);
                return Ok(Read::More);
            };
            if head.status < 200 && head.status != 101 {
                // An interim answer: the real one follows.
                bytes = &bytes[head.length..];
                continue;
            }
            let have = (bytes.len() - head.length) as u64;
            if let Framing::Length(length) = head.framing
                && have >= length
            {
                let whole = Bytes::copy_from_slice(&bytes[..head.length + length as usize]);
                let keep_alive = head.keep_alive && have == length;
                return Ok(Read::Whole(Answer {
                    head: Head { keep_alive, ..head },
                    bytes: whole,
                }));
            }
            part.extend_from_slice(bytes);
            return Ok(Read::Head(head));
        }
    }

    async fn read_length(
        &mut self,
        head: &Head,
        length: u64,
        max_body: u64,
        part: &mut BytesMut,
    ) -> Result<(), Failure> {
        if length > max_body {
            return Err(too_large(max_body));
        }
        part.reserve(length.min(TRUSTED_LENGTH) as usize);
        let end = head.length + length as usize;
        while part.len() < end {
            let room = (end - part.len()).min(READ_SIZE.max(part.capacity() - part.len()));
            self.read_into(part, room).await?;
        }
        Ok(())
    }

    /// True if nothing followed the last chunk.
    async fn read_chunks(
        &mut self,
        head: &Head,
        max_body: u64,
        part: &mut BytesMut,
    ) -> Result<bool, Failure> {
        let mut raw = part.split_off(head.length);
        let mut chunks = Chunks::default();
        loop {
            let mut rest = &raw[..];
            let done = chunks.decode(&mut rest, part)?;
            if (part.len() - head.length) as u64 > max_body {
                return Err(too_large(max_body));
            }
            if done {
                return Ok(rest.is_empty());
            }
            raw.clear();
            self.read_into(&mut raw, READ_SIZE).await?;
        }
    }

    async fn read_to_end(
        &mut self,
        head: &Head,
        max_body: u64,
        part: &mut BytesMut,
    ) -> Result<(), Failure> {
        loop {
            if (part.len() - head.length) as u64 > max_body {
                return Err(too_large(max_body));
            }
            match self.read_into(part, READ_SIZE).await {
                Ok(()) => {}
                Err(failure) if failure.class == ErrorClass::ClosedEarly => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Reads some bytes, at most `room`.
    async fn read_into(&mut self, bytes: &mut BytesMut, room: usize) -> Result<(), Failure> {
        match self.tcp.read_buf(&mut bytes.limit(room)).await {
            Ok(0) => Err(Failure::new(ErrorClass::ClosedEarly, "")),
            Ok(count) => {
                self.received += count as u64;
                Ok(())
            }
            Err(error) => Err(Failure::exchanging(&error)),
        }
    }
}

enum Read {
    /// The answer is whole.
    Whole(Answer),
    /// The head is known, the body is not whole.
    Head(Head),
    /// The head is not whole.
    More,
}

fn too_large(max_body: u64) -> Failure {
    Failure::new(
        ErrorClass::TooLarge,
        format!("body of more than {max_body} bytes ('--max-body')"),
    )
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, Failure> {
    let mut failure = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(tcp) => {
                tcp.set_nodelay(true)
                    .map_err(|error| Failure::connecting(&error, &address.to_string()))?;
                return Ok(tcp);
            }
            Err(error) => failure = Some(Failure::connecting(&error, &address.to_string())),
        }
    }
    Err(failure.unwrap_or_else(|| Failure::new(ErrorClass::Dns, "no address")))
}
