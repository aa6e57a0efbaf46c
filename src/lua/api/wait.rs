//! `wait`: the kinds of wait that a task or scenario may declare.

use crate::error::Diagnostic;
use crate::lua::sandbox::error_at_plan_line;
use crate::lua::values::{escape_invalid, type_phrase};
use mlua::{Lua, Table, Value, Variadic};

/// Creates `wait`.
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
        let make = lua.create_function(move |lua, values: Variadic<Value>| {
            let odd = values
                .iter()
                .find(|value| !matches!(value, Value::Integer(_) | Value::Number(_)));
            if let Some(odd) = odd {
                let shown = match odd {
                    Value::String(text) => format!("'{}'", escape_invalid(text)),
                    other => type_phrase(other).to_owned(),
                };
                let message = format!("wait.{kind} takes numbers of seconds, not {shown}");
                return Err(error_at_plan_line(lua, Diagnostic::new(message)));
            }
            let wait = lua.create_sequence_from(values)?;
            wait.raw_set("kind", kind)?;
            Ok(wait)
        })?;
        library.raw_set(kind, make)?;
    }
    Ok(library)
}
