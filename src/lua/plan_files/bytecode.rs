//! Compiles Lua text to bytecode, once per process for all VMs.

use mlua::{Lua, LuaOptions, StdLib};
use std::sync::OnceLock;

/// The standard libraries that VMs have; no io, package, debug or os.
pub(in crate::lua) fn libraries() -> StdLib {
    StdLib::COROUTINE | StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::UTF8
}

/// The bytecode of a text; `name` as Lua takes it, with '@' or '=' before it.
pub(in crate::lua) fn compile(name: &str, source: &str, strip: bool) -> mlua::Result<Vec<u8>> {
    let lua = Lua::new_with(libraries(), LuaOptions::new())?;
    let function = lua
        .load(source)
        .set_name(name)
        .set_mode(mlua::chunk::ChunkMode::Text)
        .into_function()?;
    Ok(function.dump(strip))
}

/// Code of lgoose's own, compiled once per process.
pub(in crate::lua) fn compile_once(
    cell: &'static OnceLock<Vec<u8>>,
    source: &str,
) -> mlua::Result<&'static [u8]> {
    if let Some(code) = cell.get() {
        return Ok(code);
    }
    let code = compile("=lgoose", source, true)?;
    Ok(cell.get_or_init(|| code))
}
