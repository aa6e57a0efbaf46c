//! Parsing of an HTTP/1.1 response that arrives in pieces. The connection drives it; it knows no socket.

use crate::failure::Failure;
use crate::message::{
    BodyLimits, BodyPart, Framing, InterimResponses, KnownHeads, MendedHead, RawResponse,
    ResponseHead, body_too_large, mended, reserve_more,
};
use crate::read_buffer::READ_SIZE;
use bytes::{Bytes, BytesMut};
use http::Method;

/// The rules for reading the response to a request.
#[derive(Debug, Clone)]
pub(crate) struct ResponseRules<'a> {
    pub(crate) method: &'a Method,
    pub(crate) limits: BodyLimits,
    pub(crate) known: &'a KnownHeads,
}

/// The result of one read.
pub(crate) enum ReadOutcome {
    /// The response is complete.
    Complete(RawResponse),
    /// The head is complete, but not the body.
    Head(ResponseHead),
    /// The head is complete, and nobody wants the body, of which so many bytes are still to come.
    Discarding(RawResponse, u64),
    /// The server requests the body by an interim response.
    Continue,
    /// The head is not complete.
    Partial,
}

impl ReadOutcome {
    /// The outcome of reading `received` bytes where the body had `remaining` bytes to come. Bytes that follow it were
    /// not requested: the connection is then not to be used again.
    pub(super) fn after(received: u64, mut response: RawResponse, remaining: u64) -> ReadOutcome {
        match remaining.checked_sub(received) {
            None => {
                response.head.keep_alive = false;
                ReadOutcome::Complete(response)
            }
            Some(0) => ReadOutcome::Complete(response),
            Some(remaining) => ReadOutcome::Discarding(response, remaining),
        }
    }

    /// Notes a malformed line of the head.
    fn with_malformed_header(mut self, malformed_header: Option<Box<str>>) -> ReadOutcome {
        if let Some(head) = self.head_mut() {
            head.malformed_header = malformed_header;
        }
        self
    }

    fn head_mut(&mut self) -> Option<&mut ResponseHead> {
        match self {
            ReadOutcome::Complete(RawResponse { head, .. })
            | ReadOutcome::Discarding(RawResponse { head, .. }, _)
            | ReadOutcome::Head(head) => Some(head),
            ReadOutcome::Continue | ReadOutcome::Partial => None,
        }
    }

    /// Has the connection closed after this response: the server still waits for a body that will not come.
    pub(super) fn closing(mut self) -> ReadOutcome {
        if let Some(head) = self.head_mut() {
            head.keep_alive = false;
        }
        self
    }
}

/// Parses the start of a response; bytes that are not complete yet go into `partial`.
pub(crate) fn read_start(
    new: &[u8],
    rules: &ResponseRules<'_>,
    interim: &mut InterimResponses,
    partial: &mut BytesMut,
) -> Result<ReadOutcome, Failure> {
    let mut bytes = new;
    let mut continues = false;
    loop {
        let parsed = match rules.known.parse(bytes, rules.method) {
            Ok(parsed) => parsed,
            Err(failure) => {
                let read = read_malformed_start(bytes, failure, rules, interim, partial)?;
                return Ok(match read {
                    ReadOutcome::Partial if continues => ReadOutcome::Continue,
                    read => read,
                });
            }
        };
        let Some(head) = parsed else {
            partial.extend_from_slice(bytes);
            return Ok(if continues {
                ReadOutcome::Continue
            } else {
                ReadOutcome::Partial
            });
        };
        if head.status < 200 && head.status != 101 {
            // An interim response: the final one follows.
            interim.count()?;
            continues |= head.status == 100;
            bytes = &bytes[head.length..];
            continue;
        }
        rules.limits.begin(head.status, &bytes[..head.length]);
        if head.status == 101
            && let Some(socket) = rules.limits.socket()
        {
            socket.begin(&bytes[head.length..]);
            return Ok(ReadOutcome::Complete(RawResponse {
                bytes: Bytes::copy_from_slice(&bytes[..head.length]),
                head,
            }));
        }
        let received = (bytes.len() - head.length) as u64;
        let max_body = rules.limits.max_body;
        if matches!(head.framing, Framing::Length(length) if length > max_body) {
            return Err(body_too_large(max_body));
        }
        let retain_body = rules.limits.retains(head.status);
        if let Framing::Length(length) = head.framing
            && (received >= length || !retain_body)
        {
            let mut retained = if retain_body { length as usize } else { 0 };
            if let Some(stream) = &rules.limits.stream {
                stream.push(&bytes[head.length..head.length + retained])?;
                retained = 0;
            }
            let response = RawResponse {
                bytes: Bytes::copy_from_slice(&bytes[..head.length + retained]),
                head,
            };
            return Ok(ReadOutcome::after(received, response, length));
        }
        partial.extend_from_slice(bytes);
        return Ok(ReadOutcome::Head(head));
    }
}

/// Parses the start of a response that has failed to parse: malformed headers are rare, so they are looked for only here.
#[cold]
fn read_malformed_start(
    bytes: &[u8],
    failure: Failure,
    rules: &ResponseRules<'_>,
    interim: &mut InterimResponses,
    partial: &mut BytesMut,
) -> Result<ReadOutcome, Failure> {
    match mended(bytes) {
        MendedHead::Whole(bytes, malformed_header) => {
            let read = read_start(&bytes, rules, interim, partial)?;
            Ok(read.with_malformed_header(malformed_header))
        }
        MendedHead::Partial => {
            partial.extend_from_slice(bytes);
            Ok(ReadOutcome::Partial)
        }
        MendedHead::Nothing => Err(failure),
    }
}

/// A body that arrives in pieces, after its head.
pub(super) struct BodyBuffer {
    pub(super) bytes: BytesMut,
    /// The length of the head.
    head: usize,
    /// The length of the body so far, kept or not, in bytes.
    pub(super) length: u64,
    pub(super) limits: BodyLimits,
    part: BodyPart,
}

impl BodyBuffer {
    /// The body after a head of that length, with the part that has come.
    pub(super) fn behind(bytes: BytesMut, head: usize, limits: BodyLimits) -> BodyBuffer {
        BodyBuffer {
            length: (bytes.len() - head) as u64,
            bytes,
            head,
            part: BodyPart::of(&limits),
            limits,
        }
    }

    /// Takes out the part of the body that has come, which is still encoded.
    pub(super) fn take_encoded(&mut self) -> BytesMut {
        self.length = 0;
        self.bytes.split_off(self.head)
    }

    /// Whether its reader takes it while it comes.
    pub(super) fn is_stream(&self) -> bool {
        self.limits.stream.is_some()
    }

    /// Lets the reader of a stream take the received bytes before more are read, however fast they come.
    pub(super) async fn let_read(&self) {
        if let Some(stream) = &self.limits.stream {
            tokio::task::yield_now().await;
            stream.room_to_read().await;
        }
    }

    /// Hands on the bytes that came with the head, if the body is a stream.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        if self.is_stream() {
            self.length = 0;
            self.count_from(self.head)?;
        }
        Ok(())
    }

    /// Makes room for the next read of a body of which no length is announced.
    pub(super) fn make_room(&mut self) {
        let remaining = self.limits.max_body.saturating_sub(self.length);
        reserve_more(&mut self.bytes, READ_SIZE, remaining);
    }

    /// Counts the bytes appended after the first `before` ones, and drops them unless bodies are kept.
    pub(super) fn count_from(&mut self, before: usize) -> Result<(), Failure> {
        let count = self.bytes.len() - before;
        self.length += count as u64;
        if let Some(stream) = &self.limits.stream {
            stream.push(&self.bytes[before..])?;
            self.bytes.truncate(before);
        } else if !self.limits.retain_body {
            self.bytes.truncate(self.head);
        } else if !self.part.grow(count) {
            self.limits.retain_body = false;
            // With room for whole reads of the rest.
            let mut retained = BytesMut::with_capacity(self.head + READ_SIZE);
            retained.extend_from_slice(&self.bytes[..self.head]);
            self.bytes = retained;
            self.part = BodyPart::default();
        }
        if self.length > self.limits.max_body {
            Err(body_too_large(self.limits.max_body))
        } else {
            Ok(())
        }
    }
}
