//! Blocks and brackets that are not closed, or closed twice, and commas that are missing.

use super::context::{FoundMistake, LuaProblem, SyntaxContext};
use crate::diagnostics::tokens::{Token, TokenKind};

/// A word that opens a block or bracket, which another word closes.
#[derive(Debug, Clone, Copy)]
struct Opener<'a> {
    word: Token<'a>,
    close: &'static str,
}

/// Finds a missing comma between two values of a table or of a call.
pub(super) fn missing_comma(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let place = context.fail;
    let before = place.checked_sub(1)?;
    let next = context.words.get(place)?;
    let expects_close = matches!(
        context.problem,
        LuaProblem::Expected("}" | ")" | "]") | LuaProblem::Unclosed("}" | ")" | "]")
    );
    if !expects_close || !context.ends_value(before) {
        return None;
    }
    let is_start = match next.kind {
        TokenKind::Name => {
            !next.is_keyword() || ["function", "nil", "true", "false", "not"].contains(&next.text)
        }
        TokenKind::Number | TokenKind::Text => true,
        TokenKind::Sign => next.text == "{" || next.text == "[",
    };
    let units = [
        "s", "ms", "m", "h", "sec", "min", "seconds", "second", "minutes", "minute", "hours",
    ];
    let number = &context.words[before];
    if number.kind == TokenKind::Number && units.contains(&next.text) && number.line == next.line {
        let unit = if next.text == "ms" {
            "ms"
        } else {
            &next.text[..1]
        };
        return context.found(
            before,
            format!(
                "a value with a unit is a text: write \"{}{unit}\"",
                number.text
            ),
        );
    }
    let is_dot = next.text == "." && context.kind(before) == Some(TokenKind::Text);
    let opener = open_at(&context.words[..place]).open.last().copied()?;
    // A declaration that begins its line stands at the top of a file.
    let declares = ["task", "scenario", "plan", "on"].contains(&next.text)
        && next.first
        && next.indent <= opener.word.indent
        && opener.word.line < next.line;
    if declares {
        return context.found(
            place_of(context, opener),
            format!(
                "the '{}' of line {} has no '{}'",
                opener.word.text, opener.word.line, opener.close
            ),
        );
    }
    if is_dot && opener.word.text == "{" {
        return context.found(
            before,
            format!(
                "put a comma after {}, not a dot",
                shown(context.text(before))
            ),
        );
    }
    if !is_start || !context.is_repaired(place, place, ",") {
        return None;
    }
    let word = &context.words[before];
    let on = if word.line == next.line {
        String::new()
    } else {
        format!(" on line {}", word.line)
    };
    let joins = opener.word.text == "("
        && word.line == next.line
        && next.kind != TokenKind::Sign
        && (word.kind == TokenKind::Text || next.kind == TokenKind::Text);
    let join = if joins { "; '..' joins texts" } else { "" };
    context.found(
        before,
        format!(
            "put a comma after {}{on}, or close the '{}' of line {} there{join}",
            shown(word.text),
            opener.word.text,
            opener.word.line
        ),
    )
}

/// Finds a block or a bracket that is not closed, or that is closed twice.
pub(super) fn unbalanced(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let near = (fail < context.words.len()).then(|| context.text(fail));
    let before = &context.words[..fail];
    let state = open_at(before);
    let describe = |opener: Opener<'_>| {
        let Opener { word, close } = opener;
        let place = place_of(context, opener);
        // As in 'login() {'.
        if word.text == "{"
            && context.text_before(place, 1) == ")"
            && place + 1 == context.line_end(place)
        {
            return context.found(
                place,
                "a block of Lua has no braces: a function is local function name(user) … end",
            );
        }
        context.found(
            place_of(context, opener),
            format!("the '{}' of line {} has no '{close}'", word.text, word.line),
        )
    };
    let lacks_end = state.suspect.or(state.open.last().copied());
    let lacks_end = lacks_end.is_some_and(|opener| opener.close == "end");
    let chained = before.windows(2).position(|pair| {
        let same_line = pair[0].line == pair[1].line;
        same_line && (pair[0].text, pair[1].text) == ("else", "if")
    });
    if let Some(chained) = chained.filter(|_| lacks_end) {
        return context.found(
            chained,
            "write 'elseif' as one word: the 'if' of 'else if' needs an 'end' of its own",
        );
    }
    if let Some(opener) = state.suspect {
        return describe(opener);
    }
    if let Some(near) = near.filter(|near| ["end", "}", ")", "]"].contains(near)) {
        let word = &context.words[fail];
        let is_closer = |at: &usize| ["end", "}", ")", "]"].contains(&context.text(*at));
        let last = (fail..context.line_end(fail)).take_while(is_closer).last();
        // One or several that stand together.
        let ends = [fail, last.unwrap_or(fail)];
        let is_whole = ends.into_iter().any(|last| {
            let without = format!(
                "{}{}",
                &context.source[..word.at],
                &context.source[context.words[last].end()..]
            );
            context.compiles(&without)
        });
        let innermost = state.open.last();
        let is_surplus = match near {
            ")" | "]" => innermost.is_none_or(|opener| opener.close == "end"),
            _ => innermost.is_some_and(|opener| opener.close != "end"),
        };
        if is_surplus && innermost.is_none_or(|opener| opener.close != near) && is_whole {
            return context.found(fail, format!("there is nothing for this '{near}' to close"));
        }
    }
    let closes = near.is_none_or(|near| ["end", "}", ")", "]", "until"].contains(&near));
    match state.open.last() {
        Some(opener) if closes && near != Some(opener.close) => describe(*opener),
        Some(opener) if matches!(context.problem, LuaProblem::Unclosed(_)) => describe(*opener),
        None if near.is_some() && closes => context.found(
            fail,
            format!(
                "there is nothing for this '{}' to close",
                near.unwrap_or_default()
            ),
        ),
        _ => None,
    }
}

fn place_of(context: &SyntaxContext<'_>, opener: Opener<'_>) -> usize {
    context
        .words
        .partition_point(|word| word.at < opener.word.at)
}

/// The blocks and brackets still open after some words.
#[derive(Default)]
struct OpenBlocks<'a> {
    open: Vec<Opener<'a>>,
    /// An opener whose `end` stands further to the left than itself: that most likely belongs to another one.
    suspect: Option<Opener<'a>>,
}

fn open_at<'a>(words: &[Token<'a>]) -> OpenBlocks<'a> {
    let mut state = OpenBlocks::default();
    // The 'do' of a loop opens nothing of its own.
    let mut loops = 0;
    for word in words {
        let close = match (word.kind, word.text) {
            (TokenKind::Name, "function" | "if") => "end",
            (TokenKind::Name, "for" | "while") => {
                loops += 1;
                "end"
            }
            (TokenKind::Name, "do") if loops > 0 => {
                loops -= 1;
                continue;
            }
            (TokenKind::Name, "do") => "end",
            (TokenKind::Name, "repeat") => "until",
            (TokenKind::Sign, "{") => "}",
            (TokenKind::Sign, "(") => ")",
            (TokenKind::Sign, "[") => "]",
            (TokenKind::Name, "end" | "until") | (TokenKind::Sign, "}" | ")" | "]") => {
                if let Some(opener) = state.open.pop_if(|opener| opener.close == word.text) {
                    let outside = word.first && word.indent < opener.word.indent;
                    if outside && word.line > opener.word.line && state.suspect.is_none() {
                        state.suspect = Some(opener);
                    }
                }
                continue;
            }
            _ => continue,
        };
        let word = *word;
        state.open.push(Opener { word, close });
    }
    state
}

fn shown(text: &str) -> String {
    const MAX_SHOWN: usize = 30;
    if text.chars().count() > MAX_SHOWN || text.contains('\n') {
        "the text".to_owned()
    } else if text.starts_with(['"', '\'']) {
        text.to_owned()
    } else {
        format!("'{text}'")
    }
}
