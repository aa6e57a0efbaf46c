//! Frames of HTTP/2 (RFC 9113, sections 4, 6 and 7): their heads, kinds, flags and error codes. Pure.

/// The length of a frame's head in bytes.
pub(super) const HEAD: usize = 9;
/// The longest frame that is read: the limit for a peer without another one in its settings.
pub(super) const MAX_FRAME: usize = 16_384;
/// The largest window of flow control.
pub(super) const MAX_WINDOW: i64 = (1 << 31) - 1;
/// The flow-control windows of a stream and of the whole connection. They are those of Chrome: enough for any page, so
/// that the window never determines a measurement.
pub(crate) const STREAM_WINDOW: u32 = 6 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 15 << 20;

/// The bytes that a client sends before its first frame (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const ACK: u8 = 0x1;
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const WITH_PRIORITY: u8 = 0x20;

pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;
pub(super) const MAX_HEADER_LIST_SIZE: u16 = 6;
pub(super) const ENABLE_CONNECT_PROTOCOL: u16 = 8;

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// The length of the payload, in bytes.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// The number of the stream, 0 for the connection.
    pub(super) stream: u32,
}

impl FrameHead {
    /// Reads the head at the start of `bytes`; `None` if there are too few bytes.
    pub(super) fn read(bytes: &[u8]) -> Option<FrameHead> {
        let (head, _) = bytes.split_first_chunk::<HEAD>()?;
        let [l2, l1, l0, kind, flags, s3, s2, s1, s0] = *head;
        Some(FrameHead {
            length: u32::from_be_bytes([0, l2, l1, l0]) as usize,
            kind,
            flags,
            // The first bit is reserved.
            stream: u32::from_be_bytes([s3 & 0x7f, s2, s1, s0]),
        })
    }

    /// Appends the head to `out`.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let [_, l2, l1, l0] = (self.length as u32).to_be_bytes();
        let [s3, s2, s1, s0] = self.stream.to_be_bytes();
        out.extend_from_slice(&[l2, l1, l0, self.kind, self.flags, s3, s2, s1, s0]);
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a whole frame to `out`.
pub(super) fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let head = FrameHead {
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    head.write(out);
    out.extend_from_slice(payload);
}

/// Appends the head block of a request to `out`, in as many frames as the peer's limit on frames requires.
pub(super) fn write_headers(
    out: &mut Vec<u8>,
    stream: u32,
    end_stream: bool,
    block: &[u8],
    max_frame: usize,
) {
    let (mut kind, mut flags) = (HEADERS, if end_stream { END_STREAM } else { 0 });
    let mut rest = block;
    loop {
        let (piece, more) = rest.split_at(rest.len().min(max_frame));
        if more.is_empty() {
            flags |= END_HEADERS;
        }
        write(out, kind, flags, stream, piece);
        if more.is_empty() {
            return;
        }
        (kind, flags, rest) = (CONTINUATION, 0, more);
    }
}

/// The payload of a frame without its padding (RFC 9113, section 6.1).
///
/// # Errors
/// There is more padding than payload.
pub(super) fn unpadded(head: FrameHead, payload: &[u8]) -> Result<&[u8], H2ErrorCode> {
    if !head.has(PADDED) {
        return Ok(payload);
    }
    let (padding, rest) = payload.split_first().ok_or(H2ErrorCode::FRAME_SIZE_ERROR)?;
    let length = rest.len().checked_sub(usize::from(*padding));
    Ok(&rest[..length.ok_or(H2ErrorCode::PROTOCOL_ERROR)?])
}

/// The first four bytes of a payload as a number of 31 bits; 0 if there are fewer.
pub(super) fn number(payload: &[u8]) -> u32 {
    payload
        .first_chunk::<4>()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes) & 0x7fff_ffff)
}

/// An error code (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct H2ErrorCode(pub(super) u32);

impl H2ErrorCode {
    pub(super) const NO_ERROR: H2ErrorCode = H2ErrorCode(0);
    pub(super) const PROTOCOL_ERROR: H2ErrorCode = H2ErrorCode(1);
    pub(super) const FLOW_CONTROL_ERROR: H2ErrorCode = H2ErrorCode(3);
    pub(super) const FRAME_SIZE_ERROR: H2ErrorCode = H2ErrorCode(6);
    pub(super) const REFUSED_STREAM: H2ErrorCode = H2ErrorCode(7);
    pub(super) const CANCEL: H2ErrorCode = H2ErrorCode(8);
    pub(super) const COMPRESSION_ERROR: H2ErrorCode = H2ErrorCode(9);
    pub(super) const ENHANCE_YOUR_CALM: H2ErrorCode = H2ErrorCode(11);
    pub(super) const HTTP_1_1_REQUIRED: H2ErrorCode = H2ErrorCode(13);

    /// The reason in the words of the `h2` crate, which the other transport uses.
    pub(super) fn description(self) -> &'static str {
        match self.0 {
            0 => "not a result of an error",
            1 => "unspecific protocol error detected",
            2 => "unexpected internal error encountered",
            3 => "flow-control protocol violated",
            4 => "settings ACK not received in timely manner",
            5 => "received frame when stream half-closed",
            6 => "frame with invalid size",
            7 => "refused stream before processing any application logic",
            8 => "stream no longer needed",
            9 => "unable to maintain the header compression context",
            10 => {
                "connection established in response to a CONNECT request was reset or abnormally closed"
            }
            11 => "detected excessive load generating behavior",
            12 => "security properties do not meet minimum requirements",
            13 => "endpoint requires HTTP/1.1",
            _ => "unknown reason",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        let head = FrameHead {
            length: 0x01_02_03,
            kind: HEADERS,
            flags: END_STREAM | END_HEADERS,
            stream: 0x7f00_0001,
        };
        let mut bytes = Vec::new();
        head.write(&mut bytes);
        assert_eq!(FrameHead::read(&bytes), Some(head));
        bytes[5] |= 0x80;
        assert_eq!(FrameHead::read(&bytes), Some(head), "a reserved bit");
        assert_eq!(FrameHead::read(&bytes[..8]), None);
    }

    #[test]
    fn a_long_head_block_goes_on_in_continuations() {
        let mut out = Vec::new();
        write_headers(&mut out, 1, true, &[7; 25], 10);
        let (mut rest, mut seen) = (&out[..], Vec::new());
        while let Some(head) = FrameHead::read(rest) {
            seen.push((head.length, head.kind, head.flags));
            rest = &rest[HEAD + head.length..];
        }
        let expected = [
            (10, HEADERS, END_STREAM),
            (10, CONTINUATION, 0),
            (5, CONTINUATION, END_HEADERS),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn padding_is_taken_off_and_never_longer_than_what_it_pads() {
        let padded = FrameHead {
            length: 4,
            kind: DATA,
            flags: PADDED,
            stream: 1,
        };
        assert_eq!(unpadded(padded, &[2, b'a', 0, 0]), Ok(&b"a"[..]));
        assert_eq!(unpadded(padded, &[3, b'a', 0, 0]), Ok(&b""[..]));
        assert_eq!(
            unpadded(padded, &[4, b'a', 0, 0]),
            Err(H2ErrorCode::PROTOCOL_ERROR)
        );
        assert_eq!(unpadded(padded, &[]), Err(H2ErrorCode::FRAME_SIZE_ERROR));
    }
}
