//! The words of a Lua text with their lines, for messages: read as Lua reads them, and also after the place where it
//! would stop.

use std::ops::Range;

/// A kind of word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a keyword.
    Name,
    Number,
    Text,
    /// An operator, a bracket, or a character that Lua does not know.
    Sign,
}

impl Token<'_> {
    /// Returns the byte of the text at which it ends.
    pub(crate) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Returns whether it is a keyword of Lua.
    pub(crate) fn is_keyword(&self) -> bool {
        self.kind == TokenKind::Name && KEYWORDS.contains(&self.text)
    }
}

/// Lua's keywords, which cannot be names.
pub(crate) const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// A word and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'a str,
    /// The byte of the text at which it begins.
    pub(crate) at: usize,
    /// Number of the line, from 1.
    pub(crate) line: u32,
    /// The columns before the first word of its line.
    pub(crate) indent: usize,
    /// Whether it is the first word of its line.
    pub(crate) first: bool,
}

/// Signs of more than one character, of Lua and of other languages, the longer ones first.
const SIGNS: [&str; 28] = [
    "...", "===", "!==", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>", "!=", "&&", "||",
    "=>", "->", "+=", "-=", "*=", "/=", "%=", "++", "/*", "*/", "??", "?.", ":=",
];

/// Returns the place of the bracket that closes the one at `open`.
pub(crate) fn closing(words: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..words.len()).find(|at| {
        match (words[*at].kind, words[*at].text) {
            (TokenKind::Sign, "(" | "{" | "[") => depth += 1,
            (TokenKind::Sign, ")" | "}" | "]") => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// Returns the functions that a line calls, such as `json.decode`, in their order and each once.
pub(crate) fn calls_of(source: &str, line: u32) -> Vec<&str> {
    let words = tokens(source);
    let calls = words.iter().enumerate().filter_map(|(at, word)| {
        let next = words.get(at + 1)?;
        let is_call = word.kind == TokenKind::Name
            && !word.is_keyword()
            && (next.kind == TokenKind::Text || matches!(next.text, "(" | "{"));
        if !is_call || word.line != line {
            return None;
        }
        let mut first = at;
        while first >= 2
            && matches!(words[first - 1].text, "." | ":")
            && words[first - 2].kind == TokenKind::Name
        {
            first -= 2;
        }
        let is_declared = first > 0 && words[first - 1].text == "function";
        (!is_declared).then(|| &source[words[first].at..word.end()])
    });
    let mut found = Vec::new();
    for call in calls {
        if !found.contains(&call) {
            found.push(call);
        }
    }
    found
}

/// Returns the places of the words in a range that are in no inner bracket, block or function.
pub(crate) fn outer(words: &[Token<'_>], range: Range<usize>) -> impl Iterator<Item = usize> {
    let mut depth = 0;
    range.filter(move |place| {
        let before = depth;
        let word = words[*place];
        match (word.kind, word.text) {
            (TokenKind::Sign, "(" | "{" | "[")
            | (TokenKind::Name, "function" | "if" | "do" | "repeat") => depth += 1,
            (TokenKind::Sign, ")" | "}" | "]") | (TokenKind::Name, "end" | "until") => depth -= 1,
            _ => {}
        }
        before == 0
    })
}

/// Splits a text into its words. Comments are left out.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found: Vec<Token<'_>> = Vec::new();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    let mut last_line = 0;
    // Measured once for each line: there may be many words after a long indent.
    let mut measured = (usize::MAX, 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first == '\n' {
            (at, line, line_start) = (at + 1, line + 1, at + 1);
            continue;
        }
        // Other spaces than these are no spaces to Lua.
        if first.is_ascii_whitespace() || first == '\u{b}' {
            at += 1;
            continue;
        }
        let comment = rest.starts_with("--");
        let (kind, length) = if comment {
            (TokenKind::Text, comment_length(rest))
        } else {
            measure(rest, first)
        };
        let word = &rest[..length];
        if !comment {
            if measured.0 != line_start {
                let before = &text[line_start..at];
                measured = (line_start, before.len() - before.trim_start().len());
            }
            found.push(Token {
                kind,
                text: word,
                at,
                line,
                indent: measured.1,
                first: last_line != line,
            });
            last_line = line;
        }
        if let Some(end) = word.rfind('\n') {
            line += word.matches('\n').count() as u32;
            line_start = at + end + 1;
        }
        at += length;
    }
    found
}

/// Returns the kind and the length of the word at the beginning of a text.
fn measure(rest: &str, first: char) -> (TokenKind, usize) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let until = |end: fn(char) -> bool| rest.find(end).unwrap_or(rest.len());
    match first {
        '"' | '\'' => (TokenKind::Text, quoted_length(rest, first)),
        '[' => match long_length(rest) {
            Some(length) => (TokenKind::Text, length),
            None => (TokenKind::Sign, 1),
        },
        c if c.is_ascii_digit() => {
            let number = until(|c| !c.is_ascii_alphanumeric() && c != '.');
            // In '1..x' the dots join.
            (
                TokenKind::Number,
                rest[..number].find("..").unwrap_or(number),
            )
        }
        c if is_name(c) => (
            TokenKind::Name,
            until(|c| !(c.is_alphanumeric() || c == '_')),
        ),
        c => {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (
                TokenKind::Sign,
                sign.map_or(c.len_utf8(), |sign| sign.len()),
            )
        }
    }
}

fn comment_length(rest: &str) -> usize {
    let long = long_length(&rest[2..]).map(|length| length + 2);
    long.unwrap_or_else(|| rest.find('\n').unwrap_or(rest.len()))
}

/// Returns the length of `[[…]]` or `[=[…]=]` at the beginning of a text.
fn long_length(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let level = inside.len() - inside.trim_start_matches('=').len();
    inside[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    let end = rest.find(&close).map(|at| at + close.len());
    Some(end.unwrap_or(rest.len()))
}

/// Returns the length of a string, which ends at its line's end if nothing closes it.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' if !escaped => return at,
            c if c == quote && !escaped => return at + 1,
            c => escaped = c == '\\' && !escaped,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_a_line_are_named() {
        for (line, calls) in [
            ("while true do json.decode(x) end", &["json.decode"][..]),
            ("local f = function(a) return a end", &[]),
            ("local page = user:get \"/\"", &["user:get"]),
            ("shared.map{}; shared.map {}", &["shared.map"]),
            ("f(g.h(x))", &["f", "g.h"]),
            ("x = y + 1", &[]),
            ("if (a) then b = 1 end", &[]),
        ] {
            assert_eq!(calls_of(&format!("f()\n{line}\ng()"), 2), calls, "{line}");
        }
    }

    #[test]
    fn words_have_their_lines_and_comments_are_none() {
        let text = "a = \"b\\\"c\" .. 'x' -- d\n  [[e\nf]] g --[[ h\n]] 1..2 != “";
        let found = tokens(text);
        let seen: Vec<(&str, u32)> = found.iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(
            seen,
            [
                ("a", 1),
                ("=", 1),
                ("\"b\\\"c\"", 1),
                ("..", 1),
                ("'x'", 1),
                ("[[e\nf]]", 2),
                ("g", 3),
                ("1", 4),
                ("..", 4),
                ("2", 4),
                ("!=", 4),
                ("“", 4),
            ]
        );
        assert_eq!(
            (found[5].indent, found[5].first, found[6].first),
            (2, true, true)
        );
    }

    #[test]
    fn no_text_is_too_odd() {
        for odd in [
            "'", "\"\\", "[[", "[=", "--[[", "é", "1.", "\u{0}", "--", "'\\\n'",
        ] {
            assert!(tokens(odd).len() <= 3, "{odd:?}");
        }
    }
}
