//! Turns what Lua raises into what people read: the plan's own file and line, never lgoose's insides.

use crate::error::Diagnostic;

/// What a task raised: counted as a task failure, the user goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The message without its place.
    pub message: String,
    /// `file:line` in the plan, if it is known.
    pub line: Option<String>,
    /// The stack of the plan's calls.
    pub backtrace: Option<String>,
}

/// Splits an error into message, place and stack.
pub(super) fn raised(error: &mlua::Error, file: &str) -> Raised {
    let text = match innermost(error) {
        mlua::Error::RuntimeError(text) | mlua::Error::SyntaxError { message: text, .. } => {
            text.clone()
        }
        mlua::Error::MemoryError(_) => {
            "not enough memory; a user's VM may take '--lua-memory'".to_owned()
        }
        other => other.to_string(),
    };
    let (text, backtrace) = match text.split_once("\nstack traceback:") {
        Some((text, stack)) => (text.to_owned(), Some(stack.to_owned())),
        None => (text, None),
    };
    let backtrace = backtrace.or_else(|| calls(error, file));
    let (line, message) = match placed(&text, file) {
        Some((line, message)) => (Some(format!("{file}:{line}")), message.to_owned()),
        None => (None, text),
    };
    Raised {
        line: line.or_else(|| backtrace.as_deref().and_then(|stack| topmost(stack, file))),
        message: message.trim_end().to_owned(),
        backtrace,
    }
}

/// The diagnostic of an error that stops a plan from loading.
pub(super) fn diagnose(error: &mlua::Error, file: &str, source: &str) -> Diagnostic {
    if let Some(diagnostic) = error.downcast_ref::<Diagnostic>() {
        return diagnostic.clone();
    }
    let raised = raised(error, file);
    let line = raised
        .line
        .as_deref()
        .and_then(|place| place.rsplit_once(':'))
        .and_then(|(_, line)| line.parse().ok());
    // A help may follow the message after a line break.
    let (message, help) = match raised.message.split_once('\n') {
        Some((message, help)) => (message.to_owned(), Some(help.to_owned())),
        None => (raised.message, None),
    };
    let mut diagnostic = Diagnostic::new(message).at(file, line, source);
    if let Some(help) = help {
        diagnostic = diagnostic.help(help);
    }
    match raised.backtrace {
        Some(stack) => diagnostic.backtrace(stack),
        None => diagnostic,
    }
}

fn innermost(error: &mlua::Error) -> &mlua::Error {
    match error {
        mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } => {
            innermost(cause)
        }
        other => other,
    }
}

/// The stack of the innermost call into lgoose that failed and that the plan made: what is raised in Rust
/// carries its place only so.
fn calls(error: &mlua::Error, file: &str) -> Option<String> {
    match error {
        mlua::Error::CallbackError { traceback, cause } => calls(cause, file).or_else(|| {
            let stack = traceback.trim_start_matches("stack traceback:");
            topmost(stack, file).map(|_| stack.to_owned())
        }),
        mlua::Error::WithContext { cause, .. } => calls(cause, file),
        _ => None,
    }
}

/// `file:12: message` → (12, message).
fn placed<'a>(text: &'a str, file: &str) -> Option<(u32, &'a str)> {
    let rest = text
        .strip_prefix(short_source(file).as_str())
        .or_else(|| text.strip_prefix(file))?;
    let (line, message) = rest.strip_prefix(':')?.split_once(": ")?;
    Some((line.parse().ok()?, message))
}

/// The first line of the stack that is in the plan.
fn topmost(stack: &str, file: &str) -> Option<String> {
    let short = short_source(file);
    stack.lines().find_map(|entry| {
        let rest = entry
            .trim_start()
            .strip_prefix(short.as_str())?
            .strip_prefix(':')?;
        let line: u32 = rest.split(':').next()?.parse().ok()?;
        Some(format!("{file}:{line}"))
    })
}

/// A file's name as Lua's own messages show it: at most 59 bytes, the front cut away (`luaO_chunkid`).
fn short_source(file: &str) -> String {
    const MOST: usize = 59;
    if file.len() <= MOST {
        return file.to_owned();
    }
    let mut from = file.len() - (MOST - 3);
    while !file.is_char_boundary(from) {
        from += 1;
    }
    format!("...{}", &file[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_from_its_place() {
        let error = mlua::Error::RuntimeError(
            "plans/a.lua:12: boom\nstack traceback:\n\t[C]: in ?".to_owned(),
        );
        let raised = raised(&error, "plans/a.lua");
        assert_eq!(raised.message, "boom");
        assert_eq!(raised.line.as_deref(), Some("plans/a.lua:12"));
    }

    #[test]
    fn a_long_path_is_still_recognised() {
        let file = format!("{}/plan.lua", "directory/".repeat(12));
        let error = mlua::Error::RuntimeError(format!("{}:7: boom", short_source(&file)));
        assert_eq!(raised(&error, &file).line, Some(format!("{file}:7")));
    }

    #[test]
    fn an_error_without_a_place_takes_the_topmost_line_of_the_stack() {
        let stack = "{table}\nstack traceback:\n\t[C]: in function 'error'\n\tp.lua:3: in function <p.lua:2>";
        let raised = raised(&mlua::Error::RuntimeError(stack.to_owned()), "p.lua");
        assert_eq!(raised.line.as_deref(), Some("p.lua:3"));
    }
}
