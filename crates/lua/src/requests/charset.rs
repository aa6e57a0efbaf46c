//! The text of a body, whatever its character set: as browsers read it, by a byte order mark, the `Content-Type`, the
//! page's own declaration, and else UTF-8 if it is valid, or windows-1252 ("determining the character encoding" of the
//! HTML standard, with the Encoding standard).

use bytes::{Buf as _, Bytes};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use lgoose_http::Response;

/// The most bytes of UTF-8 that a byte of another encoding becomes.
const MOST_PER_BYTE: usize = 3;

/// A kind of content that has a way of its own to find its character set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Page,
    Text,
    /// Anything else, such as JSON, which is UTF-8 unless the header says more.
    Other,
}

/// Returns the decoded body of a response as UTF-8, without a byte order mark. It is not copied if it is in UTF-8, and
/// invalid bytes stay as they are.
pub(crate) fn text(response: &Response) -> Bytes {
    text_within(response, usize::MAX).unwrap_or_default()
}

/// The same; `None` if the text would take more than `most` bytes.
pub(crate) fn text_within(response: &Response, most: usize) -> Option<Bytes> {
    let mut body = response.body();
    let encoding = encoding(response);
    if let Some((_, mark)) = Encoding::for_bom(&body) {
        body.advance(mark);
    }
    if encoding == UTF_8 {
        return Some(body);
    }
    let fits = body.len().checked_mul(MOST_PER_BYTE)? <= most;
    fits.then(|| {
        let (text, _) = encoding.decode_without_bom_handling(&body);
        text.into_owned().into()
    })
}

/// Returns the encoding of the decoded body.
pub(crate) fn encoding(response: &Response) -> &'static Encoding {
    let body = response.body_bytes();
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return encoding;
    }
    let content_type = response.content_type();
    if let Some(encoding) = parameter(content_type).and_then(Encoding::for_label) {
        return encoding;
    }
    let kind = kind(content_type);
    if kind == Kind::Page {
        let declared = lgoose_html::declared_charset(body);
        let declared = declared.and_then(|label| Encoding::for_label(label.as_bytes()));
        if let Some(declared) = declared {
            // A page that could be read up to here is in neither.
            let is_wide = declared == UTF_16LE || declared == UTF_16BE;
            let is_user_defined = declared.name() == "x-user-defined";
            return match declared {
                _ if is_wide => UTF_8,
                _ if is_user_defined => WINDOWS_1252,
                declared => declared,
            };
        }
    }
    if kind == Kind::Other || std::str::from_utf8(body).is_ok() {
        UTF_8
    } else {
        WINDOWS_1252
    }
}

fn kind(content_type: &[u8]) -> Kind {
    let end = content_type.iter().position(|byte| *byte == b';');
    let essence = content_type[..end.unwrap_or(content_type.len())].trim_ascii();
    match essence.to_ascii_lowercase().as_slice() {
        b"" | b"text/html" | b"application/xhtml+xml" | b"application/xml" | b"text/xml" => {
            Kind::Page
        }
        b"text/plain" => Kind::Text,
        _ => Kind::Other,
    }
}

/// Returns the value of `charset` in a `Content-Type`.
pub(super) fn parameter(content_type: &[u8]) -> Option<&[u8]> {
    let mut quoted = false;
    let mut parts = content_type.split(move |byte| {
        quoted ^= *byte == b'"';
        *byte == b';' && !quoted
    });
    parts.next();
    parts.find_map(|part| {
        let at = part.iter().position(|byte| *byte == b'=')?;
        let is_charset = part[..at].trim_ascii().eq_ignore_ascii_case(b"charset");
        let value = part[at + 1..].trim_ascii();
        let value = value.strip_prefix(b"\"").unwrap_or(value);
        let value = value.strip_suffix(b"\"").unwrap_or(value);
        is_charset.then_some(value)
    })
}
