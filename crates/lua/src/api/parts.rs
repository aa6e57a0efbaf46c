//! Parts of the prelude, each loaded by a VM when its plan first uses something that it defines.

use crate::diagnostics::here;
use crate::plan_files::compile_once;
use crate::requests::marker;
use crate::sandbox::yield_function;
use crate::values::read_seconds;
use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLuaMulti, Lua, Table, Value};
use std::sync::OnceLock;

/// What stands behind a name: a member of `user` or a global.
pub(crate) enum Member {
    /// A value as it is, nil if there is none.
    Value(Value),
    /// A method, made by this part of the operation's marker.
    Method(&'static PreludePart, Value),
    /// A part, which sets it and others.
    Part(&'static PreludePart),
}

#[cfg(test)]
impl Member {
    /// Whether nothing has that name.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Member::Value(Value::Nil))
    }
}

/// Makes a function in a VM.
pub(super) type MakeFunction = fn(&Lua) -> mlua::Result<Function>;
/// A function that the prelude fetches by this name, when it first uses it.
pub(super) type HostFunction = (&'static str, MakeFunction);

/// A part of the prelude: its text, the functions that it alone fetches, and its bytecode once that is needed.
pub(crate) struct PreludePart {
    source: &'static str,
    pub(super) functions: &'static [HostFunction],
    code: OnceLock<Vec<u8>>,
}

/// Makes the part in the file `lua/prelude/NAME.lua`.
macro_rules! prelude_part {
    ($name:literal) => {
        PreludePart::of(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/lua/prelude/",
            $name,
            ".lua"
        )))
    };
}
pub(super) use prelude_part;

/// Reads a duration of the plan's, described as `what` in messages.
fn nanoseconds(_: &Lua, (time, what): (Value, String)) -> mlua::Result<i64> {
    let time = read_seconds(&time, &what).map_err(mlua::Error::runtime)?;
    Ok(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 2))
}

impl PreludePart {
    pub(super) const fn of(source: &'static str) -> PreludePart {
        PreludePart {
            source,
            functions: &[],
            code: OnceLock::new(),
        }
    }

    /// Sets the functions that the part fetches.
    pub(super) const fn with(mut self, functions: &'static [HostFunction]) -> PreludePart {
        self.functions = functions;
        self
    }

    /// Loads the part as a function, which the prelude calls with the values that they share.
    pub(super) fn load(&'static self, lua: &Lua) -> mlua::Result<Function> {
        lua.load(compile_once(&self.code, self.source)?)
            .set_mode(ChunkMode::Binary)
            .into_function()
    }

    /// Loads the part as the methods of a type that wait, which it returns by their names. It is called with
    /// `coroutine.yield`, the operations that it yields, the functions of `host`, among them `here` and `nanoseconds`, and `more`.
    pub(super) fn methods(
        &'static self,
        lua: &Lua,
        names: &[&'static str],
        operations: &[&str],
        host: Table,
        more: impl IntoLuaMulti,
    ) -> mlua::Result<Vec<(&'static str, Function)>> {
        let markers = lua.create_table()?;
        for name in operations {
            markers.raw_set(*name, marker(name))?;
        }
        host.raw_set("here", lua.create_function(|lua, ()| Ok(here(lua)))?)?;
        host.raw_set("nanoseconds", lua.create_function(nanoseconds)?)?;
        let part = (yield_function(lua)?, markers, host, more);
        let methods: Table = self.load(lua)?.call(part)?;
        let method = |name: &&'static str| Ok((*name, methods.raw_get(*name)?));
        names.iter().map(method).collect()
    }
}
