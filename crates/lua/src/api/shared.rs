//! The library of `require "lgoose.shared"`: counters, queues and maps that the users of a process share while they run.

use super::function::{function, method};
use super::names::refuse_unknown;
use super::parts::{PreludePart, prelude_part};
use super::shared_run;
use crate::diagnostics::here;
use crate::limits::{HeapSize, Held};
use crate::requests::{convert_json, marker};
use crate::sandbox::{VmHost, error_at_plan_line, null, yield_function};
use crate::values::{DisplayText, describe_mismatch, escape_invalid, read_seconds};
use lgoose_base::error::Diagnostic;
use lgoose_plan::shared_state::{
    self, Claim, Counter, Map, MapLookup, PendingValue, SharedQueue, SharedState,
};
use mlua::{
    AnyUserData, Function, Lua, LuaSerdeExt as _, MetaMethod, Table, UserData, UserDataFields,
    UserDataMethods, UserDataRef, Value,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The functions that wait.
static WAITING: PreludePart = prelude_part!("shared");

/// A counter as a plan holds it.
#[derive(Debug)]
struct SharedCounter {
    name: String,
    counter: Arc<Counter>,
}

/// A map as a plan holds it.
#[derive(Debug)]
pub(super) struct SharedMap {
    pub(super) name: String,
    pub(super) map: Arc<Map>,
}

/// The right to make a value, with the time that it is kept.
#[derive(Debug)]
struct OpenClaim {
    /// The map's name in messages.
    what: String,
    /// The claim, which is over once it is taken from here.
    claim: RefCell<Option<Claim>>,
    expires: Option<Duration>,
}

/// Creates the library.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let host = VmHost::of(lua);
    let state = if host.looks_only() {
        // A VM that only reads the declarations of a plan must not be seen by its users.
        Arc::new(SharedState::default())
    } else {
        host.program.state().clone()
    };
    let (call, reply, nearby) = shared_run::functions(lua)?;
    let parts = (
        yield_function(lua)?,
        function(lua, |lua, ()| Ok(here(lua)))?,
        marker("take"),
        marker("await"),
        function(lua, try_take)?,
        function(lua, find_or_claim)?,
        call,
        reply,
        nearby,
    );
    let (take, get_or, of_run): (Function, Function, Table) = WAITING.load(lua)?.call(parts)?;
    shared_run::register(lua, of_run)?;
    lua.register_userdata_type::<Held<SharedQueue>>(|registry| register_queue(registry, take))?;
    lua.register_userdata_type::<Held<SharedMap>>(|registry| register_map(registry, get_or))?;
    let library = members(lua, move |lua, kind, name| made(lua, &state, kind, name))?;
    let of_run = members(lua, shared_run::of_run)?;
    library.raw_set("run", of_run)?;
    Ok(library)
}

/// Returns a table of functions that make a counter, a queue and a map of a name.
fn members(
    lua: &Lua,
    make: impl Fn(&Lua, &'static str, String) -> mlua::Result<AnyUserData> + 'static,
) -> mlua::Result<Table> {
    let (members, make) = (lua.create_table()?, Rc::new(make));
    for kind in ["counter", "queue", "map"] {
        let make = make.clone();
        let member = function(lua, move |lua, name: Value| {
            let name = name_of(lua, kind, &name)?;
            make(lua, kind, name)
        })?;
        members.raw_set(kind, member)?;
    }
    Ok(members)
}

/// Makes a counter, a queue or a map of a state.
pub(super) fn made(
    lua: &Lua,
    state: &SharedState,
    kind: &str,
    name: String,
) -> mlua::Result<AnyUserData> {
    let host = VmHost::of(lua);
    let full = mlua::Error::runtime;
    match kind {
        "counter" => {
            let counter = state.counter(&name).map_err(full)?;
            lua.create_userdata(host.held(lua, SharedCounter { name, counter })?)
        }
        "queue" => {
            let queue = state.queue(&name).map_err(full)?;
            host.userdata(lua, SharedQueue { name, queue })
        }
        _ => {
            let map = state.map(&name).map_err(full)?;
            host.userdata(lua, SharedMap { name, map })
        }
    }
}

fn name_of(lua: &Lua, kind: &str, name: &Value) -> mlua::Result<String> {
    match name {
        Value::String(name) => Ok(escape_invalid(name)),
        other => {
            let message = describe_mismatch(&format!("the name of a {kind}"), "a string", other);
            let help = format!("write shared.{kind} \"name\", with a dot");
            Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)))
        }
    }
}

/// Refuses functions for users alone at the top level of the file, which runs once for each of them.
pub(super) fn runs(lua: &Lua, what: &str) -> mlua::Result<Rc<VmHost>> {
    let host = VmHost::of(lua);
    if !host.limits.is_loading() {
        return Ok(host);
    }
    let message = format!("{what} belongs inside a task, not at the top level of the file");
    let help = "users share it while they run; on(\"test_start\", function(user) … end) runs before all of them";
    Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)))
}

/// Reads a value that is to be shared, and how many bytes it takes.
pub(super) fn shareable(
    lua: &Lua,
    value: &Value,
    what: &str,
) -> mlua::Result<(shared_state::SharedValue, usize)> {
    let mut budget = VmHost::of(lua).budget(lua);
    let converted = match value {
        Value::Nil => Err("there is no value".to_owned()),
        value => convert_json(value, &mut budget),
    };
    let value = converted.map_err(|problem| {
        mlua::Error::runtime(format!(
            "{what} takes strings, numbers, booleans and tables of them: {problem}"
        ))
    })?;
    Ok((Arc::new(value), budget.taken()))
}

/// Reads the time after which a value is gone.
pub(super) fn expiry(value: &Value, what: &str) -> mlua::Result<Option<Duration>> {
    match value {
        Value::Nil => Ok(None),
        value => read_seconds(value, what)
            .map(Some)
            .map_err(mlua::Error::runtime),
    }
}

impl HeapSize for SharedCounter {
    fn heap_bytes(&self) -> usize {
        self.name.len()
    }
}

impl HeapSize for SharedQueue {
    fn heap_bytes(&self) -> usize {
        self.name.len()
    }
}

impl HeapSize for SharedMap {
    fn heap_bytes(&self) -> usize {
        self.name.len()
    }
}

impl HeapSize for OpenClaim {
    fn heap_bytes(&self) -> usize {
        self.what.len() + self.claim.borrow().as_ref().map_or(0, Claim::bytes)
    }
}

impl HeapSize for PendingValue {
    fn heap_bytes(&self) -> usize {
        // All users share the pending value.
        0
    }
}

impl UserData for Held<SharedCounter> {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        method(methods, "incr", |lua, this, by: Option<i64>| {
            let what = format!("the counter '{}'", this.name);
            runs(lua, &what)?;
            this.counter
                .add(by.unwrap_or(1))
                .ok_or_else(|| mlua::Error::runtime(format!("{what} would not fit into 64 bits")))
        });
        method(methods, "get", |lua, this, ()| {
            runs(lua, &format!("the counter '{}'", this.name))?;
            Ok(this.counter.get())
        });
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| {
            Ok(format!("counter '{}': {}", this.name, this.counter.get()))
        });
        refuse_unknown(methods, "a counter", &[&["incr", "get"]]);
    }
}

/// Registers the methods of queues. `registry` is mlua's, or the list of a test.
fn register_queue<R>(registry: &mut R, take: Function)
where
    R: UserDataFields<Held<SharedQueue>> + UserDataMethods<Held<SharedQueue>>,
{
    registry.add_field("take", take);
    method(registry, "put", |lua, this, value: Value| {
        let what = format!("the queue '{}'", this.name);
        runs(lua, &what)?;
        let (value, bytes) = shareable(lua, &value, &what)?;
        this.queue.put(value, bytes).map_err(mlua::Error::runtime)
    });
    method(registry, "size", |lua, this, ()| {
        runs(lua, &format!("the queue '{}'", this.name))?;
        Ok(this.queue.count())
    });
    registry.add_meta_method(MetaMethod::ToString, |_, this, ()| {
        Ok(format!("queue '{}' of {}", this.name, this.queue.count()))
    });
    refuse_unknown(registry, "a queue", &[&["put", "take", "size"]]);
}

/// Registers the methods of maps, likewise.
fn register_map<R>(registry: &mut R, get_or: Function)
where
    R: UserDataFields<Held<SharedMap>> + UserDataMethods<Held<SharedMap>>,
{
    registry.add_field("get_or", get_or);
    type PutFunction = (DisplayText, Value, Value);
    method(
        registry,
        "put",
        |lua, this, (key, value, expires): PutFunction| {
            let what = format!("the map '{}'", this.name);
            runs(lua, &what)?;
            let expires = expiry(&expires, &format!("the time that {what} keeps a value"))?;
            if value.is_nil() {
                this.map.remove(&key.0, None);
                return Ok(());
            }
            let (value, bytes) = shareable(lua, &value, &what)?;
            let put = this.map.put(&key.0, value, bytes, expires);
            put.map_err(mlua::Error::runtime)
        },
    );
    method(
        registry,
        "get",
        |lua, this, DisplayText(key): DisplayText| {
            runs(lua, &format!("the map '{}'", this.name))?;
            copy(lua, this.map.get(&key))
        },
    );
    method(
        registry,
        "remove",
        |lua, this, (key, only): (DisplayText, Value)| {
            let what = format!("the map '{}'", this.name);
            runs(lua, &what)?;
            let only = match only {
                Value::Nil => None,
                value => Some(shareable(lua, &value, &what)?.0),
            };
            Ok(this.map.remove(&key.0, only.as_deref()))
        },
    );
    method(registry, "size", |lua, this, ()| {
        runs(lua, &format!("the map '{}'", this.name))?;
        Ok(this.map.count())
    });
    registry.add_meta_method(MetaMethod::ToString, |_, this, ()| {
        Ok(format!("map '{}' of {}", this.name, this.map.count()))
    });
    refuse_unknown(
        registry,
        "a map",
        &[&["put", "get", "get_or", "remove", "size"]],
    );
}

impl UserData for Held<OpenClaim> {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        method(methods, "keep", |lua, this, value: Value| {
            let (value, bytes) = shareable(lua, &value, &this.what)?;
            match &*this.claim.borrow() {
                Some(claim) => claim
                    .store(value, bytes, this.expires)
                    .map_err(mlua::Error::runtime),
                None => Ok(()),
            }
        });
        methods.add_meta_method(MetaMethod::Close, |_, this, _: Value| {
            this.claim.take();
            Ok(())
        });
    }
}

/// Gives the plan a copy of a value, or nil.
pub(super) fn copy(lua: &Lua, value: Option<shared_state::SharedValue>) -> mlua::Result<Value> {
    let Some(value) = value else {
        return Ok(Value::Nil);
    };
    // It may contain nulls.
    null(lua)?;
    lua.to_value(&*value)
}

/// Takes a value if there is one, without waiting.
fn try_take(lua: &Lua, queue: UserDataRef<Held<SharedQueue>>) -> mlua::Result<Value> {
    runs(lua, &format!("the queue '{}'", queue.name))?;
    copy(lua, queue.queue.try_take())
}

/// The result of a lookup in a map: the value, or the right to make it, or the pending value to wait for.
type MapResult = (Value, Option<AnyUserData>, Option<AnyUserData>);

fn find_or_claim(
    lua: &Lua,
    (map, DisplayText(key), make, expires): (
        UserDataRef<Held<SharedMap>>,
        DisplayText,
        Value,
        Value,
    ),
) -> mlua::Result<MapResult> {
    let what = format!("the map '{}'", map.name);
    let host = runs(lua, &what)?;
    if !make.is_function() {
        let mismatch = describe_mismatch(
            &format!("the function for a value of {what}"),
            "a function",
            &make,
        );
        let message = format!("{mismatch}: map:get_or(key, function() … end)");
        return Err(mlua::Error::runtime(message));
    }
    let expires = expiry(&expires, &format!("the time that {what} keeps a value"))?;
    // Each VM makes its own claims.
    let by = Rc::as_ptr(&host).addr();
    let found = map.map.find_or_claim(&key, by);
    Ok(match found.map_err(mlua::Error::runtime)? {
        MapLookup::Value(value) => (copy(lua, Some(value))?, None, None),
        MapLookup::Claimed(claim) => {
            let claim = OpenClaim {
                what,
                claim: RefCell::new(Some(claim)),
                expires,
            };
            let claim = lua.create_userdata(host.held(lua, claim)?)?;
            (Value::Nil, Some(claim), None)
        }
        MapLookup::Making(making) => (Value::Nil, None, Some(host.userdata(lua, making)?)),
        MapLookup::Circular => {
            let message = format!(
                "the value '{key}' of {what} is made by another user, which waits for one that this user makes; let all \
                 users ask for such values in the same order"
            );
            return Err(mlua::Error::runtime(message));
        }
        MapLookup::Own => {
            let message =
                format!("the value '{key}' of {what} is requested by the function that makes it");
            return Err(mlua::Error::runtime(message));
        }
    })
}
