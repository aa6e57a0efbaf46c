//! `run` of `require "lgoose.shared"`: counters, queues and maps that the users of all processes of a run share. Where
//! another process has them, each call is sent there, and the user waits for the reply.

use super::function::{function, refuse_more};
use super::names::unknown;
use super::shared::{SharedMap, copy, expiry, made, runs, shareable};
use crate::limits::{HeapSize, Held};
use crate::plan_files::RunState;
use crate::sandbox::{VmHost, error_at_plan_line};
use crate::values::{DisplayText, read_seconds, shorten};
use lgoose_base::error::Diagnostic;
use lgoose_plan::shared_state::{
    Map, PendingCall, PendingReply, SharedAction, SharedCall, SharedLink, SharedReply, SharedState,
};
use mlua::{
    AnyUserData, FromLua as _, Function, Lua, MetaMethod, Table, UserData, UserDataMethods,
    UserDataRef, Value,
};
use std::sync::Arc;
use std::time::Duration;

/// A counter, a queue or a map of the run, which another process has.
#[derive(Debug)]
struct RunShared {
    /// `counter`, `queue` or `map`.
    kind: &'static str,
    name: String,
    link: SharedLink,
    /// The map of this process in which its users claim the values that one of them is to make.
    claims: Arc<Map>,
}

impl RunShared {
    fn describe(&self) -> String {
        format!("the {} '{}' of the run", self.kind, self.name)
    }
}

/// Makes a counter, a queue or a map of the run.
pub(super) fn of_run(lua: &Lua, kind: &'static str, name: String) -> mlua::Result<AnyUserData> {
    let host = VmHost::of(lua);
    if host.looks_only() {
        return made(lua, &SharedState::default(), kind, name);
    }
    match host.program.run_state() {
        RunState::Here(state) => made(lua, state, kind, name),
        RunState::Elsewhere(link, claims) => elsewhere(lua, kind, name, link.clone(), claims),
        RunState::Nowhere => {
            let message = "with '--part', each part of the load has its own users: they share nothing with those of others";
            let help = "run all of it on workers ('--workers'), or use lgoose.shared without '.run', which each part has for itself";
            Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)))
        }
    }
}

/// Makes a counter, a queue or a map that another process has.
fn elsewhere(
    lua: &Lua,
    kind: &'static str,
    name: String,
    link: SharedLink,
    claims: &Arc<SharedState>,
) -> mlua::Result<AnyUserData> {
    let claims = claims.map(&name).map_err(mlua::Error::runtime)?;
    let shared = RunShared {
        kind,
        name,
        link,
        claims,
    };
    VmHost::of(lua).userdata(lua, shared)
}

impl HeapSize for RunShared {
    fn heap_bytes(&self) -> usize {
        self.name.len()
    }
}

impl HeapSize for PendingReply {
    fn heap_bytes(&self) -> usize {
        size_of::<SharedReply>()
    }
}

impl UserData for Held<PendingReply> {}

/// Registers the methods by kind, which the part of the prelude has made from `call`, `reply` and `nearby`.
pub(super) fn register(lua: &Lua, methods: Table) -> mlua::Result<()> {
    lua.register_userdata_type::<Held<RunShared>>(|registry| {
        registry.add_meta_method(
            MetaMethod::Index,
            move |_, this: &Held<RunShared>, DisplayText(name): DisplayText| {
                let of_kind: Table = methods.raw_get(this.kind)?;
                if let Some(method) = of_kind.raw_get::<Option<Function>>(&*name)? {
                    return Ok(method);
                }
                let names = of_kind.pairs::<String, Value>();
                let mut names = names
                    .map(|pair| Ok(pair?.0))
                    .collect::<mlua::Result<Vec<_>>>()?;
                names.sort_unstable();
                let (kind, name) = (this.kind, shorten(&name));
                let shown = format!("{kind}.{name}");
                Err(mlua::Error::runtime(unknown(
                    &shown,
                    &format!("a {kind}"),
                    &name,
                    &names,
                )))
            },
        );
        registry.add_meta_method(MetaMethod::ToString, |_, this, ()| {
            Ok(format!("{} '{}' of the run", this.kind, this.name))
        });
    })
}

/// Returns the functions of which the part of the prelude makes methods.
pub(super) fn functions(lua: &Lua) -> mlua::Result<(Function, Function, Function)> {
    Ok((
        function(lua, call)?,
        function(lua, |lua, pending: UserDataRef<Held<PendingReply>>| {
            read_reply(lua, &pending)
        })?,
        function(lua, |lua, shared: UserDataRef<Held<RunShared>>| {
            let (name, map) = (shared.name.clone(), shared.claims.clone());
            VmHost::of(lua).userdata(lua, SharedMap { name, map })
        })?,
    ))
}

/// Starts a call; returns the value that the user waits for, and the one that the reply is read from.
fn call(
    lua: &Lua,
    (shared, action, a, b, c): (UserDataRef<Held<RunShared>>, String, Value, Value, Value),
) -> mlua::Result<(AnyUserData, AnyUserData)> {
    let host = runs(lua, &shared.describe())?;
    let action = action_of(lua, &shared, &action, &[a, b, c])?;
    let name = shared.name.clone();
    let (call, reply) = PendingCall::new(SharedCall { name, action });
    let pending = host.userdata(lua, reply.pending.clone())?;
    // Dropped if the run is over, which counts as the reply then.
    let _over = shared.link.send(call);
    Ok((pending, host.userdata(lua, reply)?))
}

fn action_of(
    lua: &Lua,
    shared: &RunShared,
    action: &str,
    arguments: &[Value; 3],
) -> mlua::Result<SharedAction> {
    let what = shared.describe();
    let [a, b, c] = arguments;
    let key = || DisplayText::from_lua(a.clone(), lua).map(|key| key.0);
    let json = |value: &Value| Ok::<_, mlua::Error>(shareable(lua, value, &what)?.0.to_string());
    let (action, taken) = match (shared.kind, action) {
        ("counter", "incr") => {
            let by = Option::<i64>::from_lua(a.clone(), lua)?;
            (SharedAction::Add(by.unwrap_or(1)), 1)
        }
        ("counter", _) => (SharedAction::Count, 0),
        ("queue", "put") => (SharedAction::Push(json(a)?), 1),
        ("queue", "take") => {
            let wait = match a {
                Value::Nil => Duration::ZERO,
                wait => read_seconds(wait, "queue:take").map_err(mlua::Error::runtime)?,
            };
            (SharedAction::Take(wait), 1)
        }
        ("queue", _) => (SharedAction::QueueSize, 0),
        ("map", "put") if b.is_nil() => (SharedAction::Remove(key()?, None), 3),
        ("map", "put") => {
            let expires = expiry(c, &format!("the time that {what} keeps a value"))?;
            (SharedAction::Set(key()?, json(b)?, expires), 3)
        }
        ("map", "get_or") => {
            let expires = expiry(c, &format!("the time that {what} keeps a value"))?;
            (SharedAction::Keep(key()?, json(b)?, expires), 3)
        }
        ("map", "get") => (SharedAction::Get(key()?), 1),
        ("map", "remove") => {
            let only = (!b.is_nil()).then(|| json(b)).transpose()?;
            (SharedAction::Remove(key()?, only), 2)
        }
        (_, _) => (SharedAction::MapSize, 0),
    };
    refuse_more(&arguments[taken..])?;
    Ok(action)
}

fn read_reply(lua: &Lua, pending: &PendingReply) -> mlua::Result<Value> {
    Ok(match pending.get() {
        SharedReply::Nothing => Value::Nil,
        SharedReply::Truth(truth) => Value::Boolean(truth),
        SharedReply::Number(number) => Value::Integer(number),
        SharedReply::Value(json) => {
            let value = serde_json::from_str(&json).map_err(mlua::Error::external)?;
            copy(lua, Some(Arc::new(value)))?
        }
        SharedReply::Failed(problem) => return Err(mlua::Error::runtime(problem)),
    })
}
