//! The architecture, checked: who may import whom, which crate is used where, that a type's `impl` stands in one file, that
//! what plans are given counts as theirs, that the paths of plans keep to their rules,
//! which words identifiers have, where unit tests stand, and that the files inside a module do not import each other in
//! circles.
//!
//! Reads the text of `src/`; knows no Rust beyond comments, paths and `use` groups, which is enough for
//! code that `rustfmt` has laid out.

#[path = "layers/circles.rs"]
mod circles;
#[path = "layers/held.rs"]
mod held;
#[path = "layers/identifiers.rs"]
mod identifiers;
#[path = "layers/plan_paths.rs"]
mod plan_paths;
#[path = "layers/types.rs"]
mod types;
#[path = "layers/unit_tests.rs"]
mod unit_tests;

use std::fs;
use std::path::{Path, PathBuf};

/// Who may import whom. `CONTRIBUTING.md` shows the same lines.
const IMPORTS: &str = "
units     nothing
error     nothing
machine   nothing
console   nothing
files     machine units
secrets   error
packed    nothing
allotment nothing
shared_state units
phases    nothing
tags      nothing
trace     nothing
wildcard  nothing
other_tools error
targets   files error
threshold phases error units
pem       files error
metrics   packed phases tags threshold trace units error
control   metrics error units
config    files threshold error units
http      files pem phases trace wildcard error units
plan      config threshold tags wildcard error units
protocols http metrics phases tags
cli       files threshold config error units
yaml      error
import    yaml files targets other_tools error
lua       allotment shared_state plan threshold config protocols http metrics phases tags files secrets yaml error units
engine    allotment lua plan config threshold protocols http metrics control machine phases tags trace error units
capacity  threshold metrics units
compare   metrics error units
output    files compare metrics config threshold trace error units
tui       output metrics control console error units
demo      error units
telemetry output metrics
otlp      telemetry output metrics control pem error
serve     metrics files error units
web       serve telemetry output compare metrics control config pem error units
gaggle    allotment shared_state engine plan config metrics control files error units
";

/// These know everyone.
const EXEMPT: [&str; 3] = ["app", "main", "lib"];

/// Crates that only some modules may name.
const CRATES: [(&str, &[&str]); 15] = [
    ("lgoose_html", &["http", "import", "lib", "lua"]),
    ("async_nats", &["gaggle"]),
    ("mlua", &["lua"]),
    ("nix", &["lua"]),
    ("signal_hook_registry", &["lua"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("crossterm", &["tui"]),
    ("ratatui", &["tui"]),
    ("reqwest", &["http", "otlp"]),
    ("prost", &["otlp", "web"]),
    ("axum", &["web"]),
    ("hyper", &["http", "demo", "web"]),
    ("hyper_util", &["demo", "http", "web"]),
];

/// The one file outside of `http` that sends requests: it hands those to a server on to the process of a run on this machine.
const HANDS_ON: &str = "src/web/serve/forward.rs";

#[test]
fn every_source_file_keeps_to_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = rust_files(&root.join("src"));
    assert!(files.iter().any(|file| file.ends_with("src/lib.rs")));
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file is readable text");
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        let name = name.replace('\\', "/");
        all.extend(violations(&name, &text));
    }
    assert!(all.is_empty(), "\n{}\n", all.join("\n"));
}

#[test]
fn the_page_for_contributors_shows_the_same_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("CONTRIBUTING.md");
    let page = fs::read_to_string(page).expect("CONTRIBUTING.md is readable text");
    assert!(
        page.contains(IMPORTS),
        "CONTRIBUTING.md and tests/layers.rs differ in the import table"
    );
}

#[test]
fn what_breaks_the_rules_is_found() {
    for (file, code, expected) in [
        (
            "src/units.rs",
            "use crate::error::Error;",
            "units imports error",
        ),
        (
            "src/plan/deal.rs",
            "fn f() { crate::lua::run() }",
            "plan imports lua",
        ),
        (
            "src/tui/mod.rs",
            "use crate::{\n    metrics::{Report, engine},\n    lua,\n};",
            "tui imports lua",
        ),
        (
            "src/http/mod.rs",
            "use super::engine::Shard;",
            "leaves the module by 'super'",
        ),
        (
            "src/engine/run.rs",
            "use crate::Shard;",
            "engine imports Shard",
        ),
        (
            "src/engine/run.rs",
            "let lua = mlua::Lua::new();",
            "engine names mlua",
        ),
        (
            "src/config.rs",
            "use {std::fmt, clap};",
            "config names clap",
        ),
        (
            "src/output/text.rs",
            "use ratatui::style::Color;",
            "output names ratatui",
        ),
        (
            "src/demo/server.rs",
            "use hyper::{body, client::conn::http1};",
            "client of hyper",
        ),
        ("src/stats.rs", "", "no line in the import table"),
    ] {
        let found = violations(file, &format!("//! A file.\n{code}\n"));
        assert_eq!(found.len(), 1, "{file}: {code}: {found:?}");
        assert!(
            found[0].starts_with(file) && found[0].contains(expected),
            "{found:?}"
        );
    }
}

#[test]
fn what_keeps_the_rules_is_not() {
    for (file, code) in [
        ("src/app.rs", "use crate::{engine, lua, tui};"),
        (
            "src/lua/vm.rs",
            "use crate::{metrics, http::Session, plan::{Plan, Task}};\nuse mlua::Lua;",
        ),
        (
            "src/plan/mod.rs",
            "/// See [`crate::engine`].\n// mlua::Lua is not for us.\npub(in crate::plan) fn f() {}",
        ),
        ("src/units.rs", "mod tests {\n    use super::*;\n}"),
        (
            "src/demo/server.rs",
            "use hyper::{body::Bytes, server::conn::http1};",
        ),
        (
            "src/error.rs",
            "const URL: &str = \"see http://mlua::x\"; // crate::lua",
        ),
    ] {
        let found = violations(file, &format!("//! A file.\n{code}\n"));
        assert!(found.is_empty(), "{file}: {code}: {found:?}");
    }
}

#[test]
fn a_file_that_does_not_say_what_it_is_is_found() {
    assert_eq!(violations("src/units.rs", "use std::fmt;\n").len(), 1);
}

/// Every rule that `text` breaks as the content of `file`, a path like `src/plan/deal.rs`.
fn violations(file: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !text.starts_with("//!") {
        found.push("it does not open with '//!' and what it is".to_owned());
    }
    let module = module_of(file);
    let code = without_comments(text);
    if !EXEMPT.contains(&module) {
        match allowed(module) {
            None => found.push(format!("'{module}' has no line in the import table")),
            Some(allowed) => found.extend(forbidden_imports(module, &allowed, &code)),
        }
        let is_root = file == format!("src/{module}.rs") || file == format!("src/{module}/mod.rs");
        let leaves =
            |line: &str| line.starts_with("use super::") || line.starts_with("pub use super::");
        if is_root && code.lines().any(leaves) {
            found.push(
                "it leaves the module by 'super': write 'crate::' and the module's name".to_owned(),
            );
        }
    }
    found.extend(forbidden_crates(file, module, &code));
    found
        .into_iter()
        .map(|what| format!("{file}: {what}"))
        .collect()
}

fn forbidden_imports(module: &str, allowed: &[&str], code: &str) -> Vec<String> {
    let mut found: Vec<_> = heads(code, "crate")
        .into_iter()
        .filter(|head| *head != module && !allowed.contains(head))
        .map(|head| {
            format!(
                "{module} imports {head}, the import table allows {}",
                allowed.join(" ")
            )
        })
        .collect();
    found.dedup();
    found
}

fn forbidden_crates(file: &str, module: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, modules) in CRATES {
        if !modules.contains(&module) && names_crate(code, name) {
            found.push(format!(
                "{module} names {name}, which belongs to {}",
                modules.join(" and ")
            ));
        }
    }
    let client = ["hyper", "hyper_util"]
        .into_iter()
        .any(|name| heads(code, name).contains(&"client"));
    if client && module != "http" && file != HANDS_ON {
        found.push(format!(
            "{module} uses the client of hyper, which belongs to http"
        ));
    }
    found
}

/// The module that a path like `src/plan/deal.rs` or `src/units.rs` belongs to.
fn module_of(file: &str) -> &str {
    let inside = file.strip_prefix("src/").unwrap_or(file);
    inside
        .split('/')
        .next()
        .unwrap_or(inside)
        .trim_end_matches(".rs")
}

/// What `module` may import, none if the table does not know it.
fn allowed(module: &str) -> Option<Vec<&'static str>> {
    IMPORTS.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let found = words.next() == Some(module);
        found.then(|| words.filter(|word| *word != "nothing").collect())
    })
}

/// The text without what follows `//` at the start of a line or after a blank; `http://` stays.
fn without_comments(text: &str) -> String {
    let cut = |line: &str| {
        let comment = line.match_indices("//").find(|(at, _)| {
            line[..*at].chars().all(char::is_whitespace) || line[..*at].ends_with(' ')
        });
        comment.map_or(line.len(), |(at, _)| at)
    };
    text.lines()
        .flat_map(|line| [&line[..cut(line)], "\n"])
        .collect()
}

/// The first name after each `root::`, of every member where a group in braces follows.
fn heads<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    let mut heads = Vec::new();
    for at in words(code, root) {
        let Some(rest) = code[at + root.len()..].strip_prefix("::") else {
            continue;
        };
        match rest.trim_start().strip_prefix('{') {
            None => heads.push(first_word(rest)),
            Some(group) => heads.extend(members(group)),
        }
    }
    heads
}

/// The first name of each member of a `use` group, from after its opening brace on.
fn members(group: &str) -> Vec<&str> {
    let mut members = vec![first_word(group)];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => members.push(first_word(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    members.retain(|member| !member.is_empty());
    members
}

/// Whether the code has `name::` anywhere or `name` as a whole member of a `use`.
fn names_crate(code: &str, name: &str) -> bool {
    words(code, name).into_iter().any(|at| {
        let (before, after) = (code[..at].trim_end(), &code[at + name.len()..]);
        let statement = before.rsplit(';').next().unwrap_or(before);
        let imported = statement.split_whitespace().any(|word| word == "use")
            && (before.ends_with("use") || before.ends_with(['{', ',']));
        let path = after.starts_with("::") && !before.ends_with("::") && !quoted(code, at);
        path || (imported && after.trim_start().starts_with([';', ',', '}']))
    })
}

/// Whether a string literal that began on the same line is open at `at`.
fn quoted(code: &str, at: usize) -> bool {
    let line = code[..at].rsplit('\n').next().unwrap_or_default();
    line.matches('"').count() % 2 == 1
}

/// Where `word` stands as a whole word.
fn words(code: &str, word: &str) -> Vec<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| !code[..*at].ends_with(part) && !code[at + word.len()..].starts_with(part))
        .collect()
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The files of lgoose and of the crates beside it.
fn source_files(root: &Path) -> Vec<PathBuf> {
    let crates = fs::read_dir(root.join("crates")).expect("the folder can be listed");
    let crates = crates.map(|entry| entry.expect("the folder can be listed").path());
    let folders = [root.to_owned()].into_iter().chain(crates);
    folders
        .flat_map(|folder| rust_files(&folder.join("src")))
        .collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
