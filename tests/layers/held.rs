//! Userdata: whatever a plan is given that Rust owns is `Held<…>`, so that its memory counts as the plan's. Only the host of
//! a VM makes userdata of a type that has no `impl UserData`.

use super::{source_files, without_comments};
use std::fs;
use std::path::Path;

/// The one file that makes userdata of any type.
const HOST: &str = "crates/lua/src/sandbox/host.rs";

#[test]
fn whatever_a_plan_is_given_counts_as_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut seen) = (Vec::new(), 0);
    for file in source_files(root) {
        let text = fs::read_to_string(&file).expect("a source file is readable text");
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        seen += text.matches("UserData for Held<").count();
        found.extend(violations(&name.replace('\\', "/"), &text));
    }
    assert!(seen >= 7, "{seen} kinds are given");
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn what_does_not_count_is_found() {
    for (file, code, expected) in [
        (
            "crates/lua/src/api/page.rs",
            "impl UserData for Page {",
            Some("'Page' is not Held"),
        ),
        (
            "crates/lua/src/api/page.rs",
            "impl<T> mlua::UserData for Page<T> {",
            Some("'Page<T>' is not Held"),
        ),
        (
            "crates/lua/src/api/data.rs",
            "lua.create_any_userdata(reader)",
            Some("makes userdata"),
        ),
        (
            "crates/lua/src/api/data.rs",
            "lua.register_userdata_type::<Rows>(|r| r)",
            Some("'Rows>(|r| r)' is not Held"),
        ),
        (
            "crates/lua/src/api/page.rs",
            "impl UserData for Held<Page> {",
            None,
        ),
        (HOST, "lua.create_any_userdata(held)", None),
        (
            "crates/lua/src/api/log.rs",
            "value.borrow::<Element>()",
            Some("'Element>()' is not Held"),
        ),
        (
            "crates/lua/src/api/log.rs",
            "value.borrow::<Held<Element>>()",
            None,
        ),
        (
            "crates/lua/src/api/page.rs",
            "// impl UserData for Page {",
            None,
        ),
    ] {
        let found = violations(file, code).join("\n");
        match expected {
            Some(expected) => assert!(found.contains(expected), "{code}: {found}"),
            None => assert_eq!(found, "", "{code}"),
        }
    }
}

/// Returns what a file gives to plans uncounted.
fn violations(name: &str, text: &str) -> Vec<String> {
    let code = without_comments(text);
    let mut found = Vec::new();
    for line in code.lines() {
        const GIVEN: [&str; 2] = ["UserData for ", "register_userdata_type::<"];
        const TAKEN: [&str; 3] = [".borrow::<", ".borrow_mut::<", ".is::<"];
        let taken: &[&str] = if name.starts_with("crates/lua/src/") {
            &TAKEN
        } else {
            &[]
        };
        for marker in GIVEN.iter().chain(taken) {
            let given = line.split_once(*marker).map(|(_, rest)| rest);
            if let Some(given) = given.filter(|given| !given.starts_with("Held<")) {
                let given = given.trim_end_matches([' ', '{']);
                found.push(format!("{name}: '{given}' is not Held"));
            }
        }
        if line.contains("create_any_userdata") && name != HOST {
            found.push(format!("{name} makes userdata; 'VmHost::userdata' does"));
        }
    }
    found
}
