//! Comments as other languages write them: '#', '//', '/* … */'.

use super::context::{FoundMistake, SyntaxContext};
use crate::diagnostics::tokens::TokenKind;

const LINE: &str = "a comment begins with '--' in Lua";

/// Finds a comment of another language.
pub(super) fn foreign_comment(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let sign = context.text(fail);
    // Behind a value, or where a statement begins, '#' is no operator.
    if sign == "#" && ["include", "import"].contains(&context.text(fail + 1)) {
        return context.found(
            fail,
            "a plan loads a module by local name = require \"name\"",
        );
    }
    if sign == "#" && context.kind(fail) == Some(TokenKind::Sign) {
        return context.found(fail, format!("{LINE}, not with '#'"));
    }
    if sign == "<" && context.text(fail + 1).starts_with('!') {
        return context.found(fail, format!("{LINE}, or is --[[ … ]]"));
    }
    for at in context.suspects() {
        if context.kind(at) != Some(TokenKind::Sign) {
            continue;
        }
        match context.text(at) {
            "/*" | "*/" => {
                return context.found(
                    at,
                    "a comment is --[[ … ]] in Lua, or -- to the end of the line",
                );
            }
            "//" if is_prose(context, at) => {
                return context.found(at, format!("{LINE}; '//' divides"));
            }
            "#" if is_prose(context, at) => {
                return context.found(at, format!("{LINE}, not with '#'"));
            }
            _ => {}
        }
    }
    None
}

/// Finds a comment before a text that is not finished, most likely an apostrophe.
pub(super) fn before_text(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let start = context.line_start(context.fail);
    let sign = (start..context.fail).find(|at| ["//", "#"].contains(&context.text(*at)))?;
    let is_prose = context.kind(sign + 1) == Some(TokenKind::Name);
    if is_prose && context.text(sign) == "//" {
        return context.found(sign, format!("{LINE}; '//' divides"));
    }
    None
}

/// Returns whether words without operators between them follow a sign on its line, or nothing does.
fn is_prose(context: &SyntaxContext<'_>, sign: usize) -> bool {
    let end = context.line_end(sign);
    let follows_nothing = sign + 1 == end;
    let begins = context.words[sign].first || context.text_before(sign, 1) == ";";
    let is_word = |at: usize| {
        at < end && matches!(context.kind(at), Some(TokenKind::Name | TokenKind::Number))
    };
    let before = context.text_before(sign, 1);
    // The scheme of an address.
    if before == ":" && context.touches_next(sign - 1) {
        return false;
    }
    if context.text(sign) == "#" {
        return ["{", ",", "(", ";"].contains(&before) && is_word(sign + 1) && is_word(sign + 2);
    }
    follows_nothing || begins || (is_word(sign + 1) && is_word(sign + 2))
}
