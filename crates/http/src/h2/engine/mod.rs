//! One HTTP/2 connection without its socket (RFC 9113): frames go in, frames come out, and streams end. It responds to
//! settings, pings and windows of the server, and ends with an error if the server breaks the protocol.

mod incoming;

use super::frame::{
    self, CONNECTION_WINDOW, DATA, END_STREAM, GOAWAY, H2ErrorCode, HEAD, MAX_FRAME, MAX_WINDOW,
    PING, PREFACE, RST_STREAM, SETTINGS, STREAM_WINDOW, WINDOW_UPDATE,
};
use super::hpack::HpackDecoder;
use super::stream::{H2Stream, StreamFault};
use crate::failure::{ErrorClass, Failure};
use crate::message::{BodyLimits, MAX_HEAD};
use bytes::{Buf as _, Bytes};
use incoming::{read_frames, used, waiting};
use lgoose_base::units::show_count;
use std::task::Waker;

/// The flow-control windows that both sides begin with.
const FIRST_WINDOW: i64 = 65_535;
/// The most unwritten bytes: beyond it, nothing more is read or produced, so a server that does not read gets no more
/// replies.
const MOST_UNWRITTEN: usize = 64 * 1024;
/// The most frames that bring no response any further (RFC 9113, section 10.5). Where a server sends pings or settings for
/// as long as a response takes, they are few.
const MOST_IDLE_FRAMES: u32 = 10_000;
/// The payload of lgoose's pings.
const PING_PAYLOAD: [u8; 8] = *b"lgoose??";
/// The most streams that are open before the server has said how many it takes, as browsers have it.
const MOST_FIRST_STREAMS: usize = 100;
/// The largest stream number.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// An incomplete head block.
#[derive(Debug)]
struct HeaderBlock {
    stream: u32,
    end_stream: bool,
    /// The bytes of its frames so far.
    received: u64,
    bytes: Vec<u8>,
    continuations: u32,
}

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Engine {
    /// The bytes to write.
    pub(super) out: Vec<u8>,
    /// The streams whose requests are under way, in the order of the requests.
    streams: Vec<H2Stream>,
    next_key: u64,
    next_id: u32,
    decoder: HpackDecoder,
    block: Option<HeaderBlock>,
    /// The start of a frame that is not complete.
    partial: Vec<u8>,
    /// The frames since the latest one that brought a response further.
    idle_frames: u32,
    /// Whether it takes streams that carry another protocol (RFC 8441).
    takes_tunnels: bool,
    /// The most streams that the server takes at once; `None` before it has sent its settings, which come first.
    most_streams: Option<usize>,
    first_window: i64,
    max_frame: usize,
    send_window: i64,
    receive_window: i64,
    /// The last stream that the server will process, and its reason for leaving, once it has sent GOAWAY.
    leaving: Option<(u32, H2ErrorCode)>,
    /// Whether a request was given up because the server allows no streams at all.
    retired: bool,
    /// Why the connection has ended.
    ended: Option<Failure>,
    /// Whether the server has responded to the ping under way; `None` if none was sent.
    ponged: Option<bool>,
    /// The task that waits for that response.
    pub(super) pinger: Option<Waker>,
}

impl Engine {
    /// A connection that begins with lgoose's settings.
    pub(super) fn new() -> Engine {
        let mut out = PREFACE.to_vec();
        let mut settings = Vec::new();
        for (name, value) in [
            (frame::ENABLE_PUSH, 0),
            (frame::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (frame::MAX_HEADER_LIST_SIZE, MAX_HEAD as u32),
        ] {
            settings.extend_from_slice(&name.to_be_bytes());
            settings.extend_from_slice(&value.to_be_bytes());
        }
        frame::write(&mut out, SETTINGS, 0, 0, &settings);
        let more = CONNECTION_WINDOW - FIRST_WINDOW as u32;
        frame::write(&mut out, WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
        Engine {
            out,
            streams: Vec::new(),
            next_key: 0,
            next_id: 1,
            decoder: HpackDecoder::default(),
            block: None,
            partial: Vec::new(),
            idle_frames: 0,
            takes_tunnels: false,
            most_streams: None,
            first_window: FIRST_WINDOW,
            max_frame: MAX_FRAME,
            send_window: FIRST_WINDOW,
            receive_window: i64::from(CONNECTION_WINDOW),
            leaving: None,
            retired: false,
            ended: None,
            ponged: None,
            pinger: None,
        }
    }

    /// Whether the connection takes no more requests.
    pub(super) fn is_closing(&self) -> bool {
        self.ended.is_some() || self.is_leaving() || self.next_id > LAST_STREAM
    }

    /// Whether the connection has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether the connection has ended, or should, since the server leaves and no stream is under way.
    pub(super) fn is_over(&self) -> bool {
        self.ended.is_some() || (self.is_leaving() && self.streams.is_empty())
    }

    /// Whether one of the two sides wants no more requests here.
    fn is_leaving(&self) -> bool {
        self.leaving.is_some() || self.retired
    }

    /// Lets the server send more over a tunnel, of which everything received was taken.
    pub(super) fn widen_tunnel(&mut self, key: u64) {
        let Some(stream) = self.stream(key) else {
            return;
        };
        if let (None, Some(id)) = (&stream.outcome, stream.id)
            && let Some(more) = used(&mut stream.receive_window, STREAM_WINDOW)
        {
            frame::write(&mut self.out, WINDOW_UPDATE, 0, id, &more.to_be_bytes());
        }
    }

    /// Passes the pieces of a stream that wait to its reader as far as its buffer has room, and then widens the window of the stream.
    pub(super) fn catch_up(&mut self, key: u64) {
        let Some(stream) = self.stream(key) else {
            return;
        };
        let caught_up = stream.catch_up();
        match (caught_up, stream.id.filter(|_| stream.outcome.is_none())) {
            (Ok(()), Some(id)) if stream.takes_more() => {
                if let Some(more) = used(&mut stream.receive_window, STREAM_WINDOW) {
                    frame::write(&mut self.out, WINDOW_UPDATE, 0, id, &more.to_be_bytes());
                }
            }
            (Ok(()), _) => {}
            (Err(failure), Some(id)) => self.follow(id, Err(StreamFault::Refused(failure))),
            (Err(failure), None) => stream.outcome = Some(Err(failure)),
        }
    }

    /// Whether the server takes one more stream that carries another protocol, with one left for requests; `None` before it has
    /// sent its settings.
    pub(super) fn takes_tunnels(&self) -> Option<bool> {
        let has_room = self.streams.len() + 1 < self.most_streams?;
        Some(self.takes_tunnels && has_room)
    }

    /// Whether nobody waits for anything.
    pub(super) fn is_idle(&self) -> bool {
        self.streams.is_empty() && self.pinger.is_none()
    }

    /// Whether one request is under way, and has its response.
    pub(super) fn has_only_response(&self) -> bool {
        matches!(self.streams.as_slice(), [stream] if stream.is_done())
    }

    /// Whether there is so much to write that no more may be read.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() > MOST_UNWRITTEN
    }

    /// Takes bytes from the server.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        if self.ended.is_some() {
            return;
        }
        if let Err(reason) = read_frames(self, bytes) {
            self.send_goaway(reason);
            let why = if self.idle_frames > MOST_IDLE_FRAMES {
                let frames = show_count(MOST_IDLE_FRAMES.into());
                format!("{frames} frames in a row brought no response further")
            } else {
                reason.description().to_owned()
            };
            self.end(Failure::from_http2(ErrorClass::Protocol, why));
        }
    }

    /// Begins a request with that head block, and returns the key of its stream.
    pub(super) fn start_request(
        &mut self,
        block: &[u8],
        body: Bytes,
        is_head: bool,
        limits: BodyLimits,
    ) -> u64 {
        self.next_key += 1;
        let mut stream = H2Stream::new(self.next_key, block, body, is_head, limits);
        if let Some(failure) = &self.ended {
            stream.end(Err(failure.clone()));
        } else if self.is_closing() {
            stream.end(Err(Failure::refused_stream()));
        }
        self.streams.push(stream);
        self.open_streams();
        self.next_key
    }

    /// The stream with that key.
    pub(super) fn stream(&mut self, key: u64) -> Option<&mut H2Stream> {
        self.streams.iter_mut().find(|stream| stream.key == key)
    }

    /// Takes a stream off the connection, and resets it if it has not ended there.
    pub(super) fn take(&mut self, key: u64) -> Option<H2Stream> {
        let place = self.streams.iter().position(|stream| stream.key == key)?;
        let stream = self.streams.remove(place);
        let is_over = stream.sent && (stream.outcome.is_some() || stream.is_tunnel());
        // It may allow some again, but nobody knows when.
        let is_unopened = stream.id.is_none() && stream.outcome.is_none();
        self.retired |= is_unopened && self.most_streams == Some(0);
        if let Some(id) = stream.id
            && !is_over
            && self.ended.is_none()
        {
            self.reset(id, H2ErrorCode::CANCEL);
        }
        self.open_streams();
        Some(stream)
    }

    /// Opens as many of the waiting streams as the server allows. Until the server has sent its settings, only one call of gRPC is
    /// open, because lgoose does not keep what a call has sent, and so cannot send it again after a refusal.
    fn open_streams(&mut self) {
        // For the server, a stream is open until both sides have ended it.
        let mut open = self
            .streams
            .iter()
            .filter(|stream| stream.id.is_some() && !(stream.outcome.is_some() && stream.sent))
            .count();
        for stream in &mut self.streams {
            if stream.id.is_some() || stream.outcome.is_some() {
                continue;
            }
            let most = self.most_streams.unwrap_or(match stream.call() {
                Some(_) => 1,
                None => MOST_FIRST_STREAMS,
            });
            if open >= most || self.next_id > LAST_STREAM {
                return;
            }
            let id = self.next_id;
            self.next_id += 2;
            open += 1;
            stream.id = Some(id);
            stream.send_window = self.first_window;
            stream.receive_window = i64::from(STREAM_WINDOW);
            stream.sent = !stream.sends_on();
            stream.note_opened();
            let block = std::mem::take(&mut stream.block);
            let before = self.out.len();
            frame::write_headers(&mut self.out, id, stream.sent, &block, self.max_frame);
            stream.bytes_sent += (self.out.len() - before) as u64;
            stream.wake();
        }
    }

    /// The stream with that number, if its request still waits for it.
    ///
    /// # Errors
    /// There never was such a stream.
    fn find_stream(&mut self, id: u32) -> Result<Option<&mut H2Stream>, H2ErrorCode> {
        if id.is_multiple_of(2) || id >= self.next_id {
            return Err(H2ErrorCode::PROTOCOL_ERROR);
        }
        Ok(waiting(&mut self.streams, id))
    }

    /// Continues after a frame of a stream: if the frame was at fault, the stream is reset.
    fn follow(&mut self, id: u32, taken: Result<(), StreamFault>) {
        let (failure, reason) = match taken {
            Ok(()) => return self.after_end(),
            Err(StreamFault::Reset(reason)) => (
                Failure::from_http2(ErrorClass::Protocol, reason.description()),
                reason,
            ),
            Err(StreamFault::Refused(failure)) => (failure, H2ErrorCode::CANCEL),
        };
        if let Ok(Some(stream)) = self.find_stream(id) {
            stream.end(Err(failure));
            stream.sent = true;
            self.reset(id, reason);
        }
        self.after_end();
    }

    /// Opens waiting streams if one has ended and made room.
    fn after_end(&mut self) {
        if self.streams.iter().any(|stream| stream.id.is_none()) {
            self.open_streams();
        }
    }

    /// Sets the window that streams begin with, and changes that of open streams by the difference.
    fn change_first_window(&mut self, window: i64) -> Result<(), H2ErrorCode> {
        if window > MAX_WINDOW {
            return Err(H2ErrorCode::FLOW_CONTROL_ERROR);
        }
        let more = window - self.first_window;
        self.first_window = window;
        let mut open = self.streams.iter_mut().filter(|stream| stream.id.is_some());
        if open.all(|stream| stream.widen(more)) {
            Ok(())
        } else {
            Err(H2ErrorCode::FLOW_CONTROL_ERROR)
        }
    }

    /// Writes request bodies as far as the windows allow and the server keeps reading.
    pub(super) fn send_bodies(&mut self) {
        for stream in &mut self.streams {
            let Some(id) = stream.id.filter(|_| !stream.sent) else {
                continue;
            };
            while !stream.sent && self.out.len() <= MOST_UNWRITTEN {
                let is_last = stream.refill();
                let window = stream.send_window.min(self.send_window);
                let length = (stream.unsent.len() as i64)
                    .min(window)
                    .min(self.max_frame as i64);
                // The end of a call may come after all that it sends.
                let ends = is_last && stream.unsent.is_empty();
                if length <= 0 && !ends {
                    break;
                }
                let length = length.max(0);
                (stream.send_window, self.send_window) =
                    (stream.send_window - length, self.send_window - length);
                let length = length as usize;
                stream.sent = is_last && length == stream.unsent.len();
                // The server has opened windows for it.
                self.idle_frames = 0;
                let flags = if stream.sent { END_STREAM } else { 0 };
                frame::write(&mut self.out, DATA, flags, id, &stream.unsent[..length]);
                stream.bytes_sent += (HEAD + length) as u64;
                stream.unsent.advance(length);
                if stream.is_tunnel() && stream.unsent.is_empty() {
                    // There is room for more.
                    stream.wake();
                }
            }
        }
    }

    /// Sends a ping.
    pub(super) fn ping(&mut self) {
        self.ponged = Some(false);
        frame::write(&mut self.out, PING, 0, 0, &PING_PAYLOAD);
    }

    /// The outcome of the ping: false if the connection has ended first, `None` while it is under way.
    pub(super) fn pong(&self) -> Option<bool> {
        match (self.ponged, &self.ended) {
            (Some(true), _) => Some(true),
            (_, Some(_)) => Some(false),
            _ => None,
        }
    }

    /// Wakes one task that waits for a stream, if there is any; that task drives the connection from then on.
    pub(super) fn wake_one(&mut self) -> bool {
        let mut waiting = self
            .streams
            .iter_mut()
            .filter(|stream| stream.waker.is_some());
        let next = waiting.next();
        next.map(H2Stream::wake).is_some()
    }

    fn reset(&mut self, stream: u32, reason: H2ErrorCode) {
        frame::write(
            &mut self.out,
            RST_STREAM,
            0,
            stream,
            &reason.0.to_be_bytes(),
        );
    }

    /// Notifies the server that lgoose leaves.
    pub(super) fn send_goaway(&mut self, reason: H2ErrorCode) {
        // The last stream of the server's that was processed is 0: it has opened none.
        let payload = [[0; 4], reason.0.to_be_bytes()].concat();
        frame::write(&mut self.out, GOAWAY, 0, 0, &payload);
    }

    /// Ends the connection and everything that waits for it.
    pub(super) fn end(&mut self, failure: Failure) {
        for stream in &mut self.streams {
            // A request that waits for a stream has sent nothing.
            let failure = match stream.id {
                None if self.leaving.is_some() => Failure::refused_stream(),
                _ => failure.clone(),
            };
            stream.end(Err(failure));
        }
        if let Some(pinger) = self.pinger.take() {
            pinger.wake();
        }
        self.ended.get_or_insert(failure);
    }

    /// Notes that the server has closed the connection.
    pub(super) fn closed(&mut self) {
        let failure = match self.leaving {
            Some((_, reason)) if reason != H2ErrorCode::NO_ERROR => {
                Failure::from_http2(ErrorClass::Reset, reason.description())
            }
            _ => Failure::new(ErrorClass::ClosedEarly, ""),
        };
        self.end(failure);
    }
}

/// The end of a request, and the received part of its response.
type StreamEnd = (Option<Result<(), Failure>>, Vec<u8>);

/// The ends of two requests on a connection whose server sends `bytes` in pieces of `size` bytes and closes, and the
/// received parts of their responses.
pub(crate) fn outcomes_of(bytes: &[u8], size: usize, max_body: u64) -> [StreamEnd; 2] {
    let mut engine = Engine::new();
    let limits = BodyLimits {
        follows: false,
        stream: None,
        max_body,
        retain_body: true,
        retain_failed: true,
        room: None,
    };
    let keys = [false, true]
        .map(|is_head| engine.start_request(&[0x82], Bytes::new(), is_head, limits.clone()));
    for piece in bytes.chunks(size.max(1)) {
        engine.read(piece);
    }
    engine.closed();
    keys.map(|key| match engine.take(key) {
        Some(stream) => (stream.outcome, stream.bytes),
        None => (None, Vec::new()),
    })
}

#[cfg(test)]
mod tests;
