//! One request and its response on an HTTP/2 connection, from the wait for a stream to its end. Knows nothing of
//! frames but the fields and bytes in them.

use super::fields::FieldWriter;
use super::frame::{H2ErrorCode, MAX_WINDOW};
use crate::failure::{ErrorClass, Failure};
use crate::grpc::GrpcCall;
use crate::message::{BodyLimits, BodyPart, InterimResponses, StreamedBody, body_too_large};
use bytes::Bytes;
use std::task::Waker;

/// The place of the status in a head, and the status of HTTP/1.1 that switches protocols.
const SWITCHED: (std::ops::Range<usize>, &[u8]) = (9..12, b"101");

/// The initial capacity for a head and a small body.
const SMALL_RESPONSE: usize = 256;

/// The state of a stream.
#[derive(Debug)]
pub(super) struct H2Stream {
    /// The key by which its request knows it.
    pub(super) key: u64,
    /// The stream number on the connection; `None` while the server allows no more streams.
    pub(super) id: Option<u32>,
    /// The head block, until it is sent.
    pub(super) block: Vec<u8>,
    /// The part of the body that is not sent yet.
    pub(super) unsent: Bytes,
    /// Whether the whole request has been sent.
    pub(super) sent: bool,
    pub(super) send_window: i64,
    /// The number of bytes that the server may still send.
    pub(super) receive_window: i64,
    /// The response as HTTP/1.1 would have sent it.
    pub(super) bytes: Vec<u8>,
    /// The length of its head, once that has come.
    pub(super) head: Option<usize>,
    /// The bytes of the frames received with its heads and its body, the heads of the frames and padding included.
    pub(super) bytes_received: u64,
    /// The bytes of the frames with its head and its body that were written, likewise.
    pub(super) bytes_sent: u64,
    /// Its end.
    pub(super) outcome: Option<Result<(), Failure>>,
    /// The waker of the task that waits for it.
    pub(super) waker: Option<Waker>,
    /// Whether it carries another protocol once its request is accepted, and how far that is.
    tunnel: Option<TunnelState>,
    /// Whether the response has no body, whatever its head says.
    bodiless: bool,
    limits: BodyLimits,
    part: BodyPart,
    /// The length of the body according to the head.
    declared: Option<u64>,
    body_length: u64,
    interim: InterimResponses,
}

/// The progress of a stream that is to carry another protocol (RFC 8441).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TunnelState {
    /// It was requested; it stays so where the response is an ordinary one.
    Requested,
    /// The bytes of both sides follow.
    Open,
    /// This side sends no more.
    Finished,
}

/// Reasons to end a stream for a fault of the server.
#[derive(Debug)]
pub(super) enum StreamFault {
    /// The server broke the protocol.
    Reset(H2ErrorCode),
    /// lgoose does not accept the response.
    Refused(Failure),
}

impl From<H2ErrorCode> for StreamFault {
    fn from(reason: H2ErrorCode) -> StreamFault {
        StreamFault::Reset(reason)
    }
}

impl H2Stream {
    /// The stream of a request that is not sent yet. `is_head` is whether its method is HEAD.
    pub(super) fn new(
        key: u64,
        block: &[u8],
        body: Bytes,
        is_head: bool,
        limits: BodyLimits,
    ) -> H2Stream {
        H2Stream {
            key,
            id: None,
            block: block.to_vec(),
            unsent: body,
            sent: false,
            send_window: 0,
            receive_window: 0,
            bytes: Vec::new(),
            head: None,
            bytes_received: 0,
            bytes_sent: 0,
            outcome: None,
            waker: None,
            tunnel: limits.socket().map(|_| TunnelState::Requested),
            bodiless: is_head,
            limits,
            part: BodyPart::default(),
            declared: None,
            body_length: 0,
            interim: InterimResponses::default(),
        }
    }

    /// Whether the request has a body of which nothing has come yet.
    pub(super) fn sends_on(&self) -> bool {
        !self.unsent.is_empty()
            || self.sends_as_tunnel()
            || self.call().is_some_and(|call| !call.is_sent())
    }

    /// Whether it carries another protocol, or was to, and this side has not ended.
    fn sends_as_tunnel(&self) -> bool {
        self.tunnel
            .is_some_and(|state| state != TunnelState::Finished)
    }

    /// Whether its request was accepted, and it carries another protocol.
    pub(super) fn is_tunnel(&self) -> bool {
        matches!(self.tunnel, Some(TunnelState::Open | TunnelState::Finished))
    }

    /// Notes that this side of a tunnel sends no more than it has.
    pub(super) fn finish_tunnel(&mut self) {
        self.tunnel = Some(TunnelState::Finished);
    }

    /// Takes the head of the response that has opened a tunnel: the bytes that follow are those through the tunnel.
    pub(super) fn take_head(&mut self) -> Option<Vec<u8>> {
        let length = self.head.filter(|_| self.is_tunnel())?;
        let first = self.bytes.split_off(length);
        Some(std::mem::replace(&mut self.bytes, first))
    }

    /// Takes the bytes that the plan has sent in a call since. Returns whether the unsent bytes are the end of the
    /// request.
    pub(super) fn refill(&mut self) -> bool {
        if self.unsent.is_empty()
            && let Some(call) = self.call()
        {
            self.unsent = call.take_unsent();
        }
        !self.sends_as_tunnel() && self.call().is_none_or(GrpcCall::is_sent)
    }

    /// The call of gRPC that it carries.
    pub(super) fn call(&self) -> Option<&GrpcCall> {
        self.limits.stream.as_ref()?.call()
    }

    /// Notes that its head goes out.
    pub(super) fn note_opened(&self) {
        if let Some(stream) = &self.limits.stream {
            stream.open_call();
        }
    }

    /// The body that a plan reads while it comes.
    fn body(&self) -> Option<&StreamedBody> {
        self.limits.stream.as_deref()
    }

    /// Whether the server may send more of it: whoever reads has room.
    pub(super) fn takes_more(&self) -> bool {
        self.body().is_none_or(StreamedBody::takes_more)
    }

    /// Whether its reader has left so much that something is put off.
    pub(super) fn is_behind(&self) -> bool {
        self.body().is_some_and(StreamedBody::is_behind)
    }

    /// Whether it has ended, and its reader has got all that has come.
    pub(super) fn is_done(&self) -> bool {
        self.outcome.is_some() && !self.body().is_some_and(StreamedBody::has_put_off)
    }

    /// Hands on what was put off, as far as the reader has room.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn catch_up(&self) -> Result<(), Failure> {
        self.body().map_or(Ok(()), StreamedBody::catch_up)
    }

    /// Notes the task to wake once its reader has room again.
    pub(super) fn wait_for_room(&self, waker: &Waker) {
        if let Some(body) = self.body().filter(|body| body.is_behind()) {
            body.wait_for_room(waker);
        }
    }

    /// Ends the stream, unless it has ended, and wakes the task that waits for it.
    pub(super) fn end(&mut self, outcome: Result<(), Failure>) {
        if self.outcome.is_none() {
            self.outcome = Some(outcome);
        }
        self.wake();
    }

    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Increases the window for sending. Returns false if the server allows more than the protocol does.
    pub(super) fn widen(&mut self, bytes: i64) -> bool {
        self.send_window += bytes;
        self.send_window <= MAX_WINDOW
    }

    /// Takes a block of fields, which `read` decodes: the head of an interim or of the final response, or trailers.
    /// `None` if it cannot be decoded.
    pub(super) fn take_fields(
        &mut self,
        end_stream: bool,
        read: impl FnOnce(&mut FieldWriter<'_>) -> Option<bool>,
    ) -> Option<Result<(), StreamFault>> {
        if self.head.is_some() {
            let mut lines = Vec::new();
            let mut fields = FieldWriter::of_trailers(&mut lines);
            let fits = read(&mut fields)?;
            return Some(if end_stream && fields.valid {
                if fits && let Some(stream) = &self.limits.stream {
                    stream.take_trailers(lines);
                }
                self.complete()
            } else {
                Err(H2ErrorCode::PROTOCOL_ERROR.into())
            });
        }
        self.bytes.clear();
        self.bytes.reserve(SMALL_RESPONSE);
        let mut fields = FieldWriter::of_response(&mut self.bytes);
        let fits = read(&mut fields)?;
        let (valid, status, declared) = (fields.valid, fields.status, fields.declared);
        if !fits {
            let failure = Failure::new(ErrorClass::TooLarge, "response headers");
            return Some(Err(StreamFault::Refused(failure)));
        }
        Some(match status.filter(|_| valid) {
            // There is no upgrade in HTTP/2 (RFC 9113, section 8.6).
            None | Some(101) => Err(H2ErrorCode::PROTOCOL_ERROR.into()),
            Some(100..200) if end_stream => Err(H2ErrorCode::PROTOCOL_ERROR.into()),
            Some(100..200) => self.interim.count().map_err(StreamFault::Refused),
            Some(status) => {
                self.bytes.extend_from_slice(b"\r\n");
                self.head = Some(self.bytes.len());
                let is_tunnel = self.tunnel.is_some() && matches!(status, 200..300);
                // The status that accepts a tunnel is 101 in HTTP/1.1 (RFC 8441, section 5).
                let status = if is_tunnel { 101 } else { status };
                if is_tunnel {
                    self.bytes[SWITCHED.0].copy_from_slice(SWITCHED.1);
                    self.tunnel = Some(TunnelState::Open);
                }
                self.bodiless |= matches!(status, 204 | 304);
                self.declared = declared.filter(|_| !is_tunnel);
                self.limits.begin(status, &self.bytes);
                self.limits = self.limits.of_status(status);
                self.part = BodyPart::of(&self.limits);
                if end_stream { self.complete() } else { Ok(()) }
            }
        })
    }

    /// Takes a piece of the body.
    pub(super) fn take_data(&mut self, piece: &[u8], end_stream: bool) -> Result<(), StreamFault> {
        if self.head.is_none() || (self.bodiless && !piece.is_empty()) {
            return Err(H2ErrorCode::PROTOCOL_ERROR.into());
        }
        self.body_length += piece.len() as u64;
        if self.body_length > self.limits.max_body {
            return Err(StreamFault::Refused(body_too_large(self.limits.max_body)));
        }
        if self
            .declared
            .is_some_and(|declared| self.body_length > declared)
        {
            return Err(H2ErrorCode::PROTOCOL_ERROR.into());
        }
        if self.is_tunnel() {
            self.bytes.extend_from_slice(piece);
            self.wake();
        } else if let Some(stream) = &self.limits.stream {
            stream.push_shared(piece).map_err(StreamFault::Refused)?;
        } else if self.limits.retain_body {
            self.bytes.extend_from_slice(piece);
            if !self.part.grow(piece.len()) {
                self.limits.retain_body = false;
                self.bytes.truncate(self.head.unwrap_or_default());
                self.bytes.shrink_to_fit();
                self.part = BodyPart::default();
            }
        }
        if end_stream { self.complete() } else { Ok(()) }
    }

    fn complete(&mut self) -> Result<(), StreamFault> {
        let declared = self.declared.filter(|_| !self.bodiless);
        if declared.is_some_and(|declared| self.body_length != declared) {
            return Err(H2ErrorCode::PROTOCOL_ERROR.into());
        }
        self.end(Ok(()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BodyLimits = BodyLimits {
        stream: None,
        follows: false,
        max_body: 10,
        retain_body: true,
        retain_failed: true,
        room: None,
    };

    fn stream(is_head: bool) -> H2Stream {
        H2Stream::new(1, b"", Bytes::new(), is_head, LIMITS)
    }

    fn feed(stream: &mut H2Stream, end: bool, headers: &[(&str, &str)]) -> Result<(), StreamFault> {
        let read = |fields: &mut FieldWriter<'_>| {
            for (name, value) in headers {
                fields.take(name.as_bytes(), value.as_bytes());
            }
            Some(true)
        };
        stream.take_fields(end, read).expect("they were read")
    }

    fn is_malformed(fields: &[(&str, &str)]) -> bool {
        let taken = feed(&mut stream(false), false, fields);
        matches!(taken, Err(StreamFault::Reset(H2ErrorCode::PROTOCOL_ERROR)))
    }

    #[test]
    fn a_response_is_written_as_http_1_1_has_it() {
        let mut stream = stream(false);
        assert!(feed(&mut stream, false, &[(":status", "103"), ("link", "a")]).is_ok());
        let fields = [(":status", "200"), ("content-length", "4"), ("x", "")];
        assert!(feed(&mut stream, false, &fields).is_ok());
        assert!(stream.take_data(b"go", false).is_ok());
        assert!(stream.take_data(b"od", false).is_ok());
        assert!(feed(&mut stream, true, &[("digest", "z")]).is_ok());
        assert_eq!(stream.outcome, Some(Ok(())));
        let text = b"HTTP/1.1 200 \r\ncontent-length: 4\r\nx: \r\n\r\ngood";
        assert_eq!(stream.bytes, text);
    }

    #[test]
    fn fields_that_no_response_has_are_refused() {
        for fields in [
            &[("x", "no status")][..],
            &[(":status", "200"), (":status", "200")],
            &[("x", ""), (":status", "200")],
            &[(":status", "20")],
            &[(":status", "099")],
            &[(":status", "101")],
            &[(":status", "200"), (":path", "/")],
            &[(":status", "200"), ("Capital", "")],
            &[(":status", "200"), ("", "")],
            &[(":status", "200"), ("a b", "")],
            &[(":status", "200"), ("x", "a\r\nb")],
            &[(":status", "200"), ("connection", "close")],
            &[(":status", "200"), ("transfer-encoding", "chunked")],
            &[(":status", "200"), ("content-length", "+1")],
            &[(":status", "200"), ("content-length", "")],
            &[
                (":status", "200"),
                ("content-length", "1"),
                ("content-length", "2"),
            ],
        ] {
            assert!(is_malformed(fields), "{fields:?}");
        }
    }

    #[test]
    fn a_body_is_as_long_as_its_head_declares_and_no_longer_than_the_limit() {
        let start = |fields: &[(&str, &str)], is_head| {
            let mut stream = stream(is_head);
            assert!(feed(&mut stream, false, fields).is_ok());
            stream
        };
        let reset = |taken| matches!(taken, Err(StreamFault::Reset(H2ErrorCode::PROTOCOL_ERROR)));
        let four = [(":status", "200"), ("content-length", "4")];
        assert!(reset(start(&four, false).take_data(b"good!", false)));
        assert!(reset(start(&four, false).take_data(b"goo", true)));
        assert!(start(&four, true).take_data(b"", true).is_ok(), "HEAD");
        assert!(reset(start(&four, true).take_data(b"good", true)));
        assert!(reset(
            start(&[(":status", "204")], false).take_data(b"x", true)
        ));
        assert!(reset(stream(false).take_data(b"x", true)), "no head");
        let taken = start(&[(":status", "200")], false).take_data(&[0; 11], false);
        assert!(
            matches!(taken, Err(StreamFault::Refused(failure)) if failure.class == ErrorClass::TooLarge)
        );
    }

    #[test]
    fn interim_responses_and_trailers_have_their_places() {
        assert!(matches!(
            feed(&mut stream(false), true, &[(":status", "100")]),
            Err(StreamFault::Reset(_))
        ));
        let mut stream = stream(false);
        for _ in 0..100 {
            assert!(feed(&mut stream, false, &[(":status", "103")]).is_ok());
        }
        let taken = feed(&mut stream, false, &[(":status", "103")]);
        assert!(
            matches!(taken, Err(StreamFault::Refused(failure)) if failure.class == ErrorClass::Protocol)
        );
        assert!(feed(&mut stream, false, &[(":status", "200")]).is_ok());
        assert!(
            feed(&mut stream, false, &[("x", "")]).is_err(),
            "trailers end"
        );
        assert!(feed(&mut stream, true, &[(":status", "200")]).is_err());
    }
}
