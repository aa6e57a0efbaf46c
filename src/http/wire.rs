//! HTTP/1.1 as bytes (RFC 9112): writes a request, reads a response's head, decodes chunks. Pure; knows no
//! socket. Reading the head itself is `httparse`'s work.

use super::{ErrorClass, Failure};
use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Method, header};
use std::mem::MaybeUninit;
use std::ops::Range;

/// More header lines than any site sends; hyper and nginx draw the line at the same order.
const MOST_HEADERS: usize = 128;
/// The largest head that is read.
pub(super) const MOST_HEAD: usize = 256 * 1024;
/// How a body is cut that is sent in chunks.
const CHUNK: usize = 16 * 1024;

/// Appends a request line and the headers that every request has.
pub(super) fn write_start(out: &mut Vec<u8>, method: &Method, path: &str, host: &HeaderValue) {
    out.extend_from_slice(method.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    out.extend_from_slice(host.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends one header line.
pub(super) fn write_header(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    out.extend_from_slice(name.as_str().as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// What the request's own headers say about its body.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BodyFraming {
    chunked: bool,
    expects_continue: bool,
}

impl BodyFraming {
    /// Takes note of a header that is sent.
    pub(super) fn note(&mut self, name: &HeaderName, value: &HeaderValue) {
        let is = |wanted: &[u8]| value.as_bytes().trim_ascii().eq_ignore_ascii_case(wanted);
        self.chunked |= *name == header::TRANSFER_ENCODING && is(b"chunked");
        self.expects_continue |= *name == header::EXPECT && is(b"100-continue");
    }
}

/// The `Content-Length` that is sent. A POST, PUT or PATCH without a body says so, as browsers do.
pub(super) fn length_of(method: &Method, body: &Bytes) -> Option<usize> {
    let says_so = !body.is_empty() || matches!(*method, Method::POST | Method::PUT | Method::PATCH);
    says_so.then_some(body.len())
}

/// Appends the length of the body, the empty line and the body, in chunks if the request says so. Where the
/// body begins if the server wants to be asked first.
pub(super) fn write_end(
    out: &mut Vec<u8>,
    method: &Method,
    body: &Bytes,
    framing: BodyFraming,
) -> Option<usize> {
    if !framing.chunked
        && let Some(length) = length_of(method, body)
    {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(length.to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    let body_at = out.len();
    match framing.chunked {
        false => out.extend_from_slice(body),
        true => {
            for chunk in body.chunks(CHUNK) {
                out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                out.extend_from_slice(chunk);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }
    (framing.expects_continue && !body.is_empty()).then_some(body_at)
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// By the last chunk.
    Chunked,
    /// When the server closes.
    Close,
}

/// What the head of a response says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Its length in bytes, the empty line included.
    pub(super) length: usize,
    pub(super) framing: Framing,
    /// Whether the connection can be used again.
    pub(super) keep_alive: bool,
    pub(super) sets_cookie: bool,
    /// Where the value of `Location` stands.
    pub(super) location: Option<Range<usize>>,
    /// Where the value of `Content-Encoding` stands.
    pub(super) coding: Option<Range<usize>>,
}

impl Head {
    /// Reads a head at the start of `bytes`; `None` if it is not complete yet.
    ///
    /// # Errors
    /// A [`Failure`] of class `protocol` or `too large`.
    pub(super) fn parse(bytes: &[u8], method: &Method) -> Result<Option<Head>, Failure> {
        let mut space = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            bytes,
            &mut space,
        );
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() > MOST_HEAD => {
                return Err(Failure::new(ErrorClass::TooLarge, "response headers"));
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Failure::new(
                    ErrorClass::TooLarge,
                    "too many response headers",
                ));
            }
            Err(error) => return Err(Failure::new(ErrorClass::Protocol, error.to_string())),
        };
        let status = response.code.unwrap_or_default();
        if !(100..1000).contains(&status) {
            return Err(Failure::new(
                ErrorClass::Protocol,
                format!("status {status}"),
            ));
        }
        let mut head = Head {
            status,
            length,
            framing: Framing::Close,
            keep_alive: response.version == Some(1),
            sets_cookie: false,
            location: None,
            coding: None,
        };
        let mut fields = Fields::default();
        for header in response.headers.iter() {
            fields.note(header, bytes, &mut head)?;
        }
        head.framing = fields.framing(status, method)?;
        head.keep_alive &= head.framing != Framing::Close && status != 101;
        Ok(Some(head))
    }
}

/// The header fields that frame a message.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    transfer_encoding: bool,
    chunked: bool,
}

impl Fields {
    fn note(
        &mut self,
        header: &httparse::Header<'_>,
        bytes: &[u8],
        head: &mut Head,
    ) -> Result<(), Failure> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        // The length tells most headers apart without a comparison.
        match header.name.len() {
            8 if is("location") => head.location = Some(place(header.value, bytes)),
            10 if is("connection") => {
                for option in header.value.split(|byte| *byte == b',') {
                    match option.trim_ascii() {
                        option if option.eq_ignore_ascii_case(b"close") => head.keep_alive = false,
                        option if option.eq_ignore_ascii_case(b"keep-alive") => {
                            head.keep_alive = true
                        }
                        _ => {}
                    }
                }
            }
            10 if is("set-cookie") => head.sets_cookie = true,
            14 if is("content-length") => self.content_length(header.value)?,
            16 if is("content-encoding") => head.coding = Some(place(header.value, bytes)),
            17 if is("transfer-encoding") => {
                self.transfer_encoding = true;
                let last = header
                    .value
                    .rsplit(|byte| *byte == b',')
                    .next()
                    .unwrap_or_default();
                self.chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            }
            _ => {}
        }
        Ok(())
    }

    /// Several equal lengths are one; different ones are an attack or a fault (RFC 9112, section 6.3).
    fn content_length(&mut self, value: &[u8]) -> Result<(), Failure> {
        let wrong = || Failure::new(ErrorClass::Protocol, "wrong content-length");
        for part in value.split(|byte| *byte == b',') {
            let digits = part.trim_ascii();
            let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(digits)
                .ok()
                .filter(|_| plain)
                .ok_or_else(wrong)?;
            let length: u64 = text.parse().map_err(|_| wrong())?;
            if self
                .length
                .replace(length)
                .is_some_and(|earlier| earlier != length)
            {
                return Err(wrong());
            }
        }
        Ok(())
    }

    /// RFC 9112, section 6.3.
    fn framing(&self, status: u16, method: &Method) -> Result<Framing, Failure> {
        if *method == Method::HEAD || status < 200 || status == 204 || status == 304 {
            return Ok(Framing::Length(0));
        }
        match (self.transfer_encoding, self.chunked, self.length) {
            (true, true, _) => Ok(Framing::Chunked),
            (true, false, _) => Ok(Framing::Close),
            (false, _, Some(length)) => Ok(Framing::Length(length)),
            (false, _, None) => Ok(Framing::Close),
        }
    }
}

/// Where `part` stands in the bytes it is a slice of.
fn place(part: &[u8], bytes: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - bytes.as_ptr().addr();
    start..start + part.len()
}

/// The headers of a head read before, in their order.
pub(super) fn headers(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut space = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut space);
    // Read once already: it cannot fail now.
    let _complete = response.parse(head);
    let named = response
        .headers
        .iter()
        .filter(|header| !header.name.is_empty());
    named
        .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
        .collect()
}

/// Decodes a chunked body as it comes in (RFC 9112, section 7.1).
#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: ChunkState,
    /// Bytes of size lines and trailers read in a row, which must end some time.
    overhead: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum ChunkState {
    /// In a size line or its extension; the size read so far, none before the first digit.
    #[default]
    SizeStart,
    Size(u64),
    Extension(u64),
    Data(u64),
    DataEnd,
    /// In the trailers; whether the current line has a character.
    Trailer(bool),
    Done,
}

const MOST_CHUNK_OVERHEAD: usize = 16 * 1024;

impl Chunks {
    /// Moves the content of `input` to `body`. True when the last chunk has ended; what is left in `input`
    /// does not belong to the response.
    ///
    /// # Errors
    /// A [`Failure`] of class `protocol`.
    pub(super) fn decode(
        &mut self,
        input: &mut &[u8],
        body: &mut BytesMut,
    ) -> Result<bool, Failure> {
        let wrong = |detail: &str| Failure::new(ErrorClass::Protocol, detail);
        while !input.is_empty() && !matches!(self.state, ChunkState::Done) {
            if let ChunkState::Data(left) = self.state {
                let take = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                body.extend_from_slice(&input[..take]);
                input.advance(take);
                self.overhead = 0;
                self.state = match left - take as u64 {
                    0 => ChunkState::DataEnd,
                    left => ChunkState::Data(left),
                };
                continue;
            }
            let byte = input[0];
            input.advance(1);
            self.overhead += 1;
            if self.overhead > MOST_CHUNK_OVERHEAD {
                return Err(wrong("chunk extensions or trailers without end"));
            }
            self.state = match (self.state, byte) {
                (ChunkState::SizeStart, _) => {
                    ChunkState::Size(hex(byte).ok_or_else(|| wrong("wrong chunk size"))?)
                }
                (ChunkState::Size(size), b'\n') | (ChunkState::Extension(size), b'\n') => {
                    match size {
                        0 => ChunkState::Trailer(false),
                        size => ChunkState::Data(size),
                    }
                }
                (ChunkState::Size(size), b'\r' | b';' | b' ' | b'\t') => {
                    ChunkState::Extension(size)
                }
                (ChunkState::Size(size), _) => {
                    let digit = hex(byte).ok_or_else(|| wrong("wrong chunk size"))?;
                    let size = size
                        .checked_mul(16)
                        .ok_or_else(|| wrong("wrong chunk size"))?;
                    ChunkState::Size(size + digit)
                }
                (ChunkState::Extension(size), _) => ChunkState::Extension(size),
                (ChunkState::DataEnd, b'\r') => ChunkState::DataEnd,
                (ChunkState::DataEnd, b'\n') => ChunkState::SizeStart,
                (ChunkState::DataEnd, _) => return Err(wrong("a chunk is longer than its size")),
                (ChunkState::Trailer(false), b'\n') => ChunkState::Done,
                (ChunkState::Trailer(_), b'\n') => ChunkState::Trailer(false),
                (ChunkState::Trailer(some), b'\r') => ChunkState::Trailer(some),
                (ChunkState::Trailer(_), _) => ChunkState::Trailer(true),
                (ChunkState::Data(_) | ChunkState::Done, _) => unreachable!("handled above"),
            };
        }
        Ok(matches!(self.state, ChunkState::Done))
    }
}

fn hex(byte: u8) -> Option<u64> {
    (byte as char).to_digit(16).map(u64::from)
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
