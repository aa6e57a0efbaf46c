//! Characters that Lua does not know outside of texts and comments: typographic quotes, spaces that are none, dashes, letters
//! of other alphabets. They come from word processors, chats and web pages.

use super::context::{FoundMistake, SyntaxContext};
use crate::diagnostics::tokens::TokenKind;

/// Finds a character at which Lua gave up because it is not ASCII.
pub(super) fn foreign_character(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let word = context.words.get(context.fail)?;
    if word.kind == TokenKind::Text {
        return None;
    }
    let (within, found) = word.text.char_indices().find(|(_, c)| !c.is_ascii())?;
    let at = word.at + within;
    let line_start = context.source[..at].rfind('\n').map_or(0, |at| at + 1);
    let column = context.source[line_start..at].chars().count() + 1;
    let code = u32::from(found);
    let (name, instead) = describe(found);
    context.found(
        context.fail,
        format!("column {column} has {name} (U+{code:04X}): {instead}"),
    )
}

/// Returns the name of a character, and what to write instead.
fn describe(found: char) -> (String, String) {
    let named = |name: &str, instead: &str| (name.to_owned(), instead.to_owned());
    match found {
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' | '‘' | '’' | '‚' | '‹' | '›' | '′' | '´' => {
            named(
                "a typographic quote",
                "write \"…\" or '…'",
            )
        }
        '\u{a0}' | '\u{202f}' | '\u{2007}' => named("a no-break space", "write a plain space"),
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => {
            named("a zero-width character, which cannot be seen", "delete it")
        }
        c if c.is_whitespace() => named("a space that is no plain one", "write a plain space"),
        '–' | '—' | '‐' | '‑' | '−' => named(
            "a typographic dash",
            "'-' subtracts, and '--' begins a comment",
        ),
        '×' | '⋅' | '·' => named("a sign of multiplication", "Lua writes '*'"),
        '÷' => named("a sign of division", "Lua writes '/'"),
        '≠' => named("'≠'", "Lua writes '~=' for 'is not equal to'"),
        '≤' => named("'≤'", "Lua writes '<='"),
        '≥' => named("'≥'", "Lua writes '>='"),
        '…' => named("an ellipsis in one character", "Lua writes '...'"),
        '→' | '⇒' => named("an arrow", "Lua writes a function as function(user) … end"),
        '，' | '、' => named("a wide comma", "write ','"),
        '\u{ff01}'..='\u{ff5e}' => {
            let plain = u32::from(found) - 0xff01 + 0x21;
            let plain = char::from_u32(plain).unwrap_or(' ');
            (
                format!("a wide '{plain}'"),
                format!("write '{plain}' as ASCII has it"),
            )
        }
        c if c.is_alphanumeric() => (
            format!("'{c}'"),
            "names have the letters a to z, digits and '_'; other letters stand only in texts, as in \"…\", and in \
             comments, after '--'"
                .to_owned(),
        ),
        c => (
            format!("'{c}'"),
            "Lua knows such a character only in texts, as in \"…\", and in comments, after '--'"
                .to_owned(),
        ),
    }
}
