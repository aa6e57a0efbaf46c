//! `load`: compiles text to a function in the plan's own environment. It refuses bytecode, which could do anything.

use crate::sandbox::{ENVIRONMENT, VmHost};
use crate::values::{DisplayText, escape_invalid};
use mlua::{IntoLua as _, IntoLuaMulti as _, Lua, LuaString, MultiValue, Table, Value};

/// Returns the function, or nil and the problem with the text. A table may take the place of the plan's environment.
pub(super) fn load(
    lua: &Lua,
    (text, name, mode, environment): (
        LuaString,
        Option<DisplayText>,
        Option<String>,
        Option<Table>,
    ),
) -> mlua::Result<MultiValue> {
    /// Lua takes up to a tenth of a second for it, in which nothing ends the task, and a hundred times as long for ten
    /// times as much.
    const MOST_BYTES: usize = 64 << 10;
    let refused = |problem: String| (Value::Nil, problem).into_lua_multi(lua);
    if mode.is_some_and(|mode| !mode.contains('t')) {
        return refused("load takes text, not bytecode".to_owned());
    }
    let bytes = text.as_bytes().len();
    if bytes > MOST_BYTES {
        return refused(format!(
            "load takes at most {MOST_BYTES} bytes of text, not {bytes}: read data by json.decode, data.json or data.csv"
        ));
    }
    VmHost::of(lua).limits.spend(lua, bytes as u64 * 16)?;
    let environment = match environment {
        Some(environment) => environment,
        None => lua.named_registry_value(ENVIRONMENT)?,
    };
    // Only the plan's files are named with '@': that is how their lines are distinguished from others.
    let name = match name {
        Some(DisplayText(name)) => name.replacen('@', "=", usize::from(name.starts_with('@'))),
        None => escape_invalid(&text),
    };
    let loaded = lua
        .load(&*text.as_bytes())
        .set_name(name)
        .set_mode(mlua::chunk::ChunkMode::Text)
        .set_environment(environment)
        .into_function();
    match loaded {
        Ok(function) => Ok(MultiValue::from_iter([function.into_lua(lua)?])),
        Err(mlua::Error::SyntaxError { message, .. }) => refused(message),
        Err(error) => Err(error),
    }
}
