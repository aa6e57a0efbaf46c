//! The fields of one head block: checked while they are decoded, and written as HTTP/1.1 would have sent them.

use crate::message::MAX_HEAD;

/// Writer of the fields of a block as lines of HTTP/1.1.
pub(super) struct FieldWriter<'a> {
    out: &'a mut Vec<u8>,
    pub(super) status: Option<u16>,
    /// The length of the body according to `content-length`.
    pub(super) declared: Option<u64>,
    /// Whether the fields so far are valid in a response (RFC 9113, sections 8.2 and 8.3).
    pub(super) valid: bool,
    is_trailer: bool,
    /// Whether a field other than a pseudo-header has come.
    has_regular: bool,
}

impl<'a> FieldWriter<'a> {
    pub(super) fn of_response(out: &'a mut Vec<u8>) -> FieldWriter<'a> {
        FieldWriter {
            out,
            status: None,
            declared: None,
            valid: true,
            is_trailer: false,
            has_regular: false,
        }
    }

    pub(super) fn of_trailers(out: &'a mut Vec<u8>) -> FieldWriter<'a> {
        FieldWriter {
            is_trailer: true,
            ..FieldWriter::of_response(out)
        }
    }

    /// The most bytes of all fields together, as announced in the settings.
    pub(super) const MOST: usize = MAX_HEAD;

    /// Takes one field.
    pub(super) fn take(&mut self, name: &[u8], value: &[u8]) {
        if let Some(name) = name.strip_prefix(b":") {
            return self.take_pseudo(name, value);
        }
        self.has_regular = true;
        self.valid &= is_name(name) && is_value(value) && !is_of_connection(name);
        if !self.valid {
            return;
        }
        if name == b"content-length" && !self.is_trailer {
            let text = std::str::from_utf8(value).unwrap_or_default();
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let length = text.parse().ok().filter(|_| digits);
            self.valid &= length.is_some() && self.declared.is_none_or(|same| Some(same) == length);
            self.declared = length;
        }
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
    }

    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) {
        let digits = value.len() == 3 && value.iter().all(u8::is_ascii_digit) && value[0] > b'0';
        let fits =
            name == b"status" && self.status.is_none() && !self.has_regular && !self.is_trailer;
        self.valid &= digits && fits;
        if !self.valid {
            return;
        }
        let number = value
            .iter()
            .fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
        self.status = Some(number);
        self.out.extend_from_slice(b"HTTP/1.1 ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b" \r\n");
    }
}

/// Whether this is a token without capital letters (RFC 9113, section 8.2.1).
fn is_name(name: &[u8]) -> bool {
    let fits = |byte: &u8| match byte {
        b'a'..=b'z' | b'0'..=b'9' => true,
        _ => b"!#$%&'*+-.^_`|~".contains(byte),
    };
    !name.is_empty() && name.iter().all(fits)
}

/// Whether this has no control characters other than tabs.
fn is_value(value: &[u8]) -> bool {
    value
        .iter()
        .all(|byte| matches!(byte, b' '..=0x7e | 0x80.. | b'\t'))
}

/// Whether a field concerns only one connection of HTTP/1.1 (RFC 9113, section 8.2.2).
pub(super) fn is_of_connection(name: &[u8]) -> bool {
    let names: [&[u8]; 5] = [
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"transfer-encoding",
        b"upgrade",
    ];
    names.contains(&name)
}
