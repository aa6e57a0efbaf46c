//! Paths into JSON and patterns as other tools write them, in the words of lgoose.

use regex::Regex;

/// A path into JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValuePath {
    /// The path in the form of `response:json`; empty for the whole value.
    pub(super) text: String,
    /// Whether it leads to a list of values.
    pub(super) is_list: bool,
}

pattern!(
    STEP,
    r#"^(?:\.?([A-Za-z_$][\w$-]*)|\.?\[(-?\d+|\*)\]|\.?\['([^'\\]*)'\]|\.?\["([^"\\]*)"\]|\.(\*))"#
);

/// Returns a path of JSONPath or JMESPath that consists of names and indices; `None` for filters, slices, functions and
/// descents.
pub(super) fn json_path(text: &str) -> Option<ValuePath> {
    let text = text.trim();
    let mut rest = text.strip_prefix('$').unwrap_or(text);
    let mut path = ValuePath {
        text: String::new(),
        is_list: false,
    };
    while !rest.is_empty() {
        let found = STEP.captures(rest)?;
        let whole = found.get_match().len();
        let name = found.get(1).or(found.get(3)).or(found.get(4));
        match (name, found.get(2)) {
            (Some(name), _) => push_name(&mut path.text, name.as_str())?,
            (None, Some(index)) if index.as_str() != "*" => {
                path.text += &format!("[{}]", index.as_str());
            }
            _ => {
                path.text += "[*]";
                path.is_list = true;
            }
        }
        rest = &rest[whole..];
        // Two dots look for a name at any depth.
        if rest.starts_with("..") {
            return None;
        }
    }
    Some(path)
}

fn push_name(path: &mut String, name: &str) -> Option<()> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    if name.is_empty() || name.contains(['\'', '"']) {
        return None;
    }
    if is_plain && !is_number {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    } else {
        *path += &format!("['{name}']");
    }
    Some(())
}

/// Returns a pattern of Java or JavaScript if Rust's `regex` takes it for the same; `None` for look-around, back-references and
/// the like.
pub(super) fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Returns the text that a pattern matches and nothing else, if it has no special characters.
pub(super) fn plain(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) if !escaped.is_alphanumeric() => text.push(escaped),
                _ => return None,
            },
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => {
                return None;
            }
            c => text.push(c),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_steps_are_carried_over_and_others_are_not() {
        for (text, path, is_list) in [
            ("$.token", "token", false),
            ("$.data.items[0].id", "data.items[0].id", false),
            ("$['a b'].c", "['a b'].c", false),
            ("$.items[*].id", "items[*].id", true),
            ("token", "token", false),
            ("$", "", false),
            ("$[1]", "[1]", false),
            ("$.x-y", "['x-y']", false),
        ] {
            let found = json_path(text).expect(text);
            assert_eq!(
                (found.text.as_str(), found.is_list),
                (path, is_list),
                "{text}"
            );
        }
        for text in [
            "$..id",
            "$.a..id",
            "$.a[?(@.b==1)]",
            "$.a[0:2]",
            "$.a.length()",
            "a | b",
            "$.a['x\\'y']",
        ] {
            assert_eq!(json_path(text), None, "{text}");
        }
    }

    #[test]
    fn plain_patterns_are_texts() {
        assert_eq!(plain("a b\\.c").as_deref(), Some("a b.c"));
        assert_eq!(plain("a.c"), None);
        assert_eq!(plain("\\d"), None);
        assert!(pattern("(?<!a)b").is_none());
    }
}
