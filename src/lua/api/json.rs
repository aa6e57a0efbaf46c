//! `json`: encode, decode and `json.null`.

use super::super::values::plain;
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
    // Deeper ones would overflow the thread's stack; decoding has the same limit. And a value in which one
    // table or text stands many times may be small in Lua and endless as JSON.
    const DEEPEST: u32 = 127;
    let value = &match value {
        Value::Table(table) => Value::Table(plain(table)),
        other => other.clone(),
    };
    let mut room = 256 << 20;
    if !fits(value, DEEPEST, &mut room) {
        return Err(
            "cannot encode this as JSON: tables are nested too deeply, or it is too much"
                .to_owned(),
        );
    }
    let sorted = value
        .to_serializable()
        .sort_keys(true)
        .deny_recursive_tables(true);
    serde_json::to_string(&sorted).map_err(|error| format!("cannot encode this as JSON: {error}"))
}

/// Whether no table is nested deeper than that, and all takes about as many bytes as there is room for.
fn fits(value: &Value, deepest: u32, room: &mut usize) -> bool {
    const EACH: usize = 16;
    let size = EACH + value.as_string().map_or(0, |text| text.as_bytes().len());
    let Some(left) = room.checked_sub(size) else {
        return false;
    };
    *room = left;
    let Value::Table(table) = value else {
        return true;
    };
    let mut entries = table.pairs::<Value, Value>().filter_map(Result::ok);
    deepest > 0 && entries.all(|(_, value)| fits(&value, deepest - 1, room))
}

/// JSON text as a Lua value; null becomes `json.null`.
pub(super) fn decode(lua: &Lua, text: &[u8]) -> mlua::Result<Value> {
    let value: serde_json::Value = serde_json::from_slice(text)
        .map_err(|error| mlua::Error::runtime(format!("this is not JSON: {error}")))?;
    lua.to_value(&value)
}
