//! Numbers and texts that Lua cannot read: values with a unit and without quotes, addresses, quotes within quotes, escapes.

use super::context::{FoundMistake, LuaProblem, SyntaxContext};
use crate::diagnostics::tokens::TokenKind;

/// Finds a number or a text that is none.
pub(super) fn wrong_literal(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    // As in "{"a": 1}": a text ends in the middle.
    let before = context.fail.checked_sub(1);
    let is_broken = before.is_some_and(|before| {
        context.kind(before) == Some(TokenKind::Text)
            && context.touches_next(before)
            && matches!(
                context.kind(context.fail),
                Some(TokenKind::Name | TokenKind::Number)
            )
            && !context.text(before).starts_with('[')
    });
    if let Some(before) = before.filter(|_| is_broken) {
        return context.found(
            before,
            "a quote within a text ends it: write \\\" there, or the text between the other quotes, as in '{\"a\": 1}'",
        );
    }
    match context.problem {
        LuaProblem::MalformedNumber => malformed_number(context),
        LuaProblem::UnfinishedText => unfinished_text(context),
        LuaProblem::InvalidEscape => invalid_escape(context),
        _ => unquoted(context),
    }
}

/// Units of the options of a plan.
const UNITS: [&str; 12] = [
    "us", "ms", "s", "m", "h", "d", "b", "kb", "mb", "gb", "kib", "mib",
];

fn malformed_number(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let mut place = context.fail;
    // As in 1_000, of which Lua reads the first part as a number.
    while place > 0
        && context.kind(place - 1) == Some(TokenKind::Number)
        && context.touches_next(place - 1)
    {
        place -= 1;
    }
    let text = context.text(place);
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let rest = &text[digits.len()..];
    if digits == "0" && rest.starts_with(['b', 'o']) {
        return context.found(
            place,
            "Lua has no binary numbers: tonumber(\"101\", 2) reads one",
        );
    }
    if ["local", "function", ".", ":"].contains(&context.text_before(place, 1)) {
        return context.found(
            place,
            "a name begins with a letter or '_', not with a digit",
        );
    }
    // As in 127.0.0.1:8080.
    if text.matches('.').count() == 3 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        let end = value_end(context, place);
        let address = context.slice(place, end);
        return context.found(place, format!("an address is a text: write \"{address}\""));
    }
    if rest.starts_with("..") || text.ends_with('.') && context.text(place + 1).starts_with('.') {
        return context.found(
            place,
            "'..' joins texts: set a space before it, as in 1 .. name; a loop over numbers is for i = 1, 3 do",
        );
    }
    if !digits.is_empty()
        && rest.starts_with('.')
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    {
        let plain: String = text.chars().filter(char::is_ascii_digit).collect();
        return context.found(
            place,
            format!("a number has one '.' at most, before its fraction: write {plain}"),
        );
    }
    let mut whole = context.slice(place, touching_end(context, place));
    // A stage, as in 1m:10.
    let end = touching_end(context, place);
    if context.text(end) == ":" && context.touches_next(end - 1) {
        whole = context.slice(place, value_end(context, place));
    }
    if whole.contains('_')
        && whole
            .bytes()
            .all(|b| b.is_ascii_digit() || b"_.".contains(&b))
    {
        let plain = whole.replace('_', "");
        return context.found(
            place,
            format!("the digits of a number stand together: write {plain}"),
        );
    }
    let is_duration = |text: &str| {
        let mut units = text.split(|c: char| c.is_ascii_digit() || c == '.');
        units.all(|unit| unit.is_empty() || UNITS.contains(&unit.to_ascii_lowercase().as_str()))
    };
    if is_duration(whole.split(':').next().unwrap_or(whole)) {
        return context.found(
            place,
            format!("a value with a unit is a text: write \"{whole}\""),
        );
    }
    context.found(
        place,
        "a number has digits and one '.' at most, and a text stands in quotes",
    )
}

/// Returns the place behind the words that stand together without spaces from `place` on.
fn touching_end(context: &SyntaxContext<'_>, place: usize) -> usize {
    let mut end = place;
    while context.touches_next(end) && context.kind(end + 1) != Some(TokenKind::Sign) {
        end += 1;
    }
    end + 1
}

/// Returns the place behind a value without quotes: the words up to a space, a comma or a closing bracket.
fn value_end(context: &SyntaxContext<'_>, place: usize) -> usize {
    let mut end = place;
    while context.touches_next(end) && !["}", ",", ")", "]", ";"].contains(&context.text(end + 1)) {
        end += 1;
    }
    end + 1
}

fn unfinished_text(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let place = context.fail;
    let text = context.text(place);
    if text.starts_with('[') {
        return context.found(place, "a text that begins with '[[' ends with ']]'");
    }
    let Some(quote) = text
        .chars()
        .next()
        .filter(|quote| ['"', '\''].contains(quote))
    else {
        // Comments are no words.
        let begin = (0..context.source.len()).rev().find(|at| {
            context
                .source
                .get(*at..)
                .is_some_and(|rest| rest.starts_with("--["))
        })?;
        let before = context.words.partition_point(|word| word.at < begin);
        let line = context.source[..begin].matches('\n').count() + 1;
        return context.found(
            before.saturating_sub(1),
            format!("the comment that begins with '--[[' on line {line} ends with ']]'"),
        );
    };
    let before = place.checked_sub(1);
    let is_beside = before.is_some_and(|before| context.touches_next(before));
    if is_beside && [r#""""#, "''"].contains(&context.text_before(place, 1)) {
        return context.found(place - 1, "a text of several lines stands in [[ … ]]");
    }
    if let Some(comment) = super::comments::before_text(context) {
        return Some(comment);
    }
    let same = |at: usize| {
        context.kind(at) == Some(TokenKind::Text) && context.text(at).starts_with(quote)
    };
    let start = context.line_start(place);
    // As in 'it's': a text ends in the middle of a word.
    let broken = (start..place).find(|at| {
        same(*at) && context.touches_next(*at) && context.kind(at + 1) == Some(TokenKind::Name)
    });
    let other = if quote == '"' { '\'' } else { '"' };
    if let Some(broken) = broken {
        return context.found(
            broken,
            format!(
                "a {quote} within a text ends it: write \\{quote} there, or the text between {other}…{other}"
            ),
        );
    }
    let inside = text[1..].trim_end_matches([')', '}', ',', ' ', ';', ']']);
    if inside.ends_with(other) {
        return context.found(
            place,
            format!("a text that begins with {quote} ends with {quote}, not with {other}"),
        );
    }
    context.found(
        place,
        format!(
            "the text ends on its line with {quote}, which is missing (an unfinished text); one of several lines stands in [[ … ]]"
        ),
    )
}

fn invalid_escape(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    context.found(
        context.fail,
        "'\\' begins an escape in a text: write '\\\\' for itself, or the text between [[ and ]], as in regex [[\\d+]]",
    )
}

/// Finds a value that is no name and no number and lacks its quotes: an address, a share, a rate.
fn unquoted(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    for at in context.suspects() {
        let is_value = ["=", ",", "{", "(", "return"].contains(&context.text_before(at, 1));
        if !is_value || context.text(at + 1) != ":" || !context.is_name(at) {
            continue;
        }
        let is_site = context.touches_next(at) && context.touches_next(at + 1);
        let is_url = context.text(at + 2) == "//";
        let is_demo = context.text(at) == "demo" && context.is_name(at + 2);
        if is_site && (is_url || is_demo) && fail > at {
            let end = value_end(context, at);
            let line_end = context.words[at].at
                + context.source[context.words[at].at..]
                    .find([' ', ',', '}', ')', '\n', '"'])
                    .unwrap_or(0);
            let address = &context.source[context.words[at].at..line_end];
            let address = if is_url {
                address
            } else {
                context.slice(at, end)
            };
            return context.found(at, format!("an address is a text: write \"{address}\""));
        }
    }
    // 10% and 20/s.
    let sign = fail.checked_sub(1)?;
    let number = sign.checked_sub(1)?;
    let is_share = context.text(sign) == "%"
        && context.kind(number) == Some(TokenKind::Number)
        && context.touches_next(number);
    is_share.then(|| {
        let share = context.slice(number, sign + 1);
        context.found(
            number,
            format!("a value with a unit is a text: write \"{share}\""),
        )
    })?
}
