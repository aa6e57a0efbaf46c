//! The place at which Lua gave up on a text, with the words around it. What Lua reports is read here and nowhere else; the
//! files beside this one look at words only.

use crate::diagnostics::tokens::{Token, TokenKind, closing, tokens};
use mlua::{Lua, LuaOptions, StdLib};

/// The kind of problem that Lua reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LuaProblem<'a> {
    /// A word is missing, such as 'then'; a name is `<name>`.
    Expected(&'a str),
    /// A bracket or block is not closed: the word that closes it.
    Unclosed(&'a str),
    MalformedNumber,
    UnfinishedText,
    InvalidEscape,
    NoVisibleLabel,
    BreakOutsideLoop,
    VarargOutsideFunction,
    Other,
}

impl<'a> LuaProblem<'a> {
    fn read(message: &'a str) -> LuaProblem<'a> {
        let quoted = |text: &'a str| text.trim_matches('\'');
        if message.starts_with("malformed number") {
            LuaProblem::MalformedNumber
        } else if message.starts_with("unfinished ") {
            LuaProblem::UnfinishedText
        } else if message.starts_with("invalid escape")
            || message.starts_with("hexadecimal digit")
            || message.starts_with("decimal escape")
            || message.starts_with("missing '{' in")
        {
            LuaProblem::InvalidEscape
        } else if message.starts_with("no visible label") {
            LuaProblem::NoVisibleLabel
        } else if message.starts_with("break outside") {
            LuaProblem::BreakOutsideLoop
        } else if message.starts_with("cannot use '...'") {
            LuaProblem::VarargOutsideFunction
        } else if let Some((word, _)) = message.split_once(" expected (to close ") {
            LuaProblem::Unclosed(quoted(word))
        } else if let Some((word, _)) = message.split_once(" expected near ") {
            LuaProblem::Expected(quoted(word))
        } else if let Some((word, _)) = message.split_once(" expected at the end") {
            LuaProblem::Expected(quoted(word))
        } else {
            LuaProblem::Other
        }
    }
}

/// A mistake that is recognized: the word that it is about, and the remedy.
#[derive(Debug)]
pub(super) struct FoundMistake {
    pub(super) place: usize,
    pub(super) help: String,
}

/// The words of a text, and the place of the one at which Lua gave up.
pub(super) struct SyntaxContext<'a> {
    pub(super) source: &'a str,
    pub(super) words: Vec<Token<'a>>,
    /// The place of the first word that no text could have after those before it; the number of words if the text ends too
    /// early.
    pub(super) fail: usize,
    /// The line that Lua names.
    pub(super) line: u32,
    pub(super) problem: LuaProblem<'a>,
    lua: Option<Lua>,
}

impl<'a> SyntaxContext<'a> {
    /// Reads a text that Lua does not compile. `message` is Lua's, and `line` the one that it names.
    pub(super) fn new(message: &'a str, line: u32, source: &'a str) -> SyntaxContext<'a> {
        let words = tokens(source);
        let mut context = SyntaxContext {
            source,
            fail: words.len(),
            words,
            line,
            problem: LuaProblem::read(message),
            lua: Lua::new_with(StdLib::NONE, LuaOptions::new()).ok(),
        };
        context.fail = context.failing_place();
        context
    }

    /// Returns the place of the first word with which the text cannot go on any more, by halving.
    fn failing_place(&self) -> usize {
        let (mut low, mut high) = (0, self.words.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.accepts_through(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn accepts_through(&self, place: usize) -> bool {
        let word = self.words[place];
        let is_text = word.kind == TokenKind::Text;
        (!is_text || is_closed(word.text)) && self.accepts(&self.source[..word.end()])
    }

    /// Returns whether a text is Lua, or the beginning of such a text.
    pub(super) fn accepts(&self, text: &str) -> bool {
        let Some(lua) = &self.lua else {
            return false;
        };
        match lua.load(text).set_name("=").into_function() {
            Ok(_) => true,
            Err(mlua::Error::SyntaxError {
                incomplete_input, ..
            }) => incomplete_input,
            Err(_) => false,
        }
    }

    /// Returns whether a text is Lua as a whole.
    pub(super) fn compiles(&self, text: &str) -> bool {
        let lua = self.lua.as_ref();
        lua.is_some_and(|lua| lua.load(text).set_name("=").into_function().is_ok())
    }

    /// Returns whether the text up to and with the word at which Lua gave up would be right if the words in `from..to` were
    /// `instead`.
    pub(super) fn is_repaired(&self, from: usize, to: usize, instead: &str) -> bool {
        let start = self
            .words
            .get(from)
            .map_or(self.source.len(), |word| word.at);
        let end = match to.checked_sub(1) {
            Some(last) if to > from => self.words.get(last).map_or(start, Token::end),
            _ => start,
        };
        let rest = match self.words.get(self.fail) {
            Some(word) => self.source.get(end..word.end()).unwrap_or_default(),
            None => &self.source[end..],
        };
        self.accepts(&format!("{} {instead} {rest}", &self.source[..start]))
    }

    pub(super) fn text(&self, place: usize) -> &'a str {
        self.words.get(place).map_or("", |word| word.text)
    }

    /// Returns the text of the word that many places before another; empty where there is none.
    pub(super) fn text_before(&self, place: usize, count: usize) -> &'a str {
        place
            .checked_sub(count)
            .map_or("", |place| self.text(place))
    }

    pub(super) fn kind(&self, place: usize) -> Option<TokenKind> {
        self.words.get(place).map(|word| word.kind)
    }

    pub(super) fn line_of(&self, place: usize) -> u32 {
        self.words.get(place).map_or(0, |word| word.line)
    }

    /// Returns whether a name stands there that is no keyword.
    pub(super) fn is_name(&self, place: usize) -> bool {
        let word = self.words.get(place);
        word.is_some_and(|word| word.kind == TokenKind::Name && !word.is_keyword())
    }

    pub(super) fn is_keyword(&self, place: usize) -> bool {
        self.words.get(place).is_some_and(Token::is_keyword)
    }

    /// Returns whether nothing stands between a word and the next.
    pub(super) fn touches_next(&self, place: usize) -> bool {
        let next = self.words.get(place + 1);
        self.words
            .get(place)
            .is_some_and(|word| next.is_some_and(|next| next.at == word.end()))
    }

    /// Returns the first place of the line on which a word stands.
    pub(super) fn line_start(&self, place: usize) -> usize {
        let line = self.line_of(place);
        self.words.partition_point(|word| word.line < line)
    }

    /// Returns the place behind the last word of the line on which a word stands.
    pub(super) fn line_end(&self, place: usize) -> usize {
        let line = self.line_of(place);
        self.words.partition_point(|word| word.line <= line)
    }

    /// Returns the places of the words that the mistake may consist of: those of the lines of the word at which Lua gave
    /// up and of the one before it, without what follows the former.
    pub(super) fn suspects(&self) -> std::ops::Range<usize> {
        let mut start = self.line_start(self.fail.saturating_sub(1));
        // A colon at the end of a line calls a method of the next line.
        while start > 0 && self.text(start - 1) == ":" {
            start = self.line_start(start - 1);
        }
        start..(self.fail + 1).min(self.words.len())
    }

    /// Returns the places of the brackets and blocks that are open before a word, the innermost one last.
    pub(super) fn open_brackets(&self, place: usize) -> Vec<usize> {
        let mut open: Vec<usize> = Vec::new();
        let mut loops = 0;
        for (at, word) in self.words[..place.min(self.words.len())].iter().enumerate() {
            match (word.kind, word.text) {
                (TokenKind::Name, "do") if loops > 0 => loops -= 1,
                (TokenKind::Name, "for" | "while") => {
                    loops += 1;
                    open.push(at);
                }
                (TokenKind::Sign, "(" | "{" | "[")
                | (TokenKind::Name, "function" | "if" | "do" | "repeat") => open.push(at),
                (TokenKind::Sign, ")" | "}" | "]") | (TokenKind::Name, "end" | "until") => {
                    open.pop();
                }
                _ => {}
            }
        }
        open
    }

    /// Returns the place of the bracket that closes the one at `place`, before the end of its line.
    pub(super) fn closing_on_line(&self, place: usize) -> Option<usize> {
        closing(&self.words[..self.line_end(place)], place)
    }

    /// Returns the source of some words.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        let start = self.words.get(from).map(|word| word.at);
        let end = to.checked_sub(1).and_then(|last| self.words.get(last));
        match (start, end) {
            (Some(start), Some(last)) if start < last.end() => &self.source[start..last.end()],
            _ => "",
        }
    }

    /// Returns whether a value may end with that word.
    pub(super) fn ends_value(&self, place: usize) -> bool {
        let Some(word) = self.words.get(place) else {
            return false;
        };
        match word.kind {
            TokenKind::Name => {
                !word.is_keyword() || ["end", "nil", "true", "false"].contains(&word.text)
            }
            TokenKind::Number | TokenKind::Text => true,
            TokenKind::Sign => ["}", ")", "]", "..."].contains(&word.text),
        }
    }

    /// Returns whether a statement may begin with that word, judged by the word before it.
    pub(super) fn may_begin_statement(&self, place: usize) -> bool {
        let Some(before) = place.checked_sub(1) else {
            return true;
        };
        let first = self.words.get(place).is_some_and(|word| word.first);
        match self.text(before) {
            "then" | "do" | "else" | "repeat" | ";" | "end" => true,
            ")" => first || self.closes_parameters(before),
            _ => first && self.ends_value(before),
        }
    }

    /// Returns whether a parenthesis closes the parameters of a function.
    pub(super) fn closes_parameters(&self, place: usize) -> bool {
        let mut depth = 0_usize;
        for at in (0..=place).rev() {
            match self.text(at) {
                ")" => depth += 1,
                "(" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                // The names of a method: function a.b:c(
                let mut at = at;
                while at > 0 && (self.is_name(at - 1) || [".", ":"].contains(&self.text(at - 1))) {
                    at -= 1;
                }
                return self.text_before(at, 1) == "function";
            }
        }
        false
    }

    pub(super) fn found(&self, place: usize, help: impl Into<String>) -> Option<FoundMistake> {
        Some(FoundMistake {
            place: place.min(self.words.len().saturating_sub(1)),
            help: help.into(),
        })
    }
}

/// Returns whether a text has its end.
fn is_closed(text: &str) -> bool {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inside = &text[1..];
            inside.ends_with(quote) && {
                let before = &inside[..inside.len() - 1];
                (before.len() - before.trim_end_matches('\\').len()).is_multiple_of(2)
            }
        }
        _ => text.ends_with(']'),
    }
}
