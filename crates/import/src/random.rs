//! Values that a machine has made up, as opposed to words.

/// Returns whether a value looks as if it was made up by a machine: a UUID, a hash, a token.
pub(super) fn is_random(value: &str) -> bool {
    const LEAST: usize = 12;
    /// The least length of a value of hexadecimal digits alone.
    const LEAST_HEX: usize = 10;
    let value = value.trim();
    let is_hex = value
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if value.len() < if is_hex { LEAST_HEX } else { LEAST } || value.len() > 8192 {
        return false;
    }
    let part = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=%:|".contains(c);
    if !value.chars().all(part) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let upper = value.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = value.bytes().filter(u8::is_ascii_lowercase).count();
    if digits == value.len() {
        return false;
    }
    // Changes between kinds of characters: words have few of them, random text many.
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        _ => 3,
    };
    let bytes = value.as_bytes();
    let changes = bytes
        .windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]) && kind(pair[0]) != 3 && kind(pair[1]) != 3)
        .count();
    let kinds = [digits, upper, lower]
        .into_iter()
        .filter(|count| *count > 0);
    // Without a digit it may be words in one: `XMLHttpRequest`.
    let factor = if digits == 0 { 3 } else { 6 };
    kinds.count() >= 2 && changes * factor >= value.len().min(120)
}

/// Returns whether a character stands in a body as it is.
pub(super) fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Returns the longest part of a value that stands in a body as it is: JSON may escape any other character.
pub(super) fn plain(value: &str) -> &str {
    let parts = value.split(|c: char| !is_plain(c));
    parts.max_by_key(|part| part.len()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::is_random;

    #[test]
    fn tokens_are_random_and_words_are_not() {
        for token in [
            "form-Mbk1UNpuB1Vc8YQuHbhkwBqMiAyXWO6M5A0wYy2VGcM",
            "d94f3f016ae679c3008de268209132f2",
            "550e8400-e29b-41d4-a716-446655440000",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyNyJ9.c2lnbmF0dXJl",
            "a1b2c3d4e5f6",
            "5454018d95",
        ] {
            assert!(is_random(token), "{token}");
        }
        for word in [
            "user_login",
            "",
            "12345678901234",
            "my-first-article-of-2024",
            "ApplicationController",
            "XMLHttpRequest",
            "decade2020",
            "filtered_html",
            "two words 1a2b3c4d5e6f",
            "recipes/vegan-chocolate-brownies",
        ] {
            assert!(!is_random(word), "{word}");
        }
    }
}
