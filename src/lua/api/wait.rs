//! `wait`: the kinds of wait a task or scenario may declare.

use mlua::{Lua, Table, Value, Variadic};

pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    for kind in [
        "between",
        "constant",
        "normal",
        "exponential",
        "pacing",
        "throughput",
    ] {
        // Checked where it is declared, which knows the line and the owner.
        let make = lua.create_function(move |lua, numbers: Variadic<Value>| {
            if let Some(other) = numbers.iter().find(|value| !is_number(value)) {
                let shown = match other {
                    Value::String(text) => format!("'{}'", text.to_string_lossy()),
                    other => other.type_name().to_owned(),
                };
                let message = format!("wait.{kind} takes numbers of seconds, not {shown}");
                return Err(mlua::Error::runtime(message));
            }
            let wait = lua.create_sequence_from(numbers)?;
            wait.raw_set("kind", kind)?;
            Ok(wait)
        })?;
        library.raw_set(kind, make)?;
    }
    Ok(library)
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Integer(_) | Value::Number(_))
}
