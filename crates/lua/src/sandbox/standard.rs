//! A bare VM: the standard libraries chosen one by one, and of those only the functions that a plan may use. Nothing
//! reaches outside.

use super::safe;
use crate::plan_files::compile_once;
use mlua::chunk::ChunkMode;
use mlua::state::{GcGenParams, GcMode};
use mlua::{
    Function, LightUserData, Lua, LuaOptions, LuaSerdeExt as _, LuaString, StdLib, Table, Value,
};
use std::ffi::c_int;
use std::sync::OnceLock;

/// The functions of the base library that plans have as they are.
pub(crate) const BASE: [&str; 19] = [
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

/// Creates a VM without a plan. It has no io, package, debug or os; the other libraries are opened when they are first used,
/// see [`library`]. Of `coroutine` the global `yield` is there, and strings have their arithmetic.
pub(crate) fn new_state() -> mlua::Result<Lua> {
    let lua = Lua::new_with(StdLib::COROUTINE | StdLib::STRING, LuaOptions::new())?;
    let globals = lua.globals();
    for name in ["dofile", "loadfile", "collectgarbage"] {
        globals.raw_remove(name)?;
    }
    globals.raw_set(
        "yield",
        library(&lua, "coroutine")?.raw_get::<Function>("yield")?,
    )?;
    if let Some(strings) = lua.type_metatable::<LuaString>() {
        strings.raw_set("__index", lua.create_function(string_member)?)?;
        hide(&strings)?;
    }
    let loaded: Table = lua.named_registry_value("_LOADED")?;
    for name in ["coroutine", "string"] {
        globals.raw_remove(name)?;
        loaded.raw_remove(name)?;
    }
    Ok(lua)
}

/// Keeps plans from the metatable of strings: by it they could change methods of strings inside of lgoose.
fn hide(strings: &Table) -> mlua::Result<()> {
    strings.raw_set("__metatable", false)
}

/// Returns `coroutine.yield`.
pub(crate) fn yield_function(lua: &Lua) -> mlua::Result<Function> {
    lua.globals().raw_get("yield")
}

/// Finds a method of strings in a VM that has not opened their library yet.
fn string_member(lua: &Lua, (_, key): (Value, Value)) -> mlua::Result<Value> {
    library(lua, "string")?.get(key)
}

/// The functions of `string` that need a guard.
const GUARDED: [&str; 5] = ["find", "match", "gmatch", "gsub", "rep"];

/// Takes the functions of `string` that need a guard out of it until one is used: not every plan uses them, and the
/// guards take 3 KiB.
fn guard_at_first_use(lua: &Lua, string: &Table) -> mlua::Result<()> {
    // No plan can reach it: plans have a view of `string` only.
    let hidden = lua.create_table()?;
    for name in GUARDED {
        hidden.raw_set(name, string.raw_get::<Function>(name)?)?;
        string.raw_remove(name)?;
    }
    hidden.raw_set("byte", string.raw_get::<Function>("byte")?)?;
    hidden.raw_set("__index", lua.create_function(install_guards)?)?;
    string.set_metatable(Some(hidden))
}

/// Puts the guarded functions into `string` and returns the requested member. If memory runs out on the way, `string`
/// has no function without its guard.
fn install_guards(lua: &Lua, (string, key): (Table, Value)) -> mlua::Result<Value> {
    if let Some(hidden) = string.metatable() {
        let guarded = lua.create_table()?;
        for pair in hidden.pairs::<Value, Value>() {
            let (name, original) = pair?;
            guarded.raw_set(name, original)?;
        }
        guarded.raw_set("rep", lua.create_function(safe::rep)?)?;
        safe::guard_patterns(lua, &guarded)?;
        for name in GUARDED {
            string.raw_set(name, guarded.raw_get::<Function>(name)?)?;
        }
        string.set_metatable(None)?;
    }
    string.raw_get(key)
}

/// Returns a library of Lua's, which a VM opens at its first use.
pub(crate) fn library(lua: &Lua, name: &str) -> mlua::Result<Table> {
    let globals = lua.globals();
    if let Some(library) = globals.raw_get(name)? {
        return Ok(library);
    }
    match name {
        "string" => open_string(lua)?,
        "coroutine" => lua.load_std_libs(StdLib::COROUTINE)?,
        "math" => lua.load_std_libs(StdLib::MATH)?,
        "table" => lua.load_std_libs(StdLib::TABLE)?,
        _ => lua.load_std_libs(StdLib::UTF8)?,
    }
    globals.raw_get(name)
}

/// Opens `string`. The limit on memory waits meanwhile: strings must not be left with functions that have no guard yet.
fn open_string(lua: &Lua) -> mlua::Result<()> {
    let limit = lua.set_memory_limit(0)?;
    let opened = (|| {
        lua.load_std_libs(StdLib::STRING)?;
        let string: Table = lua.globals().raw_get("string")?;
        string.raw_remove("dump")?;
        guard_at_first_use(lua, &string)?;
        lua.type_metatable::<LuaString>()
            .map_or(Ok(()), |strings| hide(&strings))
    })();
    lua.set_memory_limit(limit)?;
    opened
}

/// A collection of new objects is due when the VM has grown by so many per cent, some 5 KiB of a small one.
const MINOR_MULTIPLIER: c_int = 30;

/// Starts the collector of a VM that has loaded its plan, and makes it generational: to find the short-lived responses
/// of a loop, it then looks only at new objects, and not at the whole VM. The switch runs one full collection, which
/// drops the code that runs only once.
pub(crate) fn collect_young(lua: &Lua) {
    // Before the switch, which says when the next collection is due.
    lua.gc_restart();
    lua.gc_set_mode(GcMode::Generational(
        GcGenParams::default().minor_multiplier(MINOR_MULTIPLIER),
    ));
}

/// Returns the value of a global that comes with Lua, or nil: base functions and the safe standard libraries.
pub(crate) fn standard(lua: &Lua, name: &str) -> mlua::Result<Value> {
    let globals = lua.globals();
    match name {
        "table" => safe::table(lua).map(Value::Table),
        "string" | "utf8" => library(lua, name).map(Value::Table),
        "_VERSION" => globals.raw_get(name),
        "error" | "assert" => safe::raising(lua, name).map(Value::Function),
        "setmetatable" => guarded_setmetatable(lua).map(Value::Function),
        _ if BASE.contains(&name) => globals.raw_get(name),
        _ => Ok(Value::Nil),
    }
}

/// Returns `json.null`. Lua's own messages call a light userdata by its name once the VM has met it.
pub(crate) fn null(lua: &Lua) -> mlua::Result<Value> {
    static CODE: OnceLock<Vec<u8>> = OnceLock::new();
    if lua.type_metatable::<LightUserData>().is_none() {
        let code = compile_once(
            &CODE,
            "local error, tostring, ipairs = ...
            local NAME = 'json.null'
            local named = { __name = NAME, __metatable = false, __tostring = function() return NAME end }
            local function refuse(what, ...)
              local function raise() error('attempt to ' .. what .. ' ' .. NAME, 2) end
              for _, method in ipairs { ... } do named[method] = raise end
            end
            refuse('concatenate', '__concat')
            refuse('call', '__call')
            refuse('get length of', '__len')
            refuse('compare', '__lt', '__le')
            refuse('perform arithmetic on',
              '__add', '__sub', '__mul', '__div', '__mod', '__pow', '__unm', '__idiv')
            named.__index = function(_, key)
              error('attempt to index ' .. NAME .. \" (field '\" .. tostring(key) .. \"')\", 2)
            end
            named.__newindex = named.__index
            return named",
        )?;
        let globals = lua.globals();
        let base = |name: &str| globals.raw_get::<Function>(name);
        let code = lua.load(code).set_mode(ChunkMode::Binary);
        let named = code.call((base("error")?, base("tostring")?, base("ipairs")?))?;
        lua.set_type_metatable::<LightUserData>(Some(named));
    }
    Ok(lua.null())
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
