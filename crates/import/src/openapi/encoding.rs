//! Percent-encoding of values in a URL or a cookie.
//!
//! <https://spec.openapis.org/oas/v3.1.1.html#appendix-e-percent-encoding-and-form-media-types>

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// Characters that a query cannot have even where reserved characters are allowed: they would end or split the value.
const RESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b'#')
    .add(b'&')
    .add(b'+')
    .add(b'[')
    .add(b']');

/// Characters that a cookie cannot have; the comma is between the values of a list.
const COOKIE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b';').add(b'\\');

/// The encodings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEncoding {
    /// No encoding: the client encodes the characters, or nothing has to.
    Plain,
    /// Percent-encoded, as in a URL.
    Percent,
    /// Percent-encoded but for reserved characters.
    Reserved,
    /// Percent-encoded only where a cookie could not have it.
    Cookie,
}

impl TextEncoding {
    /// Returns a text so.
    pub(super) fn encoded(self, text: &str) -> String {
        match self {
            TextEncoding::Plain => text.to_owned(),
            TextEncoding::Cookie => utf8_percent_encode(text, COOKIE).to_string(),
            TextEncoding::Percent => percent_encoded(text),
            TextEncoding::Reserved => {
                // A value that is percent-encoded already stays so.
                let mut parts = text.split('%');
                let mut out = reserved(parts.next().unwrap_or_default());
                for part in parts {
                    let is_code =
                        part.len() >= 2 && part.bytes().take(2).all(|b| b.is_ascii_hexdigit());
                    out.push_str(if is_code { "%" } else { "%25" });
                    out.push_str(&reserved(part));
                }
                out
            }
        }
    }
}

fn reserved(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Percent-encodes all but unreserved characters.
pub(super) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}
