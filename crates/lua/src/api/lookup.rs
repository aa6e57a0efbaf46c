//! Lookup by name of the functions made in Rust. The prelude looks each up when it is first used, so that a VM holds
//! only what its plan needs.

use super::function::{self, function};
use super::parts::{Member, PreludePart, prelude_part};
use super::prelude::{function_of_part, opening};
use super::user::{self, UserMember, grpc, session, tags};
use super::{
    codec, data, env, file, json, json_view, load, log, metric, missing_column, names, os, page,
    random, regex, require, response, run, time, wait, xml,
};
use crate::diagnostics::{
    self, ArgumentCount, IS_NIL, PlainText, nil_argument, nil_first_argument,
};
use crate::limits;
use crate::requests;
use crate::sandbox::{self, VmHost, error_at_plan_line};
use crate::values::{DisplayText, NOT_NIL, escape_invalid};
use lgoose_base::error::{Diagnostic, bounded_name};
use lgoose_plan::PlanEvent;
use mlua::{IntoLua as _, Lua, LuaString, Thread, Value, Variadic};

/// `pcall`, `xpcall` and `coroutine`.
static CALLS: PreludePart = prelude_part!("calls");
/// Protected calls within one another.
static NESTING: PreludePart = prelude_part!("nesting");
/// Libraries as plans see them.
static VIEW: PreludePart = prelude_part!("view");

/// Returns what a part of the prelude asks for by name, or nil: `global:x` for a plan's globals, `op:x` for the marker of an
/// operation, or the name of a function of lgoose's own.
pub(super) fn lookup(lua: &Lua, name: &str) -> mlua::Result<Value> {
    if let Some(name) = name.strip_prefix("global:") {
        return global_value(lua, name);
    }
    if let Some(marker) = name.strip_prefix("op:").and_then(requests::marker) {
        return Ok(marker);
    }
    match name {
        "op_markers" => {
            let markers = requests::markers().map(|marker| (marker, true));
            lua.create_table_from(markers)?.into_lua(lua)
        }
        "coroutine" | "string" => sandbox::library(lua, name)?.into_lua(lua),
        name => function_of_host(lua, name),
    }
}

/// Finds a global of a plan; a nil value if there is none of that name.
pub(crate) fn global(lua: &Lua, name: &str) -> mlua::Result<Member> {
    Ok(match name {
        "pcall" | "xpcall" | "coroutine" => Member::Part(&CALLS),
        name => Member::Value(global_value(lua, name)?),
    })
}

pub(crate) fn global_value(lua: &Lua, name: &str) -> mlua::Result<Value> {
    match name {
        "regex" => regex::library(lua)?.into_lua(lua),
        "random" => random::library(lua)?.into_lua(lua),
        "json" => json::library(lua)?.into_lua(lua),
        "log" => log::library(lua)?.into_lua(lua),
        "grpc" => grpc::library(lua)?.into_lua(lua),
        "data" => data::library(lua)?.into_lua(lua),
        "file" => function(lua, file::file)?.into_lua(lua),
        "url" => codec::url(lua)?.into_lua(lua),
        "base64" => codec::base64(lua)?.into_lua(lua),
        "hash" => codec::hash(lua)?.into_lua(lua),
        "html" => page::library(lua)?.into_lua(lua),
        "xml" => xml::library(lua)?.into_lua(lua),
        "os" => os::library(lua)?.into_lua(lua),
        "time" => time::library(lua)?.into_lua(lua),
        "base32" => codec::base32(lua)?.into_lua(lua),
        "hex" => codec::hex(lua)?.into_lua(lua),
        "wait" => wait::library(lua)?.into_lua(lua),
        "load" => function(lua, load::load)?.into_lua(lua),
        "metric" => metric::library(lua)?.into_lua(lua),
        "check" => function(lua, metric::check)?.into_lua(lua),
        "env" => env::library(lua)?.into_lua(lua),
        "run" => run::library(lua)?.into_lua(lua),
        "require" => require::function(lua)?.into_lua(lua),
        "math" => random::math(lua)?.into_lua(lua),
        "print" => function(lua, log::print)?.into_lua(lua),
        "warn" => lua.create_function(log::warn)?.into_lua(lua),
        "pairs" if VmHost::of(lua).limits.is_loading() => sandbox::pairs(lua)?.into_lua(lua),
        "shared" => session::shared(lua),
        "next" => json_view::next(lua)?.into_lua(lua),
        #[cfg(any(test, feature = "test-support"))]
        "test_call" => super::fixture::test_call(lua)?.into_lua(lua),
        other => sandbox::standard(lua, other),
    }
}

/// Returns a function of lgoose's own by its name, or nil.
pub(super) fn function_of_host(lua: &Lua, name: &str) -> mlua::Result<Value> {
    let function = match name {
        "nesting" => NESTING.load(lua)?,
        "read_only" => function_of_part(lua, &VIEW)?,
        "opened" => opening(lua)?,
        "reason" => lua.create_function(reason)?,
        "error_text" => lua.create_function(error_text)?,
        "here" => lua.create_function(|lua, ()| Ok(diagnostics::here(lua)))?,
        "ended" => lua.create_function(|lua, ()| Ok(VmHost::of(lua).limits.ended()))?,
        "catch" => lua.create_function(|lua, ()| Ok(VmHost::of(lua).limits.catch()))?,
        "note_full" => lua.create_function(|lua, ()| {
            VmHost::of(lua).limits.note_full();
            Ok(())
        })?,
        "has_filled_memory" => {
            lua.create_function(|_, thread: Thread| Ok(limits::has_filled_memory(&thread)))?
        }
        "within" => limits::within(lua)?,
        "with_stack" => lua.create_function(with_stack)?,
        "note_line" => lua.create_function(response::note_line)?,
        "response_field" => lua.create_function(response::field)?,
        "nil_argument" => lua.create_function(|lua, values: Variadic<Value>| {
            let place = values.iter().position(Value::is_nil);
            Ok(nil_argument(
                lua,
                place.unwrap_or(values.len()),
                ArgumentCount::Written,
            ))
        })?,
        "surplus" => lua.create_function(|_, value: Value| Ok(function::describe(&value)))?,
        "share" => function(lua, session::share)?,
        "enter_tagged" => lua.create_function(tags::enter_coroutine)?,
        "leave_tagged" => lua.create_function(tags::leave_coroutine)?,
        "same_task" => lua.create_function(same_task)?,
        "refused" => lua.create_function(|_, (owner, key): (String, Option<DisplayText>)| {
            let key = key.map_or_else(String::new, |DisplayText(key)| key);
            Ok(names::refused(&owner, &key, false))
        })?,
        "unknown_member" => lua.create_function(names::unknown_member)?,
        name => match user::functions_of_parts().find(|(own, _)| *own == name) {
            Some((_, make)) => make(lua)?,
            None => return Ok(Value::Nil),
        },
    };
    function.into_lua(lua)
}

/// Returns the name of the running task, or of the event whose function runs.
pub(super) fn task_name(lua: &Lua) -> mlua::Result<Value> {
    let host = VmHost::of(lua);
    let Some(place) = host.task.get() else {
        return host.event.get().map(PlanEvent::name).into_lua(lua);
    };
    let name = host
        .program
        .task_names
        .get(place)
        .and_then(Option::as_deref);
    name.unwrap_or("").into_lua(lua)
}

/// Refuses a task that differs from the one that the plan declared at that position when it was loaded, or that is
/// missing there.
fn same_task(lua: &Lua, (place, name): (usize, Option<LuaString>)) -> mlua::Result<()> {
    let declared = &VmHost::of(lua).program.task_names;
    let task = |name: &str| match name {
        "" => "a task without a name".to_owned(),
        name => format!("task '{name}'"),
    };
    let name = name.map(|name| bounded_name(&escape_invalid(&name)).into_owned());
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
    Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)))
}

/// Adds the call stack to the error of a task: one raised in lgoose's own code has no line of the plan.
fn with_stack(lua: &Lua, problem: Value) -> mlua::Result<Value> {
    VmHost::of(lua).has_handled.set(true);
    let text = match &problem {
        Value::String(text) => text.clone(),
        Value::Error(_) => match error_text(lua, problem.clone())? {
            // Other errors stay values of their own type.
            Value::String(text) if !nil_of_call(lua, &text.to_string_lossy()).is_empty() => text,
            _ => return Ok(problem),
        },
        _ => return Ok(problem),
    };
    let stack = lua.traceback(None, 1)?;
    let explained = explanation(lua, &text).map(|column| format!("; {column}"));
    let explained = explained.unwrap_or_else(|| nil_of_call(lua, &text.to_string_lossy()));
    let text = [
        &text.as_bytes(),
        explained.as_bytes(),
        b"\n".as_slice(),
        &stack.as_bytes(),
    ]
    .concat();
    lua.create_string(text)?.into_lua(lua)
}

/// Returns what explains an error of Lua about a field that is nil.
fn explanation(lua: &Lua, text: &LuaString) -> Option<String> {
    let host = VmHost::of(lua);
    let text = text.to_str().ok()?;
    let (file, line, message) = host.program.sources.split_location(&text)?;
    missing_column::explain(&host.program, &file, line, message)
}

/// Returns which argument of the plan's call is nil, where the message is that it must be something and does not have it yet: what
/// a method of the user is about is its first one.
fn nil_of_call(lua: &Lua, message: &str) -> String {
    if !message.contains(NOT_NIL) || message.contains(IS_NIL) {
        return String::new();
    }
    nil_first_argument(lua, |name| {
        user::user_member(name).is_some_and(UserMember::is_method)
    })
}

/// Returns the error of a task as it leaves the VM. Lua's own error that its memory is full is the only one that passes
/// [`with_stack`] by. A table is converted to text here: whoever receives it would call its `__tostring` outside of the task.
fn reason(lua: &Lua, problem: Value) -> mlua::Result<Value> {
    const MOST: usize = 1 << 20;
    let host = VmHost::of(lua);
    if !host.has_handled.replace(false) {
        host.limits.note_full();
    }
    if !problem.is_table() {
        return Ok(problem);
    }
    let text = match problem.to_string() {
        Ok(text) => text,
        Err(error) => return Ok(Value::Error(Box::new(error))),
    };
    lua.create_string(&text.as_bytes()[..text.len().min(MOST)])?
        .into_lua(lua)
}

/// Converts an error raised in Rust and caught by `pcall` or `xpcall` to text with its line, like any error of Lua's.
/// Other values stay as they are.
fn error_text(lua: &Lua, problem: Value) -> mlua::Result<Value> {
    let Value::Error(error) = &problem else {
        return Ok(problem);
    };
    if let Some(diagnostic) = error.downcast_ref::<Diagnostic>() {
        return diagnostic.message().into_lua(lua);
    }
    if let Some(PlainText(text)) = error.downcast_ref() {
        return text.as_str().into_lua(lua);
    }
    let raised = diagnostics::to_raised(error, &VmHost::of(lua).program.sources);
    match raised.line {
        Some(line) => format!("{line}: {}", raised.message).into_lua(lua),
        None => raised.message.into_lua(lua),
    }
}
