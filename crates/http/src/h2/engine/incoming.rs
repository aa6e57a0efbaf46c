//! Frames from the server: each is checked and applied to the connection and its streams.

use super::{Engine, HeaderBlock, MOST_IDLE_FRAMES, PING_PAYLOAD};
use crate::failure::{ErrorClass, Failure};
use crate::h2::fields::FieldWriter;
use crate::h2::frame::{
    self, ACK, CONNECTION_WINDOW, CONTINUATION, DATA, END_HEADERS, END_STREAM, FrameHead, GOAWAY,
    H2ErrorCode, HEAD, HEADERS, MAX_FRAME, MAX_WINDOW, PING, PRIORITY, PUSH_PROMISE, RST_STREAM,
    SETTINGS, STREAM_WINDOW, WINDOW_UPDATE, WITH_PRIORITY,
};
use crate::h2::stream::H2Stream;
use crate::message::MAX_HEAD;

/// The most CONTINUATION frames of one head block.
const MOST_CONTINUATIONS: u32 = 64;

/// Takes bytes from the server.
///
/// # Errors
/// The rule of the protocol that the server has broken: the connection ends.
pub(super) fn read_frames(engine: &mut Engine, mut bytes: &[u8]) -> Result<(), H2ErrorCode> {
    // Complete the frame that the earlier bytes ended in, without taking more than that.
    while !engine.partial.is_empty() {
        let needed = match FrameHead::read(&engine.partial) {
            None => HEAD,
            Some(head) => HEAD + checked(head)?.length,
        };
        let missing = needed - engine.partial.len();
        if missing == 0 {
            let frame = std::mem::take(&mut engine.partial);
            take_frame(engine, &frame)?;
            engine.partial = frame;
            engine.partial.clear();
            break;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let (more, rest) = bytes.split_at(missing.min(bytes.len()));
        engine.partial.extend_from_slice(more);
        bytes = rest;
    }
    while let Some(head) = FrameHead::read(bytes) {
        let Some((frame, rest)) = bytes.split_at_checked(HEAD + checked(head)?.length) else {
            break;
        };
        take_frame(engine, frame)?;
        bytes = rest;
    }
    engine.partial.extend_from_slice(bytes);
    if engine.partial.is_empty() && engine.partial.capacity() > HEAD {
        engine.partial = Vec::new();
    }
    Ok(())
}

/// Takes a whole frame.
fn take_frame(engine: &mut Engine, frame: &[u8]) -> Result<(), H2ErrorCode> {
    let Some(head) = FrameHead::read(frame) else {
        return Ok(());
    };
    let payload = &frame[HEAD..];
    if engine.most_streams.is_none() && head.kind != SETTINGS {
        return Err(H2ErrorCode::PROTOCOL_ERROR);
    }
    if let Some(block) = &engine.block
        && (head.kind != CONTINUATION || head.stream != block.stream)
    {
        return Err(H2ErrorCode::PROTOCOL_ERROR);
    }
    if is_idle(engine, head) {
        engine.idle_frames += 1;
        if engine.idle_frames > MOST_IDLE_FRAMES {
            return Err(H2ErrorCode::ENHANCE_YOUR_CALM);
        }
    } else {
        engine.idle_frames = 0;
    }
    let of_stream = head.stream != 0;
    match head.kind {
        DATA if of_stream => take_data(engine, head, payload),
        HEADERS if of_stream => take_headers(engine, head, payload),
        CONTINUATION if of_stream => take_continuation(engine, head, payload),
        RST_STREAM if of_stream => take_reset(engine, head, payload),
        PRIORITY if of_stream && payload.len() == 5 => Ok(()),
        PRIORITY if of_stream => Err(H2ErrorCode::FRAME_SIZE_ERROR),
        WINDOW_UPDATE => take_window(engine, head, payload),
        SETTINGS if !of_stream => take_settings(engine, head, payload),
        PING if !of_stream => take_ping(engine, head, payload),
        GOAWAY if !of_stream => take_goaway(engine, payload),
        // Push is not enabled; the other kinds came on a stream but belong to the connection, or the other way
        // round.
        DATA | HEADERS | CONTINUATION | RST_STREAM | PRIORITY | SETTINGS | PING | GOAWAY
        | PUSH_PROMISE => Err(H2ErrorCode::PROTOCOL_ERROR),
        // Unknown kinds are ignored (RFC 9113, section 5.5).
        _ => Ok(()),
    }
}

/// Whether a frame brings no response further.
fn is_idle(engine: &mut Engine, head: FrameHead) -> bool {
    /// Data for a request that was given up is no flood if the server sends it as it sends other bodies.
    const LARGE_DATA: usize = 1024;
    match head.kind {
        DATA if head.length == 0 && !head.has(END_STREAM) => true,
        DATA if head.length >= LARGE_DATA => false,
        DATA | HEADERS | CONTINUATION | RST_STREAM => {
            waiting(&mut engine.streams, head.stream).is_none()
        }
        _ => true,
    }
}

fn take_data(engine: &mut Engine, head: FrameHead, payload: &[u8]) -> Result<(), H2ErrorCode> {
    let length = payload.len() as i64;
    engine.receive_window -= length;
    if engine.receive_window < 0 {
        return Err(H2ErrorCode::FLOW_CONTROL_ERROR);
    }
    let data = frame::unpadded(head, payload)?;
    let end_stream = head.has(END_STREAM);
    let mut widen = None;
    let taken = match engine.find_stream(head.stream)? {
        // The stream was given up; the server sent this before it knew.
        None => Ok(()),
        Some(stream) => {
            stream.receive_window -= length;
            stream.bytes_received += (HEAD + payload.len()) as u64;
            let taken = if stream.receive_window < 0 {
                Err(H2ErrorCode::FLOW_CONTROL_ERROR.into())
            } else {
                stream.take_data(data, end_stream)
            };
            // The window of a tunnel, and of a stream whose buffer is full, is widened once its reader has taken some.
            let widens = !stream.is_tunnel() && stream.takes_more();
            if stream.outcome.is_none() && taken.is_ok() && widens {
                widen = used(&mut stream.receive_window, STREAM_WINDOW);
            }
            taken
        }
    };
    if let Some(more) = widen {
        frame::write(
            &mut engine.out,
            WINDOW_UPDATE,
            0,
            head.stream,
            &more.to_be_bytes(),
        );
    }
    if let Some(more) = used(&mut engine.receive_window, CONNECTION_WINDOW) {
        frame::write(&mut engine.out, WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
    }
    engine.follow(head.stream, taken);
    Ok(())
}

fn take_headers(engine: &mut Engine, head: FrameHead, payload: &[u8]) -> Result<(), H2ErrorCode> {
    let mut fragment = frame::unpadded(head, payload)?;
    if head.has(WITH_PRIORITY) {
        fragment = fragment.get(5..).ok_or(H2ErrorCode::FRAME_SIZE_ERROR)?;
    }
    engine.find_stream(head.stream)?;
    let end_stream = head.has(END_STREAM);
    let received = (HEAD + payload.len()) as u64;
    if head.has(END_HEADERS) {
        return take_block(engine, head.stream, end_stream, fragment, received);
    }
    engine.block = Some(HeaderBlock {
        stream: head.stream,
        end_stream,
        received,
        bytes: fragment.to_vec(),
        continuations: 0,
    });
    Ok(())
}

fn take_continuation(
    engine: &mut Engine,
    head: FrameHead,
    payload: &[u8],
) -> Result<(), H2ErrorCode> {
    let Some(mut block) = engine.block.take() else {
        return Err(H2ErrorCode::PROTOCOL_ERROR);
    };
    block.continuations += 1;
    block.received += (HEAD + payload.len()) as u64;
    block.bytes.extend_from_slice(payload);
    if block.continuations > MOST_CONTINUATIONS || block.bytes.len() > MAX_HEAD {
        return Err(H2ErrorCode::ENHANCE_YOUR_CALM);
    }
    if head.has(END_HEADERS) {
        let (id, end_stream) = (block.stream, block.end_stream);
        return take_block(engine, id, end_stream, &block.bytes, block.received);
    }
    engine.block = Some(block);
    Ok(())
}

/// Takes a whole head block, whose frames had that many bytes. It is decoded in any case, since later ones may refer to
/// its fields.
fn take_block(
    engine: &mut Engine,
    id: u32,
    end_stream: bool,
    block: &[u8],
    received: u64,
) -> Result<(), H2ErrorCode> {
    let Some(stream) = waiting(&mut engine.streams, id) else {
        let read = engine.decoder.decode(block, 0, |_, _| {});
        return read.map(|_| ()).map_err(|_| H2ErrorCode::COMPRESSION_ERROR);
    };
    stream.bytes_received += received;
    let decoder = &mut engine.decoder;
    let read = |fields: &mut FieldWriter<'_>| {
        let take = |name: &[u8], value: &[u8]| fields.take(name, value);
        decoder.decode(block, FieldWriter::MOST, take).ok()
    };
    let taken = stream.take_fields(end_stream, read);
    let taken = taken.ok_or(H2ErrorCode::COMPRESSION_ERROR)?;
    if stream.outcome.is_none() {
        // If the head has come, the task that waits notes the time.
        stream.wake();
    }
    engine.follow(id, taken);
    Ok(())
}

fn take_reset(engine: &mut Engine, head: FrameHead, payload: &[u8]) -> Result<(), H2ErrorCode> {
    let reason = payload
        .try_into()
        .map_err(|_| H2ErrorCode::FRAME_SIZE_ERROR)?;
    let reason = H2ErrorCode(u32::from_be_bytes(reason));
    if let Some(stream) = engine.find_stream(head.stream)? {
        stream.sent = true;
        if let Some(call) = stream.call() {
            call.set_reset(Some(reason.0));
        }
        let is_unseen = !stream.is_tunnel();
        stream.end(Err(match reason {
            H2ErrorCode::REFUSED_STREAM if is_unseen => Failure::refused_stream(),
            H2ErrorCode::HTTP_1_1_REQUIRED if is_unseen => Failure::http1_required(),
            reason => Failure::from_http2(ErrorClass::Reset, reason.description()),
        }));
    }
    engine.after_end();
    Ok(())
}

fn take_window(engine: &mut Engine, head: FrameHead, payload: &[u8]) -> Result<(), H2ErrorCode> {
    if payload.len() != 4 {
        return Err(H2ErrorCode::FRAME_SIZE_ERROR);
    }
    let more = i64::from(frame::number(payload));
    if head.stream == 0 {
        engine.send_window += more;
        return match more {
            0 => Err(H2ErrorCode::PROTOCOL_ERROR),
            _ if engine.send_window > MAX_WINDOW => Err(H2ErrorCode::FLOW_CONTROL_ERROR),
            _ => Ok(()),
        };
    }
    let taken = match engine.find_stream(head.stream)? {
        None => Ok(()),
        Some(_) if more == 0 => Err(H2ErrorCode::PROTOCOL_ERROR.into()),
        Some(stream) => {
            if stream.widen(more) {
                Ok(())
            } else {
                Err(H2ErrorCode::FLOW_CONTROL_ERROR.into())
            }
        }
    };
    engine.follow(head.stream, taken);
    Ok(())
}

fn take_settings(engine: &mut Engine, head: FrameHead, payload: &[u8]) -> Result<(), H2ErrorCode> {
    if head.has(ACK) {
        return match payload {
            [] => Ok(()),
            _ => Err(H2ErrorCode::FRAME_SIZE_ERROR),
        };
    }
    let (settings, rest) = payload.as_chunks::<6>();
    if !rest.is_empty() {
        return Err(H2ErrorCode::FRAME_SIZE_ERROR);
    }
    engine.most_streams.get_or_insert(usize::MAX);
    for [n1, n0, value @ ..] in settings {
        let value = u32::from_be_bytes(*value);
        match u16::from_be_bytes([*n1, *n0]) {
            // A server that enables push breaks the protocol (RFC 9113, section 6.5.2).
            frame::ENABLE_PUSH if value != 0 => return Err(H2ErrorCode::PROTOCOL_ERROR),
            frame::MAX_CONCURRENT_STREAMS => engine.most_streams = Some(value as usize),
            frame::INITIAL_WINDOW_SIZE => engine.change_first_window(i64::from(value))?,
            frame::MAX_FRAME_SIZE => {
                if !(16_384..=16_777_215).contains(&value) {
                    return Err(H2ErrorCode::PROTOCOL_ERROR);
                }
                // Larger frames than these gain nothing.
                engine.max_frame = (value as usize).min(MAX_FRAME);
            }
            // Once it is true, it stays so (RFC 8441, section 3).
            frame::ENABLE_CONNECT_PROTOCOL => {
                if value > 1 || (value == 0 && engine.takes_tunnels) {
                    return Err(H2ErrorCode::PROTOCOL_ERROR);
                }
                engine.takes_tunnels = value == 1;
            }
            // The size of a table that is not used, and unknown settings.
            _ => {}
        }
    }
    frame::write(&mut engine.out, SETTINGS, ACK, 0, &[]);
    engine.open_streams();
    Ok(())
}

fn take_ping(engine: &mut Engine, head: FrameHead, payload: &[u8]) -> Result<(), H2ErrorCode> {
    if payload.len() != 8 {
        return Err(H2ErrorCode::FRAME_SIZE_ERROR);
    }
    if !head.has(ACK) {
        frame::write(&mut engine.out, PING, ACK, 0, payload);
    } else if payload == PING_PAYLOAD {
        engine.ponged = engine.ponged.map(|_| true);
        if let Some(pinger) = engine.pinger.take() {
            pinger.wake();
        }
    }
    Ok(())
}

fn take_goaway(engine: &mut Engine, payload: &[u8]) -> Result<(), H2ErrorCode> {
    let (last, rest) = payload
        .split_first_chunk::<4>()
        .ok_or(H2ErrorCode::FRAME_SIZE_ERROR)?;
    let (reason, _) = rest
        .split_first_chunk::<4>()
        .ok_or(H2ErrorCode::FRAME_SIZE_ERROR)?;
    let last = frame::number(last);
    if engine.leaving.is_some_and(|(before, _)| last > before) {
        return Err(H2ErrorCode::PROTOCOL_ERROR);
    }
    let reason = H2ErrorCode(u32::from_be_bytes(*reason));
    engine.leaving = Some((last, reason));
    // The server will not process these streams.
    for stream in &mut engine.streams {
        if stream.id.is_none_or(|id| id > last) {
            stream.sent = true;
            stream.end(Err(match reason {
                // The connection that it carries was accepted.
                reason if stream.is_tunnel() => {
                    Failure::from_http2(ErrorClass::Reset, reason.description())
                }
                H2ErrorCode::HTTP_1_1_REQUIRED => Failure::http1_required(),
                _ => Failure::refused_stream(),
            }));
        }
    }
    Ok(())
}

/// The stream with that number, if its request still waits for it.
pub(super) fn waiting(streams: &mut [H2Stream], id: u32) -> Option<&mut H2Stream> {
    let mut waiting = streams.iter_mut().filter(|stream| stream.outcome.is_none());
    waiting.find(|stream| stream.id == Some(id))
}

/// Returns the head if its frame is not too long.
fn checked(head: FrameHead) -> Result<FrameHead, H2ErrorCode> {
    if head.length > MAX_FRAME {
        Err(H2ErrorCode::FRAME_SIZE_ERROR)
    } else {
        Ok(head)
    }
}

/// The number of bytes that the server may send again, once at least half of a window is used.
pub(super) fn used(window: &mut i64, whole: u32) -> Option<u32> {
    let more = i64::from(whole) - *window;
    if more < i64::from(whole / 2) {
        return None;
    }
    *window = i64::from(whole);
    Some(more as u32)
}
