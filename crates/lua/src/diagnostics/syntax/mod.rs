//! Remedies for texts that are not Lua: habits of other languages, or a missing comma, `end` or bracket. Lua itself says
//! that it gave up; the place is found anew, word by word, and the remedy from the words before it. Each file beside this one
//! has the rules of one kind; the first rule that holds counts.

mod blocks;
mod characters;
mod comments;
mod context;
mod entries;
mod headers;
mod literals;
mod operators;
mod words;

use context::{FoundMistake, SyntaxContext};

/// The remedy for a text that is not Lua.
#[derive(Debug)]
pub(super) struct SyntaxRemedy {
    /// The line of the mistake.
    pub(super) line: u32,
    /// The word that it is about.
    pub(super) word: String,
    pub(super) help: String,
}

/// The rules, in the order in which they are tried.
const RULES: [fn(&SyntaxContext<'_>) -> Option<FoundMistake>; 14] = [
    characters::foreign_character,
    headers::wrong_range,
    literals::wrong_literal,
    comments::foreign_comment,
    operators::decrement,
    words::foreign_word,
    operators::foreign_operator,
    words::misspelt_keyword,
    headers::wrong_header,
    words::wrong_declaration,
    entries::wrong_entry,
    words::lone_value,
    blocks::missing_comma,
    blocks::unbalanced,
];

/// Returns the remedy for a text that Lua does not compile, if there is a known one. `message` is Lua's, and `line` the
/// one on which it gave up.
pub(super) fn remedy(message: &str, line: u32, source: &str) -> Option<SyntaxRemedy> {
    let context = SyntaxContext::new(message, line, source);
    let found = RULES.iter().find_map(|rule| rule(&context))?;
    let word = context.words.get(found.place);
    Some(SyntaxRemedy {
        line: word.map_or(line, |word| word.line),
        word: word.map_or_else(String::new, |word| word.text.to_owned()),
        help: found.help,
    })
}

#[cfg(test)]
mod tests;
