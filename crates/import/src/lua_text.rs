//! Lua as text: any text of a recording becomes a literal with exactly that value.

use lgoose_base::error::printable;
use serde_json::Value;

const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// The width of a line beyond which a table is written with a field per line.
pub(super) const WIDTH: usize = 100;

/// The depth of tables that Lua reads safely.
const MAX_DEPTH: usize = 60;

/// Returns a text as a literal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03}", c as u32)),
            // Characters that would change how the text is shown.
            c if c.is_control()
                || c == '\u{feff}'
                || printable(c.encode_utf8(&mut [0; 4])).len() != c.len_utf8() =>
            {
                out.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns bytes as a literal.
pub(super) fn quoted_bytes(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return quoted(text);
    }
    let escaped = bytes.iter().map(|byte| match byte {
        b'"' | b'\\' | 0..=0x1f | 0x7f.. => format!("\\{byte:03}"),
        plain => char::from(*plain).to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Returns a text as it may stand in a comment: on one line, and short.
pub(super) fn comment(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(120)
        .collect();
    printable(&line).into_owned()
}

pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') && !KEYWORDS.contains(&text)
}

/// Returns a key of a table, as it stands before `=`.
pub(super) fn key(text: &str) -> String {
    if is_name(text) {
        text.to_owned()
    } else {
        format!("[{}]", quoted(text))
    }
}

/// Returns the access to a field, as it stands after a value: `.name`, `["na-me"]`.
pub(super) fn field(text: &str) -> String {
    if is_name(text) {
        format!(".{text}")
    } else {
        format!("[{}]", quoted(text))
    }
}

/// Returns a table of fields, on one line if they fit there.
pub(super) fn table(fields: &[(String, String)], indent: usize) -> String {
    table_after(fields, indent, 0)
}

/// Returns a table that follows so many characters of its line.
pub(super) fn table_after(fields: &[(String, String)], indent: usize, used: usize) -> String {
    let named = fields
        .iter()
        .map(|(name, value)| format!("{name} = {value}"));
    list_after(&named.collect::<Vec<_>>(), indent, used)
}

/// Returns a table of values, on one line if they fit there.
pub(super) fn list(items: &[String], indent: usize) -> String {
    list_after(items, indent, 0)
}

fn list_after(items: &[String], indent: usize, used: usize) -> String {
    if items.is_empty() {
        return "{}".to_owned();
    }
    let line = format!("{{ {} }}", items.join(", "));
    if indent + used + line.chars().count() <= WIDTH && !line.contains('\n') {
        return line;
    }
    let pad = " ".repeat(indent + 2);
    let lines: String = items.iter().map(|item| format!("{pad}{item},\n")).collect();
    format!("{{\n{lines}{}}}", " ".repeat(indent))
}

/// Returns whether a value is shallow enough to be written as a table.
pub(super) fn is_shallow(value: &Value) -> bool {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }
    depth(value) <= MAX_DEPTH
}

/// Returns a JSON value as Lua; `replace` may give an expression for a scalar, by its keys.
pub(super) fn json(
    value: &Value,
    keys: &mut Vec<String>,
    indent: usize,
    replace: &mut dyn FnMut(&[String], &Value) -> Option<String>,
) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<(String, String)> = fields
                .iter()
                .map(|(name, value)| {
                    keys.push(name.clone());
                    let value = json(value, keys, indent + 2, replace);
                    keys.pop();
                    (key(name), value)
                })
                .collect();
            table(&fields, indent)
        }
        Value::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| json(item, keys, indent + 2, replace))
                .collect();
            if items.is_empty() {
                "json.array {}".to_owned()
            } else {
                list(&items, indent)
            }
        }
        scalar => match replace(keys, scalar) {
            Some(expression) => expression,
            None => scalar_literal(scalar),
        },
    }
}

pub(super) fn scalar_literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null => "json.null".to_owned(),
        // The least integer is no literal of Lua's: its digits without the sign are too many.
        Value::Number(number) if number.as_i64() == Some(i64::MIN) => "math.mininteger".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hostile_texts_become_harmless_literals() {
        assert_eq!(
            quoted("a\"b\\\n]]\0\u{7f}1"),
            "\"a\\\"b\\\\\\n]]\\000\\1271\""
        );
        assert_eq!(quoted("\u{202e}\u{9b}é"), "\"\\u{202e}\\u{9b}é\"");
        assert_eq!(comment("a\nos.exit()"), "a os.exit()");
        assert_eq!(
            (key("end"), key("a_1"), key("a-b")),
            ("[\"end\"]".into(), "a_1".into(), "[\"a-b\"]".into())
        );
    }

    #[test]
    fn json_becomes_a_table() {
        let value = json!({ "a": [], "b": null, "c": [1, 2.5, "x"], "d": {}, "e": i64::MIN });
        let text = super::json(&value, &mut Vec::new(), 0, &mut |_, _| None);
        let expected = "{ a = json.array {}, b = json.null, c = { 1, 2.5, \"x\" }, d = {}, e = math.mininteger }";
        assert_eq!(text, expected);
    }
}
