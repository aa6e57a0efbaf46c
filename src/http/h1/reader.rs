//! A response of HTTP/1.1 as it comes in, piece by piece. Driven by the connection; knows no socket.

use crate::http::failure::Failure;
use crate::http::message::{
    BodyLimits, Framing, InterimResponses, RawResponse, ResponseHead, body_too_large, unfolded,
};
use bytes::{Bytes, BytesMut};
use http::Method;

/// A request as bytes, and what its response depends on.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct EncodedRequest<'a> {
    pub(in crate::http) bytes: &'a [u8],
    /// The place where the body begins, if the server is asked before it is sent.
    pub(in crate::http) body_at: Option<usize>,
    pub(in crate::http) method: &'a Method,
    pub(in crate::http) limits: BodyLimits,
}

/// The outcome of one read.
pub(in crate::http) enum ReadOutcome {
    /// The response is complete.
    Complete(RawResponse),
    /// The head is complete, the body is not.
    Head(ResponseHead),
    /// The server wants the body it was asked about.
    Continue,
    /// The head is not complete.
    Partial,
}

impl ReadOutcome {
    /// Closes the connection after this response: the server still waits for a body that will not come.
    pub(super) fn closing(mut self) -> ReadOutcome {
        match &mut self {
            ReadOutcome::Complete(response) => response.head.keep_alive = false,
            ReadOutcome::Head(head) => head.keep_alive = false,
            ReadOutcome::Continue | ReadOutcome::Partial => {}
        }
        self
    }
}

/// Reads the start of a response; what is not complete yet goes into `partial`.
pub(in crate::http) fn read_start(
    new: &[u8],
    request: &EncodedRequest<'_>,
    interim: &mut InterimResponses,
    partial: &mut BytesMut,
) -> Result<ReadOutcome, Failure> {
    let mut bytes = new;
    let mut continues = false;
    loop {
        let parsed = match ResponseHead::parse(bytes, request.method) {
            Ok(parsed) => parsed,
            Err(failure) => {
                // Lines of headers that go on in the next one are rare, and are looked for only here.
                let Some(bytes) = unfolded(bytes) else {
                    return Err(failure);
                };
                let read = read_start(&bytes, request, interim, partial)?;
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
        let received = (bytes.len() - head.length) as u64;
        let max_body = request.limits.max_body;
        if matches!(head.framing, Framing::Length(length) if length > max_body) {
            return Err(body_too_large(max_body));
        }
        if let Framing::Length(length) = head.framing
            && received >= length
        {
            let kept = match request.limits.keep_body {
                true => length as usize,
                false => 0,
            };
            let complete = Bytes::copy_from_slice(&bytes[..head.length + kept]);
            let keep_alive = head.keep_alive && received == length;
            return Ok(ReadOutcome::Complete(RawResponse {
                head: ResponseHead { keep_alive, ..head },
                bytes: complete,
            }));
        }
        partial.extend_from_slice(bytes);
        return Ok(ReadOutcome::Head(head));
    }
}

/// A body as it comes in, behind its head.
pub(super) struct BodyBuffer {
    pub(super) bytes: BytesMut,
    /// The length of the head.
    head: usize,
    /// The bytes of the body so far, kept or not.
    pub(super) length: u64,
    pub(super) limits: BodyLimits,
}

impl BodyBuffer {
    /// The body behind a head of that length, with what has come of it.
    pub(super) fn behind(bytes: BytesMut, head: usize, limits: BodyLimits) -> BodyBuffer {
        BodyBuffer {
            length: (bytes.len() - head) as u64,
            bytes,
            head,
            limits,
        }
    }

    /// Takes out what has come so far, which is not decoded yet.
    pub(super) fn take_encoded(&mut self) -> BytesMut {
        self.length = 0;
        self.bytes.split_off(self.head)
    }

    /// Counts what was appended since there were `before` bytes, and keeps it if bodies are kept.
    pub(super) fn count_from(&mut self, before: usize) -> Result<(), Failure> {
        self.length += (self.bytes.len() - before) as u64;
        if !self.limits.keep_body {
            self.bytes.truncate(self.head);
        }
        match self.length > self.limits.max_body {
            true => Err(body_too_large(self.limits.max_body)),
            false => Ok(()),
        }
    }
}
