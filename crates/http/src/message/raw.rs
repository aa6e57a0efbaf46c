//! A response as a transport hands it to the session.

use super::Request;
use super::head::ResponseHead;
use super::streamed::StreamedBody;
use crate::config::ClientConfig;
use crate::failure::{ErrorClass, Failure};
use crate::hop::is_redirect;
use crate::websocket::SocketSide;
use bytes::{Bytes, BytesMut};
use std::cell::Cell;
use std::rc::Rc;

/// A response as received: the head followed by the body, without chunk sizes.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) head: ResponseHead,
    pub(crate) bytes: Bytes,
}

/// The limits of a response's body.
#[derive(Debug, Clone)]
pub(crate) struct BodyLimits {
    /// The largest body, in bytes.
    pub(crate) max_body: u64,
    /// Whether the body is kept or only counted.
    pub(crate) retain_body: bool,
    /// The same of a response with a status of 400 or more.
    pub(crate) retain_failed: bool,
    /// Whether redirects are followed. Nobody sees their bodies then.
    pub(crate) follows: bool,
    /// The room that it shares with others, if there is one.
    pub(crate) room: Option<Rc<BodyRoom>>,
    /// The receiver of the body piece by piece, if it is not kept.
    pub(crate) stream: Option<Rc<StreamedBody>>,
}

impl BodyLimits {
    /// The limits for the body of the response to a request; those of the run are in `config`.
    pub(crate) fn of(
        request: &Request,
        config: &ClientConfig,
        room: Option<Rc<BodyRoom>>,
    ) -> BodyLimits {
        if let Some(stream) = request.stream() {
            return BodyLimits {
                max_body: u64::MAX,
                retain_body: true,
                retain_failed: true,
                follows: false,
                room: None,
                stream: Some(stream.clone()),
            };
        }
        let discard = request.discard.or(config.discard);
        let (most, ends_there) = request.redirects.limit(config.max_redirects);
        BodyLimits {
            max_body: config.max_body,
            stream: None,
            retain_body: match discard {
                Discard::OfRun | Discard::Nothing => true,
                // The cache may serve a later request that reads the body.
                Discard::Successful => config.cache,
                Discard::All => false,
            },
            retain_failed: discard != Discard::All,
            follows: most > 0 && !ends_there,
            room,
        }
    }

    /// Passes the head to the stream, if the body is one.
    pub(crate) fn begin(&self, status: u16, head: &[u8]) {
        if let Some(stream) = &self.stream {
            stream.begin(status, head);
        }
    }

    /// The WebSocket that a response of status 101 opens.
    pub(crate) fn socket(&self) -> Option<&SocketSide> {
        self.stream.as_ref()?.socket()
    }

    /// Whether the body of a response with that status is kept.
    pub(crate) fn retains(&self, status: u16) -> bool {
        match status {
            400.. => self.retain_failed,
            _ => self.retain_body,
        }
    }

    /// The limits for a response with that status.
    pub(crate) fn of_status(&self, status: u16) -> BodyLimits {
        /// The most bytes of a redirect's body that are kept: without a 'Location', it is the final response.
        const REDIRECT_BODY: u64 = 1 << 20;
        let is_passed = self.follows && is_redirect(status);
        BodyLimits {
            retain_body: self.retains(status),
            room: if is_passed {
                Some(Rc::new(BodyRoom::of(REDIRECT_BODY)))
            } else {
                self.room.clone()
            },
            ..self.clone()
        }
    }
}

/// The memory that the bodies of requests side by side may take together. Once it was too little, no body is kept.
#[derive(Debug)]
pub struct BodyRoom {
    most: u64,
    taken: Cell<u64>,
    full: Cell<bool>,
}

impl BodyRoom {
    /// Room for `most` bytes.
    pub fn of(most: u64) -> BodyRoom {
        BodyRoom {
            most,
            taken: Cell::new(0),
            full: Cell::new(false),
        }
    }

    /// Takes some of the room.
    pub fn take(&self, bytes: u64) {
        self.taken.set(self.taken.get() + bytes);
        if self.taken.get() > self.most {
            self.full.set(true);
        }
    }

    /// Whether there was too little room.
    pub fn is_full(&self) -> bool {
        self.full.get()
    }
}

/// The part of a room that one body takes while it is received.
#[derive(Debug, Default)]
pub(crate) struct BodyPart {
    room: Option<Rc<BodyRoom>>,
    bytes: u64,
}

impl BodyPart {
    /// A part of the room in the limits, for a body that has not begun.
    pub(crate) fn of(limits: &BodyLimits) -> BodyPart {
        BodyPart {
            room: limits.room.clone().filter(|_| limits.retain_body),
            bytes: 0,
        }
    }

    /// Takes room for more bytes. Returns whether the body may still be kept.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let Some(room) = &self.room else {
            return true;
        };
        self.bytes += bytes as u64;
        room.take(bytes as u64);
        !room.is_full()
    }
}

impl Drop for BodyPart {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            room.taken.set(room.taken.get() - self.bytes);
        }
    }
}

/// Reserves room for the rest of a body, of which `remaining` bytes are announced. The more bytes have come, the more
/// of the announcement is trusted: a body that is moved takes twice its size for a while, which no limit counts.
pub(crate) fn reserve_rest(bytes: &mut BytesMut, remaining: u64) {
    /// The most bytes that are reserved just because of a length.
    const TRUSTED_LENGTH: usize = 1024 * 1024;
    /// The factor of received bytes by which room for the rest is reserved.
    const TRUSTED_GROWTH: usize = 7;
    let trusted = bytes
        .len()
        .saturating_mul(TRUSTED_GROWTH)
        .max(TRUSTED_LENGTH);
    bytes.reserve(usize::try_from(remaining).map_or(trusted, |remaining| remaining.min(trusted)));
}

/// Reserves room for a piece of a body of which no length is announced, and which may have `remaining` more bytes. Once
/// much has come, room for more than the piece: it would double each time.
pub(crate) fn reserve_more(bytes: &mut BytesMut, piece: usize, remaining: u64) {
    const MUCH: usize = 256 * 1024;
    if bytes.len() >= MUCH && bytes.capacity() - bytes.len() < piece {
        reserve_rest(bytes, remaining.saturating_add(piece as u64));
    }
}

/// The bodies of responses that are only counted, and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// As the run sets it.
    OfRun,
    /// All are kept.
    Nothing,
    /// Those of responses with a status below 400.
    Successful,
    /// All.
    All,
}

impl Discard {
    /// Returns the request's setting, or that of the run.
    pub(crate) fn or(self, of_run: Discard) -> Discard {
        match self {
            Discard::OfRun => of_run,
            own => own,
        }
    }
}

/// The failure of a response whose body is larger than `max_body` bytes.
pub(crate) fn body_too_large(max_body: u64) -> Failure {
    Failure::new(
        ErrorClass::TooLarge,
        format!("body of more than {max_body} bytes ('--max-body')"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_body_of_unknown_length_moves_while_it_is_small() {
        const PIECE_BYTES: usize = 64 * 1024;
        const END: usize = 60 * 1024 * 1024;
        let (mut body, mut moved) = (BytesMut::new(), Vec::new());
        while body.len() < END {
            let (before, remaining) = (body.capacity(), (END - body.len()) as u64);
            reserve_more(&mut body, PIECE_BYTES, remaining);
            body.extend_from_slice(&[b'x'; PIECE_BYTES]);
            if body.capacity() != before {
                moved.push(body.len());
            }
        }
        let last = moved.last().expect("it grows");
        assert!(*last < END / 3 && moved.len() < 9, "{moved:?}");
        assert!(body.capacity() <= END + PIECE_BYTES, "{}", body.capacity());
    }

    #[test]
    fn bodies_side_by_side_share_their_room_until_it_is_full() {
        let room = Rc::new(BodyRoom::of(10));
        let limits = |retain_body| BodyLimits {
            follows: false,
            stream: None,
            max_body: 100,
            retain_body,
            retain_failed: true,
            room: Some(room.clone()),
        };
        let (retained, counted) = (limits(true), limits(false));
        let mut one = BodyPart::of(&retained);
        assert!(one.grow(6));
        drop(one);
        let (mut one, mut other) = (BodyPart::of(&retained), BodyPart::of(&retained));
        assert!(BodyPart::of(&counted).grow(100));
        assert!(one.grow(6) && other.grow(4) && !room.is_full());
        assert!(!other.grow(1) && room.is_full());
        drop(other);
        // Bytes given up for want of room are missing, whatever comes.
        assert!(!one.grow(1));
        assert!(BodyPart::default().grow(100));
    }
}
