//! Responses that a plan reads while they arrive: `user:get(path, { stream = true })`.

use crate::api::function::{function, method};
use crate::api::json;
use crate::api::names::{ValueType, refuse_unknown};
use crate::api::parts::{PreludePart, prelude_part};
use crate::limits::{Held, make_values};
use crate::requests::{MessageKind, PlanStream, ResponseStream, StreamMessage, marker};
use crate::sandbox::{VmHost, yield_function};
use crate::values::{DisplayText, describe_mismatch, read_flag, to_one_line};
use lgoose_plan::config::unknown_word;
use mlua::{
    AnyUserData, Function, IntoLua as _, Lua, LuaString, MetaMethod, Table, UserDataFields,
    UserDataMethods, UserDataRef, Value,
};
use std::rc::Rc;

/// A response that a plan reads while it arrives.
pub(crate) const STREAM: ValueType = ValueType {
    noun: "a stream",
    fields: &["status", "headers", "ok", "error"],
    methods: &["events", "lines", "chunks", "fail", "close"],
};

/// `user:events`.
pub(super) static EVENTS: PreludePart = prelude_part!("events").with(&[
    ("has_events", |lua| lua.create_function(has_events)),
    ("stream_place", |lua| lua.create_function(place)),
    ("let_go", |lua| lua.create_function(let_go)),
]);
static METHODS: PreludePart = prelude_part!("streams");
/// The methods of events and messages.
static MESSAGE: PreludePart = prelude_part!("message");

/// The options of `stream:events`, `stream:lines` and `stream:chunks`.
pub(crate) const MESSAGE_OPTIONS: [&str; 4] = ["at_end", "counts", "last", "to_end"];

/// The members of an event.
#[cfg(test)]
pub(crate) const EVENT: [&str; 5] = ["data", "name", "id", "at", "json"];

/// Marks a VM in which the type of streams is registered.
struct Registered;

/// Makes the plan's value for a request whose response is streamed.
pub(crate) fn make(lua: &Lua, shared: Rc<ResponseStream>) -> mlua::Result<AnyUserData> {
    if lua.app_data_ref::<Registered>().is_none() {
        let part = (
            yield_function(lua)?,
            marker("receive"),
            marker("end_stream"),
            function(lua, take)?,
            message_meta(lua, "event")?,
            function(lua, read_options)?,
            function(lua, count)?,
            function(lua, complete)?,
        );
        type Methods = (Function, Function, Function, Function);
        let (events, lines, chunks, close): Methods = METHODS.load(lua)?.call(part)?;
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

/// Makes the metatable of messages of that name.
pub(super) fn message_meta(lua: &Lua, name: &str) -> mlua::Result<Table> {
    MESSAGE.load(lua)?.call((name, json::library(lua)?))
}

/// Registers the members of streams. `registry` is mlua's, or the list of a test.
pub(crate) fn register<R>(registry: &mut R, methods: [(&'static str, Function); 4])
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
        crate::api::response::header_table(lua, this.shared.body.headers())
    });
    method(
        registry,
        "fail",
        |_, this: &Held<PlanStream>, DisplayText(reason): DisplayText| {
            if this.shared.verdict.borrow().is_some() {
                let message = "the request of this stream is counted already: call stream:fail before its end, as in \
                    stream:events { at_end = function() … end }";
                return Err(mlua::Error::runtime(message));
            }
            this.shared.failed.replace(Some(reason));
            Ok(())
        },
    );
    registry.add_meta_method(MetaMethod::ToString, |_, this, ()| {
        Ok(format!(
            "stream of status {}",
            this.shared.body.status().unwrap_or(0)
        ))
    });
    refuse_unknown(registry, STREAM.noun, &[STREAM.fields, STREAM.methods]);
}

/// Notes the line of the plan that has sent the request.
pub(crate) fn note_line(lua: &Lua, stream: AnyUserData) -> mlua::Result<()> {
    if let Some(shared) = ResponseStream::of(&stream) {
        shared.line.replace(crate::api::response::line(lua));
    }
    Ok(())
}

/// Reads the options for a kind of messages of a stream; returns the functions `counts`, `at_end` and `last`.
fn read_options(
    _: &Lua,
    (stream, kind, options): (UserDataRef<Held<PlanStream>>, String, Value),
) -> mlua::Result<(Option<Function>, Option<Function>, Option<Function>)> {
    let owner = format!("stream:{kind}s");
    let Value::Table(table) = &options else {
        let example = format!("a table such as {{ counts = function({kind}) return true end }}");
        let what = format!("the options of {owner}");
        let problem = describe_mismatch(&what, &example, &options);
        return Err(mlua::Error::runtime(problem));
    };
    let (mut counts, mut at_end, mut last) = (None, None, None);
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let key = key.to_string().unwrap_or_default();
        let option = match key.as_str() {
            "counts" => &mut counts,
            "at_end" => &mut at_end,
            "last" => &mut last,
            "to_end" => {
                let reads_on = read_flag(&value, "option 'to_end'");
                let reads_on = reads_on.map_err(mlua::Error::runtime)?;
                stream.shared.to_end.set(reads_on);
                continue;
            }
            _ => {
                let unknown = unknown_word("option", &key, &owner, &MESSAGE_OPTIONS);
                return Err(mlua::Error::runtime(to_one_line(unknown)));
            }
        };
        let Value::Function(function) = value else {
            let problem = describe_mismatch(&format!("option '{key}'"), "a function", &value);
            return Err(mlua::Error::runtime(problem));
        };
        *option = Some(function);
    }
    Ok((counts, at_end, last))
}

/// Counts the message that was taken last.
fn count(_: &Lua, stream: UserDataRef<Held<PlanStream>>) -> mlua::Result<()> {
    stream.shared.count_latest();
    Ok(())
}

/// Notes that the message that was taken last is the last one.
fn complete(_: &Lua, stream: UserDataRef<Held<PlanStream>>) -> mlua::Result<()> {
    stream.shared.body.complete();
    Ok(())
}

/// Whether the stream has events, for `user:events`.
fn has_events(_: &Lua, stream: UserDataRef<Held<PlanStream>>) -> mlua::Result<bool> {
    Ok(stream.shared.has_events())
}

/// Returns the latest event identifier of a stream, or nil, and the seconds to wait before reconnecting, or nil.
fn place(
    lua: &Lua,
    stream: UserDataRef<Held<PlanStream>>,
) -> mlua::Result<(Option<LuaString>, Option<f64>)> {
    let (id, retry) = stream.shared.place();
    let id = id.map(|id| lua.create_string(id)).transpose()?;
    Ok((id, retry.map(|time| time.as_secs_f64())))
}

/// Releases a stream, which is closed.
fn let_go(_: &Lua, stream: UserDataRef<Held<PlanStream>>) -> mlua::Result<()> {
    stream.shared.body.close();
    Ok(())
}

/// Takes the next message of a stream; without one, says whether more may come.
fn take(
    lua: &Lua,
    (stream, kind): (UserDataRef<Held<PlanStream>>, String),
) -> mlua::Result<(Value, bool)> {
    let shared = &stream.shared;
    let uncounted = kind.strip_prefix("uncounted ");
    let kind = match uncounted.unwrap_or(&kind) {
        "event" => MessageKind::Event,
        "line" => MessageKind::Line,
        _ => MessageKind::Chunk,
    };
    let taken = match uncounted {
        Some(_) => shared.take_uncounted(kind),
        None => shared.take(kind),
    };
    let Some((at, message)) = taken else {
        return Ok((Value::Nil, !shared.body.has_ended()));
    };
    let value = match message {
        StreamMessage::Bytes(bytes) => Value::String(lua.create_string(&bytes)?),
        StreamMessage::Event(event) => {
            let since = at.saturating_duration_since(shared.start);
            let bytes = event.data.len() + event.name.len() + event.id.len();
            let table = make_values(lua, bytes, || {
                let table = lua.create_table_with_capacity(0, 4)?;
                table.raw_set("data", lua.create_string(&event.data)?)?;
                table.raw_set("name", lua.create_string(&event.name)?)?;
                table.raw_set("id", lua.create_string(&event.id)?)?;
                table.raw_set("at", since.as_secs_f64())?;
                Ok(table)
            });
            Value::Table(table?)
        }
    };
    Ok((value, true))
}
