//! Responses that a plan reads while they come: `user:get(path, { stream = true })`.

use super::function::function;
use super::names::unknown;
use super::{json, parts};
use crate::lua::limits::Held;
use crate::lua::requests::{MessageKind, PlanStream, ResponseStream, StreamMessage, marker};
use crate::lua::sandbox::VmHost;
use crate::lua::values::{DisplayText, shorten};
use mlua::{
    AnyUserData, Function, IntoLua as _, Lua, LuaString, MetaMethod, Table, UserDataFields,
    UserDataMethods, UserDataRef, Value,
};
use std::rc::Rc;

/// The fields of a stream, for messages.
pub(in crate::lua) const FIELDS: [&str; 4] = ["status", "headers", "ok", "error"];
/// The methods of a stream, for messages.
pub(in crate::lua) const METHODS: [&str; 4] = ["events", "lines", "chunks", "close"];

/// The members of an event.
#[cfg(test)]
pub(super) const EVENT: [&str; 5] = ["data", "name", "id", "at", "json"];

/// That the type of streams is registered in a VM.
struct Registered;

/// Makes what a plan gets for a request whose response it reads while it comes.
pub(in crate::lua) fn make(lua: &Lua, shared: Rc<ResponseStream>) -> mlua::Result<AnyUserData> {
    if lua.app_data_ref::<Registered>().is_none() {
        let coroutine: Table = lua.globals().raw_get("coroutine")?;
        let part = (
            coroutine.raw_get::<Function>("yield")?,
            marker("receive"),
            marker("end_stream"),
            function(lua, take)?,
            json::library(lua)?,
        );
        type Methods = (Function, Function, Function, Function);
        let (events, lines, chunks, close): Methods = parts::STREAMS.load(lua)?.call(part)?;
        let methods = [
            ("events", events),
            ("lines", lines),
            ("chunks", chunks),
            ("close", close),
        ];
        lua.register_userdata_type::<Held<PlanStream>>(|registry| register(registry, methods))?;
        lua.set_app_data(Registered);
    }
    VmHost::of(lua).userdata(lua, PlanStream { shared })
}

/// Registers the members of streams. `registry` is mlua's, or the list of a test.
pub(super) fn register<R>(registry: &mut R, methods: [(&'static str, Function); 4])
where
    R: UserDataFields<Held<PlanStream>> + UserDataMethods<Held<PlanStream>>,
{
    for (name, method) in methods {
        registry.add_field(name, method);
    }
    registry.add_field_method_get("status", |_, this| {
        Ok(this.shared.body.status().unwrap_or(0))
    });
    registry.add_field_method_get("ok", |_, this| Ok(this.shared.is_ok()));
    registry.add_field_method_get("error", |lua, this| this.shared.error().into_lua(lua));
    registry.add_field_method_get("headers", |lua, this| {
        super::response::header_table(lua, this.shared.body.headers())
    });
    registry.add_meta_method(MetaMethod::ToString, |_, this, ()| {
        Ok(format!(
            "stream of status {}",
            this.shared.body.status().unwrap_or(0)
        ))
    });
    registry.add_meta_method(
        MetaMethod::Index,
        |_, _, DisplayText(name): DisplayText| -> mlua::Result<()> {
            let name = shorten(&name);
            let names = [FIELDS, METHODS].concat().into_iter().map(str::to_owned);
            let names: Vec<String> = names.collect();
            let message = unknown(&format!("stream.{name}"), "a stream", &name, &names);
            Err(mlua::Error::runtime(message))
        },
    );
}

/// Notes the line of the plan that has sent the request.
pub(super) fn note_line(lua: &Lua, stream: AnyUserData) -> mlua::Result<()> {
    if let Some(shared) = ResponseStream::of(&stream) {
        shared.line.replace(super::response::line(lua));
    }
    Ok(())
}

/// Whether what comes are events, for `user:events`.
pub(super) fn has_events(_: &Lua, stream: UserDataRef<Held<PlanStream>>) -> mlua::Result<bool> {
    Ok(stream.shared.has_events())
}

/// Returns the latest identity of an event stream, or nil, and the seconds to wait before connecting anew, or nil.
pub(super) fn place(
    lua: &Lua,
    stream: UserDataRef<Held<PlanStream>>,
) -> mlua::Result<(Option<LuaString>, Option<f64>)> {
    let (id, retry) = stream.shared.place();
    let id = id.map(|id| lua.create_string(id)).transpose()?;
    Ok((id, retry.map(|time| time.as_secs_f64())))
}

/// Lets go of a stream, which is closed.
pub(super) fn let_go(_: &Lua, stream: UserDataRef<Held<PlanStream>>) -> mlua::Result<()> {
    stream.shared.body.close();
    Ok(())
}

/// Takes the next message of a stream; without one, says whether more may come.
fn take(
    lua: &Lua,
    (stream, kind): (UserDataRef<Held<PlanStream>>, String),
) -> mlua::Result<(Value, bool)> {
    let kind = match kind.as_str() {
        "event" => MessageKind::Event,
        "line" => MessageKind::Line,
        _ => MessageKind::Chunk,
    };
    let shared = &stream.shared;
    let Some((at, message)) = shared.take(kind) else {
        return Ok((Value::Nil, !shared.body.has_ended()));
    };
    let value = match message {
        StreamMessage::Bytes(bytes) | StreamMessage::Socket { bytes, .. } => {
            Value::String(lua.create_string(&bytes)?)
        }
        StreamMessage::Event(event) => {
            let table = lua.create_table_with_capacity(0, 4)?;
            table.raw_set("data", lua.create_string(&event.data)?)?;
            table.raw_set("name", lua.create_string(&event.name)?)?;
            table.raw_set("id", lua.create_string(&event.id)?)?;
            let since = at.saturating_duration_since(shared.start);
            table.raw_set("at", since.as_secs_f64())?;
            Value::Table(table)
        }
    };
    Ok((value, true))
}
