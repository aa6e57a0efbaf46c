//! Large integers in JSON: identifiers beyond Lua's largest integer, 2^63 − 1, would come back rounded.

/// Returns JSON in which each integer beyond 64 bits is a string of its digits; `None` if it has no such integer, like
/// most JSON.
pub(super) fn quoted(json: &[u8]) -> Option<Vec<u8>> {
    /// Fewer digits always have room.
    const SAFE_DIGITS: usize = 18;
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => at = after_text(json, at + 1),
            b'-' | b'0'..=b'9' => {
                let end = json[at..].iter().position(|byte| !is_of_number(*byte));
                let end = end.map_or(json.len(), |length| at + length);
                let number = &json[at..end];
                if number.len() > SAFE_DIGITS && is_large(number) {
                    out.extend_from_slice(&json[copied..at]);
                    out.push(b'"');
                    out.extend_from_slice(number);
                    out.push(b'"');
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(&json[copied..]);
    Some(out)
}

/// Returns the offset behind the quote that ends a text.
fn after_text(json: &[u8], mut at: usize) -> usize {
    while let Some(offset) = memchr::memchr2(b'"', b'\\', json.get(at..).unwrap_or_default()) {
        at += offset;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns whether a number as JSON has it is an integer of more than 64 bits.
fn is_large(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    digits.iter().all(u8::is_ascii_digit)
        && digits.first() != Some(&b'0')
        && std::str::from_utf8(number).is_ok_and(|number| number.parse::<i64>().is_err())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_integers_without_room_become_texts() {
        for (json, expected) in [
            ("9223372036854775808", "\"9223372036854775808\""),
            ("-9223372036854775809", "\"-9223372036854775809\""),
            (
                r#"{"a":[1,12345678901234567890123 ],"b":"18446744073709551616"}"#,
                r#"{"a":[1,"12345678901234567890123" ],"b":"18446744073709551616"}"#,
            ),
            (
                r#"["\"18446744073709551616", 18446744073709551616]"#,
                r#"["\"18446744073709551616", "18446744073709551616"]"#,
            ),
        ] {
            let text = quoted(json.as_bytes()).expect("there is one");
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
        for json in [
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551616.5",
            "1e300",
            "123456789012345678901e1",
            "00000000000000000000001",
            "\"18446744073709551616",
            "",
            "\"\\",
        ] {
            assert_eq!(quoted(json.as_bytes()), None, "{json}");
        }
    }
}
