//! JavaScript as far as it is data: literals, objects, lists, concatenated constants. Any other value is unknown.

use std::collections::BTreeMap;

/// The deepest objects and lists.
const MAX_DEPTH: usize = 40;

/// A value of a script.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptValue {
    Null,
    Bool(bool),
    Number(f64),
    Text(Vec<TextPiece>),
    List(Vec<ScriptValue>),
    Object(Vec<(String, ScriptValue)>),
    /// `JSON.stringify` of a value.
    Json(Box<ScriptValue>),
    /// Its text.
    Unknown(String),
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextPiece {
    Literal(String),
    /// A variable of the environment, and its default.
    Env(String, Option<String>),
    /// A fact that users of the plan know about themselves, as an expression.
    User(&'static str),
}

/// Values of constants by their names.
pub(super) type ScriptConstants = BTreeMap<String, ScriptValue>;

impl ScriptValue {
    pub(super) fn text(text: &str) -> ScriptValue {
        ScriptValue::Text(vec![TextPiece::Literal(text.to_owned())])
    }

    /// Returns the text, if it has no variables.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            ScriptValue::Text(pieces) => match pieces.as_slice() {
                [] => Some(""),
                [TextPiece::Literal(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn as_number(&self) -> Option<f64> {
        match self {
            ScriptValue::Number(number) => Some(*number),
            _ => self.as_text()?.trim().parse().ok(),
        }
    }

    /// Returns the fields of an object; none of anything else.
    pub(super) fn fields(&self) -> &[(String, ScriptValue)] {
        match self {
            ScriptValue::Object(fields) => fields,
            _ => &[],
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<&ScriptValue> {
        let mut fields = self.fields().iter().rev();
        fields.find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(super) fn items(&self) -> &[ScriptValue] {
        match self {
            ScriptValue::List(items) => items,
            _ => &[],
        }
    }
}

/// A place in a script.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptCursor<'a> {
    pub(super) rest: &'a str,
}

impl<'a> ScriptCursor<'a> {
    pub(super) fn new(rest: &'a str) -> Self {
        ScriptCursor { rest }
    }

    /// Skips blanks and comments.
    pub(super) fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
            } else if self.rest.starts_with("/*") {
                self.rest = self.rest.find("*/").map_or("", |end| &self.rest[end + 2..]);
            } else {
                return;
            }
        }
    }

    /// Takes a text if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        self.skip_blank();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes a name.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        self.skip_blank();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let is_name = name.starts_with(|c: char| !c.is_ascii_digit());
        is_name.then(|| {
            self.rest = rest;
            name
        })
    }

    /// Takes the text up to the bracket that closes an open one, and the bracket.
    pub(super) fn block(&mut self) -> &'a str {
        let whole = self.rest;
        let end = end_of(whole, |_| false);
        self.rest = whole.get(end + 1..).unwrap_or("");
        &whole[..end]
    }

    /// Takes a value.
    pub(super) fn value(&mut self, constants: &ScriptConstants, deep: usize) -> ScriptValue {
        self.skip_blank();
        let begin = self.rest;
        let unknown = |cursor: &mut Self| {
            let end = end_of(begin, |c| matches!(c, ',' | ';'));
            cursor.rest = &begin[end..];
            ScriptValue::Unknown(begin[..end].trim().to_owned())
        };
        if deep > MAX_DEPTH {
            return unknown(self);
        }
        let Some(mut left) = self.primary(constants, deep) else {
            return unknown(self);
        };
        loop {
            self.skip_blank();
            if self.rest.starts_with("||") || self.rest.starts_with("??") {
                self.rest = &self.rest[2..];
                let right = self.primary(constants, deep);
                left = match (left, right) {
                    (ScriptValue::Text(pieces), Some(right)) => {
                        let number = || right.as_number().map(|number| number.to_string());
                        let default = right.as_text().map(str::to_owned).or_else(number);
                        match (pieces.as_slice(), default) {
                            ([TextPiece::Env(name, None)], Some(default)) => {
                                let piece = TextPiece::Env(name.clone(), Some(default));
                                ScriptValue::Text(vec![piece])
                            }
                            _ => return unknown(self),
                        }
                    }
                    _ => return unknown(self),
                };
            } else if self.rest.starts_with('+') && !self.rest.starts_with("++") {
                self.rest = &self.rest[1..];
                let right = self.primary(constants, deep);
                left = match (left, right) {
                    (ScriptValue::Text(mut pieces), Some(ScriptValue::Text(more))) => {
                        pieces.extend(more);
                        ScriptValue::Text(joined(pieces))
                    }
                    (ScriptValue::Text(mut pieces), Some(ScriptValue::Number(number))) => {
                        pieces.push(TextPiece::Literal(number.to_string()));
                        ScriptValue::Text(joined(pieces))
                    }
                    _ => return unknown(self),
                };
            } else if self.rest.is_empty() || self.rest.starts_with([',', ';', ')', ']', '}']) {
                return left;
            } else {
                // At the top, a line may end a value.
                let between = &begin[..begin.len() - self.rest.len()];
                let is_new_line = deep == 0
                    && between.trim_end().len() < between.len()
                    && between[between.trim_end().len()..].contains('\n');
                return if is_new_line { left } else { unknown(self) };
            }
        }
    }

    fn primary(&mut self, constants: &ScriptConstants, deep: usize) -> Option<ScriptValue> {
        self.skip_blank();
        let first = self.rest.chars().next()?;
        match first {
            '\'' | '"' => self.text(first).map(|text| ScriptValue::text(&text)),
            '`' => self.template(constants),
            '[' => {
                self.rest = &self.rest[1..];
                let mut items = Vec::new();
                while !self.take("]") {
                    if self.rest.is_empty() {
                        return None;
                    }
                    items.push(self.value(constants, deep + 1));
                    if !self.take(",") && !self.rest.starts_with(']') {
                        return None;
                    }
                }
                Some(ScriptValue::List(items))
            }
            '{' => self.object(constants, deep),
            c if c.is_ascii_digit() || c == '-' || c == '.' => {
                let end = self.rest[1..]
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_')));
                let (number, rest) = self
                    .rest
                    .split_at(end.map_or(self.rest.len(), |end| end + 1));
                self.rest = rest;
                number
                    .replace('_', "")
                    .parse()
                    .ok()
                    .map(ScriptValue::Number)
            }
            _ => {
                if self.take("JSON.stringify(") {
                    let value = self.value(constants, deep + 1);
                    return self.take(")").then(|| ScriptValue::Json(Box::new(value)));
                }
                if self.take("__ENV.") {
                    return self.name().map(|name| {
                        ScriptValue::Text(vec![TextPiece::Env(name.to_owned(), None)])
                    });
                }
                let name = self.name()?;
                match name {
                    "__VU" => Some(ScriptValue::Text(vec![TextPiece::User("user.id")])),
                    "__ITER" => Some(ScriptValue::Text(vec![TextPiece::User(
                        "(user.iteration - 1)",
                    )])),
                    "null" | "undefined" => Some(ScriptValue::Null),
                    "true" => Some(ScriptValue::Bool(true)),
                    "false" => Some(ScriptValue::Bool(false)),
                    name => {
                        // A field of a constant, but no call.
                        let mut value = constants.get(name)?;
                        while self.rest.starts_with('.') {
                            self.rest = &self.rest[1..];
                            value = value.field(self.name()?)?;
                        }
                        (!self.rest.starts_with(['(', '['])).then(|| value.clone())
                    }
                }
            }
        }
    }

    fn object(&mut self, constants: &ScriptConstants, deep: usize) -> Option<ScriptValue> {
        self.rest = &self.rest[1..];
        let mut fields = Vec::new();
        while !self.take("}") {
            if self.take("...") {
                match self.value(constants, deep + 1) {
                    ScriptValue::Object(more) => fields.extend(more),
                    other => fields.push(("...".to_owned(), other)),
                }
            } else {
                let first = self.rest.chars().next()?;
                let key = match first {
                    '\'' | '"' => self.text(first)?,
                    c if c.is_ascii_digit() => {
                        let end = self.rest.find(|c: char| !c.is_ascii_digit())?;
                        let (key, rest) = self.rest.split_at(end);
                        self.rest = rest;
                        key.to_owned()
                    }
                    _ => self.name()?.to_owned(),
                };
                let value = if self.take(":") {
                    self.value(constants, deep + 1)
                } else if self.rest.starts_with([',', '}']) {
                    // The name of a constant stands for its value.
                    let known = constants.get(&key).cloned();
                    known.unwrap_or_else(|| ScriptValue::Unknown(key.clone()))
                } else {
                    return None;
                };
                fields.push((key, value));
            }
            if !self.take(",") && !self.rest.starts_with('}') {
                return None;
            }
        }
        Some(ScriptValue::Object(fields))
    }

    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                '\\' => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'u' | 'x' => return None,
                    '\n' => {}
                    other => text.push(other),
                },
                '\n' => return None,
                c => text.push(c),
            }
        }
        None
    }

    fn template(&mut self, constants: &ScriptConstants) -> Option<ScriptValue> {
        let whole = &self.rest[1..];
        let end = end_of_template(whole)?;
        self.rest = &whole[end + 1..];
        let mut pieces = Vec::new();
        let mut rest = &whole[..end];
        while let Some((before, after)) = rest.split_once("${") {
            pieces.push(TextPiece::Literal(before.to_owned()));
            let close = end_of(after, |_| false);
            let mut inner = ScriptCursor::new(&after[..close]);
            match inner.value(constants, 1) {
                ScriptValue::Text(more) => pieces.extend(more),
                ScriptValue::Number(number) => pieces.push(TextPiece::Literal(number.to_string())),
                _ => return None,
            }
            rest = after.get(close + 1..)?;
        }
        pieces.push(TextPiece::Literal(rest.to_owned()));
        let has_escapes = pieces
            .iter()
            .any(|piece| matches!(piece, TextPiece::Literal(text) if text.contains('\\')));
        (!has_escapes).then(|| ScriptValue::Text(joined(pieces)))
    }
}

/// Joins literals that follow each other.
fn joined(pieces: Vec<TextPiece>) -> Vec<TextPiece> {
    let mut all: Vec<TextPiece> = Vec::new();
    for piece in pieces {
        match (all.last_mut(), piece) {
            (_, TextPiece::Literal(text)) if text.is_empty() => {}
            (Some(TextPiece::Literal(last)), TextPiece::Literal(text)) => last.push_str(&text),
            (_, piece) => all.push(piece),
        }
    }
    all
}

/// Returns the position of the bracket that closes an open one, or of one of these characters outside of brackets.
pub(super) fn end_of(text: &str, is_end: impl Fn(char) -> bool) -> usize {
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\'' | '"' => at += quoted_length(&text[at..], c),
            '`' => match end_of_template(&text[at + 1..]) {
                Some(end) => at += end + 1,
                None => return text.len(),
            },
            '/' if text[at..].starts_with("//") => {
                at += text[at..].find('\n').unwrap_or(text.len() - at) - 1;
            }
            '/' if text[at..].starts_with("/*") => {
                at += text[at..]
                    .find("*/")
                    .map_or(text.len() - at - 1, |end| end + 1);
            }
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' if open == 0 => return at,
            ')' | ']' | '}' => open -= 1,
            c if open == 0 && is_end(c) => return at,
            _ => {}
        }
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    text.len()
}

/// Returns how far the quotation mark is that ends a text.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // A text ends with its line at the latest.
            c if c == quote || c == '\n' => return at,
            _ => {}
        }
    }
    text.len() - text.chars().next_back().map_or(0, char::len_utf8)
}

fn end_of_template(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '`' => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> ScriptValue {
        let mut constants = ScriptConstants::new();
        constants.insert("HOST".to_owned(), ScriptValue::text("http://a"));
        ScriptCursor::new(text).value(&constants, 1)
    }

    #[test]
    fn literals_are_read_and_the_rest_is_unknown() {
        assert_eq!(value("'a\\'b'"), ScriptValue::text("a'b"));
        assert_eq!(value("`${HOST}/b`").as_text(), Some("http://a/b"));
        assert_eq!(value("HOST + '/c' + 1").as_text(), Some("http://a/c1"));
        assert_eq!(value("1_000").as_number(), Some(1000.0));
        let env = vec![TextPiece::Env("X".to_owned(), Some("y".to_owned()))];
        assert_eq!(value("__ENV.X || 'y'"), ScriptValue::Text(env));
        let object = value(
            "{ a: 1, 'b-c': [true, null,], // x\n HOST, f: (r) => r.status === 200, g: x.y(1, 2), }",
        );
        assert_eq!(object.field("a"), Some(&ScriptValue::Number(1.0)));
        assert_eq!(object.field("b-c").map(|list| list.items().len()), Some(2));
        assert_eq!(
            object.field("HOST").and_then(ScriptValue::as_text),
            Some("http://a")
        );
        assert_eq!(
            object.field("g"),
            Some(&ScriptValue::Unknown("x.y(1, 2)".to_owned()))
        );
        assert!(matches!(value("{ a: "), ScriptValue::Unknown(_)));
        assert!(matches!(
            value("Math.random() * 2"),
            ScriptValue::Unknown(_)
        ));
        let deep = "[".repeat(100_000);
        assert!(matches!(value(&deep), ScriptValue::Unknown(_)));
    }

    #[test]
    fn the_end_of_a_block_is_found_beyond_texts_and_comments() {
        assert_eq!(end_of("a('}') /* } */ `}` // }\n}", |_| false), 24);
        assert_eq!(end_of("'", |_| false), 1);
        assert_eq!(end_of("(é;);", |c| c == ';'), 5);
    }
}
