//! Names of variables in a plan, made from the names in a recording.

use super::lua_text::is_name;
use std::collections::{BTreeMap, BTreeSet};

/// Names that are taken in a plan.
const TAKEN: [&str; 46] = [
    "user",
    "page",
    "answer",
    "answers",
    "plan",
    "scenario",
    "task",
    "on",
    "env",
    "check",
    "regex",
    "json",
    "html",
    "url",
    "base64",
    "hash",
    "random",
    "data",
    "metric",
    "run",
    "log",
    "wait",
    "os",
    "file",
    "shared",
    "require",
    "string",
    "table",
    "math",
    "type",
    "next",
    "pairs",
    "ipairs",
    "error",
    "assert",
    "select",
    "print",
    "tostring",
    "tonumber",
    "pcall",
    "utf8",
    "coroutine",
    "xpcall",
    "rawget",
    "rawset",
    "setmetatable",
];

/// Returns a text as the name of a plan, a scenario or a task: short and on one line; `otherwise` if nothing is left.
pub(super) fn title(text: &str, otherwise: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    match text.trim() {
        "" => otherwise.to_owned(),
        title => title.to_owned(),
    }
}

/// The names that a plan has used.
#[derive(Debug, Default)]
pub(super) struct UsedNames {
    all: BTreeSet<String>,
    /// The numbers that come next for names that others had.
    next: BTreeMap<String, u64>,
}

impl UsedNames {
    /// Returns a name in lower case with underscores that nothing else has.
    pub(super) fn unique(&mut self, proposed: &str) -> String {
        let mut name = String::new();
        for c in proposed.chars().take(40) {
            match c {
                c if c.is_ascii_uppercase() && name.ends_with(|c: char| c.is_ascii_lowercase()) => {
                    name.push('_');
                    name.push(c.to_ascii_lowercase());
                }
                c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
                _ if !name.is_empty() && !name.ends_with('_') => name.push('_'),
                _ => {}
            }
        }
        let name = name.trim_matches('_');
        let name = match name {
            "" => "value".to_owned(),
            name if is_name(name) && !TAKEN.contains(&name) => name.to_owned(),
            name => format!("the_{name}"),
        };
        let mut unique = name.clone();
        while !self.all.insert(unique.clone()) {
            let number = self.next.entry(name.clone()).or_insert(2);
            unique = format!("{name}_{number}");
            *number += 1;
        }
        unique
    }
}
