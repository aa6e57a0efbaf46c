//! Beginnings of blocks that Lua does not know: 'if' without 'then', loops of other languages, colons, braces.

use super::context::{FoundMistake, SyntaxContext};
use crate::diagnostics::tokens::TokenKind;

const NO_BRACES: &str =
    "a block of Lua has no braces: it begins with 'then' or 'do' and ends with 'end'";

/// The beginning of a block that lacks its word.
struct BlockHeader {
    /// The place of 'if', 'elseif', 'while' or 'for'.
    keyword: usize,
    /// The place behind its last word.
    end: usize,
}

/// Finds the beginning of a block that lacks its 'then' or 'do'.
pub(super) fn wrong_header(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let header = find_header(context)?;
    let BlockHeader { keyword, end } = header;
    let word = context.text(keyword);
    if word == "for" {
        return wrong_for(context, &header);
    }
    let expected = if word == "while" { "do" } else { "then" };
    let form = match word {
        "while" => "while condition do … end".to_owned(),
        word => format!("{word} condition then … end"),
    };
    let open = context.open_brackets(keyword);
    let block = open.last().map_or("", |open| context.text(*open));
    let is_same_line = open
        .last()
        .is_some_and(|open| context.line_of(*open) == context.line_of(keyword));
    if word == "while" && (block == "repeat" || block == "do" && is_same_line) {
        return context.found(
            keyword,
            "Lua writes repeat … until condition, which ends when the condition holds",
        );
    }
    let first = keyword + 1;
    let is_test = context.text(first) == "[" || context.text(first).starts_with("[[");
    if is_test {
        return context.found(
            keyword,
            format!("a condition has no brackets in Lua: write {word} a == b {expected} … end"),
        );
    }
    // value if condition else other
    let in_value = keyword > 0
        && !context.words[keyword].first
        && context.ends_value(keyword - 1)
        && !context.may_begin_statement(keyword);
    let has_else = (first..context.line_end(keyword)).any(|at| context.text(at) == "else");
    if word == "if" && in_value && has_else {
        return context.found(
            keyword,
            "Lua chooses between values by condition and a or b",
        );
    }
    let stop = end.min(context.line_end(keyword));
    let signs = first..stop.max(first);
    let comparison = (first..=stop).find(|at| is_comparison_slip(context, *at));
    if let Some(at) = comparison {
        return context.found(at, "'==' compares; '=' sets a variable");
    }
    let operator = signs.clone().find(|at| {
        context.text(*at) == "-"
            && context.touches_next(*at)
            && ["eq", "ne", "gt", "lt", "ge", "le"].contains(&context.text(at + 1))
    });
    if let Some(at) = operator {
        let ours = match context.text(at + 1) {
            "eq" => "==",
            "ne" => "~=",
            "gt" => ">",
            "lt" => "<",
            "ge" => ">=",
            _ => "<=",
        };
        return context.found(
            at,
            format!("Lua writes '{ours}' for '-{}'", context.text(at + 1)),
        );
    }
    if has_brace(context, keyword, stop) {
        return context.found(keyword, NO_BRACES);
    }
    if context.text(end) == ";" && [expected, "do", "then"].contains(&context.text(end + 1)) {
        return context.found(
            end,
            format!("there is no ';' before '{expected}': write {form}"),
        );
    }
    if ends_with_colon(context, keyword, end) {
        return context.found(
            keyword,
            format!("Lua has no colon there, but '{expected}': write {form}"),
        );
    }
    let found = context.text(end);
    if ["then", "do"].contains(&found) && context.line_of(end) == context.line_of(keyword) {
        return context.found(
            end,
            format!("'{word}' is followed by '{expected}', not by '{found}': write {form}"),
        );
    }
    context.found(
        keyword,
        format!("'{expected}' is missing after the condition: write {form}"),
    )
}

fn is_comparison_slip(context: &SyntaxContext<'_>, at: usize) -> bool {
    context.text(at) == "=" && at == context.fail
}

/// Finds the first block that begins without its word.
fn find_header(context: &SyntaxContext<'_>) -> Option<BlockHeader> {
    let last = context.fail.min(context.words.len());
    (0..last).find_map(|keyword| {
        let word = context.words[keyword];
        if !word.is_keyword() || !["if", "elseif", "while", "for"].contains(&word.text) {
            return None;
        }
        let end = header_end(context, keyword, last)?;
        Some(BlockHeader { keyword, end })
    })
}

/// Returns the place behind a header that lacks its word; `None` if it has it.
fn header_end(context: &SyntaxContext<'_>, keyword: usize, last: usize) -> Option<usize> {
    const STATEMENTS: [&str; 12] = [
        "local", "return", "if", "for", "while", "repeat", "break", "goto", "end", "else",
        "elseif", "until",
    ];
    let is_condition = ["if", "elseif"].contains(&context.text(keyword));
    let (expected, wrong) = if is_condition {
        ("then", "do")
    } else {
        ("do", "then")
    };
    let mut depth = 0_usize;
    for at in keyword + 1..=last {
        let Some(word) = context.words.get(at) else {
            return (depth == 0).then_some(at);
        };
        match (word.kind, word.text) {
            // As in 'if (a) {' at the end of its line.
            (TokenKind::Sign, "{")
                if depth == 0 && context.text(at - 1) == ")" && at + 1 == context.line_end(at) =>
            {
                return Some(at);
            }
            (TokenKind::Sign, "(" | "{" | "[") if at < last => depth += 1,
            (TokenKind::Sign, ")" | "}" | "]") if at < last => depth = depth.saturating_sub(1),
            (TokenKind::Name, "function") => return None,
            (TokenKind::Name, text) if depth == 0 && text == expected => return None,
            (TokenKind::Name, text)
                if depth == 0 && (STATEMENTS.contains(&text) || text == wrong) =>
            {
                return Some(at);
            }
            _ => {}
        }
        if at == last {
            // In brackets, something else is wrong.
            return (depth == 0 || first_line_lacks_word(context, keyword, expected)).then_some(at);
        }
    }
    None
}

/// Returns whether the line of a header ends with a colon, as in Python.
fn first_line_lacks_word(context: &SyntaxContext<'_>, keyword: usize, expected: &str) -> bool {
    let end = context.line_end(keyword);
    let has_word = (keyword..end).any(|at| context.text(at) == expected);
    !has_word && context.text(end - 1) == ":" || is_c_loop(context, keyword)
}

fn is_c_loop(context: &SyntaxContext<'_>, keyword: usize) -> bool {
    context.text(keyword) == "for" && context.text(keyword + 1) == "("
}

fn ends_with_colon(context: &SyntaxContext<'_>, keyword: usize, end: usize) -> bool {
    let line_end = context.line_end(keyword);
    let last = line_end - 1;
    context.text(last) == ":" && last > keyword
        || end > keyword + 1 && context.text(end - 1) == ":"
        || context.text(end) == ":"
}

fn has_brace(context: &SyntaxContext<'_>, keyword: usize, end: usize) -> bool {
    let stop = (end + 1).min(context.line_end(keyword)).max(keyword);
    (keyword..stop).any(|at| context.text(at) == "{")
}

/// Describes how Lua writes a loop of another language.
fn wrong_for(context: &SyntaxContext<'_>, header: &BlockHeader) -> Option<FoundMistake> {
    let BlockHeader { keyword, end } = *header;
    if is_c_loop(context, keyword) {
        return context.found(
            keyword,
            format!("Lua writes {}", c_loop(context, keyword + 2)),
        );
    }
    let loops = loop_of(context, keyword);
    if let Some(ours) = loops {
        return context.found(keyword, format!("Lua writes {ours}"));
    }
    if ends_with_colon(context, keyword, end) {
        return context.found(
            keyword,
            "Lua has no colon there: write for i = 1, 3 do … end, or for _, value in ipairs(list) do … end",
        );
    }
    if has_brace(context, keyword, end) && context.text(end) == "{" {
        return context.found(keyword, NO_BRACES);
    }
    let found = context.text(end);
    if found == "then" {
        return context.found(
            end,
            "'for' is followed by 'do', not by 'then': write for i = 1, 3 do … end",
        );
    }
    context.found(
        keyword,
        "'do' is missing: write for i = 1, 3 do … end, or for _, value in ipairs(list) do … end",
    )
}

/// Returns the loop of Lua for one over a range or a list, as in Python and in shells.
fn loop_of(context: &SyntaxContext<'_>, keyword: usize) -> Option<String> {
    let line_end = context.line_end(keyword);
    let name = context.text(keyword + 1);
    let sign = (keyword + 2..line_end).find(|at| ["in", "="].contains(&context.text(*at)))?;
    let names = context.slice(keyword + 1, sign);
    let from = sign + 1;
    let number = |at: usize| context.kind(at) == Some(TokenKind::Number);
    if context.text(sign) == "=" && context.text(from + 1) == ";" && context.text(from + 2) == name
    {
        return Some(c_loop(context, keyword + 1));
    }
    if context.text(sign) == "=" {
        // for i = 1..3, for i = 1 to 3, for i = 1; 3
        let to = match context.text(from + 1) {
            ".." | "to" | ";" => context.text(from + 2),
            _ if context.text(from).contains("..") => {
                context.text(from).rsplit("..").next().unwrap_or_default()
            }
            _ => return None,
        };
        let first = context.text(from).split("..").next().unwrap_or_default();
        let to = if to.is_empty() {
            context.text(from + 2)
        } else {
            to
        };
        return Some(format!(
            "for {name} = {first}, {} do … end",
            last_number(to)
        ));
    }
    if context.text(from) == "range" {
        return Some(range_loop(context, names, from));
    }
    let is_range =
        context.text(from + 1).contains("..") || context.text(from + 2).starts_with("..");
    if context.text(from) == "$" || context.text(from) == "{" && is_range {
        return Some(format!("for {name} = 1, 3 do … end"));
    }
    if number(from) && context.text(from).contains("..")
        || number(from) && context.text(from + 1) == ".."
    {
        return Some(format!("for {name} = 1, 3 do … end"));
    }
    if number(from) && number(from + 1) {
        return Some(format!(
            "for {name} = 1, 3 do … end, or for _, {name} in ipairs {{ 1, 2, 3 }} do … end"
        ));
    }
    let value_end = (from..line_end)
        .find(|at| [":", "do", "then"].contains(&context.text(*at)))
        .unwrap_or(line_end);
    let is_list = context.text(from) == "[";
    let is_plain = context.is_name(from) && value_end == from + 1;
    let has_iterator = ["ipairs", "pairs", "next"].contains(&context.text(from));
    if has_iterator || !(is_list || is_plain) {
        return None;
    }
    let value = if is_list {
        context
            .slice(from, value_end)
            .replace('[', "{ ")
            .replace(']', " }")
    } else {
        context.text(from).to_owned()
    };
    let value = if is_list {
        format!(" {value}")
    } else {
        format!("({value})")
    };
    Some(format!("for _, {name} in ipairs{value} do … end"))
}

/// Returns the loop of Lua for `range(a)` or `range(a, b)`.
fn range_loop(context: &SyntaxContext<'_>, names: &str, range: usize) -> String {
    let close = context.closing_on_line(range + 1).unwrap_or(range + 1);
    let inside = context.slice(range + 2, close);
    let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
    let before = |text: &str| match text.parse::<i64>() {
        Ok(number) => number.saturating_sub(1).to_string(),
        Err(_) => format!("{text} - 1"),
    };
    match parts[..] {
        [to] if !to.is_empty() => format!("for {names} = 1, {to} do … end"),
        [from, to] => format!("for {names} = {from}, {} do … end", before(to)),
        [from, to, step] => format!("for {names} = {from}, {}, {step} do … end", before(to)),
        _ => format!("for {names} = 1, 3 do … end"),
    }
}

/// Returns the loop of Lua for `for (let i = 0; i < 3; i++)` and its like, given the place behind the parenthesis.
fn c_loop(context: &SyntaxContext<'_>, from: usize) -> String {
    let declares = ["let", "const", "var", "int", "auto", "local"].contains(&context.text(from));
    let at = if declares { from + 1 } else { from };
    let name = context.text(at);
    let value = |at: usize| {
        let end =
            (at..context.line_end(at)).find(|at| [")", ";", "{"].contains(&context.text(*at)));
        context.slice(at, end.unwrap_or(at + 1))
    };
    match context.text(at + 1) {
        "of" => format!("for _, {name} in ipairs({}) do … end", value(at + 2)),
        "in" => format!("for {name}, value in pairs({}) do … end", value(at + 2)),
        "=" => {
            let first = context.text(at + 2);
            let below = (at..context.line_end(at)).find(|at| context.text(*at) == "<");
            let up_to = (at..context.line_end(at)).find(|at| context.text(*at) == "<=");
            let last = match (below, up_to) {
                (Some(sign), _) => match value(sign + 1).parse::<i64>() {
                    Ok(number) => number.saturating_sub(1).to_string(),
                    Err(_) => format!("{} - 1", value(sign + 1)),
                },
                (_, Some(sign)) => value(sign + 1).to_owned(),
                _ => "3".to_owned(),
            };
            format!("for {name} = {first}, {last} do … end")
        }
        _ => "for i = 1, 3 do … end".to_owned(),
    }
}

fn last_number(text: &str) -> &str {
    text.trim_start_matches('.')
}

/// Finds a loop that Lua can read but whose numbers it cannot: `1..3`.
pub(super) fn wrong_range(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let start = context.line_start(context.fail);
    let keyword = (start..context.fail).find(|at| context.text(*at) == "for")?;
    if !context.text(context.fail).contains("..") {
        return None;
    }
    let ours = loop_of(context, keyword)?;
    context.found(keyword, format!("Lua writes {ours}"))
}
