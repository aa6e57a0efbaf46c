//! The prelude, the Lua code that every VM begins with.

use super::lookup::lookup;
use crate::plan_files::Program;
use crate::sandbox::ENVIRONMENT;
use mlua::chunk::ChunkMode;
use mlua::{Lua, Table};

/// Runs the prelude in a fresh VM and returns its result.
pub(crate) fn start_prelude(lua: &Lua, program: &Program, facts: Table) -> mlua::Result<Table> {
    let prelude: Table = lua
        .load(program.prelude.as_slice())
        .set_mode(ChunkMode::Binary)
        .call((lua.create_function(lookup)?, facts))?;
    lua.set_named_registry_value(ENVIRONMENT, prelude.raw_get::<Table>("env")?)?;
    Ok(prelude)
}
