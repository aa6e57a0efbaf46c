//! The text of a `.proto` file that begins with an edition, as one that the compiler can parse: it knows the syntaxes before
//! editions alone. Lines stay where they are.

use super::schemas::{comment_length, quoted_length};

/// The edition that lgoose reads.
pub(super) const READ_EDITION: &str = "2023";

/// Returns the edition of a file that begins with one instead of a syntax.
pub(super) fn edition_of(text: &str) -> Option<&str> {
    let (_, value) = split(text)?;
    let quote = value.chars().next()?;
    value[1..].split(quote).next()
}

/// Splits a text at the quoted value of its edition, if it begins with one; the first part ends before the word `edition`.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut rest = text.trim_start();
    while let Some(length) = comment_length(rest) {
        rest = rest[length..].trim_start();
    }
    let before = &text[..text.len() - rest.len()];
    let value = rest.strip_prefix("edition")?.trim_start();
    let value = value.strip_prefix('=')?.trim_start();
    let is_quoted = value.starts_with(['"', '\'']);
    is_quoted.then_some((before, value))
}

/// Returns the text with a syntax in place of its edition, with quotes around reserved names, and with defaults of fields, which do
/// not affect the encoding, as features, which are dropped.
pub(super) fn with_syntax(text: &str) -> String {
    let Some((before, value)) = split(text) else {
        return text.to_owned();
    };
    // In proto3, fields need no label.
    let mut out = format!("{before}syntax = \"proto3\"");
    let quote = value.chars().next().unwrap_or('"');
    let mut rest = &value[quoted_length(value, quote)..];
    // Whether a statement begins, and whether it is one of reserved names.
    let (mut begins, mut reserves) = (false, false);
    let mut latest = ';';
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            '"' | '\'' => quoted_length(rest, first),
            first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => comment_length(rest).unwrap_or(first.len_utf8()),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        let is_name = first.is_ascii_alphabetic() || first == '_';
        if reserves && is_name && !matches!(token, "to" | "max") {
            out.push_str(&format!("\"{token}\""));
        } else if token == "default" && matches!(latest, '[' | ',') && assigns(rest) {
            out.push_str("features.default");
        } else {
            out.push_str(token);
        }
        if !first.is_whitespace() && comment_length(token).is_none() {
            latest = first;
        }
        match first {
            ';' | '{' | '}' => (begins, reserves) = (true, false),
            first if first.is_whitespace() || comment_length(token).is_some() => {}
            _ => (begins, reserves) = (false, reserves || begins && token == "reserved"),
        }
    }
    out
}

/// Whether a text begins with `=`.
fn assigns(text: &str) -> bool {
    text.trim_start().starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_becomes_a_syntax_and_nothing_else_moves() {
        for (text, expected) in [
            ("edition = \"2023\";", "syntax = \"proto3\";"),
            (
                "// a\n/* b */ edition='2023';\npackage a;",
                "// a\n/* b */ syntax = \"proto3\";\npackage a;",
            ),
            (
                "edition = \"2023\";\nmessage A {\n  reserved b, /* c */ _d;\n  reserved 1 to max;\n}",
                "syntax = \"proto3\";\nmessage A {\n  reserved \"b\", /* c */ \"_d\";\n  reserved 1 to max;\n}",
            ),
            (
                "edition = \"2023\"; message A { string reserved = 1; } // reserved a",
                "syntax = \"proto3\"; message A { string reserved = 1; } // reserved a",
            ),
            (
                "edition = \"2023\"; message A { int32 a = 1 [(b) = { c: 1, default: 2 }, default = 5]; }",
                "syntax = \"proto3\"; message A { int32 a = 1 [(b) = { c: 1, default: 2 }, features.default = 5]; }",
            ),
            ("edition = 'open", "syntax = \"proto3\""),
            ("syntax = \"proto2\";", "syntax = \"proto2\";"),
        ] {
            assert_eq!(with_syntax(text), expected);
        }
        assert_eq!(edition_of("edition = '2024';"), Some("2024"));
        assert_eq!(edition_of("syntax = 'proto3';"), None);
    }
}
