//! What Cargo does not check of the house: that the table of crates in CONTRIBUTING.md is that of the manifests, which crate
//! may use which library, that a type's `impl` stands in one file, that what plans are given counts as theirs, that the
//! paths of plans keep to their rules, which words identifiers have, that no words of messages decide, where unit tests stand, and that
//! the files inside a crate do not import each other in circles.
//!
//! Reads text; knows no Rust beyond comments, paths and `use` groups, which is enough for code that `rustfmt` has laid out.

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
#[path = "layers/words.rs"]
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Libraries that belong to some crates; `lgoose` is the program.
const OWNERS: [(&str, &[&str]); 15] = [
    ("async-nats", &["gaggle"]),
    ("axum", &["web"]),
    ("clap", &["lgoose"]),
    ("clap_complete", &["lgoose"]),
    ("clap_mangen", &["lgoose"]),
    ("crossterm", &["tui"]),
    ("hyper", &["demo", "http", "web"]),
    ("hyper-util", &["demo", "http", "web"]),
    ("lgoose-html", &["http", "import", "lgoose", "lua"]),
    ("mlua", &["lua"]),
    ("nix", &["http", "lua"]),
    ("prost", &["otlp", "web"]),
    ("ratatui", &["tui"]),
    ("reqwest", &["http", "otlp"]),
    ("signal-hook-registry", &["lua"]),
];

/// The crates that `cli` knows: it reads words, and runs nothing.
const KNOWN_TO_CLI: [&str; 2] = ["lgoose_base", "lgoose_plan"];

/// The one file outside `http` that sends requests: it hands those to a server on to the process of a run on this machine.
const HANDS_ON: &str = "crates/web/src/serve/forward.rs";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the names of the crates with the dependencies that each has outside of tests.
fn manifests() -> BTreeMap<String, Vec<String>> {
    let crates = fs::read_dir(root().join("crates")).expect("the folder can be listed");
    let crates = crates.map(|entry| entry.expect("the folder can be listed").path());
    let named = crates.map(|folder| {
        let name = folder.file_name().expect("it has a name");
        (name.to_string_lossy().into_owned(), folder)
    });
    named
        .chain([("lgoose".to_owned(), root().to_owned())])
        .map(|(name, folder)| {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
            (name, dependencies(&manifest))
        })
        .collect()
}

/// Returns the names in the tables of dependencies of a manifest, but for those of tests.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut is_table = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_table = line == "[dependencies]"
                || line.ends_with(".dependencies]") && !line.contains("workspace");
        } else if is_table && let Some((name, _)) = line.split_once([' ', '.', '=']) {
            found.push(name.to_owned());
        }
    }
    found
}

#[test]
fn the_page_for_contributors_shows_the_crates_and_what_each_needs() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("a page");
    for (name, dependencies) in manifests() {
        let own = dependencies
            .iter()
            .filter_map(|one| one.strip_prefix("lgoose-"));
        let mut own: Vec<&str> = own.collect();
        own.sort_unstable();
        let needs = if own.is_empty() {
            "–".to_owned()
        } else {
            own.join(" ")
        };
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("CONTRIBUTING.md has no row for '{name}'"));
        assert!(
            name == "lgoose" || row.ends_with(&format!("| {needs} |")),
            "CONTRIBUTING.md: '{row}' should end with '{needs}'"
        );
    }
}

#[test]
fn libraries_are_used_by_the_crates_that_they_belong_to() {
    for (name, dependencies) in manifests() {
        for (library, owners) in OWNERS {
            assert!(
                owners.contains(&&*name) || !dependencies.iter().any(|one| one == library),
                "'{name}' depends on '{library}', which belongs to {}",
                owners.join(" and ")
            );
        }
    }
}

#[test]
fn the_dependencies_of_a_manifest_are_found() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\na.workspace = true\nb = { workspace = true }\n\n\
        [target.'cfg(unix)'.dependencies]\nc = \"1\"\n\n[dev-dependencies]\nd = \"1\"\n\n[workspace.dependencies]\ne = \"1\"\n";
    assert_eq!(dependencies(manifest), ["a", "b", "c"]);
}

#[test]
fn every_source_file_keeps_to_the_architecture() {
    let mut all = Vec::new();
    for file in source_files(root()) {
        let text = fs::read_to_string(&file).expect("a source file is readable text");
        let name = file.strip_prefix(root()).unwrap_or(&file).to_string_lossy();
        all.extend(violations(&name.replace('\\', "/"), &text));
    }
    assert!(all.is_empty(), "\n{}\n", all.join("\n"));
}

#[test]
fn what_breaks_the_rules_is_found_and_what_keeps_them_is_not() {
    for (file, text, expected) in [
        ("crates/base/src/units.rs", "use std::fmt;\n", "'//!'"),
        (
            "src/cli/run.rs",
            "//! A file.\nuse crate::app::run;\n",
            "imports app",
        ),
        (
            "src/cli/run.rs",
            "//! A file.\nuse lgoose_engine::Run;\n",
            "cli names a crate",
        ),
        (
            "crates/demo/src/server.rs",
            "//! A file.\nuse hyper::{body, client::conn::http1};\n",
            "client of hyper",
        ),
    ] {
        let found = violations(file, text);
        assert_eq!(found.len(), 1, "{file}: {found:?}");
        assert!(
            found[0].starts_with(file) && found[0].contains(expected),
            "{found:?}"
        );
    }
    for (file, code) in [
        ("src/app/mod.rs", "use crate::{app, cli};"),
        (
            "src/cli/run.rs",
            "// crate::app runs it\nuse crate::cli;\nuse lgoose_plan::config::Format;",
        ),
        (
            "crates/demo/src/server.rs",
            "use hyper::{body::Bytes, server::conn::http1};",
        ),
        (HANDS_ON, "use hyper::client::conn::http1;"),
    ] {
        let found = violations(file, &format!("//! A file.\n{code}\n"));
        assert!(found.is_empty(), "{file}: {code}: {found:?}");
    }
}

/// Every rule that `text` breaks as the content of `file`, a path like `crates/plan/src/deal.rs`.
fn violations(file: &str, text: &str) -> Vec<String> {
    let code = without_comments(text);
    let client = ["hyper", "hyper_util"]
        .into_iter()
        .any(|name| heads(&code, name).contains(&"client"));
    let is_of_http = file.starts_with("crates/http/") || file == HANDS_ON;
    let rules = [
        (
            !text.starts_with("//!"),
            "it does not open with '//!' and what it is",
        ),
        (
            file.starts_with("src/cli/") && heads(&code, "crate").contains(&"app"),
            "cli imports app, which it does not know",
        ),
        (
            file.starts_with("src/cli/") && names_other_crates(&code),
            "cli names a crate that it does not know",
        ),
        (
            client && !is_of_http,
            "it uses the client of hyper, which belongs to http",
        ),
    ];
    let broken = rules.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.map(|(_, what)| format!("{file}: {what}")).collect()
}

/// Returns whether code of `cli` names a crate of lgoose that it does not know.
fn names_other_crates(code: &str) -> bool {
    let names = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    names
        .filter(|name| name.starts_with("lgoose_"))
        .any(|name| !KNOWN_TO_CLI.contains(&name))
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

/// The files of the program and of all crates.
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
