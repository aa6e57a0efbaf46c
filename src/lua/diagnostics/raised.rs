//! Turns what Lua raises into what people read: the plan's own file and line, never lgoose's insides.

use crate::error::Diagnostic;
use crate::lua::plan_files::Sources;

/// What a task raised: counted as a task failure, the user goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The message without its place.
    pub message: String,
    /// `file:line` in the plan or one of its modules, if it is known.
    pub line: Option<String>,
    /// The stack of the plan's calls.
    pub backtrace: Option<String>,
}

/// Splits an error into message, place and stack.
pub(in crate::lua) fn raised(error: &mlua::Error, sources: &Sources) -> Raised {
    let text = match innermost(error) {
        mlua::Error::RuntimeError(text) | mlua::Error::SyntaxError { message: text, .. } => {
            text.clone()
        }
        mlua::Error::MemoryError(_) => {
            "not enough memory; a user's VM may take '--lua-memory'".to_owned()
        }
        mlua::Error::FromLuaConversionError { from, to, .. } => misfit(from, to),
        other => other.to_string(),
    };
    let (text, backtrace) = match text.split_once("\nstack traceback:") {
        Some((text, stack)) => (text.to_owned(), Some(stack.to_owned())),
        None => (text, None),
    };
    let backtrace = backtrace.or_else(|| calls(error, sources));
    let (line, message) = match sources.placed(&text) {
        Some((file, line, message)) => (Some(format!("{file}:{line}")), message.to_owned()),
        None => (None, without_insides(&text).to_owned()),
    };
    Raised {
        line: line.or_else(|| {
            backtrace
                .as_deref()
                .and_then(|stack| sources.topmost(stack))
        }),
        message: readable(message.trim_end()),
        backtrace,
    }
}

/// The diagnostic of an error that stops a plan from loading.
pub(in crate::lua) fn diagnose(error: &mlua::Error, sources: &Sources) -> Diagnostic {
    if let Some(diagnostic) = error.downcast_ref::<Diagnostic>() {
        return diagnostic.clone();
    }
    let raised = raised(error, sources);
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
    let mut diagnostic = Diagnostic::new(message);
    if let Some((file, line)) = place {
        let text = sources.text(&file);
        // The end of a file is told as the line behind its last.
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

/// Lua's own words where they would say nothing to an author: addresses of values, and `<eof>`.
fn readable(message: &str) -> String {
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

/// An argument of the wrong type, without the names that Rust has for types.
fn misfit(from: &str, to: &str) -> String {
    let wanted = match to {
        "string" | "String" => "a string",
        "i64" if from == "number" => return "a whole number is wanted here".to_owned(),
        "i64" => "a whole number",
        "f64" => "a number",
        "bool" => "true or false",
        "table" => "a table",
        "function" => "a function",
        other => other,
    };
    match from {
        "nil" => format!("{wanted} is wanted here, not nil"),
        from => format!("{wanted} is wanted here, not a {from}"),
    }
}

/// The stack of the innermost call into lgoose that failed and that the plan made: what is raised in Rust
/// carries its place only so.
fn calls(error: &mlua::Error, sources: &Sources) -> Option<String> {
    match error {
        mlua::Error::CallbackError { traceback, cause } => calls(cause, sources).or_else(|| {
            let stack = traceback.trim_start_matches("stack traceback:");
            sources.topmost(stack).map(|_| stack.to_owned())
        }),
        mlua::Error::WithContext { cause, .. } => calls(cause, sources),
        _ => None,
    }
}

/// A message without the place that Lua gives to code without line numbers, lgoose's own.
fn without_insides(text: &str) -> &str {
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
        let raised = raised(&error, &Sources::of_plan("plans/a.lua", ""));
        assert_eq!(raised.message, "boom");
        assert_eq!(raised.line.as_deref(), Some("plans/a.lua:12"));
    }

    #[test]
    fn an_error_without_a_place_takes_the_topmost_line_of_the_stack() {
        let stack = "{table}\nstack traceback:\n\t[C]: in function 'error'\n\tp.lua:3: in function <p.lua:2>";
        let raised = raised(
            &mlua::Error::RuntimeError(stack.to_owned()),
            &Sources::of_plan("p.lua", ""),
        );
        assert_eq!(raised.line.as_deref(), Some("p.lua:3"));
    }
}
