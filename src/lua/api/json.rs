//! `json`: `encode`, `decode` and `null`.

use crate::lua::requests::encode_json;
use mlua::{Lua, LuaSerdeExt as _, LuaString, Table, Value};

/// Creates `json`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set("null", lua.null())?;
    library.raw_set(
        "decode",
        lua.create_function(|lua, text: LuaString| decode(lua, &text.as_bytes()))?,
    )?;
    let encode =
        lua.create_function(|_, value: Value| encode_json(&value).map_err(mlua::Error::runtime))?;
    library.raw_set("encode", encode)?;
    Ok(library)
}

/// Decodes JSON text to a Lua value; null becomes `json.null`.
pub(super) fn decode(lua: &Lua, text: &[u8]) -> mlua::Result<Value> {
    let value: serde_json::Value = serde_json::from_slice(text)
        .map_err(|error| mlua::Error::runtime(format!("this is not JSON: {error}")))?;
    lua.to_value(&value)
}
