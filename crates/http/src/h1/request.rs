//! Encoding of HTTP/1.1 requests. Pure; driven by the session, which knows the headers.

use crate::hop::Hop;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};

/// The size of a chunk in a chunked request body.
const CHUNK_BYTES: usize = 16 * 1024;

/// Appends a request line and the headers that every request has.
pub(crate) fn write_start(out: &mut Vec<u8>, method: &Method, path: &str, host: &HeaderValue) {
    out.extend_from_slice(method.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    out.extend_from_slice(host.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The framing that a request's own headers demand for its body.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestFraming {
    chunked: bool,
    expects_continue: bool,
}

impl RequestFraming {
    /// Notes a header that is sent.
    pub(crate) fn note(&mut self, name: &HeaderName, value: &HeaderValue) {
        let is = |expected: &[u8]| value.as_bytes().trim_ascii().eq_ignore_ascii_case(expected);
        self.chunked |= *name == header::TRANSFER_ENCODING && is(b"chunked");
        self.expects_continue |= *name == header::EXPECT && is(b"100-continue");
    }
}

/// Appends the length of the body, the empty line and the body, chunked if the headers say so. Returns the offset of
/// the body if it is sent only after '100 Continue'.
pub(crate) fn write_end(out: &mut Vec<u8>, hop: &Hop, framing: RequestFraming) -> Option<usize> {
    if !framing.chunked
        && let Some(length) = hop.content_length()
    {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(length.to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    let body_at = out.len();
    if framing.chunked {
        write_chunks(out, &hop.body)
    } else {
        out.extend_from_slice(&hop.body)
    }
    (framing.expects_continue && !hop.body.is_empty()).then_some(body_at)
}

/// Appends a body in chunks.
fn write_chunks(out: &mut Vec<u8>, body: &Bytes) {
    for chunk in body.chunks(CHUNK_BYTES) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}
