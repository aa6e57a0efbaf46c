//! Decoding of character references (`&amp;`, `&#39;`, `&eacute;`). Driven by the scanner's callers; the tree of
//! `document` arrives decoded.
//!
//! The references that real attribute values carry are decoded here. A text with any other named one goes to the
//! HTML parser already in the program, so that its table of 2,231 names is the only one.

use std::borrow::Cow;

use memchr::memchr;
use scraper::{ElementRef, Html};

/// Returns the text of an attribute's value: `&amp;` and all other references decoded as the HTML standard does
/// inside attributes, where `?a=1&copy=2` keeps its ampersand.
pub fn decode_entities(text: &str) -> Cow<'_, str> {
    decode(text, Place::Attribute)
}

/// Returns the same for text between tags, where `&copy=2` is a copyright sign.
pub(super) fn decode_text(text: &str) -> Cow<'_, str> {
    decode(text, Place::Text)
}

/// The place of the text; the standard's rules for a reference without its semicolon depend on it.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Attribute,
    Text,
}

/// The meaning of the characters after an ampersand.
enum Reference {
    /// A character, and the number of bytes read.
    Character(char, usize),
    /// No reference: the ampersand stands for itself.
    None,
    /// A reference to be looked up in the parser's table.
    Unknown,
}

fn decode(text: &str, place: Place) -> Cow<'_, str> {
    let Some(first) = memchr(b'&', text.as_bytes()) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match reference(rest, place) {
            Reference::Character(character, length) => {
                out.push(character);
                rest = &rest[length..];
            }
            Reference::None => out.push('&'),
            Reference::Unknown => return Cow::Owned(decode_by_parser(text, place)),
        }
        next = rest.find('&');
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the reference after an ampersand.
fn reference(rest: &str, place: Place) -> Reference {
    if let Some(number) = rest.strip_prefix('#') {
        return numeric(number);
    }
    let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let name = &rest[..length];
    let after = rest.as_bytes().get(length).copied();
    if length == 0 || (place == Place::Attribute && after == Some(b'=')) {
        return Reference::None;
    }
    if after != Some(b';') {
        return Reference::Unknown;
    }
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => return Reference::Unknown,
    };
    Reference::Character(character, length + 1)
}

/// Reads `39;` or `x27;`. The standard's oddities (no semicolon, Windows-1252 numbers, out of range) are the parser's.
fn numeric(number: &str) -> Reference {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => (hexadecimal, 16),
        None => (number, 10),
    };
    let Some(end) = digits.bytes().take(8).position(|byte| byte == b';') else {
        return Reference::Unknown;
    };
    let plain = digits[..end]
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric());
    match u32::from_str_radix(&digits[..end], radix)
        .ok()
        .and_then(char::from_u32)
    {
        Some(c) if plain && c != '\r' && c != '\0' && !('\u{80}'..='\u{9f}').contains(&c) => {
            Reference::Character(c, number.len() - digits.len() + end + 2)
        }
        _ => Reference::Unknown,
    }
}

/// Decodes with the HTML parser, by handing it an element around the text.
fn decode_by_parser(text: &str, place: Place) -> String {
    let page = match place {
        Place::Attribute => format!("<p title=\"{}\">", text.replace('"', "&quot;")),
        Place::Text => format!("<title>{}</title>", text.replace('<', "&lt;")),
    };
    let fragment = Html::parse_fragment(&page);
    let mut elements = fragment.tree.nodes().filter_map(ElementRef::wrap);
    let decoded = match place {
        Place::Attribute => elements.find_map(|p| p.attr("title").map(str::to_owned)),
        Place::Text => elements
            .find(|e| e.value().name() == "title")
            .map(|e| e.text().collect()),
    };
    decoded.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{decode_entities, decode_text};

    #[test]
    fn common_references_are_decoded() {
        assert_eq!(decode_entities("/a?b=1&amp;c=2"), "/a?b=1&c=2");
        assert_eq!(decode_entities("&lt;&gt;&quot;&apos;&nbsp;"), "<>\"'\u{a0}");
        assert_eq!(decode_entities("&#39;&#x27;&#X1F600;"), "''😀");
        assert!(matches!(decode_entities("/plain"), Cow::Borrowed("/plain")));
    }

    #[test]
    fn rarer_names_are_decoded_as_the_parser_does() {
        assert_eq!(
            decode_entities("caf&eacute; \"&hellip;\" <x>"),
            "café \"…\" <x>"
        );
        assert_eq!(
            decode_text("&Eacute;t&eacute <b> &notin; &copy=1"),
            "Été <b> ∉ ©=1"
        );
        assert_eq!(
            decode_entities("&#128; &#0; &#xD800; &#99999999999;"),
            "€ \u{fffd} \u{fffd} \u{fffd}"
        );
        assert_eq!(decode_entities("&#65 &#x41"), "A A");
    }

    #[test]
    fn a_bare_ampersand_stays() {
        assert_eq!(decode_entities("?a=1&copy=2&lt=3&x"), "?a=1&copy=2&lt=3&x");
        assert_eq!(decode_text("Q & A &"), "Q & A &");
        assert_eq!(
            decode_entities("&;&&#;&#x;&#+3;&unknown;"),
            "&;&&#;&#x;&#+3;&unknown;"
        );
    }
}
