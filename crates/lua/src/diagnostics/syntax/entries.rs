//! Entries of tables and arguments of calls as JSON, YAML and Python write them.

use super::context::{FoundMistake, SyntaxContext};
use crate::diagnostics::tokens::TokenKind;
use lgoose_plan::config::Settings;

const FIELD: &str = "a field of a table is name = value, or [\"any name\"] = value";

/// Finds an entry of a table, or an argument, that is written as in another language.
pub(super) fn wrong_entry(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let open = context.open_brackets(context.fail);
    let fail = context.fail;
    if context.text(fail) == "[" && !context.ends_value(fail.wrapping_sub(1)) {
        return wrong_list(context, fail);
    }
    match open.last().map(|open| (*open, context.text(*open))) {
        Some((open, "{")) => wrong_field(context, open),
        Some((open, "(")) => wrong_argument(context, open),
        Some((open, "[")) => wrong_list(context, open),
        _ => outside(context),
    }
}

/// Returns the place at which the entry of a table or the argument begins in which Lua gave up.
fn entry_start(context: &SyntaxContext<'_>, open: usize) -> usize {
    let mut depth = 0_usize;
    let mut start = open + 1;
    for at in open + 1..context.fail.min(context.words.len()) {
        match context.text(at) {
            "(" | "{" | "[" | "function" if context.kind(at) != Some(TokenKind::Text) => depth += 1,
            ")" | "}" | "]" | "end" if context.kind(at) != Some(TokenKind::Text) => {
                depth = depth.saturating_sub(1);
            }
            "," | ";" if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    start
}

fn wrong_field(context: &SyntaxContext<'_>, open: usize) -> Option<FoundMistake> {
    let fail = context.fail;
    let start = entry_start(context, open);
    let (first, second) = (context.text(start), context.text(start + 1));
    if first == "[" && context.text(fail) != ":" {
        return wrong_list(context, start);
    }
    let is_statement = context.open_brackets(open).is_empty()
        && context.words[open].first
        && (open == 0 || context.ends_value(open - 1));
    if is_statement && context.text(fail) == ":" {
        return context.found(
            open,
            "this is JSON: the options of a plan stand in plan { name = value }",
        );
    }
    if fail == start && (first == "," || first == ";") {
        return context.found(
            start,
            "there is a comma too many: entries are separated by one",
        );
    }
    if context.is_keyword(start) && second == "=" {
        return context.found(
            start,
            format!("'{first}' is a keyword of Lua: write [\"{first}\"] = value"),
        );
    }
    if first == "&" || first == "*" || context.text(start + 2) == "*" && second == ":" {
        return context.found(
            start,
            format!("{FIELD}; Lua has no anchors: a local variable holds a value that is used twice ('&', '*')"),
        );
    }
    if first == "-" && context.words[start].first {
        return context.found(
            start,
            "this is YAML: a list of Lua is { \"a\", \"b\" }, without '-'",
        );
    }
    if let Some(found) = dashed(context, start) {
        return Some(found);
    }
    // a.b = 1
    if context.is_name(start) && second == "." && context.text(start + 3) == "=" {
        let name = context.slice(start, start + 3);
        return context.found(
            start,
            format!("such a name stands in brackets: [\"{name}\"] = value"),
        );
    }
    let is_key = matches!(
        context.kind(start),
        Some(TokenKind::Text | TokenKind::Number)
    );
    if is_key && second == "=" {
        return context.found(
            start,
            format!("such a name stands in brackets: [{first}] = value"),
        );
    }
    let key_end = if first == "[" { None } else { Some(start + 1) };
    let colon = key_end.filter(|at| context.text(*at) == ":");
    if let Some(colon) = colon
        && (is_key || context.is_name(start))
        && fail >= colon
        && fail <= colon + 2
    {
        let shown = match context.kind(start) {
            Some(TokenKind::Text) => format!("{FIELD}: here [{first}] = …"),
            Some(TokenKind::Number) => format!("{FIELD}: here [{first}] = …"),
            _ => format!("{FIELD}: here {first} = …"),
        };
        return context.found(start, shown);
    }
    if context.is_name(start) && [":=", "=>", "=="].contains(&second) && fail == start + 1 {
        return context.found(start + 1, format!("a field is set by '=': {FIELD}"));
    }
    if context.text(fail) == ":" && context.text_before(fail, 1) == "]" {
        return context.found(fail, FIELD);
    }
    // users 10
    if context.is_name(start)
        && fail == start + 1
        && matches!(
            context.kind(fail),
            Some(TokenKind::Number | TokenKind::Text)
        )
        && context.line_of(start) == context.line_of(fail)
    {
        let value = context.text(fail);
        return context.found(start, format!("'=' is missing: write {first} = {value}"));
    }
    None
}

/// Finds a name with dashes, as headers have them and options of commands.
fn dashed(context: &SyntaxContext<'_>, start: usize) -> Option<FoundMistake> {
    let mut end = start + 1;
    if !context.is_name(start) {
        return None;
    }
    while context.text(end) == "-" && context.kind(end + 1) == Some(TokenKind::Name) {
        end += 2;
    }
    let is_set = ["=", ":"].contains(&context.text(end));
    if end == start + 1 || !is_set || context.fail + 1 < end || context.fail > end + 2 {
        return None;
    }
    let name: String = (start..end).map(|at| context.text(at)).collect();
    let ours = name.replace('-', "_");
    let field = Settings::FIELDS.contains(&ours.as_str());
    context.found(
        start,
        if field {
            format!("names have no '-' in Lua: write {ours} = value")
        } else {
            format!("a name with '-' stands in brackets: [\"{name}\"] = value")
        },
    )
}

fn wrong_argument(context: &SyntaxContext<'_>, open: usize) -> Option<FoundMistake> {
    let fail = context.fail;
    let start = entry_start(context, open);
    let is_call = open > 0 && context.ends_value(open - 1);
    if is_parameter_list(context, open) && context.text(fail) == "=" {
        let name = context.text_before(fail, 1);
        return context.found(
            fail,
            format!(
                "a parameter has no default in Lua: write {name} = {name} or value in the function"
            ),
        );
    }
    if !is_call && context.text(fail) == "," {
        let close = context.closing_on_line(open);
        let is_arrow = close.is_some_and(|close| context.text(close + 1) == "=>");
        let inside = close.map_or("", |close| context.slice(open + 1, close));
        return context.found(
            open,
            if is_arrow {
                format!("Lua writes a function as function({inside}) return … end")
            } else {
                format!("parentheses hold one value: a list stands in braces, {{ {inside} }}")
            },
        );
    }
    if is_call && context.text(start + 1) == ":" && fail == start + 2 && context.text(fail) == "{" {
        let name = context.text(start);
        return context.found(
            start,
            format!("Lua has no named arguments: they stand in a table, as in {{ {name} = … }}"),
        );
    }
    if is_call && context.text(fail) == "=" && fail > start + 1 && context.ends_value(fail - 1) {
        return context.found(fail, "'==' compares; '=' sets a variable");
    }
    if context.text(fail) == "=" && fail == start + 1 && is_call && context.is_name(start) {
        let name = context.text(start);
        return context.found(
            start,
            format!("Lua has no named arguments: they stand in a table, as in {{ {name} = … }}"),
        );
    }
    if context.text(fail) == ":" && fail == start + 1 && is_call {
        return context.found(
            start,
            "Lua has no named arguments: they stand in a table, as in { name = value }",
        );
    }
    if fail == start && context.text(fail) == "[" {
        return wrong_list(context, fail);
    }
    // "a" . name
    if context.text(fail) == "." && context.kind(fail - 1) == Some(TokenKind::Text) {
        return context.found(fail, "'..' joins texts");
    }
    None
}

/// Returns whether a parenthesis opens the parameters of a function.
fn is_parameter_list(context: &SyntaxContext<'_>, open: usize) -> bool {
    let mut at = open;
    while at > 0 && (context.is_name(at - 1) || [".", ":"].contains(&context.text(at - 1))) {
        at -= 1;
    }
    context.text_before(at, 1) == "function"
}

/// Finds a list in square brackets.
fn wrong_list(context: &SyntaxContext<'_>, open: usize) -> Option<FoundMistake> {
    let before = context.text_before(open, 1);
    let close = context.closing_on_line(open);
    let inside = close.map(|close| context.slice(open + 1, close));
    if ["task", "scenario", "plan"].contains(&before) {
        return context.found(
            open,
            format!("the fields of a declaration stand in braces: {before} {{ … }}"),
        );
    }
    let stop = close.unwrap_or_else(|| context.line_end(open));
    let has = |word: &str| (open..stop).any(|at| context.text(at) == word);
    if open > 0 && context.ends_value(open - 1) {
        return has(":").then(|| {
            context.found(
                open,
                "Lua has no slices: text:sub(1, 3) is a part of a text, table.move one of a list",
            )
        })?;
    }
    if has("for") && has("in") {
        return context.found(
            open,
            "Lua has no comprehensions: make a list by a loop, for _, x in ipairs(other) do list[#list + 1] = x end",
        );
    }
    let shown = match inside {
        Some("") => "{}".to_owned(),
        Some(inside) if inside.len() <= 40 && !has(":") && !inside.contains(['`', '“', '\n']) => {
            format!("{{ {inside} }}")
        }
        _ => "{ \"a\", \"b\" }".to_owned(),
    };
    let field = if has(":") {
        "; a field of a table is name = value"
    } else {
        ""
    };
    context.found(open, format!("a list stands in braces: {shown}{field}"))
}

/// Finds entries outside of any table.
fn outside(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let start = context.line_start(fail.saturating_sub(1));
    let here = context.line_start(fail);
    let at_top = context.open_brackets(fail).is_empty();
    if context.text(fail) == "[" && !context.ends_value(fail.wrapping_sub(1)) {
        return wrong_list(context, fail);
    }
    if at_top && context.text(fail) == "{" && fail == here {
        return context.found(
            fail,
            "a table alone is no plan: the options of a plan stand in plan { name = value }",
        );
    }
    if at_top && context.text(fail) == "-" && fail == here {
        let yaml = (0..fail).find(|at| is_yaml_key(context, *at));
        if let Some(key) = yaml {
            return yaml_key(context, key);
        }
        return context.found(
            fail,
            "this is YAML: a plan is Lua, as in plan { host = \"…\" } and task { function(user) … end }",
        );
    }
    let places = [start, here];
    let key = places
        .into_iter()
        .find(|at| is_yaml_key(context, *at) && *at < fail);
    if let Some(key) = key
        && at_top
    {
        return yaml_key(context, key);
    }
    if context.text(fail) == ":" || context.text_before(fail, 1) == ":" {
        let colon = if context.text(fail) == ":" {
            fail
        } else {
            fail - 1
        };
        if context.text_before(colon, 2) == "local" {
            return context.found(
                colon,
                "a local variable has no type and no colon (Lua has no types): write local name = value with '='",
            );
        }
    }
    None
}

/// Returns whether a line begins with `name:` as in YAML, and not with the call of a method.
fn is_yaml_key(context: &SyntaxContext<'_>, place: usize) -> bool {
    context.is_name(place)
        && context.words[place].first
        && context.text(place + 1) == ":"
        && (!context.touches_next(place + 1) || place + 2 == context.line_end(place))
        && !["try", "finally"].contains(&context.text(place))
}

fn yaml_key(context: &SyntaxContext<'_>, place: usize) -> Option<FoundMistake> {
    let name = context.text(place);
    context.found(
        place,
        if Settings::FIELDS.contains(&name) && place + 2 < context.line_end(place) {
            format!("an option of the plan is a field of plan {{ … }}: plan {{ {name} = value }}")
        } else {
            "this is YAML: a plan is Lua, as in plan { host = \"…\" } and task { function(user) … end }"
                .to_owned()
        },
    )
}
