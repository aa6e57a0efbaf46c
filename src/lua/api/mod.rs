//! Everything a plan can call that is made in Rust. The prelude asks for each by name when it is first
//! used, so that a VM holds only what its plan needs.

mod codec;
pub(super) mod data;
mod elements;
pub(super) mod json;
mod load;
mod log;
mod metric;
mod os;
mod page;
mod random;
mod regex;
#[cfg(test)]
pub(super) mod registered;
mod require;
pub(super) mod response;
pub(super) mod session;
mod told;
mod wait;

pub(super) use require::ENVIRONMENT;

use super::host::{self, Host};
use super::op;
use super::values::shown;
use super::vm::mistake;
use super::{safe, sandbox};
use crate::error::{Diagnostic, nearest};
use mlua::{IntoLua as _, Lua, LuaString, MetaMethod, Table, UserDataMethods, Value};

/// The fields of `user` that the prelude makes, for messages.
pub(super) const USER_FIELDS: [&str; 26] = [
    "id",
    "scenario",
    "task",
    "iteration",
    "host",
    "data",
    "get",
    "head",
    "delete",
    "options",
    "post",
    "put",
    "patch",
    "request",
    "fetch",
    "submit",
    "transaction",
    "wait",
    "stop",
    "log",
    "batch",
    "set_host",
    "set_header",
    "basic_auth",
    "bearer",
    "cookies",
];

/// Globals that are made here, for messages.
pub(super) const GLOBALS: [&str; 17] = [
    "shared",
    "regex",
    "random",
    "json",
    "data",
    "url",
    "base64",
    "hash",
    "html",
    "os",
    "log",
    "env",
    "wait",
    "coroutine",
    "require",
    "metric",
    "check",
];

/// The value of that name, or nil: `global:x` for a plan's globals, `response:x` for the methods of a
/// response, or the plain name of a function that the prelude uses itself.
pub(super) fn lookup(lua: &Lua, name: String) -> mlua::Result<Value> {
    if let Some(global) = name.strip_prefix("global:") {
        return match global {
            "regex" => regex::library(lua)?.into_lua(lua),
            "random" => random::library(lua)?.into_lua(lua),
            "json" => json::library(lua)?.into_lua(lua),
            "log" => log::library(lua)?.into_lua(lua),
            "data" => data::library(lua)?.into_lua(lua),
            "url" => codec::url(lua)?.into_lua(lua),
            "base64" => codec::base64(lua)?.into_lua(lua),
            "hash" => codec::hash(lua)?.into_lua(lua),
            "html" => page::library(lua)?.into_lua(lua),
            "os" => os::library(lua)?.into_lua(lua),
            "wait" => wait::library(lua)?.into_lua(lua),
            "load" => lua.create_function(load::load)?.into_lua(lua),
            "metric" => metric::library(lua)?.into_lua(lua),
            "check" => lua.create_function(metric::check)?.into_lua(lua),
            "env" => lua.create_function(env)?.into_lua(lua),
            "require" => require::function(lua)?.into_lua(lua),
            "math" => random::math(lua)?.into_lua(lua),
            "print" => lua.create_function(log::print)?.into_lua(lua),
            "warn" => lua.create_function(log::warn)?.into_lua(lua),
            "pairs" if Host::of(lua).limits.is_loading() => safe::pairs(lua)?.into_lua(lua),
            "shared" => session::shared(lua),
            other => sandbox::standard(lua, other),
        };
    }
    if let Some(method) = name.strip_prefix("response:") {
        return response::method(lua, method);
    }
    if let Some(member) = name.strip_prefix("user:") {
        return session::user_member(lua, member);
    }
    if let Some(mark) = name.strip_prefix("op:").and_then(op::mark) {
        return Ok(mark);
    }
    match name.as_str() {
        "told" => lua.create_function(told::told)?.into_lua(lua),
        "here" => lua.create_function(here)?.into_lua(lua),
        "survive" => lua
            .create_function(|lua, ()| Host::of(lua).limits.survive())?
            .into_lua(lua),
        "spend" => lua
            .create_function(|lua, work| Host::of(lua).limits.spend(lua, work))?
            .into_lua(lua),
        "mark" => lua.create_function(response::mark)?.into_lua(lua),
        "response_field" => lua.create_function(response::field)?.into_lua(lua),
        "missed_form" => lua
            .create_function(|lua, ()| Ok(Host::of(lua).missed_form.borrow().clone()))?
            .into_lua(lua),
        "log" => lua.create_function(log::log)?.into_lua(lua),
        "set_host" => lua.create_function(session::set_host)?.into_lua(lua),
        "share" => lua.create_function(session::share)?.into_lua(lua),
        "clock" => lua.create_function(metric::clock)?.into_lua(lua),
        "end_transaction" => lua.create_function(metric::end_transaction)?.into_lua(lua),
        "same_task" => lua.create_function(same_task)?.into_lua(lua),
        "undeclared" => lua.create_function(undeclared)?.into_lua(lua),
        "unknown_member" => lua.create_function(unknown_member)?.into_lua(lua),
        "unknown_user_field" => lua.create_function(unknown_user_field)?.into_lua(lua),
        _ => Ok(Value::Nil),
    }
}

/// `file:line: ` of the plan's innermost call, or nothing.
fn here(lua: &Lua, (): ()) -> mlua::Result<String> {
    Ok(host::plan_line(lua).map_or_else(String::new, |(file, line)| format!("{file}:{line}: ")))
}

fn env(lua: &Lua, (name, default): (String, Value)) -> mlua::Result<Value> {
    match Host::of(lua).program.variable(&name) {
        Some(value) => lua.create_string(value)?.into_lua(lua),
        None => Ok(default),
    }
}

/// Refuses a task that is not the one which the plan declared at that place when it was loaded, and none
/// where there was one.
fn same_task(lua: &Lua, (place, name): (usize, Option<LuaString>)) -> mlua::Result<()> {
    let declared = &Host::of(lua).program.task_names;
    let task = |name: &str| match name {
        "" => "a task without a name".to_owned(),
        name => format!("task '{name}'"),
    };
    let name = name.as_ref().map(shown);
    let before = declared
        .get(place - 1)
        .map(|name| name.as_deref().unwrap_or(""));
    if name.as_deref() == before {
        return Ok(());
    }
    let now = name.map_or_else(|| "nothing more".to_owned(), |name| task(&name));
    let then = before.map_or_else(|| "nothing more".to_owned(), task);
    let message = format!(
        "declaration {place} is {now} for this user; when the plan was loaded it was {then}"
    );
    let help = "the file runs once for each user and must declare the same tasks in the same order: \
                let no random number, clock or 'next' decide";
    Err(mistake(lua, Diagnostic::new(message).help(help)))
}

fn undeclared(_: &Lua, name: String) -> mlua::Result<String> {
    let known = GLOBALS
        .iter()
        .chain(&sandbox::BASE)
        .copied()
        .chain(["string", "table", "math", "utf8"]);
    let hint = match (nearest(&name, known), name.as_str()) {
        (_, "io" | "package" | "debug" | "dofile" | "loadfile") => {
            "plans run in a sandbox that does not have it".to_owned()
        }
        (_, "user") => "a task's function gets it: task { function(user) … end }".to_owned(),
        (Some(near), _) => format!("did you mean '{near}'?"),
        (None, _) => format!("declare it with 'local {name} = …' above"),
    };
    Ok(format!("global '{name}' is not declared; {hint}"))
}

fn unknown_member(
    _: &Lua,
    (library, name, members): (String, String, Table),
) -> mlua::Result<String> {
    let mut known: Vec<String> = members
        .pairs::<String, Value>()
        .filter_map(Result::ok)
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("__"))
        .collect();
    known.sort();
    Ok(unknown(
        &format!("{library}.{name}"),
        &library,
        &name,
        &known,
    ))
}

fn unknown_user_field(_: &Lua, name: String) -> mlua::Result<String> {
    let known: Vec<String> = USER_FIELDS.iter().map(|&name| name.to_owned()).collect();
    Ok(unknown(&format!("user.{name}"), "user", &name, &known))
}

/// Has a userdata refuse the names that it does not know; `known` are those that it registers besides. For
/// those that have a function as `__index` anyway: measured, it costs others 3 KiB in each VM.
fn refuse_unknown<T, M: UserDataMethods<T>>(
    methods: &mut M,
    owner: &'static str,
    known: &'static [&'static str],
) {
    let refuse = move |_: &Lua, _: &T, name: String| -> mlua::Result<()> {
        let known: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        let noun = owner.rsplit(' ').next().unwrap_or(owner);
        let message = unknown(&format!("{noun}.{name}"), owner, &name, &known);
        Err(mlua::Error::runtime(message))
    };
    methods.add_meta_method(MetaMethod::Index, refuse);
}

/// `'x.y' does not exist; did you mean 'x.z'? x has: …`.
fn unknown(shown: &str, owner: &str, name: &str, known: &[String]) -> String {
    let near = nearest(name, known.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    format!(
        "'{shown}' does not exist; {hint}{owner} has: {}",
        known.join(", ")
    )
}
