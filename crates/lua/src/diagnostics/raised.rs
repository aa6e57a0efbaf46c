//! Conversion of Lua errors for people: with the plan's own file and line, never lgoose's insides.

use super::syntax;
use crate::plan_files::Sources;
use lgoose_base::error::{Diagnostic, NOT_AS_EXPECTED, cut, masked_secrets};
use std::fmt;

/// The most characters of a word that a message quotes, and of the words about a call.
const MOST_SHOWN: usize = 80;

/// The most calls that the stack trace of a task shows.
const MOST_CALLS: usize = 12;

/// An error that a task raised. It counts as a task failure; the user goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaisedError {
    /// The message without its location.
    pub message: String,
    /// `file:line` in the plan or one of its modules, if it is known.
    pub line: Option<String>,
    /// The stack trace: of a task, of the plan's calls alone, the innermost first, a line each.
    pub backtrace: Option<String>,
}

impl RaisedError {
    /// Returns whether a failed request has ended the task, by `response:ensure()`. A plan that has caught the error and raised
    /// it again has only its text, which decides therefore.
    pub fn is_of_request(&self) -> bool {
        self.message.starts_with(NOT_AS_EXPECTED)
    }
}

/// A message that a plan raises in the words of one of Lua's. It is not an error of Lua, and has no line.
#[derive(Debug)]
pub(crate) struct PlainText(pub(crate) String);

impl fmt::Display for PlainText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlainText {}

/// Splits an error into message, location and stack trace.
pub(crate) fn to_raised(error: &mlua::Error, sources: &Sources) -> RaisedError {
    let text = match innermost(error) {
        mlua::Error::RuntimeError(text) | mlua::Error::SyntaxError { message: text, .. } => {
            text.clone()
        }
        mlua::Error::MemoryError(_) => {
            "not enough memory; a user's VM may take '--lua-memory'".to_owned()
        }
        mlua::Error::FromLuaConversionError { from, to, .. } => describe_conversion(from, to),
        other => other.to_string(),
    };
    let (text, backtrace) = match text.split_once("\nstack traceback:") {
        Some((text, stack)) => (text.to_owned(), Some(stack.to_owned())),
        None => (text, None),
    };
    let backtrace = backtrace.or_else(|| plan_stack(error, sources));
    let (line, message) = match sources.split_location(&text) {
        Some((file, line, message)) => (Some(format!("{file}:{line}")), message.to_owned()),
        None => (None, strip_own_place(&text).to_owned()),
    };
    RaisedError {
        line: line.or_else(|| {
            backtrace
                .as_deref()
                .and_then(|stack| sources.first_plan_line(stack))
        }),
        message: cut(masked_secrets(&make_readable(message.trim_end())).into_owned()),
        backtrace,
    }
}

/// Returns whether Lua raised the error because its memory is full.
pub(crate) fn is_of_memory(error: &mlua::Error) -> bool {
    matches!(innermost(error), mlua::Error::MemoryError(_))
}

/// Returns whether Lua raised the error because code yielded that nothing can resume. The function that yields is Lua's
/// own, so that the error has no line, and an error of the plan in the same words is [`PlainText`].
pub(crate) fn is_of_yield(error: &mlua::Error) -> bool {
    let mlua::Error::RuntimeError(text) = error else {
        return false;
    };
    let message = text.split("\nstack traceback:").next();
    message == Some("attempt to yield from outside a coroutine")
}

/// Converts an error that stops a plan from loading to a diagnostic.
pub(crate) fn diagnose(error: &mlua::Error, sources: &Sources) -> Diagnostic {
    if let Some(diagnostic) = error.downcast_ref::<Diagnostic>() {
        return diagnostic.clone();
    }
    let raised = to_raised(error, sources);
    let place = raised
        .line
        .as_deref()
        .and_then(|place| place.rsplit_once(':'))
        .and_then(|(file, line)| Some((file.to_owned(), line.parse().ok()?)));
    // A help may follow the message after a line break.
    let (message, help) = match raised.message.split_once('\n') {
        Some((message, help)) => (message.to_owned(), Some(help.to_owned())),
        None => (raised.message, None),
    };
    let remedy = place.as_ref().and_then(|(file, line)| {
        let is_syntax = matches!(innermost(error), mlua::Error::SyntaxError { .. });
        is_syntax.then(|| syntax::remedy(&message, *line, &sources.text(file)))?
    });
    let (place, message, help) = match (remedy, place) {
        // Lua may give up on a later line than that of the mistake.
        (Some(remedy), Some((file, line))) => {
            let message = if remedy.line == line {
                message
            } else {
                let word: String = remedy.word.chars().take(MOST_SHOWN).collect();
                format!("syntax error near '{word}'")
            };
            (Some((file, remedy.line)), message, Some(remedy.help))
        }
        (_, place) => (place, message, help),
    };
    let mut diagnostic = Diagnostic::new(message);
    if let Some((file, line)) = place {
        let text = sources.text(&file);
        // Lua reports the end of a file as the line after its last.
        let last = text.trim_end().lines().count().max(1) as u32;
        diagnostic = diagnostic.at(file, Some(last.min(line)), &text);
    } else if let Some(plan) = sources.all().first() {
        diagnostic = diagnostic.at(&plan.name, None, "");
    }
    if let Some(help) = help {
        diagnostic = diagnostic.help(help);
    }
    match raised.backtrace {
        Some(stack) => diagnostic.backtrace(stack),
        None => diagnostic,
    }
}

/// Replaces words of Lua that say nothing to an author: addresses of values, halves of characters, and `<eof>`. Adds
/// the remedy where a plan calculates with texts.
fn make_readable(message: &str) -> String {
    if let Some((problem, _)) = message.split_once(" near '<\\") {
        return format!("{problem} near a character that Lua does not know");
    }
    if message.starts_with("attempt to add a 'string' with")
        || (message.starts_with("attempt to add a '") && message.ends_with("' with a 'string'"))
    {
        return format!("{message}: '..' joins texts, and tonumber(text) makes a number of one");
    }
    if let Some(rest) = message.strip_prefix("attempt to index a function value (global '")
        && let Some(name) = rest.strip_suffix("')")
    {
        return format!("{message}; '{name}' is a function: write {name}(…)");
    }
    if let Some(rest) = message.strip_suffix(" near <eof>") {
        return format!("{rest} at the end of the file");
    }
    let is_address =
        |text: &str| text.len() > 2 && text[2..].bytes().all(|b| b.is_ascii_hexdigit());
    match message.split_once(": 0x") {
        Some((kind @ ("table" | "function" | "userdata" | "thread"), _))
            if is_address(&message[kind.len() + 2..]) =>
        {
            format!("an error that is a {kind} was raised")
        }
        _ if message == "nil" => "an error without a message was raised".to_owned(),
        _ => message.to_owned(),
    }
}

fn innermost(error: &mlua::Error) -> &mlua::Error {
    match error {
        mlua::Error::CallbackError { cause, .. }
        | mlua::Error::WithContext { cause, .. }
        | mlua::Error::BadArgument { cause, .. } => innermost(cause),
        other => other,
    }
}

/// Describes an argument of the wrong type without the names that Rust has for types.
fn describe_conversion(from: &str, to: &str) -> String {
    let expected = match to {
        "string" | "String" => "a string",
        "i64" if from == "number" => return "expected a whole number here".to_owned(),
        "i64" => "a whole number",
        "f64" => "a number",
        "bool" => "true or false",
        "table" => "a table",
        "function" => "a function",
        other => other,
    };
    match from {
        "nil" => format!("expected {expected} here, not nil"),
        "lightuserdata" => format!("expected {expected} here, not json.null"),
        from => format!("expected {expected} here, not a {from}"),
    }
}

/// Returns the message for an argument that is nil and must not be; `None` for other errors.
pub(crate) fn nil_expected(error: &mlua::Error) -> Option<String> {
    match innermost(error) {
        mlua::Error::FromLuaConversionError {
            from: "nil", to, ..
        } => Some(describe_conversion("nil", to)),
        _ => None,
    }
}

/// Returns the stack trace of the innermost call into lgoose that failed and that the plan made: an error that is
/// raised in Rust has no other location.
fn plan_stack(error: &mlua::Error, sources: &Sources) -> Option<String> {
    match error {
        mlua::Error::CallbackError { traceback, cause } => {
            plan_stack(cause, sources).or_else(|| {
                let stack = traceback.trim_start_matches("stack traceback:");
                sources.first_plan_line(stack).map(|_| stack.to_owned())
            })
        }
        mlua::Error::WithContext { cause, .. } => plan_stack(cause, sources),
        _ => None,
    }
}

/// Returns the lines of a stack trace that are in files of the plan, such as `plan.lua:3: in upvalue 'login'`. `None` if there
/// are none.
pub(crate) fn calls_of_plan(stack: &str, sources: &Sources) -> Option<String> {
    let calls = stack.lines().filter_map(|call| {
        let place = sources.first_plan_line(call)?;
        let (_, role) = call.split_once(": in ").unwrap_or_default();
        Some(match role {
            "" => place,
            role => {
                let role: String = role.chars().take(MOST_SHOWN).collect();
                format!("{place}: in {role}")
            }
        })
    });
    let calls: Vec<String> = calls.take(MOST_CALLS).collect();
    (!calls.is_empty()).then(|| calls.join("\n"))
}

/// Strips the location that Lua gives to code without line numbers, which is lgoose's own.
fn strip_own_place(text: &str) -> &str {
    text.strip_prefix("?:-1: ").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_from_its_place() {
        let error = mlua::Error::RuntimeError(
            "plans/a.lua:12: boom\nstack traceback:\n\t[C]: in ?".to_owned(),
        );
        let raised = to_raised(&error, &Sources::of_plan("plans/a.lua", ""));
        assert_eq!(raised.message, "boom");
        assert_eq!(raised.line.as_deref(), Some("plans/a.lua:12"));
    }

    #[test]
    fn the_stack_of_a_task_has_the_calls_in_files_of_the_plan() {
        let sources = Sources::of_plan("p.lua", "");
        let stack = "\n\t[C]: in function 'error'\n\tp.lua:3: in upvalue 'login'\n\t(...tail calls...)\n\t?: in method \
                     'transaction'\n\tp.lua:9: in function <p.lua:7>\n\t?: in ?";
        let expected = "p.lua:3: in upvalue 'login'\np.lua:9: in function <p.lua:7>";
        assert_eq!(calls_of_plan(stack, &sources).as_deref(), Some(expected));
        assert_eq!(calls_of_plan("\n\t[C]: in ?", &sources), None);
    }

    #[test]
    fn an_error_without_a_place_takes_the_topmost_line_of_the_stack() {
        let stack = "{table}\nstack traceback:\n\t[C]: in function 'error'\n\tp.lua:3: in function <p.lua:2>";
        let raised = to_raised(
            &mlua::Error::RuntimeError(stack.to_owned()),
            &Sources::of_plan("p.lua", ""),
        );
        assert_eq!(raised.line.as_deref(), Some("p.lua:3"));
    }
}
