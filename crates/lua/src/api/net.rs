//! Sockets of a plan: `user:tcp(address)`, `user:tls(address)` and `user:udp(address)`.

use super::function::function;
use super::names::refuse_unknown;
use super::parts;
use crate::limits::Held;
use crate::requests::{NetSocket, read_connect, read_receive};
use crate::sandbox::VmHost;
use lgoose_protocols::{OpenSocket, SocketKind};
use mlua::{
    AnyUserData, Function, IntoLua as _, Lua, MetaMethod, UserDataFields, UserDataMethods,
    UserDataRef, Value,
};
use std::rc::Rc;

/// The fields of a socket.
pub(crate) const FIELDS: [&str; 2] = ["ok", "error"];
/// The methods of a socket.
pub(crate) const METHODS: [&str; 4] = ["send", "receive", "start_tls", "close"];

/// Marks a VM in which the type of sockets is registered.
struct Registered;

/// Makes the plan's value for a socket that it opens.
pub(crate) fn make(lua: &Lua, socket: Rc<OpenSocket>) -> mlua::Result<AnyUserData> {
    if lua.app_data_ref::<Registered>().is_none() {
        let operations = ["socket_send", "socket_receive", "start_tls", "socket_close"];
        let host = lua.create_table()?;
        host.raw_set("take", function(lua, take)?)?;
        let methods = parts::NET_SOCKETS.methods(lua, METHODS, &operations, host, ())?;
        lua.register_userdata_type::<Held<NetSocket>>(|registry| register(registry, methods))?;
        lua.set_app_data(Registered);
    }
    VmHost::of(lua).userdata(lua, NetSocket(socket))
}

/// Registers the members of sockets. `registry` is mlua's, or the list of a test.
pub(super) fn register<R>(registry: &mut R, methods: Vec<(&'static str, Function)>)
where
    R: UserDataFields<Held<NetSocket>> + UserDataMethods<Held<NetSocket>>,
{
    for (name, method) in methods {
        registry.add_field(name, method);
    }
    registry.add_field_method_get("ok", |_, this| Ok(this.0.error().is_none()));
    registry.add_field_method_get("error", |lua, this| this.0.error().into_lua(lua));
    registry.add_meta_method(MetaMethod::ToString, |_, this, ()| {
        let row = this.0.row.get();
        let target = row.map_or("", |row| row.target.as_str());
        Ok(format!("socket to {target}"))
    });
    refuse_unknown(registry, "a socket", &[&FIELDS, &METHODS]);
}

/// Prepares the opening of a socket: of a kind, to an address, with options.
pub(super) fn connect(
    lua: &Lua,
    (kind, address, options): (String, Value, Value),
) -> mlua::Result<Value> {
    let kind = match kind.as_str() {
        "tls" => SocketKind::Tls,
        "udp" => SocketKind::Udp,
        _ => SocketKind::Tcp,
    };
    let host = VmHost::of(lua);
    let session = VmHost::user_session(lua)?;
    let planned = read_connect(&session, kind, &address, &options, &mut host.budget(lua));
    let planned = planned.map_err(mlua::Error::runtime)?;
    host.held(lua, planned)?.into_lua(lua)
}

type Socket = UserDataRef<Held<NetSocket>>;

/// Takes the bytes received so far, if they are enough. Returns whether they are, and the bytes.
fn take(lua: &Lua, (socket, what, options): (Socket, Value, Value)) -> mlua::Result<(bool, Value)> {
    let (rule, _) = read_receive(&socket.0, &what, &options).map_err(mlua::Error::runtime)?;
    match socket.0.take_at_hand(&rule) {
        Some(bytes) => Ok((true, lua.create_string(&bytes)?.into_lua(lua)?)),
        None => Ok((false, Value::Nil)),
    }
}
