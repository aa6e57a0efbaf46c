//! Sockets of a plan: `user:tcp(address)`, `user:tls(address)` and `user:udp(address)`.

use crate::api::function::function;
use crate::api::names::{ValueType, refuse_unknown};
use crate::api::parts::{PreludePart, prelude_part};
use crate::limits::{Budget, Held};
use crate::requests::{
    CALL_OPTIONS, NetSocket, PlannedCall, named, plan_call, read_buffer, read_receive,
};
use crate::sandbox::VmHost;
use crate::values::{describe_mismatch, escape_invalid, read_string, shorten};
use lgoose_base::error::masked_address;
use lgoose_http::{MAX_BUFFER, Session, SocketAddress};
use lgoose_protocols::{OpenSocket, SocketConnect, SocketKind};
use mlua::{
    AnyUserData, Function, IntoLua as _, Lua, MetaMethod, UserDataFields, UserDataMethods,
    UserDataRef, Value,
};
use std::rc::Rc;

/// The options of a connection, beside those of any call.
pub(super) const OPTIONS: [&str; 3] = ["max_buffer", "tls", "server_name"];

/// A socket as a plan holds it.
pub(crate) const SOCKET: ValueType = ValueType {
    noun: "a socket",
    fields: &["ok", "error"],
    methods: &["send", "receive", "start_tls", "close"],
};

pub(super) static OPENING: PreludePart =
    prelude_part!("net").with(&[("connect", |lua| function(lua, connect))]);
static METHODS: PreludePart = prelude_part!("net_sockets");

/// Marks a VM in which the type of sockets is registered.
struct Registered;

/// Makes the plan's value for a socket that it opens.
pub(crate) fn make(lua: &Lua, socket: Rc<OpenSocket>) -> mlua::Result<AnyUserData> {
    if lua.app_data_ref::<Registered>().is_none() {
        let operations = ["socket_send", "socket_receive", "start_tls", "socket_close"];
        let host = lua.create_table()?;
        host.raw_set("take", function(lua, take)?)?;
        let methods = METHODS.methods(lua, SOCKET.methods, &operations, host, ())?;
        lua.register_userdata_type::<Held<NetSocket>>(|registry| register(registry, methods))?;
        lua.set_app_data(Registered);
    }
    VmHost::of(lua).userdata(lua, NetSocket(socket))
}

/// Registers the members of sockets. `registry` is mlua's, or the list of a test.
pub(crate) fn register<R>(registry: &mut R, methods: Vec<(&'static str, Function)>)
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
    refuse_unknown(registry, SOCKET.noun, &[SOCKET.fields, SOCKET.methods]);
}

/// Prepares the opening of a socket: of a kind, to an address, with options.
fn connect(lua: &Lua, (kind, address, options): (String, Value, Value)) -> mlua::Result<Value> {
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

/// Reads the opening of a socket, as `user:tcp(address, options)`, `user:tls` and `user:udp` describe it. Without an
/// address, it is the host and port of the user's site.
///
/// # Errors
/// The message to raise at the plan's line.
fn read_connect(
    session: &Session,
    kind: SocketKind,
    address: &Value,
    options: &Value,
    budget: &mut Budget,
) -> Result<PlannedCall, String> {
    let method = format!("user:{}", kind.name().to_lowercase());
    let address = match address {
        Value::Nil => SocketAddress::of_site(&session.base_target()),
        Value::String(text) => {
            let shown = escape_invalid(text);
            SocketAddress::parse(&shown).map_err(|problem| {
                format!(
                    "{method}(\"{}\"): {problem}",
                    shorten(&masked_address(&shown))
                )
            })?
        }
        other => {
            let kind = "a string such as \"127.0.0.1:6379\"";
            return Err(describe_mismatch(
                &format!("the address of {method}"),
                kind,
                other,
            ));
        }
    };
    let mut connect = SocketConnect {
        kind,
        server_name: None,
        max_buffer: MAX_BUFFER,
        opener: session.sockets().clone(),
        address,
    };
    let own: &[&str] = match kind {
        SocketKind::Udp => &[],
        _ => &OPTIONS,
    };
    let options = named(options, &method, &[&CALL_OPTIONS, own].concat())?;
    for (key, value) in &options {
        match key.as_str() {
            "max_buffer" => connect.max_buffer = read_buffer(value)?,
            "tls" => match (value, kind) {
                (Value::Boolean(true), _) => connect.kind = SocketKind::Tls,
                (Value::Boolean(false), SocketKind::Tcp) => {}
                (Value::Boolean(false), _) => {
                    return Err(
                        "user:tls has TLS: leave out 'tls', or open it with user:tcp".to_owned(),
                    );
                }
                (other, _) => {
                    return Err(describe_mismatch("option 'tls'", "true or false", other));
                }
            },
            "server_name" => {
                connect.server_name = Some(read_string(value, "option 'server_name'")?);
            }
            _ => {}
        }
    }
    if connect.address.is_unix() && connect.kind != SocketKind::Tcp {
        return Err(format!(
            "{method}(\"{}\"): a Unix socket is opened with user:tcp, without TLS",
            shorten(&connect.address.text)
        ));
    }
    if connect.server_name.is_some() && connect.kind == SocketKind::Tcp {
        return Err("option 'server_name' is for TLS: open the socket with user:tls".to_owned());
    }
    plan_call(connect, &options, budget)
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
