//! Frames from the server: each is checked and applied to the connection and its streams.

use super::{Block, Engine, PING_PAYLOAD};
use crate::http::failure::{ErrorClass, Failure};
use crate::http::h2::fields::Fields;
use crate::http::h2::frame::{
    self, ACK, CONNECTION_WINDOW, CONTINUATION, DATA, END_HEADERS, END_STREAM, FrameHead, GOAWAY,
    HEAD, HEADERS, MAX_FRAME, MAX_WINDOW, PING, PRIORITY, PUSH_PROMISE, RST_STREAM, Reason,
    SETTINGS, STREAM_WINDOW, WINDOW_UPDATE, WITH_PRIORITY,
};
use crate::http::h2::stream::{Fault, Stream};
use crate::http::message::MAX_HEAD;

/// The most CONTINUATION frames of one head block.
const MOST_CONTINUATIONS: u32 = 64;

impl Engine {
    /// Takes bytes from the server.
    pub(in crate::http) fn read(&mut self, bytes: &[u8]) {
        if self.ended.is_some() {
            return;
        }
        if let Err(reason) = self.read_frames(bytes) {
            self.say_goodbye(reason);
            self.end(Failure::from_http2(
                ErrorClass::Protocol,
                reason.description(),
            ));
        }
    }

    fn read_frames(&mut self, mut bytes: &[u8]) -> Result<(), Reason> {
        // Complete the frame that the earlier bytes ended in, without taking more than that.
        while !self.partial.is_empty() {
            let wanted = match FrameHead::read(&self.partial) {
                None => HEAD,
                Some(head) => HEAD + checked(head)?.length,
            };
            let missing = wanted - self.partial.len();
            if missing == 0 {
                let frame = std::mem::take(&mut self.partial);
                self.take_frame(&frame)?;
                self.partial = frame;
                self.partial.clear();
                break;
            }
            if bytes.is_empty() {
                return Ok(());
            }
            let (more, rest) = bytes.split_at(missing.min(bytes.len()));
            self.partial.extend_from_slice(more);
            bytes = rest;
        }
        while let Some(head) = FrameHead::read(bytes) {
            let Some((frame, rest)) = bytes.split_at_checked(HEAD + checked(head)?.length) else {
                break;
            };
            self.take_frame(frame)?;
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.is_empty() && self.partial.capacity() > HEAD {
            self.partial = Vec::new();
        }
        Ok(())
    }

    /// Takes a whole frame.
    fn take_frame(&mut self, frame: &[u8]) -> Result<(), Reason> {
        let Some(head) = FrameHead::read(frame) else {
            return Ok(());
        };
        let payload = &frame[HEAD..];
        if !std::mem::replace(&mut self.has_settings, true) && head.kind != SETTINGS {
            return Err(Reason::PROTOCOL_ERROR);
        }
        if let Some(block) = &self.block
            && (head.kind != CONTINUATION || head.stream != block.stream)
        {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let of_stream = head.stream != 0;
        match head.kind {
            DATA if of_stream => self.take_data(head, payload),
            HEADERS if of_stream => self.take_headers(head, payload),
            CONTINUATION if of_stream => self.take_continuation(head, payload),
            RST_STREAM if of_stream => self.take_reset(head, payload),
            PRIORITY if of_stream && payload.len() == 5 => Ok(()),
            PRIORITY if of_stream => Err(Reason::FRAME_SIZE_ERROR),
            WINDOW_UPDATE => self.take_window(head, payload),
            SETTINGS if !of_stream => self.take_settings(head, payload),
            PING if !of_stream => self.take_ping(head, payload),
            GOAWAY if !of_stream => self.take_goaway(payload),
            // Push is not enabled; the other kinds came on a stream but belong to the connection, or the other way
            // round.
            DATA | HEADERS | CONTINUATION | RST_STREAM | PRIORITY | SETTINGS | PING | GOAWAY
            | PUSH_PROMISE => Err(Reason::PROTOCOL_ERROR),
            // Unknown kinds are ignored (RFC 9113, section 5.5).
            _ => Ok(()),
        }
    }

    /// The stream with that number, if its request still waits for it.
    ///
    /// # Errors
    /// There never was such a stream.
    fn known(&mut self, id: u32) -> Result<Option<&mut Stream>, Reason> {
        if id.is_multiple_of(2) || id >= self.next_id {
            return Err(Reason::PROTOCOL_ERROR);
        }
        Ok(waiting(&mut self.streams, id))
    }

    /// Continues after a frame of a stream: if the frame was at fault, the stream is reset.
    fn follow(&mut self, id: u32, taken: Result<(), Fault>) {
        let (failure, reason) = match taken {
            Ok(()) => return self.after_end(),
            Err(Fault::Reset(reason)) => (
                Failure::from_http2(ErrorClass::Protocol, reason.description()),
                reason,
            ),
            Err(Fault::Refused(failure)) => (failure, Reason::CANCEL),
        };
        if let Ok(Some(stream)) = self.known(id) {
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

    fn take_data(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        let length = payload.len() as i64;
        self.receive_window -= length;
        if self.receive_window < 0 {
            return Err(Reason::FLOW_CONTROL_ERROR);
        }
        let data = frame::unpadded(head, payload)?;
        let end_stream = head.has(END_STREAM);
        let mut widen = None;
        let taken = match self.known(head.stream)? {
            // The stream was given up; the server sent this before it knew.
            None => Ok(()),
            Some(stream) => {
                stream.receive_window -= length;
                let taken = if stream.receive_window < 0 {
                    Err(Reason::FLOW_CONTROL_ERROR.into())
                } else {
                    stream.take_data(data, end_stream)
                };
                if stream.outcome.is_none() && taken.is_ok() {
                    widen = used(&mut stream.receive_window, STREAM_WINDOW);
                }
                taken
            }
        };
        if let Some(more) = widen {
            frame::write(
                &mut self.out,
                WINDOW_UPDATE,
                0,
                head.stream,
                &more.to_be_bytes(),
            );
        }
        if let Some(more) = used(&mut self.receive_window, CONNECTION_WINDOW) {
            frame::write(&mut self.out, WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
        }
        self.follow(head.stream, taken);
        Ok(())
    }

    fn take_headers(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        let mut fragment = frame::unpadded(head, payload)?;
        if head.has(WITH_PRIORITY) {
            fragment = fragment.get(5..).ok_or(Reason::FRAME_SIZE_ERROR)?;
        }
        self.known(head.stream)?;
        let end_stream = head.has(END_STREAM);
        if head.has(END_HEADERS) {
            return self.take_block(head.stream, end_stream, fragment);
        }
        self.block = Some(Block {
            stream: head.stream,
            end_stream,
            bytes: fragment.to_vec(),
            continuations: 0,
        });
        Ok(())
    }

    fn take_continuation(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        let Some(mut block) = self.block.take() else {
            return Err(Reason::PROTOCOL_ERROR);
        };
        block.continuations += 1;
        block.bytes.extend_from_slice(payload);
        if block.continuations > MOST_CONTINUATIONS || block.bytes.len() > MAX_HEAD {
            return Err(Reason::ENHANCE_YOUR_CALM);
        }
        if head.has(END_HEADERS) {
            return self.take_block(block.stream, block.end_stream, &block.bytes);
        }
        self.block = Some(block);
        Ok(())
    }

    /// Takes a whole head block. It is decoded in any case, since later ones may refer to its fields.
    fn take_block(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Result<(), Reason> {
        let Some(stream) = waiting(&mut self.streams, id) else {
            let read = self.decoder.decode(block, 0, |_, _| {});
            return read.map(|_| ()).map_err(|_| Reason::COMPRESSION_ERROR);
        };
        let decoder = &mut self.decoder;
        let read = |fields: &mut Fields<'_>| {
            let take = |name: &[u8], value: &[u8]| fields.take(name, value);
            decoder.decode(block, Fields::MOST, take).ok()
        };
        let taken = stream.take_fields(end_stream, read);
        let taken = taken.ok_or(Reason::COMPRESSION_ERROR)?;
        if stream.outcome.is_none() {
            // If the head has come, the task that waits notes the time.
            stream.wake();
        }
        self.follow(id, taken);
        Ok(())
    }

    fn take_reset(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        let reason = payload.try_into().map_err(|_| Reason::FRAME_SIZE_ERROR)?;
        let reason = Reason(u32::from_be_bytes(reason));
        if let Some(stream) = self.known(head.stream)? {
            stream.sent = true;
            stream.end(Err(match reason {
                Reason::REFUSED_STREAM => Failure::refused_stream(),
                reason => Failure::from_http2(ErrorClass::Reset, reason.description()),
            }));
        }
        self.after_end();
        Ok(())
    }

    fn take_window(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        if payload.len() != 4 {
            return Err(Reason::FRAME_SIZE_ERROR);
        }
        let more = i64::from(frame::number(payload));
        if head.stream == 0 {
            self.send_window += more;
            return match more {
                0 => Err(Reason::PROTOCOL_ERROR),
                _ if self.send_window > MAX_WINDOW => Err(Reason::FLOW_CONTROL_ERROR),
                _ => Ok(()),
            };
        }
        let taken = match self.known(head.stream)? {
            None => Ok(()),
            Some(_) if more == 0 => Err(Reason::PROTOCOL_ERROR.into()),
            Some(stream) => {
                if stream.widen(more) {
                    Ok(())
                } else {
                    Err(Reason::FLOW_CONTROL_ERROR.into())
                }
            }
        };
        self.follow(head.stream, taken);
        Ok(())
    }

    fn take_settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        if head.has(ACK) {
            return match payload {
                [] => Ok(()),
                _ => Err(Reason::FRAME_SIZE_ERROR),
            };
        }
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(Reason::FRAME_SIZE_ERROR);
        }
        for [n1, n0, value @ ..] in settings {
            let value = u32::from_be_bytes(*value);
            match u16::from_be_bytes([*n1, *n0]) {
                // A server that enables push breaks the protocol (RFC 9113, section 6.5.2).
                frame::ENABLE_PUSH if value != 0 => return Err(Reason::PROTOCOL_ERROR),
                frame::MAX_CONCURRENT_STREAMS => self.most_streams = value as usize,
                frame::INITIAL_WINDOW_SIZE => self.change_first_window(i64::from(value))?,
                frame::MAX_FRAME_SIZE => {
                    if !(16_384..=16_777_215).contains(&value) {
                        return Err(Reason::PROTOCOL_ERROR);
                    }
                    // Larger frames than these gain nothing.
                    self.max_frame = (value as usize).min(MAX_FRAME);
                }
                // The size of a table that is not used, and unknown settings.
                _ => {}
            }
        }
        frame::write(&mut self.out, SETTINGS, ACK, 0, &[]);
        self.open_streams();
        Ok(())
    }

    /// Sets the window that streams begin with, and changes that of open streams by the difference.
    fn change_first_window(&mut self, window: i64) -> Result<(), Reason> {
        if window > MAX_WINDOW {
            return Err(Reason::FLOW_CONTROL_ERROR);
        }
        let more = window - self.first_window;
        self.first_window = window;
        let mut open = self.streams.iter_mut().filter(|stream| stream.id.is_some());
        if open.all(|stream| stream.widen(more)) {
            Ok(())
        } else {
            Err(Reason::FLOW_CONTROL_ERROR)
        }
    }

    fn take_ping(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        if payload.len() != 8 {
            return Err(Reason::FRAME_SIZE_ERROR);
        }
        if !head.has(ACK) {
            frame::write(&mut self.out, PING, ACK, 0, payload);
        } else if payload == PING_PAYLOAD {
            self.ponged = self.ponged.map(|_| true);
            if let Some(pinger) = self.pinger.take() {
                pinger.wake();
            }
        }
        Ok(())
    }

    fn take_goaway(&mut self, payload: &[u8]) -> Result<(), Reason> {
        let (last, rest) = payload
            .split_first_chunk::<4>()
            .ok_or(Reason::FRAME_SIZE_ERROR)?;
        let (reason, _) = rest
            .split_first_chunk::<4>()
            .ok_or(Reason::FRAME_SIZE_ERROR)?;
        let last = frame::number(last);
        if self.leaving.is_some_and(|(before, _)| last > before) {
            return Err(Reason::PROTOCOL_ERROR);
        }
        self.leaving = Some((last, Reason(u32::from_be_bytes(*reason))));
        // The server will not process these streams.
        for stream in &mut self.streams {
            if stream.id.is_none_or(|id| id > last) {
                stream.sent = true;
                stream.end(Err(Failure::refused_stream()));
            }
        }
        Ok(())
    }
}

/// The stream with that number, if its request still waits for it.
fn waiting(streams: &mut [Stream], id: u32) -> Option<&mut Stream> {
    let mut waiting = streams.iter_mut().filter(|stream| stream.outcome.is_none());
    waiting.find(|stream| stream.id == Some(id))
}

/// Returns the head if its frame is not too long.
fn checked(head: FrameHead) -> Result<FrameHead, Reason> {
    if head.length > MAX_FRAME {
        Err(Reason::FRAME_SIZE_ERROR)
    } else {
        Ok(head)
    }
}

/// The number of bytes that the server may send again, once at least half of a window is used.
fn used(window: &mut i64, whole: u32) -> Option<u32> {
    let more = i64::from(whole) - *window;
    if more < i64::from(whole / 2) {
        return None;
    }
    *window = i64::from(whole);
    Some(more as u32)
}
