//! `json`: encode, decode and `json.null`.

use mlua::{Lua, LuaSerdeExt as _, LuaString, Table, Value};

pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set("null", lua.null())?;
    library.raw_set(
        "decode",
        lua.create_function(|lua, text: LuaString| decode(lua, &text.as_bytes()))?,
    )?;
    let encode =
        lua.create_function(|_, value: Value| encode(&value).map_err(mlua::Error::runtime))?;
    library.raw_set("encode", encode)?;
    Ok(library)
}

/// A Lua value as JSON text, fields sorted by name so that equal tables give equal texts.
pub(in super::super) fn encode(value: &Value) -> Result<String, String> {
    let sorted = value
        .to_serializable()
        .sort_keys(true)
        .deny_recursive_tables(true);
    serde_json::to_string(&sorted).map_err(|error| format!("cannot encode this as JSON: {error}"))
}

/// JSON text as a Lua value; null becomes `json.null`.
pub(super) fn decode(lua: &Lua, text: &[u8]) -> mlua::Result<Value> {
    let value: serde_json::Value = serde_json::from_slice(text)
        .map_err(|error| mlua::Error::runtime(format!("this is not JSON: {error}")))?;
    lua.to_value(&value)
}
