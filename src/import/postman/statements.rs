//! Takes a script apart: into statements, with what only wraps them left out.

use regex::Regex;
use std::sync::LazyLock;

/// A piece of a script.
#[derive(Debug, PartialEq)]
pub(super) enum Statement {
    Plain(String),
    /// The first line of a block whose statements run or do not.
    Block(String),
}

/// The most bytes of a script that are read.
const MOST: usize = 64 << 10;

static TEST: LazyLock<Regex> = LazyLock::new(|| {
    let text = r#"^pm\.test\(\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)\s*,\s*(?:async\s*)?(?:function\s*\w*\s*\([^)]*\)|\([^)]*\)\s*=>|\w+\s*=>)\s*\{?"#;
    Regex::new(text).expect("the pattern is one")
});
/// A condition that only says that the answer was the expected one.
static FINE: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"^if\s*\(\s*(?:pm\.response\.code|responseCode\.code)\s*(?:===?\s*2\d\d|<\s*[34]00)\s*\)\s*\{?$";
    Regex::new(text).expect("the pattern is one")
});
static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"^(?:(?:if|for|while|switch|else|try|do|function|async)\b|.*(?:\{|=>|\()$)";
    Regex::new(text).expect("the pattern is one")
});

/// Returns the statements of a script, in their order.
pub(super) fn statements(script: &str) -> Vec<Statement> {
    let mut end = script.len().min(MOST);
    while !script.is_char_boundary(end) {
        end -= 1;
    }
    let mut found = Vec::new();
    // How many brackets a block has open that is passed over.
    let mut passed_over: Option<i32> = None;
    let mut in_comment = false;
    for line in script[..end].lines() {
        for piece in pieces(line.trim()) {
            if in_comment {
                in_comment = !piece.contains("*/");
                continue;
            }
            let mut piece = piece.trim();
            if piece.starts_with("/*") {
                in_comment = !piece.contains("*/");
                continue;
            }
            if piece.is_empty() || piece.starts_with("//") {
                continue;
            }
            if let Some(open) = passed_over {
                let open = open + balance(piece);
                let goes_on = open > 0 || piece.ends_with('{') || piece.ends_with("else");
                passed_over = goes_on.then_some(open);
                continue;
            }
            if let Some(head) = TEST.find(piece) {
                piece = piece[head.end()..].trim();
            }
            let text = plain(piece);
            if text.is_empty() || FINE.is_match(piece) {
                continue;
            }
            if BLOCK.is_match(piece) {
                let open = balance(piece);
                found.push(Statement::Block(piece.to_owned()));
                passed_over = (open > 0).then_some(open);
                continue;
            }
            found.push(Statement::Plain(text));
        }
    }
    found
}

/// Splits a line where statements end.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut quote, mut escaped) = (0, None, false);
    if line.starts_with("//") {
        return pieces;
    }
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, ';') => {
                pieces.push(&line[from..at]);
                from = at + 1;
            }
            (None, '/') if line[at..].starts_with("//") => {
                pieces.push(&line[from..at]);
                return pieces;
            }
            _ => {}
        }
    }
    pieces.push(&line[from..]);
    pieces
}

/// Returns a statement without the ends of what is around it.
fn plain(text: &str) -> String {
    let mut text = text.trim().trim_start_matches(['}', ')']).trim();
    loop {
        let shorter = text.trim_end_matches([';', ' ']);
        let excess = |open: char, close: char| {
            shorter.matches(close).count() > shorter.matches(open).count()
        };
        text = match shorter.chars().last() {
            Some(')') if excess('(', ')') => &shorter[..shorter.len() - 1],
            Some('}') if excess('{', '}') => &shorter[..shorter.len() - 1],
            _ => return shorter.to_owned(),
        };
    }
}

/// Returns how many brackets a line opens and does not close.
fn balance(line: &str) -> i32 {
    let (mut open, mut quote, mut escaped) = (0, None, false);
    for c in line.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(opening), c) if opening == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(' | '{' | '[') => open += 1,
            (None, ')' | '}' | ']') => open -= 1,
            _ => {}
        }
    }
    open
}
