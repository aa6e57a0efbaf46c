//! `log` and `print`: lines that say which user, scenario and task they come from. They go to the
//! program's log, not to standard output, which belongs to the report.

use crate::lua::sandbox::Host;
use crate::lua::values::{DisplayText, escape_invalid};
use mlua::{Lua, Table, Value, Variadic};

/// Creates `log`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    for level in ["debug", "info", "warn", "error"] {
        let write = lua.create_function(move |lua, text: Variadic<Value>| {
            write(lua, level, &joined(&text)?);
            Ok(())
        })?;
        library.raw_set(level, write)?;
    }
    Ok(library)
}

/// Implements `print`: writes to the log at level info.
pub(super) fn print(lua: &Lua, text: Variadic<Value>) -> mlua::Result<()> {
    write(lua, "info", &joined(&text)?);
    Ok(())
}

/// Implements Lua's own `warn`: writes to the log at level warn. It takes strings only, joined without a space; a text
/// that begins with '@' is a control message, of which there is none here.
pub(super) fn warn(lua: &Lua, text: Variadic<mlua::LuaString>) -> mlua::Result<()> {
    let text: String = text.iter().map(escape_invalid).collect();
    if !text.starts_with('@') {
        write(lua, "warn", &text);
    }
    Ok(())
}

/// Writes one line to the log at a level given by name.
pub(super) fn log(
    lua: &Lua,
    (level, DisplayText(text)): (String, DisplayText),
) -> mlua::Result<()> {
    write(lua, &level, &text);
    Ok(())
}

fn joined(values: &[Value]) -> mlua::Result<String> {
    let texts: Vec<String> = values
        .iter()
        .map(|value| match value {
            Value::String(text) => Ok(escape_invalid(text)),
            other => other.to_string(),
        })
        .collect::<mlua::Result<_>>()?;
    Ok(texts.join("\t"))
}

fn write(lua: &Lua, level: &str, text: &str) {
    let host = Host::of(lua);
    let text = crate::error::printable(text);
    let (user, scenario) = (host.user, host.scenario.as_str());
    let names = &host.program.task_names;
    let task = host.task.get().and_then(|task| names.get(task)?.as_deref());
    match level {
        "debug" => tracing::debug!(target: "plan", user, scenario, task, "{text}"),
        "warn" => tracing::warn!(target: "plan", user, scenario, task, "{text}"),
        "error" => tracing::error!(target: "plan", user, scenario, task, "{text}"),
        _ => tracing::info!(target: "plan", user, scenario, task, "{text}"),
    }
}
