//! gRPC of a plan: `grpc.load`, `grpc.reflect`, and the calls of `user:grpc` and `user:grpc_stream`.

use super::messages;
use crate::api::function::function;
use crate::api::json;
use crate::api::names::{ValueType, refuse_unknown};
use crate::api::parts::{PreludePart, prelude_part};
use crate::api::response::header_table;
use crate::limits::Held;
use crate::plan_files::{GrpcMethod, Schema, described_files, find_method};
use crate::requests::{
    DecodingFault, GivenMessage, MessageForm, PlanCall, PlannedGrpc, ResponseStream,
    decode_message, encode_message, is_json_text, plan_grpc,
};
use crate::sandbox::VmHost;
use crate::values::{
    describe_mismatch, escape_invalid, list_values, read_string, shorten, shorten_reason,
    to_one_line,
};
use base64::Engine as _;
use lgoose_base::base64::BASE64;
use lgoose_plan::config::unknown_word;
use mlua::{
    AnyUserData, Function, IntoLua as _, Lua, LuaString, MetaMethod, Table, UserDataFields,
    UserDataMethods, UserDataRef, Value,
};
use prost_reflect::MessageDescriptor;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

/// A call as a plan holds it.
pub(crate) const CALL: ValueType = ValueType {
    noun: "a call",
    fields: &[
        "ok",
        "error",
        "status",
        "code",
        "details",
        "error_details",
        "message",
        "metadata",
        "trailers",
    ],
    methods: &["send", "receive", "messages", "close_send", "close"],
};
/// The trailer with the details of a status.
const STATUS_DETAILS: &str = "grpc-status-details-bin";
/// The options of `grpc.load`.
pub(crate) const LOAD_OPTIONS: [&str; 1] = ["paths"];

pub(super) static CALLING: PreludePart = prelude_part!("grpc").with(&[
    ("grpc_plan", |lua| function(lua, plan)),
    ("grpc_adopt", |lua| function(lua, adopt)),
    ("grpc_take", |lua| lua.create_function(take)),
    ("keep_schema", |lua| function(lua, keep_schema)),
    ("missing_files", |lua| lua.create_function(missing_files)),
]);
static METHODS: PreludePart = prelude_part!("grpc_calls");

/// gRPC's own reflection service, by which servers describe themselves; its versions differ by their name alone.
const REFLECTION: &str = include_str!("reflection.proto");
const REFLECTION_VERSIONS: [&str; 2] = ["v1", "v1alpha"];

/// The schemas that a VM has loaded.
#[derive(Debug, Default)]
pub(super) struct LoadedSchemas {
    pub(super) all: Vec<Arc<Schema>>,
    /// Whether servers are queried for their schemas.
    pub(super) reflects: bool,
}

/// Marks a VM in which the type of calls is registered.
struct Registered;

type Call = UserDataRef<Held<PlanCall>>;

/// Creates `grpc`.
pub(crate) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set("load", function(lua, load)?)?;
    library.raw_set("reflect", function(lua, reflect)?)?;
    library.raw_set("encode", function(lua, messages::encode)?)?;
    library.raw_set("decode", function(lua, messages::decode)?)?;
    Ok(library)
}

pub(super) fn with_schemas<T>(lua: &Lua, change: impl FnOnce(&mut LoadedSchemas) -> T) -> T {
    if lua.app_data_ref::<LoadedSchemas>().is_none() {
        lua.set_app_data(LoadedSchemas::default());
    }
    let schemas = lua.app_data_mut::<LoadedSchemas>();
    change(&mut schemas.expect("it is set"))
}

/// Compiles `.proto` files; returns the names of their methods.
fn load(lua: &Lua, what: Value) -> mlua::Result<Table> {
    let host = VmHost::of(lua);
    let (files, paths) = read_files(&what).map_err(mlua::Error::runtime)?;
    let program = &host.program;
    let schema = program.schemas.load(&program.data, &files, &paths);
    let schema = schema.map_err(mlua::Error::runtime)?;
    let names = schema.methods.keys().map(String::as_str);
    let names = lua.create_sequence_from(names)?;
    with_schemas(lua, |schemas| {
        if !schemas.all.iter().any(|one| Arc::ptr_eq(one, &schema)) {
            schemas.all.push(schema);
        }
    });
    Ok(names)
}

fn read_files(what: &Value) -> Result<(Vec<String>, Vec<String>), String> {
    const EXAMPLE: &str = "a table: grpc.load { \"shop.proto\", paths = { \"protos\" } }";
    let table = match what {
        Value::String(_) => {
            return Ok((vec![read_string(what, "the file")?], vec![".".to_owned()]));
        }
        Value::Table(table) => table,
        other => return Err(describe_mismatch("grpc.load: this", EXAMPLE, other)),
    };
    let (mut files, mut paths) = (Vec::new(), vec![".".to_owned()]);
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        match &key {
            Value::Integer(_) => {}
            Value::String(key) if *key == LOAD_OPTIONS[0] => {
                let Value::Table(list) = &value else {
                    let kind = "a list of folders: { \"protos\" }";
                    return Err(describe_mismatch("option 'paths'", kind, &value));
                };
                paths = list_values(list, "option 'paths'")?
                    .iter()
                    .map(|path| read_string(path, "a folder of option 'paths'"))
                    .collect::<Result<_, _>>()?;
            }
            other => {
                let key = other.to_string().unwrap_or_default();
                let key = shorten(&key);
                return Err(to_one_line(unknown_word(
                    "option",
                    &key,
                    "grpc.load",
                    &LOAD_OPTIONS,
                )));
            }
        }
    }
    for place in 1..=table.raw_len() {
        let file: Value = table.raw_get(place).map_err(|error| error.to_string())?;
        files.push(read_string(&file, "a file of grpc.load")?);
    }
    if files.is_empty() {
        return Err(format!("grpc.load has no file; it takes {EXAMPLE}"));
    }
    Ok((files, paths))
}

/// Enables reflection: schemas are requested from servers.
fn reflect(lua: &Lua, (): ()) -> mlua::Result<()> {
    with_schemas(lua, |schemas| schemas.reflects = true);
    Ok(())
}

/// The schemas of the reflection service itself.
fn reflection() -> Result<&'static [Arc<Schema>; 2], String> {
    static SCHEMAS: OnceLock<[Arc<Schema>; 2]> = OnceLock::new();
    if let Some(schemas) = SCHEMAS.get() {
        return Ok(schemas);
    }
    let [one, other] = REFLECTION_VERSIONS.map(|version| {
        let text = REFLECTION.replace("reflection.v1", &format!("reflection.{version}"));
        Schema::of_text(&format!("reflection_{version}.proto"), &text)
    });
    let schemas = [Arc::new(one?), Arc::new(other?)];
    Ok(SCHEMAS.get_or_init(|| schemas))
}

/// A method that a plan calls.
enum FoundMethod {
    Known(Arc<GrpcMethod>),
    /// Its schema has to be requested from that server first.
    AskServer(String),
}

/// Finds a method among the schemas that are known.
fn find(lua: &Lua, kind: &str, name: &str) -> mlua::Result<FoundMethod> {
    let method = |found: Result<_, String>| {
        let known = found.map(FoundMethod::Known);
        known.map_err(mlua::Error::runtime)
    };
    if kind == "reflection" {
        return method(reflection().and_then(|schemas| find_method(schemas, name)));
    }
    let (mut all, reflects) = with_schemas(lua, |schemas| (schemas.all.clone(), schemas.reflects));
    let known = find_method(&all, name);
    if known.is_ok() || !reflects {
        return method(known.map_err(|problem| match all.as_slice() {
            [] => "no schema is known: write grpc.load { \"file.proto\" } or grpc.reflect() at the top level of the plan"
                .to_owned(),
            _ => problem,
        }));
    }
    let server = server_of(lua)?;
    let Some(schema) = VmHost::of(lua).program.schemas.reflected(&server) else {
        return Ok(FoundMethod::AskServer(server));
    };
    all.push(schema.clone());
    let known = find_method(&all, name);
    if known.is_err()
        && let Some(reason) = schema.why_unread(name)
    {
        let reason = shorten_reason(reason);
        let reason = format!("{reason}; 'grpc.load' takes a schema from a file instead");
        let method = GrpcMethod::unread(name, kind == "stream", &reason);
        return Ok(FoundMethod::Known(Arc::new(method)));
    }
    method(known)
}

/// Makes the request of a call; `nil` and the server whose schema has to be requested first.
fn plan(
    lua: &Lua,
    (kind, method, message, options): (String, Value, Value, Value),
) -> mlua::Result<(Value, Option<String>)> {
    let host = VmHost::of(lua);
    let is_unary = kind != "stream";
    let call = if is_unary { "grpc" } else { "grpc_stream" };
    let name = match &method {
        Value::String(name) => escape_invalid(name),
        other => {
            let problem = describe_mismatch("the method", "a string", other);
            let example = format!("write user:{call}(\"package.Service/Method\", …), with a colon");
            return Err(mlua::Error::runtime(format!("{problem}; {example}")));
        }
    };
    let method = match find(lua, &kind, &name)? {
        FoundMethod::Known(method) => method,
        FoundMethod::AskServer(server) => return Ok((Value::Nil, Some(server))),
    };
    let streams = method.client_streams || method.server_streams;
    if kind == "unary" && streams || kind == "stream" && !streams {
        let (what, instead) = if streams {
            ("has streams of messages", "user:grpc_stream")
        } else {
            ("has one request and one response", "user:grpc")
        };
        let problem = format!("'{}' {what}: call it by {instead}", method.name);
        return Err(mlua::Error::runtime(problem));
    }
    let mut budget = host.budget(lua);
    let message = given(lua, message, &method.input)?;
    let planned = plan_grpc(&method, is_unary, message, &options, &mut budget);
    let planned = planned.map_err(mlua::Error::runtime)?;
    let planned = lua.create_userdata(host.held(lua, planned)?)?;
    Ok((Value::UserData(planned), None))
}

/// Reads a message that is a text in JSON; returns any other as it is.
pub(super) fn given(
    lua: &Lua,
    message: Value,
    kind: &MessageDescriptor,
) -> mlua::Result<GivenMessage> {
    match &message {
        Value::String(text) if is_json_text(&message, kind) => {
            let text = text.as_bytes();
            VmHost::of(lua).limits.spend(lua, text.len() as u64)?;
            let read = json::decode(lua, &text).map_err(|error| {
                let name = kind.full_name();
                mlua::Error::runtime(format!(
                    "the message is neither a table of the fields of {name} nor JSON: {error}"
                ))
            })?;
            Ok(GivenMessage {
                value: read,
                form: MessageForm::Json,
            })
        }
        _ => Ok(GivenMessage::table(message)),
    }
}

/// Returns the address of the server that a user calls.
pub(super) fn server_of(lua: &Lua) -> mlua::Result<String> {
    let base = VmHost::user_session(lua)?.base_target();
    Ok(base.origin.name().to_owned())
}

/// Gives a call its method, by which its messages are read.
fn adopt(_: &Lua, (call, planned): (Call, AnyUserData)) -> mlua::Result<()> {
    let planned = planned.borrow::<Held<PlannedGrpc>>()?;
    if planned.method.unread.is_none() {
        call.method.replace(Some(planned.method.clone()));
    }
    Ok(())
}

/// Takes the next message of a call. Returns whether there was one, and whether more may come.
fn take(lua: &Lua, held: AnyUserData) -> mlua::Result<(bool, bool, Value)> {
    let call = held.borrow::<Held<PlanCall>>()?;
    let shared = call.shared();
    let more = || !shared.body.has_ended();
    let Some(status) = shared.body.call() else {
        return Ok((false, false, Value::Nil));
    };
    // A message before an error status is discarded, unless the call streams.
    let is_failed =
        status.terms.has_one_response && status.status().is_some_and(|one| !one.is_ok());
    let Some(bytes) = shared.take_message().filter(|_| !is_failed) else {
        return Ok((false, more(), Value::Nil));
    };
    let Some(method) = call.method.borrow().clone() else {
        return Ok((false, more(), Value::Nil));
    };
    let host = VmHost::of(lua);
    host.limits.spend(lua, bytes.bytes.len() as u64 * 16)?;
    match decode_message(lua, &method.output, &bytes.bytes) {
        Ok(message) => {
            held.set_user_value(&message)?;
            Ok((true, more(), message))
        }
        Err(DecodingFault::Lua(error)) => Err(error),
        Err(DecodingFault::Malformed) => {
            let kind = method.output.full_name();
            status.fail(&format!("a response is not a message of {kind}"));
            shared.body.close();
            Ok((false, more(), Value::Nil))
        }
    }
}

/// Keeps the schema that a server has sent, and the services that it lists without a description, each with the reason.
fn keep_schema(
    lua: &Lua,
    (server, files, undescribed): (String, Table, Table),
) -> mlua::Result<()> {
    let files = files
        .sequence_values::<LuaString>()
        .map(|file| file.map(|file| file.as_bytes().to_vec()))
        .collect::<mlua::Result<Vec<_>>>()?;
    let undescribed = undescribed.pairs::<LuaString, LuaString>().map(|pair| {
        let (service, why) = pair?;
        Ok((escape_invalid(&service), escape_invalid(&why)))
    });
    let undescribed = undescribed.collect::<mlua::Result<Vec<_>>>()?;
    let schema = Schema::of_descriptions(&files, undescribed);
    let schemas = &VmHost::of(lua).program.schemas;
    schemas.keep_reflected(&server, schema);
    Ok(())
}

/// Removes duplicate descriptions. Returns the rest, and the names of missing files that they import.
fn missing_files(lua: &Lua, files: Vec<LuaString>) -> mlua::Result<(Vec<LuaString>, Vec<String>)> {
    let work: usize = files.iter().map(|file| file.as_bytes().len()).sum();
    VmHost::of(lua).limits.spend(lua, work as u64 * 16)?;
    let bytes: Vec<_> = files.iter().map(|file| file.as_bytes().to_vec()).collect();
    let (distinct, missing) = described_files(&bytes);
    let distinct = distinct.into_iter().map(|place| files[place].clone());
    Ok((distinct.collect(), missing))
}

/// Makes the plan's value for a call.
pub(crate) fn make(lua: &Lua, shared: Rc<ResponseStream>) -> mlua::Result<AnyUserData> {
    if lua.app_data_ref::<Registered>().is_none() {
        let operations = ["receive", "end_stream", "flush"];
        let host = lua.create_table()?;
        host.raw_set("take", lua.create_function(take)?)?;
        host.raw_set("send", function(lua, send)?)?;
        host.raw_set("close_send", function(lua, close_send)?)?;
        host.raw_set("has_one_response", function(lua, has_one_response)?)?;
        host.raw_set("clock", lua.create_function(crate::api::metric::clock)?)?;
        let methods = METHODS.methods(lua, CALL.methods, &operations, host, ())?;
        lua.register_userdata_type::<Held<PlanCall>>(|registry| register(registry, methods))?;
        lua.set_app_data(Registered);
    }
    VmHost::of(lua).userdata(lua, PlanCall::new(shared))
}

/// Registers the members of calls. `registry` is mlua's, or the list of a test.
pub(crate) fn register<R>(registry: &mut R, methods: Vec<(&'static str, Function)>)
where
    R: UserDataFields<Held<PlanCall>> + UserDataMethods<Held<PlanCall>>,
{
    for (name, method) in methods {
        registry.add_field(name, method);
    }
    registry.add_field_method_get("ok", |_, this| Ok(this.shared().is_ok()));
    registry.add_field_method_get("error", |lua, this| this.shared().error().into_lua(lua));
    let status = |call: &PlanCall| call.shared().body.call()?.status();
    registry.add_field_method_get("status", move |_, this| {
        Ok(status(this).map(|status| status.code.name()))
    });
    registry.add_field_method_get("code", move |_, this| {
        Ok(status(this).map(|status| status.code.number()))
    });
    registry.add_field_method_get("details", move |_, this| {
        Ok(status(this).map(|status| status.details))
    });
    registry.add_field_method_get("error_details", |lua, this| error_details(lua, this));
    registry.add_field_function_get("message", |_, this| this.user_value::<Value>());
    registry.add_field_method_get("metadata", |lua, this| {
        metadata(lua, this.shared().body.headers())
    });
    registry.add_field_method_get("trailers", |lua, this| {
        let call = this.shared().body.call();
        metadata(lua, call.map_or_else(Vec::new, |call| call.trailers()))
    });
    registry.add_meta_method(MetaMethod::ToString, move |_, this, ()| {
        let name = status(this).map_or("under way", |status| status.code.name());
        Ok(format!("call, {name}"))
    });
    refuse_unknown(registry, CALL.noun, &[CALL.fields, CALL.methods]);
}

/// Makes the list of the details that the server has sent with its status.
fn error_details(lua: &Lua, call: &PlanCall) -> mlua::Result<Table> {
    let trailers = call
        .shared()
        .body
        .call()
        .map_or_else(Vec::new, |call| call.trailers());
    let status = trailers.iter().find(|(name, _)| name == STATUS_DETAILS);
    let status = status.map_or_else(Vec::new, |(_, value)| decoded(value.clone()));
    let method = call.method.borrow();
    let own = method.as_ref().map(|method| method.output.parent_pool());
    messages::error_details(lua, &status, own)
}

/// Returns the bytes that a value of metadata with `-bin` has.
fn decoded(value: Vec<u8>) -> Vec<u8> {
    BASE64.decode(&value).unwrap_or(value)
}

/// Makes the table of metadata, in which names that end in `-bin` have any bytes.
fn metadata(lua: &Lua, lines: Vec<(String, Vec<u8>)>) -> mlua::Result<Table> {
    let is_binary = |(name, _): &(String, Vec<u8>)| name.ends_with("-bin");
    let (binary, text): (Vec<_>, Vec<_>) = lines.into_iter().partition(is_binary);
    let table = header_table(lua, text)?;
    for (name, value) in binary {
        table.raw_set(name, lua.create_string(decoded(value))?)?;
    }
    Ok(table)
}

/// Sends a message. Returns whether that was possible, and whether more may be sent without waiting.
fn send(
    lua: &Lua,
    (call, message, compressed): (Call, Value, Option<bool>),
) -> mlua::Result<(bool, bool)> {
    let Some(method) = call.method.borrow().clone() else {
        return Ok((false, true));
    };
    let sent = call.shared().body.call();
    if !method.client_streams && sent.is_some_and(|call| call.has_sent()) {
        let problem = format!("'{}' takes one message", method.name);
        return Err(mlua::Error::runtime(problem));
    }
    let host = VmHost::of(lua);
    let mut budget = host.budget(lua);
    let message = given(lua, message, &method.input)?;
    let bytes = encode_message(&message, &method.input, &mut budget);
    let bytes = bytes.map_err(mlua::Error::runtime)?;
    let shared = call.shared();
    let is_sent = shared.send_message(&bytes, compressed.unwrap_or(true));
    if let Some(call) = sent.filter(|_| !method.client_streams) {
        call.close_send();
    }
    let has_room = shared.body.call().is_none_or(|call| call.has_room());
    Ok((is_sent, has_room))
}

fn close_send(_: &Lua, call: Call) -> mlua::Result<()> {
    if let Some(call) = call.shared().body.call() {
        call.close_send();
    }
    Ok(())
}

fn has_one_response(_: &Lua, call: Call) -> mlua::Result<bool> {
    let call = call.shared().body.call();
    Ok(call.is_some_and(|call| call.terms.has_one_response))
}
