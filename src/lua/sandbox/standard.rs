//! A bare VM: the standard libraries chosen one by one, and from those only what a plan may use. Nothing reaches
//! outside.

use super::safe;
use crate::lua::plan_files::libraries;
use mlua::state::{GcGenParams, GcMode};
use mlua::{Function, Lua, LuaOptions, Table};

/// The functions of the base library that plans have as they are.
pub(in crate::lua) const BASE: [&str; 19] = [
    "assert",
    "error",
    "getmetatable",
    "ipairs",
    "next",
    "pairs",
    "pcall",
    "print",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "select",
    "tonumber",
    "tostring",
    "type",
    "warn",
    "xpcall",
    "_G",
];

/// Creates a VM without a plan.
///
/// Its collector is generational: the short-lived responses of a loop are found at the cost of a look at what is new,
/// and not at the whole VM.
pub(in crate::lua) fn new_state() -> mlua::Result<Lua> {
    let lua = Lua::new_with(libraries(), LuaOptions::new())?;
    lua.gc_set_mode(GcMode::Generational(GcGenParams::default()));
    let globals = lua.globals();
    for name in ["dofile", "loadfile", "collectgarbage"] {
        globals.raw_remove(name)?;
    }
    let string: Table = globals.raw_get("string")?;
    string.raw_remove("dump")?;
    string.raw_set("rep", lua.create_function(safe::rep)?)?;
    safe::guard_patterns(&lua, &string)?;
    // A plan that got hold of it could change what strings do inside of lgoose.
    if let Some(strings) = lua.type_metatable::<mlua::LuaString>() {
        strings.raw_set("__metatable", false)?;
    }
    Ok(lua)
}

/// Returns the value of a global that comes with Lua, or nil: base functions and the safe standard libraries.
pub(in crate::lua) fn standard(lua: &Lua, name: &str) -> mlua::Result<mlua::Value> {
    let globals = lua.globals();
    match name {
        "table" => safe::table(lua).map(mlua::Value::Table),
        "string" | "math" | "utf8" => globals.raw_get(name),
        "_VERSION" => globals.raw_get(name),
        "error" | "assert" => safe::raising(lua, name).map(mlua::Value::Function),
        "setmetatable" => guarded_setmetatable(lua).map(mlua::Value::Function),
        _ if BASE.contains(&name) => globals.raw_get(name),
        _ => Ok(mlua::Value::Nil),
    }
}

/// Creates a `setmetatable` that refuses `__gc`: a finalizer runs where no limit holds.
fn guarded_setmetatable(lua: &Lua) -> mlua::Result<Function> {
    let original: Function = lua.globals().raw_get("setmetatable")?;
    lua.load(
        r#"
        local setmetatable, type, rawget, pcall, error = ...
        return function(table, metatable)
          if type(metatable) == "table" and rawget(metatable, "__gc") ~= nil then
            error("'__gc' is not available to plans", 2)
          end
          local ok, result = pcall(setmetatable, table, metatable)
          if not ok then error(result, 2) end
          return result
        end"#,
    )
    .set_name("=lgoose")
    .call((
        original,
        lua.globals().raw_get::<Function>("type")?,
        lua.globals().raw_get::<Function>("rawget")?,
        lua.globals().raw_get::<Function>("pcall")?,
        lua.globals().raw_get::<Function>("error")?,
    ))
}
