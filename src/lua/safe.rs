//! Safe versions of what Lua's own libraries do in one call without end, where no hook is asked.

use super::host::Host;
use mlua::chunk::ChunkMode;
use mlua::{Lua, LuaString, Table};
use std::sync::OnceLock;

const SOURCE: &str = include_str!("../../lua/safe.lua");

/// The library `table` that plans see.
pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    // Compiled once per process: every VM that says `table` loads it.
    static CODE: OnceLock<Vec<u8>> = OnceLock::new();
    let code = match CODE.get() {
        Some(code) => code,
        None => {
            let code = super::program::compile("=lgoose", SOURCE, true)?;
            CODE.get_or_init(|| code)
        }
    };
    let original: Table = lua.globals().raw_get("table")?;
    let spend = lua.create_function(|lua, work| Host::of(lua).limits.spend(lua, work))?;
    lua.load(code.as_slice())
        .set_mode(ChunkMode::Binary)
        .call((original, spend))
}

/// `string.rep` that knows the size of its result beforehand, and does nothing 2^60 times.
pub(super) fn rep(
    lua: &Lua,
    (text, times, separator): (LuaString, i64, Option<LuaString>),
) -> mlua::Result<LuaString> {
    let text = text.as_bytes();
    let separator = separator.as_ref().map(LuaString::as_bytes);
    let separator = separator.as_deref().unwrap_or_default();
    let times = u64::try_from(times).unwrap_or(0);
    let each = (text.len() + separator.len()) as u64;
    if times == 0 || each == 0 {
        return lua.create_string("");
    }
    let limits = &Host::of(lua).limits;
    let size = times.saturating_mul(each);
    if size > limits.memory as u64 {
        return Err(mlua::Error::runtime(super::limits::out_of_memory(
            limits.memory,
        )));
    }
    limits.spend(lua, size)?;
    if separator.is_empty() {
        return lua.create_string(text.repeat(times as usize));
    }
    let mut whole = Vec::with_capacity(size as usize);
    for n in 0..times {
        if n > 0 {
            whole.extend_from_slice(separator);
        }
        whole.extend_from_slice(&text);
    }
    lua.create_string(whole)
}
