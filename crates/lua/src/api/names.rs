//! The names that a plan can use, and the messages for those that do not exist.

use super::foreign_names::{function_elsewhere, global_elsewhere, member_elsewhere};
use crate::sandbox;
use crate::values::{DisplayText, shorten};
use lgoose_base::error::nearest;
use lgoose_plan::config::Settings;
use mlua::{Lua, MetaMethod, Table, UserDataMethods, Value};
use std::borrow::Borrow;

/// A type of values that plans hold: the names of its members.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ValueType {
    /// In messages: `a response`.
    pub(crate) noun: &'static str,
    pub(crate) fields: &'static [&'static str],
    pub(crate) methods: &'static [&'static str],
}

/// The globals that are made in Rust, for messages.
pub(crate) const GLOBALS: [&str; 24] = [
    "shared",
    "run",
    "regex",
    "random",
    "json",
    "grpc",
    "data",
    "file",
    "url",
    "base64",
    "base32",
    "hex",
    "time",
    "hash",
    "html",
    "os",
    "log",
    "env",
    "wait",
    "xml",
    "coroutine",
    "require",
    "metric",
    "check",
];

/// The globals of a file's top level that tasks do not have.
const DECLARATIONS: [&str; 4] = ["task", "scenario", "plan", "on"];

/// Formats the message for setting a field of a read-only value; `body` stands for a request without one. `is_function` is
/// whether the value is a function.
pub(crate) fn refused(owner: &str, key: &str, is_function: bool) -> String {
    let key = shorten(key);
    match owner {
        "response" => format!(
            "cannot set '{key}' of a response: keep what you need in a local or in user.data"
        ),
        "user" => {
            format!("cannot set '{key}' of user: keep what belongs to a user in user.data.{key}")
        }
        "job" => {
            format!("cannot set '{key}' of a job: keep what you need in a local or in user.data")
        }
        "_G" => refused_global(&key, is_function),
        "body" => "this request has no body: options are the second argument, as in \
                   user:get(path, { name = ... })"
            .to_owned(),
        library => format!("cannot set '{library}.{key}': libraries are read-only"),
    }
}

/// Formats the message for setting a global.
fn refused_global(key: &str, is_function: bool) -> String {
    let undeclared = format!("global '{key}' is not declared");
    if is_function {
        return match function_elsewhere(key) {
            Some(ours) => format!("{undeclared}; {ours}"),
            None => {
                format!("{undeclared}; write 'local function {key}' for a function of this file")
            }
        };
    }
    if DECLARATIONS.contains(&key) {
        return format!(
            "{undeclared} as a variable; it is called, not set: write {key} {{ … }}, as in plan {{ host = \"…\" }}"
        );
    }
    if Settings::FIELDS.contains(&key) {
        return format!("{undeclared}; an option of the plan is a field: plan {{ {key} = … }}");
    }
    if ["options", "config", "settings"].contains(&key) {
        return format!("{undeclared}; the options of a plan are plan {{ users = 10 }}");
    }
    format!("{undeclared}; write 'local {key}' for a variable of this file")
}

/// Formats the message for a global that is not declared.
pub(super) fn undeclared(name: &str) -> String {
    let name = shorten(name);
    if DECLARATIONS.contains(&name.as_str()) {
        return format!("'{name}' belongs at the top level of the file, not inside a task");
    }
    let names = GLOBALS
        .iter()
        .chain(&sandbox::BASE)
        .copied()
        .chain(["string", "table", "math", "utf8"]);
    if let Some(ours) = global_elsewhere(&name) {
        return format!("global '{name}' is not declared; {ours}");
    }
    // 'Task', 'usr' and the like; short names are near to anything.
    let declaration = DECLARATIONS
        .into_iter()
        .chain(["user"])
        .find(|one| *one != name && one.eq_ignore_ascii_case(&name));
    if let Some(declaration) = declaration {
        return format!(
            "global '{name}' is not declared; names are in lower case: '{declaration}'"
        );
    }
    if let Some(near) = nearest(&name, DECLARATIONS.into_iter().filter(|one| one.len() > 2)) {
        return format!("global '{name}' is not declared; did you mean '{near}'?");
    }
    if let Some(ours) = function_elsewhere(&name) {
        return format!("global '{name}' is not declared; {ours}");
    }
    let percent = name.strip_prefix('p').unwrap_or_default();
    if !percent.is_empty() && percent.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!(
            "global '{name}' is not declared; a threshold is a text, as in \"{name} < 300ms\""
        );
    }
    // 'host' and 'users' are hardly the names of variables that a plan has forgotten to declare.
    if [
        "host",
        "users",
        "run_time",
        "hatch_rate",
        "iterations",
        "thresholds",
    ]
    .contains(&name.as_str())
    {
        return format!(
            "global '{name}' is not declared; a field of a table is set by '=', as in plan {{ {name} = value }}, and a variable \
             by 'local {name} = …' above"
        );
    }
    let hint = match (
        nearest(&name, names).filter(|_| name.len() > 1),
        name.as_str(),
    ) {
        (_, "s" | "m" | "h") => format!(
            "declare it with 'local {name} = …' above; a rate or a time with a unit is a text, such as \"20/s\" or \"5m\""
        ),
        (_, "package" | "debug" | "dofile" | "loadfile") => {
            "plans run in a sandbox that does not have it".to_owned()
        }
        (_, "user") => "a task's function gets it: task { function(user) … end }".to_owned(),
        (Some(near), _) => format!("did you mean '{near}'?"),
        (None, _) => format!("declare it with 'local {name} = …' above"),
    };
    format!("global '{name}' is not declared; {hint}")
}

/// Formats the message for an unknown member of a library.
pub(super) fn unknown_member(
    _: &Lua,
    (library, DisplayText(name), members): (String, DisplayText, Table),
) -> mlua::Result<String> {
    let name = shorten(&name);
    let instead = member_elsewhere(&library, &name);
    if let Some(instead) = instead {
        return Ok(format!("'{library}.{name}' does not exist; {instead}"));
    }
    let mut names: Vec<String> = members
        .pairs::<String, Value>()
        .filter_map(Result::ok)
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("__"))
        .collect();
    names.sort();
    Ok(unknown(
        &format!("{library}.{name}"),
        &library,
        &name,
        &names,
    ))
}

/// Makes a userdata refuse unknown names; `names` are lists of those that it registers. Meant for types that have a function as
/// `__index` anyway: measured, it costs others 3 KiB in each VM.
pub(super) fn refuse_unknown<T, M: UserDataMethods<T>>(
    methods: &mut M,
    owner: &'static str,
    names: &'static [&'static [&'static str]],
) {
    let refuse = move |_: &Lua, _: &T, DisplayText(name): DisplayText| -> mlua::Result<()> {
        let name = shorten(&name);
        let noun = owner.rsplit(' ').next().unwrap_or(owner);
        let message = unknown(&format!("{noun}.{name}"), owner, &name, &names.concat());
        Err(mlua::Error::runtime(message))
    };
    methods.add_meta_method(MetaMethod::Index, refuse);
}

/// Formats `'x.y' does not exist; did you mean 'x.z'? x has: …`.
pub(super) fn unknown<N: Borrow<str>>(shown: &str, owner: &str, name: &str, names: &[N]) -> String {
    let near = nearest(name, names.iter().map(Borrow::borrow));
    let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    format!(
        "'{shown}' does not exist; {hint}{owner} has: {}",
        names.join(", ")
    )
}
