//! A request of HTTP/1.1 as bytes. Pure; driven by the session, which knows the headers.

use crate::http::hop::Hop;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};

/// The size of the chunks of a body that is sent in chunks.
const CHUNK: usize = 16 * 1024;

/// Appends a request line and the headers that every request has.
pub(in crate::http) fn write_start(
    out: &mut Vec<u8>,
    method: &Method,
    path: &str,
    host: &HeaderValue,
) {
    out.extend_from_slice(method.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    out.extend_from_slice(host.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The framing of a request's body that its own headers ask for.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::http) struct RequestFraming {
    chunked: bool,
    expects_continue: bool,
}

impl RequestFraming {
    /// Takes note of a header that is sent.
    pub(in crate::http) fn note(&mut self, name: &HeaderName, value: &HeaderValue) {
        let is = |wanted: &[u8]| value.as_bytes().trim_ascii().eq_ignore_ascii_case(wanted);
        self.chunked |= *name == header::TRANSFER_ENCODING && is(b"chunked");
        self.expects_continue |= *name == header::EXPECT && is(b"100-continue");
    }
}

/// Appends the length of the body, the empty line and the body, in chunks if the request says so. Returns the
/// place where the body begins if the server is to be asked before it is sent.
pub(in crate::http) fn write_end(
    out: &mut Vec<u8>,
    hop: &Hop,
    framing: RequestFraming,
) -> Option<usize> {
    if !framing.chunked
        && let Some(length) = hop.content_length()
    {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(length.to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    let body_at = out.len();
    match framing.chunked {
        false => out.extend_from_slice(&hop.body),
        true => write_chunks(out, &hop.body),
    }
    (framing.expects_continue && !hop.body.is_empty()).then_some(body_at)
}

/// Appends a body in chunks.
fn write_chunks(out: &mut Vec<u8>, body: &Bytes) {
    for chunk in body.chunks(CHUNK) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}
