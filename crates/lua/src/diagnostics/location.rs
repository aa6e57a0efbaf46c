//! The location in the plan that is being executed.

use crate::plan_files::SourceLine;
use mlua::Lua;
use mlua::debug::Debug;

/// The most levels of calls that are searched for a line: Lua walks to each of them from the innermost one, and code
/// that is in no file may call itself 200,000 levels deep.
pub(crate) const MOST_LEVELS: usize = 500;

/// Finds the innermost line of the plan's files that is being executed.
pub(crate) fn plan_line(lua: &Lua) -> Option<SourceLine> {
    (0..MOST_LEVELS)
        .map_while(|level| lua.inspect_stack(level, line_of))
        .flatten()
        .next()
}

/// Finds that line, and the name by which it has called what runs now; Lua forgets it where that has ended by another call.
pub(crate) fn plan_call(lua: &Lua) -> Option<(SourceLine, Option<String>)> {
    let mut called = None;
    for level in 0..MOST_LEVELS {
        let (line, name) = lua.inspect_stack(level, |debug| {
            let name = debug.names().name.map(|name| name.into_owned());
            (line_of(debug), name)
        })?;
        if let Some(line) = line {
            return Some((line, called));
        }
        called = name;
    }
    None
}

fn line_of(debug: &Debug<'_>) -> Option<SourceLine> {
    let source = debug.source();
    let file = source.source.as_deref()?.strip_prefix('@')?.to_owned();
    Some((file, debug.current_line()? as u32))
}

/// Formats the location of the plan's innermost call as `file:line: `; empty outside of its files.
pub(crate) fn here(lua: &Lua) -> String {
    plan_line(lua).map_or_else(String::new, |(file, line)| format!("{file}:{line}: "))
}
