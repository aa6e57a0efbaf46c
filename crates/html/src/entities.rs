//! Decoding of character references (`&amp;`, `&#39;`, `&eacute;`). Driven by the scanner's callers; the tree of
//! `document` arrives decoded.
//!
//! The rules are those of the HTML standard's tokenizer, states 72 to 80; its tables of 2,231 names and of the numbers
//! that stand for characters of Windows-1252 are the parser's, which is in the program anyway. Handing it the whole
//! text instead would take a quarter of a microsecond for each byte of some texts, in a call that nothing ends.

use std::borrow::Cow;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::memchr;

/// Returns the text of an attribute's value: `&amp;` and all other references decoded as the HTML standard does
/// inside attributes, where `?a=1&copy=2` keeps its ampersand.
pub fn decode_entities(text: &str) -> Cow<'_, str> {
    decode(text, TextContext::Attribute)
}

/// Returns the same for text between tags, where `&copy=2` is a copyright sign.
pub(super) fn decode_text(text: &str) -> Cow<'_, str> {
    decode(text, TextContext::Text)
}

/// The place of the text; the standard's rules for a reference without its semicolon depend on it.
#[derive(Clone, Copy, PartialEq)]
enum TextContext {
    Attribute,
    Text,
}

/// The one or two characters that a reference stands for, and the number of bytes read after its ampersand.
type Reference = (char, Option<char>, usize);

fn decode(text: &str, place: TextContext) -> Cow<'_, str> {
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
            Some((one, two, length)) => {
                out.push(one);
                out.extend(two);
                rest = &rest[length..];
            }
            None => out.push('&'),
        }
        next = memchr(b'&', rest.as_bytes());
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the reference after an ampersand; `None` if there is none, and the ampersand stands for itself.
fn reference(rest: &str, place: TextContext) -> Option<Reference> {
    match rest.strip_prefix('#') {
        Some(number) => numeric(number).map(|(one, length)| (one, None, length + 1)),
        None => named(rest, place),
    }
}

/// Reads `39;` or `x27;`, also without the semicolon.
fn numeric(number: &str) -> Option<(char, usize)> {
    let hexadecimal = number.strip_prefix(['x', 'X']);
    let (digits, radix) = hexadecimal.map_or((number, 10), |digits| (digits, 16));
    let after = digits.trim_start_matches(|digit: char| digit.is_digit(radix));
    let digits = &digits[..digits.len() - after.len()];
    if digits.is_empty() {
        return None;
    }
    let after = after.strip_prefix(';').unwrap_or(after);
    // A number that does not fit is beyond all characters.
    let code = u32::from_str_radix(digits, radix).unwrap_or(u32::MAX);
    let replaced = match code {
        0x80..=0x9f => C1_REPLACEMENTS[code as usize - 0x80],
        _ => None,
    };
    let usual = char::from_u32(code).filter(|usual| *usual != '\0');
    let character = replaced.or(usual).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((character, number.len() - after.len()))
}

/// Reads `eacute;`, and `eacute` where the standard knows the name without its semicolon, too: the longest name that
/// the text begins with.
fn named(rest: &str, place: TextContext) -> Option<Reference> {
    // Most references of addresses: one look instead of four into the table.
    const AMPERSAND: &str = "amp;";
    if rest.starts_with(AMPERSAND) {
        return Some(('&', None, AMPERSAND.len()));
    }
    let bytes = rest.as_bytes();
    let mut found = None;
    for length in 1..=bytes.len() {
        // The table has each name's beginnings, too, as names of nothing. All are ASCII.
        let Some(&codes) = rest.get(..length).and_then(|name| NAMED_ENTITIES.get(name)) else {
            break;
        };
        if codes.0 != 0 {
            found = Some((codes, length));
        }
    }
    let ((one, two), length) = found?;
    let goes_on = |byte: &u8| *byte == b'=' || byte.is_ascii_alphanumeric();
    let is_part_of_query = place == TextContext::Attribute
        && bytes[length - 1] != b';'
        && bytes.get(length).is_some_and(goes_on);
    if is_part_of_query {
        return None;
    }
    let second = char::from_u32(two).filter(|_| two != 0);
    Some((char::from_u32(one)?, second, length))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{TextContext, decode, decode_entities, decode_text};
    use crate::fixture;
    use html5ever::data::NAMED_ENTITIES;
    use scraper::{ElementRef, Html};

    /// Decodes with the HTML parser, by handing it an element around the text.
    fn decode_by_parser(text: &str, place: TextContext) -> String {
        let page = match place {
            TextContext::Attribute => format!("<p title=\"{}\">", text.replace('"', "&quot;")),
            TextContext::Text => format!("<textarea>x{}</textarea>", text.replace('<', "&lt;")),
        };
        let fragment = Html::parse_fragment(&page);
        let mut elements = fragment.tree.nodes().filter_map(ElementRef::wrap);
        match place {
            TextContext::Attribute => elements
                .find_map(|p| p.attr("title"))
                .expect("there is one")
                .to_owned(),
            TextContext::Text => {
                let area = elements.find(|e| e.value().name() == "textarea");
                let text: String = area.expect("there is one").text().collect();
                text[1..].to_owned()
            }
        }
    }

    fn assert_decodes_as_parser(text: &str) {
        for place in [TextContext::Attribute, TextContext::Text] {
            assert_eq!(decode(text, place), decode_by_parser(text, place), "{text}");
        }
    }

    #[test]
    fn every_reference_is_decoded_as_the_parser_does() {
        let names = NAMED_ENTITIES.keys().map(|name| format!("&{name}"));
        let numbers = (0..0x180).chain([0xd7ff, 0xd800, 0xdfff, 0xfffe, 0x10_ffff, 0x11_0000]);
        let numbers = numbers.flat_map(|code| [format!("&#{code}"), format!("&#X{code:x}")]);
        let others = [
            "&", "&&", "&#", "&#x", "&#xg", "&#;", "&#x;", "&#+3", "&;", "&zzz", "&é",
        ];
        let all = names.chain(numbers).chain(others.map(str::to_owned));
        for reference in all {
            let texts = ["", ";", "=", "1", "x", " ", "é", "&amp;", ";;"];
            let texts = texts.map(|after| format!("a{reference}{after}"));
            for text in &texts {
                assert_decodes_as_parser(text);
            }
        }
        let long = format!("&#{};", "9".repeat(100));
        assert_eq!(decode_entities(&long), "\u{fffd}");
    }

    #[test]
    fn any_text_is_decoded_as_the_parser_does() {
        let pieces: Vec<_> = "&&&&&##xX;;==amplAMPltgtnotincopye01289fF \"<é"
            .chars()
            .collect();
        let mut noise = fixture::noise();
        for _ in 0..20_000 {
            let text: String = noise
                .by_ref()
                .take(24)
                .map(|number| pieces[number as usize % pieces.len()])
                .collect();
            assert_decodes_as_parser(&text);
        }
    }

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
