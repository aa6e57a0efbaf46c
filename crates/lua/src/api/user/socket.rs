//! WebSockets of a plan: `user:websocket(path)`.

use super::stream::message_meta;
use crate::api::function::function;
use crate::api::json;
use crate::api::names::{ValueType, refuse_unknown};
use crate::api::parts::{PreludePart, prelude_part};
use crate::limits::{Held, make_values};
use crate::requests::{PlanSocket, PlanStream, ResponseStream};
use crate::sandbox::VmHost;
use crate::values::{escape_invalid, read_seconds};
use lgoose_http::CloseFrame;
use mlua::{
    AnyUserData, Function, IntoLua as _, Lua, LuaString, MetaMethod, UserDataFields,
    UserDataMethods, UserDataRef, Value,
};
use std::rc::Rc;

/// A WebSocket as a plan holds it.
pub(crate) const SOCKET: ValueType = ValueType {
    noun: "a socket",
    fields: &[
        "status",
        "headers",
        "ok",
        "error",
        "body",
        "subprotocol",
        "close_code",
        "close_reason",
    ],
    methods: &[
        "send",
        "send_binary",
        "receive",
        "ask",
        "messages",
        "on_message",
        "ping",
        "close",
    ],
};

pub(super) static OPENING: PreludePart =
    prelude_part!("websocket").with(&[("set_reopening", |lua| function(lua, set_reopening))]);
static METHODS: PreludePart = prelude_part!("sockets");

/// The members of a message.
#[cfg(test)]
pub(crate) const MESSAGE: [&str; 4] = ["data", "is_text", "at", "json"];

/// The least time before a socket is opened again, in seconds: a server that closes at once is not flooded.
const LEAST_PAUSE: f64 = 0.01;

/// Marks a VM in which the type of sockets is registered.
struct Registered;

/// Makes the plan's value for a request that opens a WebSocket.
pub(crate) fn make(lua: &Lua, shared: Rc<ResponseStream>) -> mlua::Result<AnyUserData> {
    if lua.app_data_ref::<Registered>().is_none() {
        let operations = [
            "receive",
            "end_stream",
            "flush",
            "begin_exchange",
            "end_exchange",
            "spawn",
            "wait",
        ];
        let host = lua.create_table()?;
        host.raw_set("take", function(lua, take)?)?;
        host.raw_set("send", function(lua, send)?)?;
        host.raw_set("close", function(lua, close)?)?;
        host.raw_set("ping", function(lua, ping)?)?;
        host.raw_set("pong", function(lua, pong)?)?;
        host.raw_set("is_open", function(lua, is_open)?)?;
        host.raw_set("reopening", lua.create_function(reopening)?)?;
        host.raw_set("exchange", function(lua, exchange)?)?;
        host.raw_set("age", function(lua, age)?)?;
        host.raw_set("has_more", function(lua, has_more)?)?;
        host.raw_set("clock", lua.create_function(crate::api::metric::clock)?)?;
        let more = (message_meta(lua, "message")?, json::library(lua)?);
        let methods = METHODS.methods(lua, SOCKET.methods, &operations, host, more)?;
        lua.register_userdata_type::<Held<PlanSocket>>(|registry| register(registry, methods))?;
        lua.set_app_data(Registered);
    }
    VmHost::of(lua).userdata(lua, PlanSocket(PlanStream { shared }))
}

/// Registers the members of sockets. `registry` is mlua's, or the list of a test.
pub(crate) fn register<R>(registry: &mut R, methods: Vec<(&'static str, Function)>)
where
    R: UserDataFields<Held<PlanSocket>> + UserDataMethods<Held<PlanSocket>>,
{
    for (name, method) in methods {
        registry.add_field(name, method);
    }
    registry.add_field_method_get("status", |_, this| {
        Ok(this.0.shared.body.status().unwrap_or(0))
    });
    registry.add_field_method_get("headers", |lua, this| {
        crate::api::response::header_table(lua, this.0.shared.body.headers())
    });
    registry.add_field_method_get("ok", |_, this| Ok(this.0.shared.is_ok()));
    registry.add_field_method_get("error", |lua, this| this.0.shared.error().into_lua(lua));
    registry.add_field_method_get("body", |lua, this| {
        let body = this.0.shared.refusal();
        body.map(|body| lua.create_string(body)).transpose()
    });
    registry.add_field_method_get("subprotocol", |_, this| {
        let socket = this.0.shared.body.socket();
        Ok(socket.and_then(|socket| socket.subprotocol()))
    });
    registry.add_field_method_get("close_code", |_, this| {
        Ok(closed(this).and_then(|close| close.code))
    });
    registry.add_field_method_get("close_reason", |_, this| {
        Ok(closed(this).map(|close| close.reason))
    });
    registry.add_meta_method(MetaMethod::ToString, |_, this, ()| {
        Ok(format!(
            "socket of status {}",
            this.0.shared.body.status().unwrap_or(0)
        ))
    });
    refuse_unknown(registry, SOCKET.noun, &[SOCKET.fields, SOCKET.methods]);
}

fn closed(socket: &PlanSocket) -> Option<CloseFrame> {
    socket.0.shared.body.socket()?.closed()
}

type Socket = UserDataRef<Held<PlanSocket>>;

/// Takes the next message; without one, says whether more may come.
fn take(lua: &Lua, socket: Socket) -> mlua::Result<(Value, bool)> {
    let shared = &socket.0.shared;
    let Some(message) = shared.take_message() else {
        return Ok((Value::Nil, !shared.body.has_ended()));
    };
    let since = message.at.saturating_duration_since(shared.start);
    let table = make_values(lua, message.bytes.len(), || {
        let table = lua.create_table_with_capacity(0, 3)?;
        table.raw_set("data", lua.create_string(&message.bytes)?)?;
        table.raw_set("is_text", message.is_text)?;
        table.raw_set("at", since.as_secs_f64())?;
        Ok(table)
    });
    Ok((Value::Table(table?), true))
}

/// Returns whether waiting for a message would end at once: one has come, or none will.
fn has_more(_: &Lua, socket: Socket) -> mlua::Result<bool> {
    Ok(socket.0.shared.body.has_more())
}

/// Sends a message. Returns whether that was possible, and whether more may be sent without waiting.
fn send(
    _: &Lua,
    (socket, is_text, bytes): (Socket, bool, LuaString),
) -> mlua::Result<(bool, bool)> {
    const MAX_MESSAGE: usize = 64 << 20;
    let bytes = bytes.as_bytes();
    if bytes.len() > MAX_MESSAGE {
        return Err(mlua::Error::runtime("a message has at most 64 MiB"));
    }
    if is_text && std::str::from_utf8(&bytes).is_err() {
        let problem = "a text is UTF-8: send bytes with socket:send_binary";
        return Err(mlua::Error::runtime(problem));
    }
    let shared = &socket.0.shared;
    let is_sent = shared.send(is_text, &bytes);
    let has_room = shared.body.socket().is_none_or(|socket| socket.has_room());
    Ok((is_sent, has_room))
}

/// Returns the seconds since the request that opened a socket, as messages have their times.
fn age(_: &Lua, socket: Socket) -> mlua::Result<f64> {
    Ok(socket.0.shared.start.elapsed().as_secs_f64())
}

/// Sends a ping. Returns whether that was possible.
fn ping(_: &Lua, socket: Socket) -> mlua::Result<bool> {
    let side = socket.0.shared.body.socket();
    Ok(side.is_some_and(|side| side.ping()))
}

/// Returns whether more may come.
fn is_open(_: &Lua, socket: Socket) -> mlua::Result<bool> {
    Ok(!socket.0.shared.body.has_ended())
}

/// Returns the time at which the pong of the latest ping has come, as messages have their times; with `ends`, no longer waits for it.
fn pong(_: &Lua, (socket, ends): (Socket, Option<bool>)) -> mlua::Result<Option<f64>> {
    let shared = &socket.0.shared;
    let Some(side) = shared.body.socket() else {
        return Ok(None);
    };
    let at = side.pong();
    if at.is_some() || ends == Some(true) {
        side.forget_ping();
    }
    Ok(at.map(|at| at.saturating_duration_since(shared.start).as_secs_f64()))
}

/// Sets the function that opens a socket again once it has ended, and the pause before that.
fn set_reopening(
    lua: &Lua,
    (socket, open, pause): (AnyUserData, Function, Value),
) -> mlua::Result<()> {
    let pause = read_seconds(&pause, "option 'wait' of reconnect").map_err(mlua::Error::runtime)?;
    let pause = pause.as_secs_f64().max(LEAST_PAUSE);
    socket.set_user_value(lua.create_sequence_from([Value::Function(open), Value::Number(pause)])?)
}

/// Returns the function that opens a socket again, and the pause before that in seconds; nothing without `reconnect`, and once the
/// plan has closed the socket.
fn reopening(_: &Lua, socket: AnyUserData) -> mlua::Result<(Value, Value)> {
    match socket.user_value()? {
        Value::Table(reopening) => Ok((reopening.raw_get(1)?, reopening.raw_get(2)?)),
        _ => Ok((Value::Nil, Value::Nil)),
    }
}

/// Exchanges the connections of a socket that has ended and of the one that replaces it.
fn exchange(_: &Lua, (socket, opened): (AnyUserData, AnyUserData)) -> mlua::Result<()> {
    let mut ended = socket.borrow_mut::<Held<PlanSocket>>()?;
    let mut opened = opened.borrow_mut::<Held<PlanSocket>>()?;
    std::mem::swap(ended.value_mut(), opened.value_mut());
    Ok(())
}

/// Begins to close a socket.
fn close(
    _: &Lua,
    (socket, code, reason): (AnyUserData, Option<i64>, Option<LuaString>),
) -> mlua::Result<()> {
    socket.set_user_value(Value::Nil)?;
    let socket = socket.borrow::<Held<PlanSocket>>()?;
    let code = match code.unwrap_or(1000) {
        code @ (1000 | 3000..=4999) => code as u16,
        _ => {
            let problem = "socket:close: the code is 1000, or one from 3000 to 4999";
            return Err(mlua::Error::runtime(problem));
        }
    };
    let reason = reason.map_or_else(String::new, |reason| escape_invalid(&reason));
    if reason.len() > 123 {
        return Err(mlua::Error::runtime(
            "socket:close: the reason has at most 123 bytes",
        ));
    }
    if let Some(side) = socket.0.shared.body.socket() {
        let code = Some(code);
        side.close(&CloseFrame { code, reason });
    }
    Ok(())
}
