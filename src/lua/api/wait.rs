//! `wait`: the kinds of wait a task or scenario may declare.

use mlua::{Lua, Table, Variadic};

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
        let make = lua.create_function(move |lua, numbers: Variadic<f64>| {
            let wait = lua.create_sequence_from(numbers)?;
            wait.raw_set("kind", kind)?;
            Ok(wait)
        })?;
        library.raw_set(kind, make)?;
    }
    Ok(library)
}
