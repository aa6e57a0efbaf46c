//! The directives of Apache's `LogFormat` (<https://httpd.apache.org/docs/current/mod/mod_log_config.html>).

use super::access_line::Moment;
use super::pattern::{LineField, Piece};
use super::values::{MICROSECOND, MILLISECOND, SECOND};

/// Splits a format into texts and fields. `\"` is a quote, as it is within the quotes of Apache's configuration.
///
/// # Errors
/// The mistake in a directive.
pub(super) fn pieces(format: &str) -> Result<Vec<Piece>, String> {
    let format = format.replace("\\\"", "\"");
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = &*format;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        // The statuses for which it is logged, and whether it is that of the first or the final request.
        let is_modifier = |c: char| c.is_ascii_digit() || "!,<>".contains(c);
        let after = after.trim_start_matches(is_modifier);
        let (argument, after) = match after.strip_prefix('{') {
            Some(argument) => argument
                .split_once('}')
                .ok_or_else(|| "'%{' has no end: %{User-Agent}i".to_owned())?,
            None => ("", after),
        };
        let after = after.trim_start_matches(is_modifier);
        let mut letters = after.chars();
        let letter = letters
            .next()
            .ok_or_else(|| "a '%' stands at the end".to_owned())?;
        // The query comes with its '?' and has no text before it.
        if letter == 'q' && pieces.last() == Some(&Piece::Field(LineField::Path)) && text.is_empty()
        {
            pieces.pop();
            pieces.push(Piece::Field(LineField::Target));
            rest = letters.as_str();
            continue;
        }
        let field = field(letter, argument);
        // The time comes with its brackets.
        let is_bracketed = matches!(field, LineField::CommonTime(_));
        if is_bracketed {
            text.push('[');
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(Piece::Field(field));
        if is_bracketed {
            text.push(']');
        }
        rest = letters.as_str();
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

fn field(letter: char, argument: &str) -> LineField {
    let is = |name: &str| argument.eq_ignore_ascii_case(name);
    match letter {
        'r' => LineField::Request,
        'm' => LineField::Method,
        'U' => LineField::Path,
        'q' => LineField::Query,
        's' => LineField::Status,
        't' => time(argument),
        'O' => LineField::WholeBytes,
        'b' | 'B' => LineField::BodyBytes,
        'D' => LineField::ServerTime(MICROSECOND),
        'T' if is("us") => LineField::ServerTime(MICROSECOND),
        'T' if is("ms") => LineField::ServerTime(MILLISECOND),
        // Whole seconds, beside which something finer may stand.
        'T' => LineField::Other,
        'i' if is("user-agent") => LineField::Agent,
        'i' if is("traceparent") => LineField::Trace,
        _ => LineField::Other,
    }
}

/// Returns the field of `%t` with its argument. Those with a format of their own are not read.
fn time(argument: &str) -> LineField {
    let (moment, unit) = match argument.split_once(':') {
        Some(("begin", unit)) => (Moment::Start, unit),
        Some(("end", unit)) => (Moment::End, unit),
        _ => (Moment::Start, argument),
    };
    match unit {
        "" | "begin" => LineField::CommonTime(Moment::Start),
        "end" => LineField::CommonTime(Moment::End),
        "sec" => LineField::Epoch(SECOND, moment),
        "msec" => LineField::Epoch(MILLISECOND, moment),
        "usec" => LineField::Epoch(MICROSECOND, moment),
        _ => LineField::Other,
    }
}
