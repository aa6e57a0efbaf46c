//! Messages of Protocol Buffers by the names of their types: `grpc.encode`, `grpc.decode`, and the details of a status.

use super::grpc::{given, server_of, with_schemas};
use crate::plan_files::{Schema, find_message};
use crate::requests::{DecodingFault, decode_details, decode_message, encode_message};
use crate::sandbox::VmHost;
use crate::values::{describe_mismatch, escape_invalid};
use mlua::{Lua, LuaString, Table, Value};
use prost_reflect::{DescriptorPool, MessageDescriptor};
use std::sync::{Arc, OnceLock};

/// The messages that statuses usually have as details, which servers rarely describe.
const ERROR_DETAILS: &str = include_str!("error_details.proto");

/// Encodes a value as a message of the type with that name.
pub(super) fn encode(lua: &Lua, (name, value): (Value, Value)) -> mlua::Result<LuaString> {
    let message = message_of(lua, &name, "grpc.encode")?;
    let mut budget = VmHost::of(lua).budget(lua);
    let value = given(lua, value, &message)?;
    let bytes = encode_message(&value, &message, &mut budget);
    lua.create_string(bytes.map_err(mlua::Error::runtime)?)
}

/// Decodes a message of the type with that name.
pub(super) fn decode(lua: &Lua, (name, bytes): (Value, Value)) -> mlua::Result<Value> {
    let message = message_of(lua, &name, "grpc.decode")?;
    let Value::String(bytes) = &bytes else {
        let problem = describe_mismatch("grpc.decode(type, bytes): the bytes", "a string", &bytes);
        return Err(mlua::Error::runtime(problem));
    };
    let bytes = bytes.as_bytes();
    let host = VmHost::of(lua);
    host.limits.spend(lua, bytes.len() as u64 * 16)?;
    decode_message(lua, &message, &bytes).map_err(|fault| match fault {
        DecodingFault::Lua(error) => error,
        DecodingFault::Malformed => {
            let name = message.full_name();
            mlua::Error::runtime(format!("the bytes are not a message of {name}"))
        }
    })
}

fn message_of(lua: &Lua, name: &Value, function: &str) -> mlua::Result<MessageDescriptor> {
    let Value::String(name) = name else {
        let kind = "a name such as \"shop.Item\"";
        let problem = describe_mismatch(&format!("{function}: the type"), kind, name);
        return Err(mlua::Error::runtime(problem));
    };
    let name = escape_invalid(name);
    find_message(&known(lua), &name).map_err(mlua::Error::runtime)
}

/// The schemas that the plan has loaded, and that of the user's server, if that was asked for it.
fn known(lua: &Lua) -> Vec<Arc<Schema>> {
    let (mut all, reflects) = with_schemas(lua, |schemas| (schemas.all.clone(), schemas.reflects));
    if reflects && let Ok(server) = server_of(lua) {
        all.extend(VmHost::of(lua).program.schemas.reflected(&server));
    }
    all
}

/// Decodes the details of a call's status: its own schema comes first, then the others that are known.
pub(super) fn error_details(
    lua: &Lua,
    status: &[u8],
    own: Option<&DescriptorPool>,
) -> mlua::Result<Table> {
    let limits = &VmHost::of(lua).limits;
    limits.spend(lua, status.len() as u64 * 16)?;
    let known = known(lua);
    let usual = usual().map_err(mlua::Error::runtime)?;
    decode_details(lua, status, |name| {
        let of_known = || known.iter().find_map(|schema| schema.message(name));
        let own = own.and_then(|pool| pool.get_message_by_name(name));
        own.or_else(of_known).or_else(|| usual.message(name))
    })
}

fn usual() -> Result<&'static Schema, String> {
    static USUAL: OnceLock<Schema> = OnceLock::new();
    if let Some(schema) = USUAL.get() {
        return Ok(schema);
    }
    let schema = Schema::of_text("error_details.proto", ERROR_DETAILS)?;
    Ok(USUAL.get_or_init(|| schema))
}
