//! Where unit tests stand: in `mod tests` at the end of their file, or in `tests.rs` or a folder `tests` beside it;
//! what several of them share is `fixture`.

use super::{source_files, without_comments};
use std::fs;
use std::path::Path;

/// Names of the modules that only tests have.
const NAMES: [&str; 2] = ["tests", "fixture"];

#[test]
fn unit_tests_stand_where_they_are_looked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for file in source_files(root) {
        let text = fs::read_to_string(&file).expect("a source file is readable text");
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        found.extend(violations(&name.replace('\\', "/"), &text));
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn tests_in_another_place_are_found() {
    let test = "#[test]\nfn it_works() {}\n";
    for (file, code, expected) in [
        (
            "crates/plan/src/deal.rs",
            "#[cfg(test)]\nmod deal_tests;",
            "'deal_tests'",
        ),
        (
            "src/html/mod.rs",
            "#[cfg(test)]\npub(crate) mod testing;",
            "'testing'",
        ),
        ("crates/plan/src/deal.rs", test, "outside of 'mod tests'"),
        ("crates/plan/src/checks.rs", test, "outside of 'mod tests'"),
        (
            "crates/plan/src/deal.rs",
            "mod tests {\n    #[test]\n    fn it_works() {}\n}\n\nfn deal() {}\n",
            "not the last",
        ),
    ] {
        let found = violations(file, code);
        assert_eq!(found.len(), 1, "{file}: {code}: {found:?}");
        assert!(found[0].contains(expected), "{found:?}");
    }
}

#[test]
fn tests_in_their_place_are_not() {
    let test = "#[test]\nfn it_works() {}\n";
    for (file, code) in [
        ("crates/plan/src/tests.rs", test),
        ("crates/plan/src/tests/mod.rs", test),
        ("crates/plan/src/tests/long_runs.rs", test),
        (
            "crates/plan/src/mod.rs",
            "#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod fixture;\n\nfn deal() {}\n",
        ),
        (
            "crates/plan/src/deal.rs",
            "fn deal() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn it_works() {}\n}\n",
        ),
        (
            "crates/plan/src/deal.rs",
            "#[cfg(test)]\nmod members {\n    pub use super::NAMES;\n}\n",
        ),
    ] {
        let found = violations(file, code);
        assert!(found.is_empty(), "{file}: {code}: {found:?}");
    }
}

/// Returns what is wrong with the place of the tests in `text`, the content of `file`.
fn violations(file: &str, text: &str) -> Vec<String> {
    let code = without_comments(text);
    // What only the tests of its own crate need stands beside what others share.
    let is_fixture = file.contains("/fixture/");
    let mut found: Vec<_> = test_files(&code)
        .filter(|name| !is_fixture && !NAMES.contains(name))
        .map(|name| {
            let names = NAMES.join("' or '");
            format!("{file}: the module '{name}' is for tests alone: name it '{names}'")
        })
        .collect();
    let of_tests = |part: &str| part == "tests" || part == "tests.rs";
    if file.split('/').any(of_tests) {
        return found;
    }
    let start = code.find("\nmod tests {").map(|at| at + 1);
    let start = start.or(code.starts_with("mod tests {").then_some(0));
    let before = &code[..start.unwrap_or(code.len())];
    if ["#[test]", "#[tokio::test"]
        .iter()
        .any(|test| before.contains(test))
    {
        found.push(format!("{file}: it has a test outside of 'mod tests'"));
    }
    let after = start.and_then(|start| code[start..].split_once("\n}\n"));
    if after.is_some_and(|(_, rest)| !rest.trim().is_empty()) {
        found.push(format!("{file}: 'mod tests' is not the last in it"));
    }
    found
}

/// Returns the names of the files that are compiled for tests alone: `#[cfg(test)]`, then `mod name;`.
fn test_files(code: &str) -> impl Iterator<Item = &str> {
    let after = code.split("#[cfg(test)]").skip(1);
    after.filter_map(|rest| {
        let line = rest.trim_start().lines().next()?.trim_end();
        let (_, name) = line.strip_suffix(';')?.split_once("mod ")?;
        Some(name)
    })
}
