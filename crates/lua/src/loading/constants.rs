//! Values that stand in a plan's text as they are: they are made from the text alone and read by the functions that a task
//! would call, so that `lgoose check` reports a wrong one in the words of the run.

use crate::diagnostics::{Token, TokenKind};
use crate::requests::check_options;
use crate::sandbox::VmHost;
use lgoose_base::units;
use mlua::{Lua, Table, Value};

/// The most bytes of a value that is made.
pub(super) const MOST_BYTES: usize = 16 << 10;

/// Returns whether some words are a value without variables, calls and operators.
pub(super) fn is_constant(words: &[Token<'_>]) -> bool {
    words.iter().enumerate().all(|(place, word)| {
        let next = words.get(place + 1).map_or("", |word| word.text);
        match word.kind {
            TokenKind::Text | TokenKind::Number => !["..", ":", "."].contains(&next),
            TokenKind::Name => {
                ["true", "false", "nil"].contains(&word.text) || !word.is_keyword() && next == "="
            }
            TokenKind::Sign => ["{", "}", ",", ";", "=", "-"].contains(&word.text),
        }
    }) && !words.is_empty()
}

/// Returns the problem that a task would have with a constant option of a request, such as `timeout = "fast"`. `others` are names
/// that the call reads beside the options.
pub(super) fn option_problem(lua: &Lua, option: &str, others: &[&str]) -> Option<String> {
    // The problem of one option is not that another is missing.
    let streamed = ["max_buffer", "min_events", "last"];
    let is_streamed = streamed.iter().any(|name| option.contains(name));
    let stream = if is_streamed { ", stream = true" } else { "" };
    let options = value_of(lua, &format!("{{ {option}{stream} }}"))?;
    let options: &Table = options.as_table()?;
    let host = VmHost::of(lua);
    check_options(options, others, &mut host.budget(lua)).err()
}

/// Returns the value of a constant.
fn value_of(lua: &Lua, text: &str) -> Option<Value> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let chunk = lua.load(format!("return {text}")).set_name("=lgoose");
    chunk.into_function().ok()?.call(()).ok()
}

/// Returns the problem with the arguments of `user:wait`, each as one word.
pub(super) fn wait_problem(arguments: &[Token<'_>]) -> Option<String> {
    if arguments.len() > 2 {
        return Some("user:wait takes {from, to}, two values at most: user:wait(1, 5)".to_owned());
    }
    let mut pauses = Vec::new();
    for argument in arguments {
        let text = argument.text;
        let pause = match argument.kind {
            TokenKind::Text => {
                let inside = text.trim_matches(['"', '\'']);
                match units::duration(inside) {
                    Ok(pause) => pause.as_secs_f64(),
                    Err(problem) => return Some(format!("user:wait: {problem}")),
                }
            }
            TokenKind::Number => text.parse().ok()?,
            _ => return None,
        };
        pauses.push(pause);
    }
    match pauses[..] {
        [from, to] if to < from => {
            Some("user:wait(from, to): 'to' is smaller than 'from'".to_owned())
        }
        _ => None,
    }
}
