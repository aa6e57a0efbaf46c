//! The names that a plan can use, and the messages for those that do not exist.

use crate::sandbox;
use crate::values::{DisplayText, shorten};
use lgoose_base::error::nearest;
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

/// Formats the message for setting a field of a read-only value; `body` stands for a request without one.
pub(super) fn refused(owner: &str, key: &str) -> String {
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
        "_G" => format!(
            "global '{key}' is not declared; write 'local {key}' for a variable of this file"
        ),
        "body" => "this request has no body: options are the second argument, as in \
                   user:get(path, { name = ... })"
            .to_owned(),
        library => format!("cannot set '{library}.{key}': libraries are read-only"),
    }
}

/// Globals of other languages and test tools, with their equivalents here.
const ELSEWHERE: [(&str, &str); 18] = [
    ("sleep", "a task pauses by user:wait(seconds)"),
    (
        "wrk",
        "a task sends its requests: user:request { method = \"POST\", path = \"/\", body = text }",
    ),
    ("setTimeout", "a task pauses by user:wait(seconds)"),
    (
        "io",
        "plans run in a sandbox that does not have it; data.csv, data.lines and data.json read files",
    ),
    ("console", "write print(…) or user:log(…)"),
    ("printf", "write print((\"…\"):format(…))"),
    ("null", "Lua writes 'nil'"),
    ("None", "Lua writes 'nil'"),
    ("undefined", "Lua writes 'nil'"),
    ("True", "Lua writes 'true'"),
    ("False", "Lua writes 'false'"),
    ("http", "a task sends requests by its user: user:get \"/\""),
    (
        "requests",
        "a task sends requests by its user: user:get \"/\"",
    ),
    ("JSON", "write json.encode(value) and json.decode(text)"),
    ("Math", "write math.floor(x), random.int(1, 6) and so on"),
    ("__ENV", "env(\"NAME\") reads a variable"),
    ("getenv", "env(\"NAME\") reads a variable"),
    ("try", "write local ok, problem = pcall(function() … end)"),
];

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
    let elsewhere = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name);
    if let Some((_, ours)) = elsewhere {
        return format!("global '{name}' is not declared; {ours}");
    }
    let hint = match (nearest(&name, names), name.as_str()) {
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
    let instead = match (library.as_str(), name.as_str()) {
        ("env", _) => {
            let message = format!("'env.{name}' does not exist; env(\"{name}\") reads a variable");
            return Ok(message);
        }
        ("os", "getenv") => Some("env(\"NAME\") reads a variable"),
        ("time", "sleep") => Some("a task pauses by user:wait(seconds)"),
        ("math", "randomseed") => Some("'--seed' is that of all random choices of a run"),
        _ => None,
    };
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
