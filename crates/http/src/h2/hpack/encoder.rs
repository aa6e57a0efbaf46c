//! Encoder of the head blocks of requests. It refers to names in the static table, writes values in full, and adds
//! nothing to the server's table. So a block depends on its fields alone, and no user needs a table for it.

use super::table::number_of;
use http::{HeaderName, HeaderValue, Method, header};

/// Appends the pseudo-header fields, which begin each request (RFC 9113, section 8.3.1).
pub(crate) fn encode_start(
    out: &mut Vec<u8>,
    method: &Method,
    secure: bool,
    authority: &[u8],
    path: &str,
) {
    match *method {
        Method::GET => out.push(0x82),
        Method::POST => out.push(0x83),
        _ => literal(out, 2, method.as_str().as_bytes(), false),
    }
    out.push(if secure { 0x87 } else { 0x86 });
    literal(out, 1, authority, false);
    match path {
        "/" => out.push(0x84),
        _ => literal(out, 4, path.as_bytes(), false),
    }
}

/// Appends a field.
pub(crate) fn encode_field(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    let secrets = [
        header::AUTHORIZATION,
        header::PROXY_AUTHORIZATION,
        header::COOKIE,
    ];
    let secret = value.is_sensitive() || secrets.contains(name);
    match number_of(name.as_str()) {
        Some(number) => literal(out, number, value.as_bytes(), secret),
        None => {
            out.push(kind(secret));
            text(out, name.as_str().as_bytes());
            text(out, value.as_bytes());
        }
    }
}

/// Appends a field that is not secret and whose name is not in the static table.
pub(crate) fn encode_text(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.push(kind(false));
    text(out, name.as_bytes());
    text(out, value);
}

/// Appends a field whose name has that number in the static table.
fn literal(out: &mut Vec<u8>, name: u8, value: &[u8], secret: bool) {
    number(out, kind(secret), 4, usize::from(name));
    text(out, value);
}

/// The first bits of a field that no table gets. A secret one must not be added by proxies either (RFC 7541, section
/// 6.2.3).
fn kind(secret: bool) -> u8 {
    if secret { 0x10 } else { 0 }
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    number(out, 0, 7, text.len());
    out.extend_from_slice(text);
}

/// Appends a number whose first `bits` bits share a byte with `first` (RFC 7541, section 5.1).
fn number(out: &mut Vec<u8>, first: u8, bits: u32, number: usize) {
    let most = (1 << bits) - 1;
    if number < most {
        out.push(first | number as u8);
        return;
    }
    out.push(first | most as u8);
    let mut rest = number - most;
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::super::HpackDecoder;
    use super::*;

    fn read(block: &[u8]) -> Vec<String> {
        let mut fields = Vec::new();
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let whole = HpackDecoder::default().decode(block, usize::MAX, |name, value| {
            fields.push(format!("{}: {}", shown(name), shown(value)));
        });
        assert_eq!(whole, Ok(true));
        fields
    }

    #[test]
    fn blocks_are_read_as_they_were_written() {
        let mut block = Vec::new();
        encode_start(&mut block, &Method::PATCH, true, b"example.com", "/a?b");
        let long = "x".repeat(20_000);
        for (name, value) in [
            ("x-own", "1"),
            ("cookie", "a=b"),
            ("vary", ""),
            ("via", &long),
        ] {
            let value = HeaderValue::from_str(value).expect("a value");
            encode_field(&mut block, &HeaderName::from_static(name), &value);
        }
        let expected = [
            ":method: PATCH",
            ":scheme: https",
            ":authority: example.com",
            ":path: /a?b",
            "x-own: 1",
            "cookie: a=b",
            "vary: ",
            &format!("via: {long}"),
        ];
        assert_eq!(read(&block), expected);
    }

    #[test]
    fn the_commonest_fields_are_a_byte_each() {
        let mut block = Vec::new();
        encode_start(&mut block, &Method::GET, false, b"", "/");
        assert_eq!(block, [0x82, 0x86, 0x01, 0x00, 0x84]);
        assert_eq!(read(&block)[0], ":method: GET");
    }

    #[test]
    fn secrets_stay_out_of_tables() {
        let mut block = Vec::new();
        let value = HeaderValue::from_static("a");
        encode_field(&mut block, &header::AUTHORIZATION, &value);
        assert_eq!(block, [0x1f, 0x08, 1, b'a']);
    }
}
