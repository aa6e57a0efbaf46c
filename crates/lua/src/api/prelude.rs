//! The prelude, the Lua code that every VM begins with, and the tables that it shares with its parts. A field of theirs is
//! made when it is first used, so that a VM holds only what its plan needs.

use super::lookup::{function_of_host, global, lookup, task_name};
use super::names::{refused, undeclared};
use super::parts::{Member, PreludePart, prelude_part};
use super::response;
use super::user::stream::note_line;
use super::user::{unknown_user_field, user_value};
use crate::plan_files::Program;
use crate::requests::marker;
use crate::sandbox::{ENVIRONMENT, VmHost};
use crate::values::shown;
use mlua::chunk::ChunkMode;
use mlua::{FromLua, Function, IntoLua as _, Lua, LuaString, Table, Value};

/// The opening of a stream.
static OPENED: PreludePart = prelude_part!("opened");

/// What a VM that is being made needs of the prelude.
pub(crate) struct Prelude {
    /// The environment of the plan's files.
    pub(crate) env: Table,
    /// The fields of `env`.
    pub(crate) globals: Table,
    /// Ends the loading of the file, with whether it ran as a whole.
    pub(crate) seal: Function,
    /// Runs a task.
    pub(crate) run: Function,
    /// The weak table of the responses that the plan holds, by slot.
    pub(crate) live: Table,
    /// The tasks by their position, and the functions of events by their names.
    pub(crate) handlers: Table,
}

/// What the parts of the prelude share, by place in the table that a VM keeps of it.
#[derive(Clone, Copy)]
enum Shared {
    /// The functions of lgoose's own, which parts call `H`.
    Functions = 1,
    /// Raises a message with the line of the plan.
    Fail,
    /// Makes a response of what the engine resumes a task with.
    Receive,
    ResponseMeta,
    Live,
}

impl Shared {
    fn of<T: FromLua>(self, lua: &Lua) -> mlua::Result<T> {
        let host = VmHost::of(lua);
        let shared = host.shared.get().expect("the prelude has run");
        shared.raw_get(self as usize)
    }
}

/// Runs the prelude in a fresh VM. `user` has the first fields of the plan's `user`.
pub(crate) fn start_prelude(lua: &Lua, program: &Program, user: Table) -> mlua::Result<Prelude> {
    let functions = lua.create_table()?;
    lazy(lua, &functions, |lua, (own, name): (Table, LuaString)| {
        let value = function_of_host(lua, &name.to_str()?)?;
        own.raw_set(name, &value)?;
        Ok(value)
    })?;
    let methods = lua.create_table()?;
    lazy(lua, &methods, response_method)?;
    user.raw_set("data", lua.create_table()?)?;
    lazy(lua, &user, user_member)?;
    let globals = lua.create_table()?;
    lazy(lua, &globals, global_member)?;
    type Made = (Table, Function, Function, Table, Table, Value, Value, Value);
    let made: Made = lua
        .load(program.prelude.as_slice())
        .set_mode(ChunkMode::Binary)
        .call((
            &functions,
            methods,
            &user,
            &globals,
            lua.create_function(refuse)?,
        ))?;
    let (env, seal, run, live, handlers, fail, receive, response_meta) = made;
    lua.set_named_registry_value(ENVIRONMENT, &env)?;
    // In the order of their places.
    let shared = lua.create_sequence_from([
        functions.into_lua(lua)?,
        fail,
        receive,
        response_meta,
        live.clone().into_lua(lua)?,
    ])?;
    VmHost::of(lua).shared.get_or_init(|| shared);
    Ok(Prelude {
        env,
        globals,
        seal,
        run,
        live,
        handlers,
    })
}

/// Gives a table a function that makes its fields: called with the table and a key, it returns the value, which it sets if it
/// stays the same.
fn lazy<K: FromLua + 'static>(
    lua: &Lua,
    table: &Table,
    find: fn(&Lua, (Table, K)) -> mlua::Result<Value>,
) -> mlua::Result<()> {
    let metatable = lua.create_table_with_capacity(0, 1)?;
    metatable.raw_set("__index", lua.create_function(find)?)?;
    table.set_metatable(Some(metatable))
}

/// Finds a method of responses; false for another name, which may be a field.
fn response_method(lua: &Lua, (own, key): (Table, Value)) -> mlua::Result<Value> {
    let method = match key.as_string().map(LuaString::to_str) {
        Some(Ok(name)) => response::method(lua, &name)?,
        _ => Value::Nil,
    };
    let method = match method {
        Value::Nil => Value::Boolean(false),
        method => method,
    };
    own.raw_set(key, &method)?;
    Ok(method)
}

/// Finds a member of `user`.
///
/// # Errors
/// There is none of that name.
fn user_member(lua: &Lua, (own, key): (Table, Value)) -> mlua::Result<Value> {
    let name = shown(&key)?;
    if name == "task" {
        return task_name(lua);
    }
    let value = match user_value(lua, &name)? {
        Member::Value(Value::Nil) => return Err(mlua::Error::runtime(unknown_user_field(&name))),
        Member::Value(value) => value,
        Member::Method(part, operation) => part.load(lua)?.call((
            Shared::Functions.of::<Table>(lua)?,
            Shared::Fail.of::<Function>(lua)?,
            Shared::Receive.of::<Function>(lua)?,
            operation,
        ))?,
        Member::Part(part) => {
            run_part(lua, part, &own)?;
            return own.raw_get(key);
        }
    };
    own.raw_set(key, &value)?;
    Ok(value)
}

/// Finds a global of a plan.
///
/// # Errors
/// There is none of that name.
fn global_member(lua: &Lua, (own, key): (Table, Value)) -> mlua::Result<Value> {
    let name = shown(&key)?;
    let value = match global(lua, &name)? {
        Member::Part(part) => {
            run_part(lua, part, &own)?;
            return own.raw_get(key);
        }
        Member::Value(Value::Nil) => return Err(mlua::Error::runtime(undeclared(&name))),
        Member::Value(Value::Table(library)) if name != "shared" => read_only(lua, &name, library)?,
        Member::Value(value) | Member::Method(_, value) => value,
    };
    own.raw_set(key, &value)?;
    Ok(value)
}

/// Runs a part of the prelude that sets fields of `owner`.
fn run_part(lua: &Lua, part: &'static PreludePart, owner: &Table) -> mlua::Result<()> {
    part.load(lua)?.call((
        lua.create_function(|lua, name: String| lookup(lua, &name))?,
        Shared::Functions.of::<Table>(lua)?,
        Shared::Fail.of::<Function>(lua)?,
        owner,
        Shared::Receive.of::<Function>(lua)?,
        Shared::ResponseMeta.of::<Table>(lua)?,
        Shared::Live.of::<Table>(lua)?,
    ))
}

/// Makes one of lgoose's own functions by a part of the prelude.
pub(super) fn function_of_part(lua: &Lua, part: &'static PreludePart) -> mlua::Result<Function> {
    let functions: Table = Shared::Functions.of(lua)?;
    let fail: Function = Shared::Fail.of(lua)?;
    part.load(lua)?.call((functions, fail))
}

/// Makes the function that opens a stream in place of a response.
pub(super) fn opening(lua: &Lua) -> mlua::Result<Function> {
    OPENED
        .load(lua)?
        .call((lua.create_function(note_line)?, marker("end_stream")))
}

/// Returns a library as a plan sees it: it can be read and called, not changed.
fn read_only(lua: &Lua, name: &str, library: Table) -> mlua::Result<Value> {
    let functions: Table = Shared::Functions.of(lua)?;
    functions
        .get::<Function>("read_only")?
        .call((name, library))
}

/// Refuses to set a field of a read-only value, which has its name for messages in its metatable.
fn refuse(_: &Lua, (of, key, value): (Table, Value, Value)) -> mlua::Result<()> {
    let owner = of.metatable().map(|meta| meta.raw_get("__name"));
    let owner: Option<String> = owner.transpose()?.flatten();
    let owner = owner.as_deref().unwrap_or("_G");
    let message = refused(owner, &shown(&key)?, value.is_function());
    Err(mlua::Error::runtime(message))
}
