//! The head of a response: parsed by `httparse`, with the framing of the body and the facts that decide the next step.
//! Pure; knows no socket. The other transports write their heads as HTTP/1.1 would have sent them, and those are parsed
//! here, too.

use crate::failure::{ErrorClass, Failure};
#[cfg(feature = "reqwest")]
use bytes::BytesMut;
use http::{HeaderName, HeaderValue, Method};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The most header lines of a response: more than any site sends; the limits of hyper and nginx are of the same
/// order.
const MAX_HEADERS: usize = 128;
/// The largest head that is read, in bytes.
pub(crate) const MAX_HEAD: usize = 256 * 1024;

/// Appends one header line.
pub(crate) fn write_header(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    out.extend_from_slice(name.as_str().as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The head of a response as HTTP/1.1 would have sent it.
#[cfg(feature = "reqwest")]
pub(crate) fn head_as_text(parts: &http::response::Parts) -> BytesMut {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"HTTP/1.1 ");
    text.extend_from_slice(parts.status.as_str().as_bytes());
    text.extend_from_slice(b" \r\n");
    for (name, value) in &parts.headers {
        write_header(&mut text, name, value);
    }
    text.extend_from_slice(b"\r\n");
    BytesMut::from(&text[..])
}

/// The framing of a body: how to find its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By its length in bytes.
    Length(u64),
    /// By its last chunk.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// The head of a response, as far as the client needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    /// The length of the head in bytes, the empty line included.
    pub(crate) length: usize,
    pub(crate) framing: Framing,
    /// Whether the connection can be used again.
    pub(crate) keep_alive: bool,
    pub(crate) sets_cookie: bool,
    /// The range of the value of `Location`, unless that is empty: it leads nowhere then.
    pub(crate) location: Option<Range<usize>>,
    /// Whether the body has a content or transfer coding to remove.
    pub(crate) is_encoded: bool,
    /// The first malformed line, if one was left out or mended.
    pub(crate) malformed_header: Option<Box<str>>,
}

impl ResponseHead {
    /// Parses a head at the start of `bytes`; `None` if it is not complete yet.
    ///
    /// # Errors
    /// A [`Failure`] of class `protocol` or `too large`.
    pub(crate) fn parse(bytes: &[u8], method: &Method) -> Result<Option<ResponseHead>, Failure> {
        let mut space = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            bytes,
            &mut space,
        );
        let too_large = || Failure::new(ErrorClass::TooLarge, "response headers");
        let length = match parsed {
            // One that has come at once has the same limit as one in parts.
            Ok(httparse::Status::Complete(length)) if length > MAX_HEAD => return Err(too_large()),
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() > MAX_HEAD => return Err(too_large()),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Failure::new(
                    ErrorClass::TooLarge,
                    "too many response headers",
                ));
            }
            // The alert of a TLS server that got no ClientHello (RFC 8446, section 5.1).
            Err(_) if matches!(bytes, [0x15] | [0x15, 3, ..]) => {
                let message = "the server speaks TLS: use https://";
                return Err(Failure::new(ErrorClass::Protocol, message));
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
        let mut head = ResponseHead {
            status,
            length,
            framing: Framing::Close,
            keep_alive: response.version == Some(1),
            sets_cookie: false,
            location: None,
            is_encoded: false,
            malformed_header: None,
        };
        let mut fields = FramingFields::default();
        for header in response.headers.iter() {
            fields.note(header, bytes, &mut head)?;
        }
        head.location
            .take_if(|location| location.start == location.end);
        head.framing = fields.framing(status, method)?;
        // Whatever else it says (RFC 9112, section 9.3).
        head.keep_alive &= !fields.closes;
        head.keep_alive &= head.framing != Framing::Close && status != 101;
        // A sender of both may be an attacker: nothing that follows on the connection can be trusted (RFC 9112, 6.3).
        head.keep_alive &= !(fields.transfer_encoding && fields.length.is_some());
        Ok(Some(head))
    }
}

/// The header fields that frame a response.
#[derive(Default)]
struct FramingFields {
    /// Whether the server closes the connection.
    closes: bool,
    length: Option<u64>,
    transfer_encoding: bool,
    chunked: bool,
}

impl FramingFields {
    /// Notes a header: the framing of the body in `self`, everything else in `head`.
    fn note(
        &mut self,
        header: &httparse::Header<'_>,
        bytes: &[u8],
        head: &mut ResponseHead,
    ) -> Result<(), Failure> {
        // Most servers write them so; letter by letter a comparison takes ten times as long.
        let is = |name: &str| header.name == name || header.name.eq_ignore_ascii_case(name);
        // The length rules out most headers without a comparison.
        match header.name.len() {
            8 if is("Location") => {
                let first = head.location.get_or_insert(range_of(header.value, bytes));
                // Chromium refuses such a response, too: whoever adds a header could choose where it leads.
                if bytes[first.clone()] != *header.value {
                    let message = "several different 'Location' headers";
                    return Err(Failure::new(ErrorClass::Protocol, message));
                }
            }
            10 if is("Connection") => {
                for option in header.value.split(|byte| *byte == b',') {
                    match option.trim_ascii() {
                        option if option.eq_ignore_ascii_case(b"close") => self.closes = true,
                        option if option.eq_ignore_ascii_case(b"keep-alive") => {
                            head.keep_alive = true
                        }
                        _ => {}
                    }
                }
            }
            10 if is("Set-Cookie") => head.sets_cookie = true,
            14 if is("Content-Length") => self.content_length(header.value)?,
            16 if is("Content-Encoding") => head.is_encoded = true,
            17 if is("Transfer-Encoding") => {
                head.is_encoded |= !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                for coding in header.value.split(|byte| *byte == b',') {
                    let coding = coding.trim_ascii();
                    // An empty element does not count (RFC 9110, section 5.6.1), nor does the coding `identity`.
                    if !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity") {
                        self.transfer_encoding = true;
                        self.chunked = coding.eq_ignore_ascii_case(b"chunked");
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes a `Content-Length`: several equal ones count as one, different ones are an attack or a fault (RFC 9112,
    /// section 6.3).
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

    /// The framing that the fields determine (RFC 9112, section 6.3).
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

/// The range of `part` in the bytes it is a slice of.
fn range_of(part: &[u8], bytes: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - bytes.as_ptr().addr();
    start..start + part.len()
}

/// The headers of a head that was parsed before, in order, with names in lower case.
pub(crate) fn headers(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut space = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut space);
    // It was parsed before, so this cannot fail.
    let _complete = response.parse(head);
    let named = response
        .headers
        .iter()
        .filter(|header| !header.name.is_empty());
    named
        .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<ResponseHead>, Failure> {
        ResponseHead::parse(text.as_bytes(), &Method::GET)
    }

    fn framing(lines: &str) -> Framing {
        let text = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        head(&text).expect("valid").expect("complete").framing
    }

    #[test]
    fn the_end_of_a_body_follows_the_standard() {
        assert_eq!(framing("content-length: 12\r\n"), Framing::Length(12));
        assert_eq!(framing("Content-Length: 12, 12\r\n"), Framing::Length(12));
        assert_eq!(
            framing("transfer-encoding: gzip, chunked\r\n"),
            Framing::Chunked
        );
        assert_eq!(
            framing("content-length: 5\r\ntransfer-encoding: chunked\r\n"),
            Framing::Chunked
        );
        assert_eq!(framing("transfer-encoding: gzip\r\n"), Framing::Close);
        for chunked in ["chunked,", " , chunked , ", "gzip,,chunked"] {
            let line = format!("transfer-encoding: {chunked}\r\n");
            assert_eq!(framing(&line), Framing::Chunked, "{chunked}");
        }
        assert_eq!(
            framing("transfer-encoding: identity\r\ncontent-length: 3\r\n"),
            Framing::Length(3)
        );
        assert_eq!(framing(""), Framing::Close);
    }

    #[test]
    fn responses_without_a_body_have_none() {
        for status in ["100 Continue", "204 No Content", "304 Not Modified"] {
            let text = format!("HTTP/1.1 {status}\r\ncontent-length: 12\r\n\r\n");
            let head = head(&text).expect("valid").expect("complete");
            assert_eq!(head.framing, Framing::Length(0), "{status}");
        }
        let text = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n";
        let head = ResponseHead::parse(text, &Method::HEAD)
            .expect("valid")
            .expect("complete");
        assert_eq!(head.framing, Framing::Length(0));
    }

    #[test]
    fn what_frames_a_body_in_two_ways_or_none_is_refused() {
        for lines in [
            "content-length: 5\r\ncontent-length: 6\r\n",
            "content-length: -1\r\n",
            "content-length: +1\r\n",
            "content-length: \r\n",
            "content-length: 99999999999999999999999\r\n",
        ] {
            let failure = head(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n")).expect_err(lines);
            assert_eq!(failure.class, ErrorClass::Protocol, "{lines}");
        }
    }

    #[test]
    fn a_connection_stays_open_unless_one_side_closes_it() {
        let is_reusable = |text: &str| head(text).expect("valid").expect("complete").keep_alive;
        assert!(is_reusable("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(!is_reusable(
            "HTTP/1.1 200 OK\r\nConnection: Close\r\ncontent-length: 0\r\n\r\n"
        ));
        for both in ["close, keep-alive", "keep-alive, close"] {
            let head =
                format!("HTTP/1.1 200 OK\r\nconnection: {both}\r\ncontent-length: 0\r\n\r\n");
            assert!(!is_reusable(&head), "{both}");
        }
        assert!(!is_reusable("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(is_reusable(
            "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n"
        ));
        assert!(!is_reusable("HTTP/1.1 200 OK\r\n\r\n"));
    }

    #[test]
    fn a_head_in_parts_is_waited_for_and_garbage_is_not() {
        assert_eq!(head("HTTP/1.1 200 OK\r\nserver: x\r\n"), Ok(None));
        assert_eq!(
            head("SSH-2.0-OpenSSH_9\r\n").expect_err("no HTTP").class,
            ErrorClass::Protocol
        );
        let alert = ResponseHead::parse(b"\x15\x03\x01\x00\x02\x02\x46", &Method::GET);
        let alert = alert.expect_err("no HTTP").to_string();
        assert_eq!(alert, "protocol: the server speaks TLS: use https://");
        assert_eq!(
            head("HTTP/1.1 099 X\r\n\r\n").expect_err("no status").class,
            ErrorClass::Protocol
        );
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(10_000));
        assert_eq!(
            head(&many).expect_err("too many").class,
            ErrorClass::TooLarge
        );
        let long = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(MAX_HEAD));
        for end in ["", "\r\n\r\n"] {
            let failure = head(&format!("{long}{end}")).expect_err("too long");
            assert_eq!(failure.class, ErrorClass::TooLarge, "{end:?}");
        }
        let most = "b".repeat(MAX_HEAD - "HTTP/1.1 200 OK\r\na: \r\n\r\n".len());
        let text = format!("HTTP/1.1 200 OK\r\na: {most}\r\n\r\nbody");
        let head = head(&text).expect("valid").expect("complete");
        assert_eq!(head.length, MAX_HEAD);
    }

    #[test]
    fn location_is_found_where_it_stands() {
        let text = "HTTP/1.1 302 Found\r\nLocation:  /node/1#c \r\ncontent-length: 0\r\n\r\n";
        let head = head(text).expect("valid").expect("complete");
        assert_eq!(head.location.map(|range| &text[range]), Some("/node/1#c"));
    }
}
