//! `wait`: the kinds of wait that a task or scenario may declare.

use crate::sandbox::error_at_plan_line;
use crate::values::{escape_invalid, read_seconds, type_phrase};
use lgoose_base::error::Diagnostic;
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
        "tick",
        "throughput",
    ] {
        // Checked where it is declared, which knows the line and the owner.
        let make = lua.create_function(move |lua, values: Variadic<Value>| {
            let seconds = |value: &Value| match value {
                Value::Integer(_) | Value::Number(_) => Ok(value.clone()),
                // A rate is no time.
                Value::String(_) if kind != "throughput" => {
                    let time = read_seconds(value, "").map_err(|_| value.clone())?;
                    Ok(Value::Number(time.as_secs_f64()))
                }
                other => Err(other.clone()),
            };
            let values = values.iter().map(seconds).collect::<Result<Vec<_>, _>>();
            let values = match values {
                Ok(values) => values,
                Err(odd) => {
                    let shown = match &odd {
                        Value::String(text) => format!("'{}'", escape_invalid(text)),
                        other => type_phrase(other).to_owned(),
                    };
                    let expected = match kind {
                        "throughput" => "a number of tasks per second",
                        _ => "numbers of seconds, or texts such as \"500ms\"",
                    };
                    let message = format!("wait.{kind} takes {expected}, not {shown}");
                    return Err(error_at_plan_line(lua, Diagnostic::new(message)));
                }
            };
            let wait = lua.create_sequence_from(values)?;
            wait.raw_set("kind", kind)?;
            Ok(wait)
        })?;
        library.raw_set(kind, make)?;
    }
    Ok(library)
}
