//! Compilation of Lua text to bytecode, once per process for all VMs.

use mlua::{Lua, LuaOptions, StdLib};
use std::sync::OnceLock;

/// Compiles a text to bytecode. `name` is the chunk name, with '@' or '=' before it; `strip` leaves out line numbers.
pub(crate) fn compile(name: &str, source: &str, strip: bool) -> mlua::Result<Vec<u8>> {
    let lua = Lua::new_with(StdLib::NONE, LuaOptions::new())?;
    let function = lua
        .load(source)
        .set_name(name)
        .set_mode(mlua::chunk::ChunkMode::Text)
        .into_function()?;
    Ok(function.dump(strip))
}

/// Returns the bytecode of lgoose's own code from `cell`, compiled at its first use.
pub(crate) fn compile_once(
    cell: &'static OnceLock<Vec<u8>>,
    source: &str,
) -> mlua::Result<&'static [u8]> {
    if let Some(code) = cell.get() {
        return Ok(code);
    }
    let code = compile("=lgoose", source, true)?;
    Ok(cell.get_or_init(|| code))
}
