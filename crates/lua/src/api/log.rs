//! `log` and `print`: lines that say which user, scenario and task they come from. They go to the
//! program's log, not to standard output, which belongs to the report.

use super::elements::Element;
use super::function::function;
use super::shown::{is_response, response};
use crate::limits::Held;
use crate::limits::TABLE_LOOK;
use crate::sandbox::VmHost;
use crate::values::{MOST_SHOWN, escape_invalid, shorten};
use mlua::{Lua, Table, Value, Variadic};

/// Creates `log`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    for level in ["debug", "info", "warn", "error"] {
        let write = function(lua, move |lua, text: Variadic<Value>| {
            write(lua, level, &joined(lua, &text)?);
            Ok(())
        })?;
        library.raw_set(level, write)?;
    }
    Ok(library)
}

/// Implements `print`: writes to the log at level info.
pub(super) fn print(lua: &Lua, text: Variadic<Value>) -> mlua::Result<()> {
    write(lua, "info", &joined(lua, &text)?);
    Ok(())
}

/// Implements Lua's own `warn`: writes to the log at level warn. It takes strings only, joined without a space; a text
/// that begins with '@' is a control message, of which there is none here.
pub(super) fn warn(lua: &Lua, text: Variadic<mlua::LuaString>) -> mlua::Result<()> {
    let mut joined = String::new();
    for part in text.iter() {
        if joined.len() > MOST_SHOWN {
            joined.push('…');
            break;
        }
        joined.push_str(&escape_invalid(part));
    }
    let text = joined;
    if !text.starts_with('@') {
        write(lua, "warn", &text);
    }
    Ok(())
}

/// Writes one line to the log at a level given by name.
pub(super) fn log(lua: &Lua, (level, value): (String, Value)) -> mlua::Result<()> {
    write(lua, &level, &shown(lua, &value)?);
    Ok(())
}

fn joined(lua: &Lua, values: &[Value]) -> mlua::Result<String> {
    let mut joined = String::new();
    for (place, value) in values.iter().enumerate() {
        if joined.len() > MOST_SHOWN {
            joined.push('…');
            break;
        }
        if place > 0 {
            joined.push('\t');
        }
        joined.push_str(&shown(lua, value)?);
    }
    Ok(joined)
}

/// Renders a value as a line shows it: a table by its fields, a response by its status and URL, everything else as Lua's
/// `tostring` does.
fn shown(lua: &Lua, value: &Value) -> mlua::Result<String> {
    match value {
        Value::String(text) => Ok(escape_invalid(text)),
        Value::Table(table) if is_response(table) => Ok(response(lua, table)),
        Value::Table(table) if is_plain(table) => {
            let mut out = String::new();
            show_table(lua, table, 1, &mut out)?;
            Ok(out)
        }
        Value::LightUserData(_) => Ok("json.null".to_owned()),
        other => other.to_string(),
    }
}

/// Returns whether a table is shown by its fields: it has no metatable of its own, or is a view of such a table.
fn is_plain(table: &Table) -> bool {
    let behind = table;
    behind.metatable().is_none()
}

/// Appends a table as Lua writes one: the list first, then named fields in their order. Whatever is too deep or too much
/// becomes an ellipsis.
///
/// # Errors
/// The task's time is over.
fn show_table(lua: &Lua, table: &Table, depth: usize, out: &mut String) -> mlua::Result<()> {
    const MAX_DEPTH: usize = 4;
    const MOST_FIELDS: usize = 50;
    const MOST_BYTES: usize = 2_000;
    if depth > MAX_DEPTH {
        out.push_str("{ … }");
        return Ok(());
    }
    VmHost::of(lua).limits.spend(lua, TABLE_LOOK)?;
    let listed = table.raw_len();
    let list = (1..=listed.min(MOST_FIELDS)).map(|place| (None, table.raw_get(place)));
    let list = list.map_while(|(name, value)| Some((name, value.ok()?)));
    let mut fields: Vec<(Option<String>, Value)> = list.collect();
    // Where the list alone is too long, no named field is shown.
    let looked_at = if listed > MOST_FIELDS {
        0
    } else {
        listed + MOST_FIELDS + 1
    };
    let others = table.pairs::<Value, Value>().take(looked_at);
    let named = others.filter_map(Result::ok).filter_map(|(key, value)| {
        let in_list = |place: usize| (1..=listed).contains(&place);
        match &key {
            Value::String(name) => Some((Some(escape_invalid(name)), value)),
            key if key.as_usize().is_some_and(in_list) => None,
            key => Some((Some(format!("[{}]", scalar(key))), value)),
        }
    });
    let mut named: Vec<_> = named.collect();
    named.sort_by(|(left, _), (right, _)| left.cmp(right));
    let more = listed > MOST_FIELDS || fields.len() + named.len() > MOST_FIELDS;
    fields.extend(named);
    fields.truncate(MOST_FIELDS);
    if fields.is_empty() {
        out.push_str("{}");
        return Ok(());
    }
    out.push('{');
    for (place, (name, value)) in fields.iter().enumerate() {
        out.push_str(if place == 0 { " " } else { ", " });
        if out.len() > MOST_BYTES {
            out.push_str("… }");
            return Ok(());
        }
        if let Some(name) = name {
            out.push_str(&format!("{name} = "));
        }
        match value {
            Value::Table(inner) if is_response(inner) => {
                out.push_str(&response(lua, inner));
            }
            Value::Table(inner) => show_table(lua, inner, depth + 1, out)?,
            value => out.push_str(&scalar(value)),
        }
    }
    out.push_str(if more { ", … }" } else { " }" });
    Ok(())
}

/// Renders a value within a table, without calling anything of the plan's.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", shorten(&escape_invalid(text))),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Nil => "nil".to_owned(),
        Value::UserData(value) => match value.borrow::<Held<Element>>() {
            Ok(element) => shorten(&element.shown()),
            Err(_) => "userdata".to_owned(),
        },
        Value::LightUserData(_) => "json.null".to_owned(),
        other => other.type_name().to_owned(),
    }
}

fn write(lua: &Lua, level: &str, text: &str) {
    let host = VmHost::of(lua);
    let text = entry(text);
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

/// Returns text for one entry of the log. Further lines of it are indented, so that a text from a site cannot pass for
/// an entry of its own.
fn entry(text: &str) -> String {
    let text = lgoose_base::error::printable(text.trim_end_matches('\n'));
    text.replace('\n', "\n  ")
}

/// Writes a warning about the plan into the log and the report.
pub(super) fn warn_in_report(lua: &Lua, message: String) {
    let host = VmHost::of(lua);
    let (user, scenario) = (host.user, host.scenario.as_str());
    tracing::warn!(target: "plan", user, scenario, "{}", entry(&message));
    if let Some(recorder) = host.recorder.get() {
        recorder.borrow_mut().warn(message);
    }
}
