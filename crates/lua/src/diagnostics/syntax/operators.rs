//! Operators of other languages, and operators without a value.

use super::context::{FoundMistake, LuaProblem, SyntaxContext};
use crate::diagnostics::tokens::TokenKind;

const NOT_EQUAL: &str = "Lua writes '~=' for 'is not equal to'";
const INCREMENT: &str = "Lua writes x = x + 1";
const FUNCTION: &str = "Lua writes a function as function(user) … end";

/// Finds an operator of another language at which Lua gave up.
pub(super) fn foreign_operator(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let (sign, before, next) = (
        context.text(fail),
        context.text_before(fail, 1),
        context.text(fail + 1),
    );
    if context.kind(fail) == Some(TokenKind::Text) {
        return None;
    }
    let here = |help: &str| context.found(fail, help);
    match (before, sign, next) {
        ("=", "!", _) | ("=", "!=", _) => return here(NOT_EQUAL),
        (_, "=", "!") if context.touches_next(fail) => return here(NOT_EQUAL),
        ("<", ">", _) => return here(NOT_EQUAL),
        ("~=" | "=" | "~", "=", _) if before != "=" && context.touches_next(fail - 1) => {
            return here(NOT_EQUAL);
        }
        (_, "=", "<") if context.touches_next(fail) => return here("Lua writes '<='"),
        ("*", "*", _) => return here("Lua writes '^' for a power, as in 2 ^ 3"),
        ("-" | "--", ">", _) => return here("Lua calls a method by ':', as in user:get(\"/\")"),
        (_, ".", "join") if context.kind(fail.wrapping_sub(1)) == Some(TokenKind::Text) => {
            return context.found(
                fail,
                format!("Lua joins the texts of a list by table.concat(list, {before})"),
            );
        }
        ("<", "-", _) if context.touches_next(fail - 1) => {
            return here("a variable is set by '=', as in local name = 1");
        }
        (_, ".", _)
            if context.kind(fail.wrapping_sub(1)) == Some(TokenKind::Text)
                && (context.kind(fail + 1) == Some(TokenKind::Text)
                    || context.is_name(fail + 1) && context.text(fail + 2) != "(")
                && context
                    .open_brackets(fail)
                    .last()
                    .is_none_or(|open| context.text(*open) != "{") =>
        {
            return here("'..' joins texts");
        }
        (_, "." | ":", _)
            if context.kind(fail.wrapping_sub(1)) == Some(TokenKind::Text)
                && context.is_name(fail + 1)
                && context.text(fail + 2) == "(" =>
        {
            return context.found(
                fail,
                format!("a method of a text is called by a colon behind parentheses: ({before}):{next}(…)"),
            );
        }
        (_, "/", _) if !context.ends_value(fail.wrapping_sub(1)) => {
            return here(
                "Lua has no patterns between '/': write regex \"…\", as in regex [[\\d+]]",
            );
        }
        _ => {}
    }
    let help = match sign {
        "!=" | "!==" => NOT_EQUAL,
        "===" => "Lua writes '==' for 'is equal to'",
        "&&" => "Lua writes 'and'",
        "||" | "??" => "Lua writes 'or'",
        "!" => "Lua writes 'not'",
        "?." => "Lua writes a and a.b",
        "?" => "Lua chooses between values by condition and a or b",
        "=>" => return arrow(context),
        "->" => "Lua calls a method by ':', as in user:get(\"/\")",
        "+=" if context.kind(fail + 1) == Some(TokenKind::Text) => {
            "'..' joins texts, and Lua has no sign for both: write x = x .. \"…\""
        }
        "++" | "+=" => INCREMENT,
        "-=" => "Lua writes x = x - 1",
        "*=" => "Lua writes x = x * 2",
        "/=" | "%=" => "Lua writes x = x / 2, without such a sign",
        ":=" if !is_field(context) => "Lua declares a variable by 'local', as in local name = 1",
        "::" => "one colon calls a method, as in user:get(\"/\")",
        "`" => return template(context),
        "$" => return dollar(context),
        "@" if !context.words[fail].first => {
            "'@' is no sign of Lua: names have letters, digits and '_'"
        }
        "@" => {
            "Lua has no decorators: a task is task { \"name\", weight = 3, function(user) … end }"
        }
        "\\" => {
            "'\\' has a meaning only in texts; a statement may go on in the next line without a sign"
        }
        "%" if context.kind(fail.wrapping_sub(1)) == Some(TokenKind::Text)
            && !context.words[fail].first =>
        {
            "Lua formats a text by string.format(\"%d users\", n), or (\"%d\"):format(n)"
        }
        ".." if is_call_without_brackets(context) => {
            "a call with a joined text needs parentheses: user:get(\"/node/\" .. id)"
        }
        "=" if before == "+" || before == "-" => INCREMENT,
        "<" | ">" | "==" | "~=" | "<=" | ">=" | "+" | "-" | "*" | "/" | "^" | "." | "," | ")"
        | "}" | "]" | ";" | ":" | "#" | "=" | "" => return incomplete(context),
        _ => return incomplete(context),
    };
    here(help)
}

/// Finds 'x--', where Lua sees a comment.
pub(super) fn decrement(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let before = context.fail.checked_sub(1)?;
    let word = context.words.get(before)?;
    let rest = context.source[word.end()..].lines().next()?;
    let is_decrement = rest.trim_end().trim_end_matches(';') == "--" && context.is_name(before);
    is_decrement.then(|| context.found(before, "Lua writes x = x - 1; '--' begins a comment"))?
}

/// Returns whether a field of a table is being written.
fn is_field(context: &SyntaxContext<'_>) -> bool {
    let open = context.open_brackets(context.fail);
    let in_table = open.last().is_some_and(|open| context.text(*open) == "{");
    in_table && ["{", ",", ";"].contains(&context.text_before(context.fail, 2))
}

fn arrow(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let start = context.line_start(fail);
    let in_condition = (start..fail)
        .any(|at| ["if", "elseif", "while", "until", "and", "or"].contains(&context.text(at)));
    if in_condition {
        return context.found(fail, "Lua writes '>=' for 'is at least'");
    }
    let next = context.kind(fail + 1);
    let is_value = matches!(next, Some(TokenKind::Number | TokenKind::Text));
    if is_field(context) && (is_value || context.kind(fail - 1) == Some(TokenKind::Text)) {
        return context.found(
            fail,
            "a field of a table is name = value, or [\"any name\"] = value",
        );
    }
    let name = match context.text_before(fail, 1) {
        ")" => context.text_before(fail, 2),
        name => name,
    };
    if ["", "user", "(", ")"].contains(&name) || !context.is_name(fail.saturating_sub(1)) {
        return context.found(fail, FUNCTION);
    }
    context.found(
        fail,
        format!("Lua writes a function as function({name}) return … end"),
    )
}

fn template(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let rest = &context.source[context.words[context.fail].at + 1..];
    let text = rest.split('`').next().unwrap_or_default();
    let help = if text.contains('\n') && rest.contains('`') {
        "a text of several lines stands in [[ … ]]; '..' joins texts"
    } else {
        "write a text as \"…\", and join texts by '..', as in \"/node/\" .. id: '..' joins texts"
    };
    context.found(context.fail, help)
}

fn dollar(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    // A loop over numbers has its own remedy.
    if (context.line_start(fail)..fail).any(|at| context.text(at) == "for") {
        return None;
    }
    let name = match (context.text(fail + 1), context.is_name(fail + 1)) {
        (name, true) => name,
        ("{", _) if context.is_name(fail + 2) => context.text(fail + 2),
        _ => {
            return context.found(
                fail,
                "'$' is no sign of Lua: env \"NAME\" reads a variable of the environment",
            );
        }
    };
    if is_entry_start(context, fail) {
        return context.found(fail, format!("names have no '$' in Lua: write {name}"));
    }
    context.found(
        fail,
        format!("names have no '$' in Lua: {name} is a variable, and env \"{name}\" one of the environment"),
    )
}

fn is_entry_start(context: &SyntaxContext<'_>, place: usize) -> bool {
    ["{", ",", ";"].contains(&context.text_before(place, 1)) && context.text(place + 2) == "="
}

/// Returns whether a call whose only argument is a text or a table ends before the word at which Lua gave up.
fn is_call_without_brackets(context: &SyntaxContext<'_>) -> bool {
    let Some(argument) = context.fail.checked_sub(1) else {
        return false;
    };
    context.kind(argument) == Some(TokenKind::Text) && argument > 0 && context.is_name(argument - 1)
}

/// Finds an operator or a sign that lacks a value.
fn incomplete(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let before = context.text_before(fail, 1);
    let sign = context.text(fail);
    let operators = [
        "and", "or", "not", "+", "-", "*", "/", "%", "^", "..", "==", "~=", "<", ">", "<=", ">=",
        "=", "return",
    ];
    if ["if", "elseif", "while", "until"].contains(&before)
        && ["then", "do", "end", ""].contains(&sign)
    {
        return context.found(fail - 1, format!("after '{before}' a condition is missing"));
    }
    let is_operator = ["and", "or", "==", "~=", "+", "*", "/"].contains(&sign);
    if is_operator && before == ")" && context.problem == LuaProblem::Other {
        return context.found(
            fail,
            "the value of a call is not used: write local x = … or if … then … end around it",
        );
    }
    let joins = ["..", "*", "/", "==", "~=", "<", "<=", ">=", "and", "or"].contains(&sign);
    if joins && ["=", "(", ",", "{", "return"].contains(&before) {
        return context.found(fail, format!("before '{sign}' a value is missing"));
    }
    if !operators.contains(&before) {
        return None;
    }
    let last = fail - 1;
    if sign == "else" && before == "or" {
        return context.found(
            last,
            "after 'or' a value is missing; a second condition is 'elseif condition then'",
        );
    }
    let ends = [
        "then", "do", "end", "else", "elseif", "until", "", "and", "or", ",", ")", "}", "]", ";",
        ":",
    ];
    let is_assignment = sign == "=" && before == "=" && !context.touches_next(last);
    let is_statement =
        context.is_keyword(fail) && !["not", "nil", "true", "false", "function"].contains(&sign);
    if is_assignment {
        return context.found(
            fail,
            "there is one '=' too many: '=' sets a variable, '==' compares",
        );
    }
    if before == "return"
        || !(ends.contains(&sign)
            || is_statement
            || context.problem == LuaProblem::Expected("<name>"))
    {
        return None;
    }
    if before == "=" {
        return context.found(last, "after '=' a value is missing");
    }
    context.found(last, format!("after '{before}' a value is missing"))
}
