//! An answer of HTTP/1.1 as it comes in, piece by piece. Knows no socket.

use super::wire::{Framing, Head};
use super::{ErrorClass, Failure};
use bytes::{Bytes, BytesMut};
use http::Method;

/// What came back: the head as received and the body, decoded from its chunks, behind it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) bytes: Bytes,
    pub(super) http2: bool,
}

/// A request as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the body begins, if the server is asked whether it wants it.
    pub(super) body_at: Option<usize>,
    pub(super) method: &'a Method,
    pub(super) limits: Limits,
}

/// What may come back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most bytes of a body.
    pub(super) max_body: u64,
    /// Whether the body is kept or only counted.
    pub(super) keep_body: bool,
}

/// What one read brought.
pub(super) enum Read {
    /// The answer is whole.
    Whole(Answer),
    /// The head is known, the body is not whole.
    Head(Head),
    /// The server wants the body it was asked about.
    Continue,
    /// The head is not whole.
    More,
}

impl Read {
    /// The same as the last of its connection: the server still waits for a body that will not come.
    pub(super) fn last(mut self) -> Read {
        match &mut self {
            Read::Whole(answer) => answer.head.keep_alive = false,
            Read::Head(head) => head.keep_alive = false,
            Read::Continue | Read::More => {}
        }
        self
    }
}

/// Looks at the start of an answer; what is not whole yet goes into `part`.
pub(super) fn take(
    new: &[u8],
    outgoing: &Outgoing<'_>,
    part: &mut BytesMut,
) -> Result<Read, Failure> {
    let mut bytes = new;
    let mut continues = false;
    loop {
        let Some(head) = Head::parse(bytes, outgoing.method)? else {
            part.extend_from_slice(bytes);
            return Ok(if continues {
                Read::Continue
            } else {
                Read::More
            });
        };
        if head.status < 200 && head.status != 101 {
            // An interim answer: the real one follows.
            continues |= head.status == 100;
            bytes = &bytes[head.length..];
            continue;
        }
        let have = (bytes.len() - head.length) as u64;
        let most = outgoing.limits.max_body;
        if matches!(head.framing, Framing::Length(length) if length > most) {
            return Err(too_large(most));
        }
        if let Framing::Length(length) = head.framing
            && have >= length
        {
            let kept = match outgoing.limits.keep_body {
                true => length as usize,
                false => 0,
            };
            let whole = Bytes::copy_from_slice(&bytes[..head.length + kept]);
            let keep_alive = head.keep_alive && have == length;
            return Ok(Read::Whole(Answer {
                head: Head { keep_alive, ..head },
                bytes: whole,
                http2: false,
            }));
        }
        part.extend_from_slice(bytes);
        return Ok(Read::Head(head));
    }
}

/// A body as it comes in, behind its head.
pub(super) struct Body {
    pub(super) bytes: BytesMut,
    head: usize,
    /// Bytes of the body so far, kept or not.
    pub(super) length: u64,
    pub(super) limits: Limits,
}

impl Body {
    pub(super) fn behind(bytes: BytesMut, head: usize, limits: Limits) -> Body {
        Body {
            length: (bytes.len() - head) as u64,
            bytes,
            head,
            limits,
        }
    }

    /// What has come so far, which is not the body yet.
    pub(super) fn take_back(&mut self) -> BytesMut {
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
            true => Err(too_large(self.limits.max_body)),
            false => Ok(()),
        }
    }
}

pub(super) fn too_large(max_body: u64) -> Failure {
    Failure::new(
        ErrorClass::TooLarge,
        format!("body of more than {max_body} bytes ('--max-body')"),
    )
}
