//! Words of other languages where a statement of Lua begins or two words stand together, and keywords of Lua that are
//! misspelt.

use super::context::{FoundMistake, LuaProblem, SyntaxContext};
use crate::diagnostics::tokens::{KEYWORDS, TokenKind};

const LOCAL: &str = "Lua declares a variable by 'local', as in local name = 1";
const FUNCTION: &str = "Lua writes a function as local function name(user) … end";
const ASYNC: &str = "leave out 'async' and 'await': a request returns when its response is there";
const ERROR: &str = "Lua raises an error by error(\"…\")";
const PCALL: &str = "Lua catches an error by local ok, problem = pcall(function() … end)";
const SWITCH: &str = "Lua has no such word: write if … elseif … else … end";
const MODULE: &str = "a plan loads a module by local name = require \"name\"";
const REQUEST: &str = "a task sends requests by its user: user:get \"/\"";
const SHELL: &str =
    "this is a command of a shell: a plan is Lua, as in task { function(user) … end }";
const VALUE: &str = "Lua chooses between values by condition and a or b";

/// Words that stand before a name, a text or a bracket, with what Lua has in their place.
const BEFORE_OTHERS: &[(&[&str], &str)] = &[
    (
        &[
            "const", "let", "var", "readonly", "int", "double", "auto", "val", "my", "dim",
            "string", "bool", "float", "char", "global", "nonlocal", "declare",
        ],
        LOCAL,
    ),
    (&["async", "await"], ASYNC),
    (&["import", "from", "source", "include", "using"], MODULE),
    (
        &["def", "func", "fn", "fun", "sub", "proc", "fucntion"],
        FUNCTION,
    ),
    (
        &["export"],
        "leave out 'export': what a plan declares by task, scenario and plan counts, and env \"NAME\" reads a variable",
    ),
    (
        &["class", "interface", "struct", "extends"],
        "Lua has no classes: a kind of user is scenario { \"name\", task { function(user) … end } }",
    ),
    (&["throw", "raise"], ERROR),
    (&["switch", "case", "match", "when"], SWITCH),
    (&["try", "catch", "except", "finally", "rescue"], PCALL),
    (
        &["with"],
        "Lua has no 'with': local page = user:get(\"/\") keeps a response, and user:transaction(\"name\", function() … end) \
         times several requests",
    ),
    (
        &["assert"],
        "Lua calls it with parentheses: assert(value, \"message\")",
    ),
    (
        &["del", "delete", "unset"],
        "Lua removes a value by setting it to nil: user.data.x = nil",
    ),
    (
        &["new"],
        "Lua has no 'new': a table is { name = value }, and time is in os.time(), os.date() and user.iteration",
    ),
    (&["lambda"], "Lua writes it as function(x) return … end"),
    (&["yield"], "Lua yields by coroutine.yield(value)"),
    (&["typeof"], "Lua writes type(value) == \"string\""),
    (
        &["instanceof"],
        "Lua has no classes: type(value) is \"table\", \"string\", \"number\" and so on",
    ),
    (
        &["echo", "puts", "printf", "say"],
        "Lua prints by print(\"…\")",
    ),
    (&["unless"], "Lua writes if not condition then … end"),
    (
        &["foreach"],
        "Lua goes through a list by for _, value in ipairs(list) do … end",
    ),
    (
        &["elif", "elsif", "elseif"],
        "Lua writes 'elseif condition then'",
    ),
    (&["sleep", "pause"], "a task pauses by user:wait(seconds)"),
    (&["curl", "wget", "fetch"], REQUEST),
    (
        &["lgoose", "k6", "locust"],
        "this belongs on the command line, not into a plan: lgoose plan.lua --users 5",
    ),
    (&["exit"], "a user stops by user:stop()"),
    (&["set", "test", "fi", "esac", "done"], SHELL),
    (&["public", "private", "static", "void", "final"], FUNCTION),
    (
        &["is"],
        "Lua compares by '==': write x == nil, and ~= nil for 'is not'",
    ),
    (
        &["in"],
        "Lua has no 'in' outside of a loop: write list[name] ~= nil, or text:find(\"…\", 1, true)",
    ),
];

/// Words that are statements of their own.
const ALONE: &[(&[&str], &str)] = &[
    (
        &["continue", "next"],
        "Lua has no 'continue': write goto continue, with the label ::continue:: before the 'end' of the loop",
    ),
    (
        &["pass"],
        "Lua has no 'pass': an empty block needs nothing between 'then' or 'do' and 'end'",
    ),
    (
        &["fi", "done", "esac", "endif", "endfor", "endwhile", "wend"],
        "a block of Lua ends with 'end'",
    ),
    (&["try", "finally"], PCALL),
    (&["elif", "elsif"], "Lua writes 'elseif condition then'"),
];

/// Finds a word of another language.
pub(super) fn foreign_word(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    if let Some(found) = keyword_as_name(context) {
        return Some(found);
    }
    if let Some(found) = alone(context) {
        return Some(found);
    }
    if let Some(found) = other_else(context) {
        return Some(found);
    }
    let condition = value_condition(context);
    if condition.is_some() {
        return condition;
    }
    if context.text(fail) == "not" && context.text(fail + 1) == "in" {
        return context.found(
            fail,
            "Lua has no 'in' outside of a loop: write list[name] == nil, or not text:find(\"…\", 1, true)",
        );
    }
    // From the left: what comes first is the cause.
    for at in context.suspects() {
        let word = context.text(at);
        if context.kind(at) != Some(TokenKind::Name)
            || [".", ":"].contains(&context.text_before(at, 1))
        {
            continue;
        }
        let Some((_, help)) = BEFORE_OTHERS
            .iter()
            .find(|(words, _)| words.contains(&word))
        else {
            continue;
        };
        // Keywords are foreign only where Lua gave up.
        if context.is_keyword(at) && at != fail {
            continue;
        }
        // A module may have the name of a command.
        if ["lgoose", "k6", "locust"].contains(&word) && !context.words[at].first {
            continue;
        }
        if stands_before_other(context, at) {
            return context.found(at, *help);
        }
    }
    None
}

/// Returns whether the word before another cannot be a name of the plan's own.
fn stands_before_other(context: &SyntaxContext<'_>, at: usize) -> bool {
    let next = at + 1;
    let (word, behind) = (context.text(at), context.text(next));
    let is_infix = ["is", "in", "instanceof"].contains(&word);
    if is_infix {
        return at == context.fail && at > 0 && context.ends_value(at - 1);
    }
    if next > context.fail || context.line_of(next) != context.line_of(at) {
        return next > context.fail && at == context.fail;
    }
    let is_word = context.is_name(next)
        || context.is_keyword(next) && !["then", "do", "end", "and", "or", "in"].contains(&behind);
    match context.kind(next) {
        Some(TokenKind::Name) => is_word,
        Some(TokenKind::Number) => true,
        // 'f "x"' and 'f {' are calls: only a statement that goes on is none.
        Some(TokenKind::Text) => context.fail > next + 1 || context.fail == next,
        Some(TokenKind::Sign) => match behind {
            "{" | "[" | "$" | "@" => true,
            // switch (x) {, try:
            "(" => ["switch", "catch", "match", "case"].contains(&word),
            ":" => ["try", "finally", "except"].contains(&word),
            "-" => ["curl", "set", "test", "lgoose", "k6"].contains(&word),
            _ => false,
        },
        None => false,
    }
}

/// Finds a keyword where a name belongs.
fn keyword_as_name(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let before = context.text_before(fail, 1);
    let word = context.text(fail);
    if before == "local" && context.is_keyword(fail) {
        return context.found(
            fail,
            format!("'{word}' is a keyword of Lua, so no variable can have that name"),
        );
    }
    if before == "function" && context.text_before(fail, 2) == "local" {
        let help = match word {
            "(" => "a local function has a name: local function name(user) … end",
            _ => "'function' is a keyword of Lua, so no variable can have that name",
        };
        return context.found(fail, help);
    }
    if before == "." && context.is_keyword(fail) {
        return context.found(
            fail,
            format!("'{word}' is a keyword of Lua: write [\"{word}\"] in place of .{word}"),
        );
    }
    None
}

/// Finds a word that is a statement of its own in another language.
fn alone(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    for at in context.suspects() {
        let is_statement = context.may_begin_statement(at) && context.is_name(at);
        let ends = at + 1 == context.line_end(at)
            || [":", ";", "end", "{"].contains(&context.text(at + 1));
        let word = context.text(at);
        // 'endif' is no value that anything could be joined with.
        let is_end = ["fi", "done", "esac", "endif", "endfor", "endwhile", "wend"].contains(&word)
            && context.is_name(at)
            && at > 0
            && context.ends_value(at - 1);
        if is_end && ends {
            return context.found(at, "a block of Lua ends with 'end'");
        }
        if !is_statement || !ends || at == context.fail && context.problem != LuaProblem::Other {
            continue;
        }
        let known = ALONE.iter().find(|(words, _)| words.contains(&word));
        // 'next { … }' is a call.
        let is_call = word == "next" && context.text(at + 1) == "{";
        if let Some((_, help)) = known.filter(|_| !is_call) {
            return context.found(at, *help);
        }
    }
    None
}

/// Finds 'else' with a colon or braces.
fn other_else(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let (word, before, next) = (
        context.text(fail),
        context.text_before(fail, 1),
        context.text(fail + 1),
    );
    if word == ":" && before == "else" {
        return context.found(fail, "'else' has no colon in Lua");
    }
    if word == ":" && context.closes_parameters(fail.saturating_sub(1)) {
        return context.found(fail, "Lua has no colon there: function(user) … end");
    }
    let chained = |at: usize| context.text(at) == "else" && context.text(at + 1) == "if";
    if word == "}" && next == "else" || word == "{" && before == "else" {
        let at = if word == "}" { fail + 1 } else { fail - 1 };
        return context.found(
            fail,
            if chained(at) {
                "a block of Lua has no braces: write elseif condition then"
            } else {
                "a block of Lua has no braces: 'else' stands alone, and 'end' ends the block"
            },
        );
    }
    if word == "else" && chained(fail) {
        return context.found(
            fail,
            "write 'elseif' as one word, after an 'if' with 'then'",
        );
    }
    if ["else", "elseif", "then"].contains(&word) && !context.ends_value(fail.wrapping_sub(1))
        || word == "else"
        || word == "elseif"
    {
        let open = context.open_brackets(fail);
        let in_if = open.last().is_some_and(|open| context.text(*open) == "if");
        if !in_if && word != "then" {
            return context.found(
                fail,
                format!("there is no 'if' that this '{word}' could belong to"),
            );
        }
    }
    if word == "then" && context.may_begin_statement(fail) {
        return context.found(fail, "there is no 'if' that this 'then' could belong to");
    }
    if word == "{" && context.closes_parameters(fail.saturating_sub(1)) {
        return context.found(
            fail,
            "a block of Lua has no braces: a function is function(user) … end, and 'do' or 'then' begins other blocks",
        );
    }
    if word == "{" && before == "then" {
        return context.found(
            fail,
            "a block of Lua has no braces: it begins with 'then' or 'do' and ends with 'end'",
        );
    }
    if word == "until" && context.may_begin_statement(fail) {
        let open = context.open_brackets(fail);
        if open
            .last()
            .is_none_or(|open| context.text(*open) != "repeat")
        {
            return context.found(
                fail,
                "there is no 'repeat' that this 'until' could belong to; a loop with its condition first is while not condition do … end",
            );
        }
    }
    if before == "function" && word == "(" && context.may_begin_statement(fail - 1) {
        return context.found(
            fail - 1,
            "a function that is a statement has a name: local function name(user) … end",
        );
    }
    if before == "end"
        && ["if", "for", "while", "function"].contains(&word)
        && fail + 1 == context.line_end(fail)
        || context.text_before(fail, 2) == "end"
            && ["if", "for", "while", "function"].contains(&before)
            && context.line_of(fail) != context.line_of(fail - 1)
            && !context.words[fail - 1].first
    {
        return context.found(fail - 1, "a block of Lua ends with 'end' alone");
    }
    if word == "{" && before == "do" {
        let closes = context.closing_on_line(fail);
        let is_while = closes.is_some_and(|at| context.text(at + 1) == "while");
        return context.found(
            fail,
            if is_while {
                "Lua writes repeat … until condition, which ends when the condition holds"
            } else {
                "a block of Lua has no braces: it begins with 'then' or 'do' and ends with 'end'"
            },
        );
    }
    if before == "function" && (context.is_name(fail) || word == "{") {
        return context.found(
            fail,
            "the parameters of a function stand in parentheses: function(user) … end",
        );
    }
    let named = context.text_before(fail, 2) == "function" && context.is_name(fail - 1);
    if named && context.problem == LuaProblem::Expected("(") {
        let name = before;
        return context.found(
            fail - 1,
            format!("the parameters of a function stand in parentheses: function({name}) … end"),
        );
    }
    None
}

/// Finds `a if condition else b`.
fn value_condition(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let place = context
        .suspects()
        .find(|at| context.text(*at) == "if" && !context.words[*at].first)?;
    let is_value =
        place > 0 && context.ends_value(place - 1) && context.text_before(place, 1) != "end";
    let has_else = (place..context.line_end(place)).any(|at| context.text(at) == "else");
    let has_then = (place..fail).any(|at| context.text(at) == "then");
    (is_value && has_else && !has_then).then(|| context.found(place, VALUE))?
}

/// Finds a keyword of Lua that is misspelt: the text could go on with the right one.
pub(super) fn misspelt_keyword(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    for at in context.suspects() {
        let word = context.text(at);
        let is_member = [".", ":"].contains(&context.text_before(at, 1));
        if !context.is_name(at) || is_member || word.len() < 2 {
            continue;
        }
        let lower = word.to_ascii_lowercase();
        let same = KEYWORDS.into_iter().find(|keyword| *keyword == lower);
        let is_function = ["func", "fun", "fn", "def", "lambda"].contains(&word)
            && context.text(at + 1) == "("
            && at < fail
            && context.text_before(at, 1) != "function";
        if is_function {
            return context.found(
                at,
                format!("Lua writes 'function' for '{word}': function(user) … end"),
            );
        }
        let near = || {
            let mut near = KEYWORDS
                .into_iter()
                .filter(|keyword| keyword.len() >= 3 && is_typo(&lower, keyword));
            near.find(|keyword| context.is_repaired(at, at + 1, keyword))
        };
        if let Some(keyword) = same {
            if fail < context.words.len() && context.is_repaired(at, at + 1, keyword) {
                return context.found(at, format!("Lua writes '{keyword}', in lower case"));
            }
        } else if fail < context.words.len()
            && at + 2 > fail.saturating_sub(8)
            && let Some(keyword) = near()
        {
            return context.found(at, format!("did you mean '{keyword}'?"));
        }
    }
    None
}

/// Returns whether one change makes the one word of the other: a letter more, less or another, or two in other order.
fn is_typo(word: &str, keyword: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), keyword.chars().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([], []) => false,
        ([x, y, a @ ..], [z, w, b @ ..]) if x == w && y == z && a == b => true,
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        ([_, rest @ ..], b) if rest == b => true,
        (a, [_, rest @ ..]) => rest == a,
        _ => false,
    }
}

/// Finds a declaration of a plan that is written as a call, a text or an assignment.
pub(super) fn wrong_declaration(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    const FORMS: [(&str, &str); 3] = [
        ("task", "task { \"a\", function(user) … end }"),
        (
            "scenario",
            "scenario { \"a\", task { function(user) … end } }",
        ),
        ("plan", "plan { host = \"…\" }"),
    ];
    for at in context.suspects() {
        if !context.words[at].first || !context.open_brackets(at).is_empty() {
            continue;
        }
        let Some((_, form)) = FORMS.iter().find(|(name, _)| *name == context.text(at)) else {
            continue;
        };
        let next = context.text(at + 1);
        let is_text = context.kind(at + 1) == Some(TokenKind::Text);
        if is_text && context.fail == at + 2 || context.is_name(at + 1) && context.fail == at + 1 {
            return context.found(at, format!("a declaration stands in braces: write {form}"));
        }
        if next == "(" && context.text(context.fail) == "}" {
            return context.found(at, format!("a declaration stands in braces: write {form}"));
        }
    }
    None
}

/// Finds a value that stands alone, where a statement belongs.
pub(super) fn lone_value(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let before = fail.checked_sub(1)?;
    match context.problem {
        LuaProblem::Expected("function arguments") => {
            let name = context.text(before);
            return context.found(
                before,
                format!("a method is called with parentheses: '(' belongs after '{name}', as in user:get(\"/\")"),
            );
        }
        LuaProblem::NoVisibleLabel => {
            let goto = context
                .words
                .iter()
                .rposition(|word| word.line <= context.line && word.text == "goto")?;
            let label = context.text(goto + 1);
            return context.found(
                goto,
                format!("'goto {label}' needs the label ::{label}:: in the same block or in one around it"),
            );
        }
        LuaProblem::BreakOutsideLoop => {
            let at = context
                .words
                .iter()
                .rposition(|word| word.text == "break" && word.line <= context.line)?;
            return context.found(
                at,
                "'break' ends a loop, and stands in none here; 'return' ends a task",
            );
        }
        LuaProblem::VarargOutsideFunction => {
            return context.found(
                fail,
                "'...' are the further arguments of function(...); Lua copies a table by a loop, for key, value in pairs(t)",
            );
        }
        _ => {}
    }
    let after_return = after_return(context);
    if after_return.is_some() {
        return after_return;
    }
    let sign = context.text(fail);
    if sign == "=" && context.text_before(fail, 1) == ")" {
        let call = context.line_start(before);
        return context.found(
            call,
            "a call has no place on the left of '=': write local page = user:get(\"/\")",
        );
    }
    let is_literal = matches!(
        context.kind(fail),
        Some(TokenKind::Number | TokenKind::Text)
    );
    if context.problem == LuaProblem::Other
        && is_literal
        && context.ends_value(before)
        && context.line_of(before) == context.line_of(fail)
        && !context.is_name(before)
    {
        return context.found(
            fail,
            format!(
                "an operator or a comma is missing between '{}' and '{}'",
                context.text(before),
                context.text(fail)
            ),
        );
    }
    if context.problem != LuaProblem::Other || !context.is_name(before) {
        return local_without_sign(context);
    }
    if let Some(found) = local_without_sign(context) {
        return Some(found);
    }
    // user:get("/").status
    let is_of_call = context.text_before(before, 1) == "." && context.text_before(before, 2) == ")";
    if is_of_call && sign != "=" && sign != "," {
        return context.found(
            before,
            format!("'.{}' of a call alone is no statement: write local x = … before it, or if … then … end around it", context.text(before)),
        );
    }
    let start = chain_start(context, before);
    if context.line_of(before) == context.line_of(fail) && context.may_begin_statement(start) {
        let value = context.slice(start, before + 1);
        if context.kind(fail) == Some(TokenKind::Number) {
            let number = context.text(fail);
            return context.found(
                start,
                format!(
                    "a call with a number needs parentheses: {value}({number}), as in user:wait(1)"
                ),
            );
        }
        if context.is_name(fail) {
            let other = context.text(fail);
            let help = match value {
                "user" => format!("a method is called by a colon: user:{other}(…)"),
                "require" => "the name of a module is a text: require \"name\"".to_owned(),
                _ => format!(
                    "'{value}' and '{other}' stand side by side: a variable is declared by 'local', and a function called with \
                     parentheses, as in {value}({other})"
                ),
            };
            return context.found(start, help);
        }
    }
    let beside = before.checked_sub(1).filter(|other| {
        context.ends_value(*other) && context.line_of(*other) == context.line_of(before)
    });
    if let Some(other) = beside
        && !context.may_begin_statement(before)
    {
        return context.found(
            before,
            format!(
                "an operator or a comma is missing between '{}' and '{}'",
                context.text(other),
                context.text(before)
            ),
        );
    }
    // The beginning of the chain 'a.b.c'.
    let start = chain_start(context, before);
    if !context.may_begin_statement(start) {
        return None;
    }
    let value = context.slice(start, before + 1);
    match sign {
        "==" | "~=" | "<" | ">" | "<=" | ">=" | "+" | "*" | "/" | ".." | "and" | "or" => {
            context.found(
                start,
                format!("a value alone is no statement: '{value} = …' sets it, and '{value}(…)' calls it"),
            )
        }
        _ if context.line_of(fail) != context.line_of(before)
            || context.is_keyword(fail)
            || sign.is_empty() =>
        {
            context.found(
                start,
                format!("'{value}' alone is no statement: '{value} = …' sets it, and '{value}(…)' calls it"),
            )
        }
        _ => None,
    }
}

/// Returns the place at which the chain `a.b.c` begins that ends at a name.
fn chain_start(context: &SyntaxContext<'_>, end: usize) -> usize {
    let mut start = end;
    while start >= 2 && context.text(start - 1) == "." && context.is_name(start - 2) {
        start -= 2;
    }
    start
}

/// Finds `local x 1` and `local x == 1`.
fn local_without_sign(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let before = fail.checked_sub(1)?;
    if context.text_before(before, 1) != "local" || !context.is_name(before) {
        return None;
    }
    let name = context.text(before);
    let sign = context.text(fail);
    if sign == "-" && context.is_name(fail + 1) {
        let other = context.text(fail + 1);
        return context.found(
            before,
            format!("names have no '-' in Lua: write {name}_{other}"),
        );
    }
    if context.line_of(fail) != context.line_of(before) {
        return None;
    }
    let is_other = ["==", ":=", "+", "+=", ":", "->", "=>"].contains(&sign)
        || matches!(
            context.kind(fail),
            Some(TokenKind::Number | TokenKind::Text)
        );
    is_other.then(|| {
        context.found(
            before,
            format!("a variable is set by '=': local {name} = value"),
        )
    })?
}

/// Finds code behind a 'return'.
fn after_return(context: &SyntaxContext<'_>) -> Option<FoundMistake> {
    let fail = context.fail;
    let expects_end = matches!(
        context.problem,
        LuaProblem::Unclosed("end" | "until") | LuaProblem::Expected("end" | "<eof>" | "until")
    );
    if !expects_end || ["}", ")", "]", "end", ""].contains(&context.text(fail)) {
        return None;
    }
    let open = context.open_brackets(fail);
    let block = open.last().map_or(0, |open| open + 1);
    let place = (block..fail)
        .rev()
        .find(|at| context.text(*at) == "return")?;
    let same_block = context.open_brackets(place).len() == open.len();
    (same_block && context.kind(place) == Some(TokenKind::Name)).then(|| {
        context.found(
            place,
            "'return' is the last statement of its block: what follows never runs; write if condition then return end",
        )
    })?
}
