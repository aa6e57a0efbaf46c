//! Parts of the prelude, each loaded by a VM when its plan first uses something that it defines.

use crate::diagnostics::here;
use crate::plan_files::compile_once;
use crate::requests::marker;
use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLuaMulti, Lua, Table, Value};
use std::sync::OnceLock;

/// A value, and the word for how the prelude converts it for the plan; `None` if plans get it as it is.
pub(super) type MemberValue = (Value, Option<&'static str>);

/// Makes a function in a VM.
pub(super) type MakeFunction = fn(&Lua) -> mlua::Result<Function>;
/// A function that the prelude fetches by this name, when it first uses it.
pub(super) type HostFunction = (&'static str, MakeFunction);

/// A part of the prelude: its text, the functions that it alone fetches, and its bytecode once that is needed.
pub(super) struct PreludePart {
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

    /// Loads the part as a member: it makes the requested one and others.
    pub(super) fn member(&'static self, lua: &Lua) -> mlua::Result<MemberValue> {
        Ok((Value::Function(self.load(lua)?), Some("part")))
    }

    /// Loads the part as the methods of a type that wait, which it returns by their names. It is called with
    /// `coroutine.yield`, the operations that it yields, the functions of `host`, among them `here`, and `more`.
    pub(super) fn methods(
        &'static self,
        lua: &Lua,
        names: &[&'static str],
        operations: &[&str],
        host: Table,
        more: impl IntoLuaMulti,
    ) -> mlua::Result<Vec<(&'static str, Function)>> {
        let coroutine: Table = lua.globals().raw_get("coroutine")?;
        let markers = lua.create_table()?;
        for name in operations {
            markers.raw_set(*name, marker(name))?;
        }
        host.raw_set("here", lua.create_function(|lua, ()| Ok(here(lua)))?)?;
        let part = (coroutine.raw_get::<Function>("yield")?, markers, host, more);
        let methods: Table = self.load(lua)?.call(part)?;
        let method = |name: &&'static str| Ok((*name, methods.raw_get(*name)?));
        names.iter().map(method).collect()
    }
}
