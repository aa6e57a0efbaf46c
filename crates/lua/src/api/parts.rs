//! Parts of the prelude, each loaded by a VM when its plan first uses something that it defines.

use crate::diagnostics::here;
use crate::plan_files::compile_once;
use crate::requests::marker;
use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLuaMulti, Lua, Table};
use std::sync::OnceLock;

/// The code of a part: its text, and its bytecode once that is needed.
pub(super) struct PreludePart {
    source: &'static str,
    code: OnceLock<Vec<u8>>,
}

/// `user:transaction`, `user:stop`, `user:exit_iteration`, `user:set_host` and `user:log`.
pub(super) static ACTIONS: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/actions.lua"));
/// `pcall`, `xpcall` and `coroutine`.
pub(super) static CALLS: PreludePart = PreludePart::of(include_str!("../../lua/prelude/calls.lua"));
/// `user:events`.
pub(super) static EVENTS: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/events.lua"));
/// `user:grpc` and `user:grpc_stream`.
pub(super) static GRPC: PreludePart = PreludePart::of(include_str!("../../lua/prelude/grpc.lua"));
/// The waiting methods of a gRPC call.
pub(super) static GRPC_CALLS: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/grpc_calls.lua"));
/// `user:request` and `user:submit`.
pub(super) static FORMS: PreludePart = PreludePart::of(include_str!("../../lua/prelude/forms.lua"));
/// `user:fetch` and `user:batch`.
pub(super) static LISTS: PreludePart = PreludePart::of(include_str!("../../lua/prelude/lists.lua"));
/// The methods of events and messages.
pub(super) static MESSAGE: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/message.lua"));
/// Views of values that a process has once.
pub(super) static JSON_VIEW: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/json_view.lua"));
/// `user:tcp`, `user:tls` and `user:udp`.
pub(super) static NET: PreludePart = PreludePart::of(include_str!("../../lua/prelude/net.lua"));
/// The waiting methods of a plain socket.
pub(super) static NET_SOCKETS: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/net_sockets.lua"));
/// Protected calls within one another.
pub(super) static NESTING: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/nesting.lua"));
/// `user:retry`.
pub(super) static RETRY: PreludePart = PreludePart::of(include_str!("../../lua/prelude/retry.lua"));
/// The waiting functions of `lgoose.shared`.
pub(super) static SHARED: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/shared.lua"));
/// The waiting methods of a WebSocket.
pub(super) static SOCKETS: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/sockets.lua"));
/// `user:websocket`.
pub(super) static WEBSOCKET: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/websocket.lua"));
/// `user:spawn`.
pub(super) static SPAWN: PreludePart = PreludePart::of(include_str!("../../lua/prelude/spawn.lua"));
/// The waiting methods of a stream.
pub(super) static STREAMS: PreludePart =
    PreludePart::of(include_str!("../../lua/prelude/streams.lua"));
/// `user:timed`.
pub(super) static TIMED: PreludePart = PreludePart::of(include_str!("../../lua/prelude/timed.lua"));
/// Libraries as plans see them.
pub(super) static VIEW: PreludePart = PreludePart::of(include_str!("../../lua/prelude/view.lua"));

impl PreludePart {
    const fn of(source: &'static str) -> PreludePart {
        PreludePart {
            source,
            code: OnceLock::new(),
        }
    }

    /// Loads the part as a function, which the prelude calls with the values that they share.
    pub(super) fn load(&'static self, lua: &Lua) -> mlua::Result<Function> {
        lua.load(compile_once(&self.code, self.source)?)
            .set_mode(ChunkMode::Binary)
            .into_function()
    }

    /// Loads the part as the methods of a type that wait, which it returns by their names. It is called with
    /// `coroutine.yield`, the operations that it yields, the functions of `host`, among them `here`, and `more`.
    pub(super) fn methods<const N: usize>(
        &'static self,
        lua: &Lua,
        names: [&'static str; N],
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
