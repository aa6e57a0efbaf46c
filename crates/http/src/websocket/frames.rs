//! The frames of WebSocket (RFC 6455) as a client writes and reads them, with per-message compression (RFC 7692). Bytes in,
//! messages out: it knows no socket.

use super::deflate::{Deflater, Inflated, Inflater};
use crate::failure::{ErrorClass, Failure};
use bytes::{Buf as _, Bytes, BytesMut};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The kinds of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// A message or control frame of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Message { is_text: bool, bytes: Bytes },
    Ping(Bytes),
    Pong(Bytes),
    Close(CloseFrame),
}

/// The code and the reason of a close; no code if the frame had none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloseFrame {
    /// The status code, if the frame has one.
    pub code: Option<u16>,
    /// The reason; empty if the frame has none.
    pub reason: String,
}

/// The problem with the bytes of the server, and the code with which the connection is closed for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrameMistake {
    pub(crate) code: u16,
    pub(crate) detail: &'static str,
}

impl CloseFrame {
    /// A close with a code and no reason.
    pub(crate) fn of(code: Option<u16>) -> CloseFrame {
        CloseFrame {
            code,
            reason: String::new(),
        }
    }
}

const PROTOCOL: u16 = 1002;
const NOT_UTF8: u16 = 1007;
const TOO_LARGE: u16 = 1009;

fn protocol(detail: &'static str) -> FrameMistake {
    FrameMistake {
        code: PROTOCOL,
        detail,
    }
}

fn not_utf8(detail: &'static str) -> FrameMistake {
    FrameMistake {
        code: NOT_UTF8,
        detail,
    }
}

impl FrameMistake {
    /// A message, or the bytes waiting for the plan, are larger than allowed.
    pub(crate) fn too_large(detail: &'static str) -> FrameMistake {
        FrameMistake {
            code: TOO_LARGE,
            detail,
        }
    }

    /// Returns the failure of the request.
    pub(crate) fn failure(&self) -> Failure {
        let class = match self.code {
            TOO_LARGE => ErrorClass::TooLarge,
            _ => ErrorClass::Protocol,
        };
        Failure::new(class, self.detail)
    }
}

/// Reader of a server's frames.
#[derive(Debug)]
pub(crate) struct FrameReader {
    unread: BytesMut,
    /// The largest message, in bytes, compressed or not.
    max_message: usize,
    /// The fragments of a message that is not complete, and whether it is text and compressed.
    fragments: Option<(BytesMut, bool, bool)>,
    inflate: Option<Inflater>,
}

impl FrameReader {
    /// A reader of messages of at most so many bytes; `inflate` if both sides have agreed on compression.
    pub(crate) fn new(max_message: usize, inflate: Option<Inflater>) -> FrameReader {
        FrameReader {
            unread: BytesMut::new(),
            max_message,
            fragments: None,
            inflate,
        }
    }

    /// The buffer to which received bytes are appended.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.unread
    }

    /// Takes the next message or control frame that has come completely.
    pub(crate) fn next(&mut self) -> Result<Option<Incoming>, FrameMistake> {
        while let Some(header) = FrameHeader::read(&self.unread)? {
            let gathered = self.fragments.as_ref().map_or(0, |(bytes, ..)| bytes.len());
            if header.length > (self.max_message - gathered.min(self.max_message)) as u64 {
                return Err(FrameMistake::too_large(
                    "a message is too large ('max_buffer')",
                ));
            }
            let length = header.length as usize;
            if self.unread.len() < header.size + length {
                self.unread
                    .reserve(header.size + length - self.unread.len());
                return Ok(None);
            }
            self.unread.advance(header.size);
            let payload = self.unread.split_to(length);
            if let Some(incoming) = self.take(&header, payload)? {
                return Ok(Some(incoming));
            }
        }
        Ok(None)
    }

    /// Takes a frame; returns the message that it completes.
    fn take(
        &mut self,
        header: &FrameHeader,
        payload: BytesMut,
    ) -> Result<Option<Incoming>, FrameMistake> {
        if header.compressed && (self.inflate.is_none() || !header.opcode.begins_message()) {
            return Err(protocol("a reserved bit is set"));
        }
        match header.opcode {
            Opcode::Ping => Ok(Some(Incoming::Ping(payload.freeze()))),
            Opcode::Pong => Ok(Some(Incoming::Pong(payload.freeze()))),
            Opcode::Close => close_frame(&payload).map(|close| Some(Incoming::Close(close))),
            Opcode::Continuation => {
                let Some((mut bytes, is_text, compressed)) = self.fragments.take() else {
                    return Err(protocol("a fragment continues no message"));
                };
                bytes.extend_from_slice(&payload);
                self.gathered(header.fin, bytes, is_text, compressed)
            }
            Opcode::Text | Opcode::Binary if self.fragments.is_some() => {
                Err(protocol("a message begins within another one"))
            }
            opcode => {
                let is_text = opcode == Opcode::Text;
                self.gathered(header.fin, payload, is_text, header.compressed)
            }
        }
    }

    fn gathered(
        &mut self,
        is_whole: bool,
        bytes: BytesMut,
        is_text: bool,
        compressed: bool,
    ) -> Result<Option<Incoming>, FrameMistake> {
        if !is_whole {
            self.fragments = Some((bytes, is_text, compressed));
            return Ok(None);
        }
        let bytes = match &mut self.inflate {
            Some(inflate) if compressed => match inflate.inflate(&bytes, self.max_message) {
                Inflated::Message(bytes) => bytes,
                Inflated::TooLarge => {
                    return Err(FrameMistake::too_large(
                        "a compressed message is too large ('max_buffer')",
                    ));
                }
                Inflated::Broken => return Err(protocol("a compressed message is broken")),
            },
            _ => bytes.freeze(),
        };
        if is_text && std::str::from_utf8(&bytes).is_err() {
            return Err(not_utf8("a text is not UTF-8"));
        }
        Ok(Some(Incoming::Message { is_text, bytes }))
    }
}

impl Opcode {
    fn of(bits: u8) -> Option<Opcode> {
        let all = [
            Opcode::Continuation,
            Opcode::Text,
            Opcode::Binary,
            Opcode::Close,
            Opcode::Ping,
            Opcode::Pong,
        ];
        all.into_iter().find(|opcode| *opcode as u8 == bits)
    }

    fn begins_message(self) -> bool {
        matches!(self, Opcode::Text | Opcode::Binary)
    }

    fn is_control(self) -> bool {
        self as u8 >= Opcode::Close as u8
    }
}

/// The head of a frame.
#[derive(Debug)]
struct FrameHeader {
    fin: bool,
    compressed: bool,
    opcode: Opcode,
    /// The length of the payload, in bytes.
    length: u64,
    /// The length of the head itself.
    size: usize,
}

impl FrameHeader {
    /// Reads the head of a frame that a server has sent (section 5.2); `None` if it is not complete.
    fn read(bytes: &[u8]) -> Result<Option<FrameHeader>, FrameMistake> {
        let [first, second, rest @ ..] = bytes else {
            return Ok(None);
        };
        let (first, second) = (*first, *second);
        if first & 0x30 != 0 {
            return Err(protocol("a reserved bit is set"));
        }
        let opcode = Opcode::of(first & 0x0f).ok_or(protocol("a frame of an unknown kind"))?;
        if second & 0x80 != 0 {
            return Err(protocol("a frame of the server is masked"));
        }
        let fin = first & 0x80 != 0;
        let short = second & 0x7f;
        if opcode.is_control() && (!fin || short > 125) {
            return Err(protocol("a control frame is fragmented or too long"));
        }
        let (length, size) = match (short, rest) {
            (126, [a, b, ..]) => (u64::from(u16::from_be_bytes([*a, *b])), 4),
            (127, [a, b, c, d, e, f, g, h, ..]) => {
                let length = u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
                if length >> 63 != 0 {
                    return Err(protocol("the length of a frame is wrong"));
                }
                (length, 10)
            }
            (126 | 127, _) => return Ok(None),
            (short, _) => (u64::from(short), 2),
        };
        let least = match size {
            2 => 0,
            4 => 126,
            _ => 0x1_0000,
        };
        if length < least {
            return Err(protocol(
                "the length of a frame takes more bytes than it needs",
            ));
        }
        Ok(Some(FrameHeader {
            fin,
            compressed: first & 0x40 != 0,
            opcode,
            length,
            size,
        }))
    }
}

/// Reads the payload of a close frame (sections 5.5.1 and 7.4).
fn close_frame(payload: &[u8]) -> Result<CloseFrame, FrameMistake> {
    match payload {
        [] => Ok(CloseFrame::default()),
        [_] => Err(protocol("a close frame of one byte")),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return Err(protocol("a close code that must not be sent"));
            }
            let reason = std::str::from_utf8(reason)
                .map_err(|_| not_utf8("the reason of a close is not UTF-8"))?;
            Ok(CloseFrame {
                code: Some(code),
                reason: reason.to_owned(),
            })
        }
    }
}

/// Writer of a client's frames: each is masked with another key (section 5.3).
#[derive(Debug)]
pub(crate) struct FrameWriter {
    masks: Xoshiro256PlusPlus,
    deflate: Option<Deflater>,
}

impl FrameWriter {
    /// A writer; `deflate` if both sides have agreed on compression.
    pub(crate) fn new(deflate: Option<Deflater>) -> FrameWriter {
        FrameWriter {
            masks: Xoshiro256PlusPlus::from_rng(&mut rand::rng()),
            deflate,
        }
    }

    /// Appends a message.
    pub(crate) fn message(&mut self, out: &mut Vec<u8>, is_text: bool, bytes: &[u8]) {
        let opcode = if is_text {
            Opcode::Text
        } else {
            Opcode::Binary
        };
        match &mut self.deflate {
            Some(deflate) => {
                let compressed = deflate.deflate(bytes);
                self.frame(out, opcode as u8 | 0x40, &compressed);
            }
            None => self.frame(out, opcode as u8, bytes),
        }
    }

    /// Appends a control frame of at most 125 bytes.
    pub(crate) fn control(&mut self, out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
        self.frame(out, opcode as u8, payload);
    }

    /// Appends a close frame.
    pub(crate) fn close(&mut self, out: &mut Vec<u8>, close: &CloseFrame) {
        let mut payload = Vec::new();
        if let Some(code) = close.code {
            payload.extend_from_slice(&code.to_be_bytes());
            payload.extend_from_slice(close.reason.as_bytes());
        }
        self.control(out, Opcode::Close, &payload);
    }

    fn frame(&mut self, out: &mut Vec<u8>, first: u8, payload: &[u8]) {
        const FIN: u8 = 0x80;
        const MASKED: u8 = 0x80;
        out.push(FIN | first);
        match payload.len() {
            length @ 0..=125 => out.push(MASKED | length as u8),
            length @ 126..=0xffff => {
                out.push(MASKED | 126);
                out.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                out.push(MASKED | 127);
                out.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        let mask: [u8; 4] = self.masks.random();
        out.extend_from_slice(&mask);
        let start = out.len();
        out.extend_from_slice(payload);
        let (words, rest) = out[start..].as_chunks_mut::<4>();
        for word in words {
            *word = (u32::from_ne_bytes(*word) ^ u32::from_ne_bytes(mask)).to_ne_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(mask) {
            *byte ^= key;
        }
    }
}

/// Reads bytes in pieces of a size, as messages of at most `max_message` bytes; returns the messages, and the mistake
/// that ended them. For tests and the fuzz target.
pub(crate) fn read_in_pieces(
    bytes: &[u8],
    size: usize,
    max_message: usize,
    inflates: bool,
) -> (Vec<Incoming>, Option<FrameMistake>) {
    let inflate = inflates.then(|| Inflater::new(true));
    let mut reader = FrameReader::new(max_message, inflate);
    let mut found = Vec::new();
    for piece in bytes.chunks(size.max(1)) {
        reader.buffer().extend_from_slice(piece);
        loop {
            match reader.next() {
                Ok(Some(incoming)) => found.push(incoming),
                Ok(None) => break,
                Err(mistake) => return (found, Some(mistake)),
            }
        }
    }
    (found, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::websocket::deflate::DeflateTerms;

    /// Reads bytes at once and byte by byte; both must give the same.
    fn read(bytes: &[u8], deflate: bool) -> (Vec<Incoming>, Option<FrameMistake>) {
        let of = |size| read_in_pieces(bytes, size, 1_000, deflate);
        let whole = of(bytes.len());
        assert_eq!(of(1), whole, "{bytes:x?}");
        whole
    }

    fn text(text: &'static str) -> Incoming {
        let bytes = Bytes::from_static(text.as_bytes());
        Incoming::Message {
            is_text: true,
            bytes,
        }
    }

    /// The examples of RFC 6455, section 5.7, and of RFC 7692, section 7.2.3.
    #[test]
    fn the_examples_of_the_standards_are_read() {
        let hello = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
        assert_eq!(read(&hello, false), (vec![text("Hello")], None));
        let fragments = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f];
        assert_eq!(read(&fragments, false), (vec![text("Hello")], None));
        let ping = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
        let payload = Bytes::from_static(b"Hello");
        assert_eq!(read(&ping, false), (vec![Incoming::Ping(payload)], None));
        // Compressed; in two fragments; and two of the same, the second with the context of the first.
        let whole = [0xc1, 0x07, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(read(&whole, true), (vec![text("Hello")], None));
        let two = [
            0x41, 0x03, 0xf2, 0x48, 0xcd, 0x80, 0x04, 0xc9, 0xc9, 0x07, 0x00,
        ];
        assert_eq!(read(&two, true), (vec![text("Hello")], None));
        let again = [&whole[..], &[0xc1, 0x05, 0xf2, 0x00, 0x11, 0x00, 0x00]].concat();
        assert_eq!(
            read(&again, true),
            (vec![text("Hello"), text("Hello")], None)
        );
        // A stored block, and one that says it is the last.
        let stored = [
            0xc1, 0x0b, 0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00,
        ];
        assert_eq!(read(&stored, true), (vec![text("Hello")], None));
        let last = [0xc1, 0x08, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
        assert_eq!(read(&last, true), (vec![text("Hello")], None));
        let empty = [0xc1, 0x01, 0x00];
        assert_eq!(read(&empty, true), (vec![text("")], None));
    }

    #[test]
    fn control_frames_may_stand_within_a_message() {
        let bytes = [
            0x01, 0x01, b'a', 0x89, 0x00, 0x8a, 0x00, 0x00, 0x01, b'b', 0x80, 0x00,
        ];
        let expected = vec![
            Incoming::Ping(Bytes::new()),
            Incoming::Pong(Bytes::new()),
            text("ab"),
        ];
        assert_eq!(read(&bytes, false), (expected, None));
    }

    /// By the sections of RFC 6455.
    #[test]
    fn whatever_breaks_a_rule_ends_the_connection_with_its_code() {
        let long = [&[0x89, 126, 0, 126][..], &[0; 126]].concat();
        let cases: [(&[u8], u16); 22] = [
            (&[0x91, 0x00], 1002), // reserved bits
            (&[0xc1, 0x00], 1002), // compressed, which was not agreed on
            (&[0x83, 0x00], 1002), // reserved kinds
            (&[0x8b, 0x00], 1002),
            (&[0x81, 0x81, 1, 2, 3, 4, 5], 1002), // masked
            (&[0x09, 0x00], 1002),                // a fragmented ping
            (&long, 1002),                        // a long ping
            (&[0x80, 0x00], 1002),                // a continuation of nothing
            (&[0x01, 0x00, 0x81, 0x00], 1002),    // a message within another
            (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002), // a length of 64 bits
            (&[0x82, 126, 0, 125], 1002),         // for less
            (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], 1002),
            (&[0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0], 1009), // too long
            (&[0x82, 126, 0x03, 0xe9], 1009),             // by one byte
            (&[0x81, 0x01, 0xff], 1007),                  // no UTF-8
            (&[0x01, 0x01, 0xce, 0x80, 0x01, 0x20], 1007), // over fragments
            (&[0x88, 0x01, 0x03], 1002),                  // half a close code
            (&[0x88, 0x02, 0x03, 0xe7], 1002),            // 999
            (&[0x88, 0x02, 0x03, 0xec], 1002),            // 1004
            (&[0x88, 0x02, 0x03, 0xed], 1002),            // 1005
            (&[0x88, 0x02, 0x13, 0x88], 1002),            // 5000
            (&[0x88, 0x03, 0x03, 0xe8, 0xff], 1007),      // a reason that is no UTF-8
        ];
        for (bytes, code) in cases {
            let (found, mistake) = read(bytes, false);
            assert_eq!(
                mistake.map(|mistake| mistake.code),
                Some(code),
                "{bytes:x?}"
            );
            assert!(found.is_empty(), "{bytes:x?}: {found:?}");
        }
    }

    #[test]
    fn close_frames_have_a_code_and_a_reason_or_neither() {
        let close = |code, reason: &str| {
            let reason = reason.to_owned();
            (vec![Incoming::Close(CloseFrame { code, reason })], None)
        };
        assert_eq!(read(&[0x88, 0x00], false), close(None, ""));
        assert_eq!(
            read(&[0x88, 0x02, 0x03, 0xe8], false),
            close(Some(1000), "")
        );
        let bye = [0x88, 0x05, 0x0f, 0xa0, b'b', b'y', b'e'];
        assert_eq!(read(&bye, false), close(Some(4000), "bye"));
    }

    #[test]
    fn a_compressed_message_may_not_become_larger_than_allowed() {
        let mut bomb = Vec::new();
        let mut writer = FrameWriter::new(Some(Deflater::new(true, 15)));
        writer.message(&mut bomb, false, &[0; 100_000]);
        assert!(bomb.len() < 500, "{}", bomb.len());
        let (_, mistake) = read(&unmasked(&bomb), true);
        assert_eq!(mistake.map(|mistake| mistake.code), Some(1009));
        let (_, mistake) = read(&[0xc1, 0x03, 0xff, 0xff, 0xff], true);
        assert_eq!(mistake.map(|mistake| mistake.code), Some(1002));
    }

    /// Returns a frame of a client as a server would send it.
    fn unmasked(frame: &[u8]) -> Vec<u8> {
        let size = match frame[1] & 0x7f {
            126 => 4,
            127 => 10,
            _ => 2,
        };
        let mut head = frame[..size].to_vec();
        head[1] &= 0x7f;
        let (mask, payload) = frame[size..].split_at(4);
        let keys = mask.iter().cycle();
        head.extend(payload.iter().zip(keys).map(|(byte, key)| byte ^ key));
        head
    }

    #[test]
    fn what_is_written_is_masked_and_read_again() {
        for deflate in [None, Some(true), Some(false)] {
            let mut writer = FrameWriter::new(deflate.map(|keeps| Deflater::new(keeps, 15)));
            let mut reader = FrameReader::new(1 << 20, deflate.map(Inflater::new));
            for length in [0, 1, 125, 126, 127, 1_000, 65_535, 65_536, 200_000] {
                let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
                let mut frame = Vec::new();
                writer.message(&mut frame, false, &message);
                assert_eq!(frame[1] & 0x80, 0x80, "masked");
                let plain = unmasked(&frame);
                assert_eq!(frame.len() - plain.len(), 4, "the mask");
                reader.buffer().extend_from_slice(&plain);
                let expected = Incoming::Message {
                    is_text: false,
                    bytes: message.into(),
                };
                assert_eq!(reader.next(), Ok(Some(expected)), "{length} {deflate:?}");
            }
        }
    }

    #[test]
    fn only_what_was_offered_is_agreed_on() {
        let terms = |server_keeps_context, client_keeps_context| {
            Some(DeflateTerms {
                server_keeps_context,
                client_keeps_context,
                client_window_bits: 15,
            })
        };
        let limited = |client_window_bits| {
            terms(true, true).map(|terms| DeflateTerms {
                client_window_bits,
                ..terms
            })
        };
        for (text, expected) in [
            ("permessage-deflate", terms(true, true)),
            (
                "permessage-deflate; server_no_context_takeover",
                terms(false, true),
            ),
            (
                "permessage-deflate;client_no_context_takeover; server_max_window_bits=\"10\"",
                terms(true, false),
            ),
            ("permessage-deflate; client_max_window_bits=15", limited(15)),
            (
                "permessage-deflate; client_max_window_bits=\"8\"",
                limited(8),
            ),
            ("permessage-deflate; client_max_window_bits=7", None),
            ("permessage-deflate; client_max_window_bits=16", None),
            ("permessage-deflate; client_max_window_bits", None),
            (
                "permessage-deflate; client_max_window_bits=9; client_max_window_bits=9",
                None,
            ),
            ("permessage-deflate; server_max_window_bits=16", None),
            ("permessage-deflate; server_max_window_bits", None),
            (
                "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
                None,
            ),
            ("permessage-deflate, permessage-deflate", None),
            ("permessage-bzip2", None),
        ] {
            assert_eq!(DeflateTerms::read(text), expected, "{text}");
        }
    }
}
