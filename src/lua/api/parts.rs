//! Parts of the prelude, which a VM loads when its plan first uses what they make.

use crate::lua::plan_files::compile_once;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua};
use std::sync::OnceLock;

/// The code of a part: its text, and its bytecode once that is needed.
pub(super) struct Part {
    source: &'static str,
    code: OnceLock<Vec<u8>>,
}

/// `user:transaction`, `user:stop`, `user:exit_iteration`, `user:set_host` and `user:log`.
pub(super) static ACTIONS: Part = Part::of(include_str!("../../../lua/prelude/actions.lua"));
/// `pcall`, `xpcall` and `coroutine`.
pub(super) static CALLS: Part = Part::of(include_str!("../../../lua/prelude/calls.lua"));
/// `user:request` and `user:submit`.
pub(super) static FORMS: Part = Part::of(include_str!("../../../lua/prelude/forms.lua"));
/// `user:fetch` and `user:batch`.
pub(super) static LISTS: Part = Part::of(include_str!("../../../lua/prelude/lists.lua"));
/// `user:retry`.
pub(super) static RETRY: Part = Part::of(include_str!("../../../lua/prelude/retry.lua"));
/// What waits in `lgoose.shared`.
pub(super) static SHARED: Part = Part::of(include_str!("../../../lua/prelude/shared.lua"));
/// Libraries as plans see them.
pub(super) static VIEW: Part = Part::of(include_str!("../../../lua/prelude/view.lua"));

impl Part {
    const fn of(source: &'static str) -> Part {
        Part {
            source,
            code: OnceLock::new(),
        }
    }

    /// Loads the part as a function, which the prelude calls with what they share.
    pub(super) fn load(&'static self, lua: &Lua) -> mlua::Result<Function> {
        lua.load(compile_once(&self.code, self.source)?)
            .set_mode(ChunkMode::Binary)
            .into_function()
    }
}
