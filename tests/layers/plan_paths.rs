//! Paths that a plan names: each leads to a file by `NamedFile::of_plan`, which keeps to the rules of `PlanFolder`. A new
//! field of `plan {}` with a path, or a function of a plan that opens a file, is found here.

use super::{source_files, without_comments};
use std::fs;
use std::path::Path;

/// The fields of `plan {}` that name a file.
const FIELDS: [&str; 7] = [
    "ca",
    "cert",
    "key",
    "request_log",
    "task_log",
    "error_log",
    "debug_log",
];

/// The files that turn a path of a plan, or of a list of targets, into a file.
const USERS: [&str; 6] = [
    // The fields above.
    "src/app/places.rs",
    // What on("report") returns.
    "src/app/command/summary.rs",
    // data.*, file, and the .proto files of grpc.load.
    "crates/lua/src/plan_files/data_files/mod.rs",
    // require.
    "crates/lua/src/plan_files/modules.rs",
    // The bodies of a list of targets.
    "crates/import/src/targets/mod.rs",
    // The rows beside a plan of another tool that is imported.
    "crates/import/src/row_source.rs",
];

/// The files of `src/lua` that open files without it: the plan itself is the operator's, a bundle is written to a folder that
/// is made for it, and the kernel tells what a thread does.
const OPERATORS: [&str; 3] = [
    "crates/lua/src/limits/heartbeat.rs",
    "crates/lua/src/loading/load.rs",
    "crates/lua/src/plan_files/bundle.rs",
];

/// Words by which code reaches the file system.
const REACHES: [&str; 14] = [
    "fs::canonicalize",
    "fs::metadata",
    "fs::open",
    "fs::read",
    "fs::rename",
    "fs::write",
    "File::open",
    "File::create",
    "OpenOptions",
    ".canonicalize()",
    ".read_link()",
    "files::open",
    "files::read(",
    "files::read_to_string",
];

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let text = fs::read_to_string(path).expect("a source file is readable text");
    without_comments(&text)
}

/// Returns the settings whose type is that of a file, by the table of settings.
fn fields_with_files(code: &str) -> Vec<&str> {
    let fields = code.lines().filter_map(|line| {
        let (field, rest) = line.strip_prefix("    ")?.split_once(": ")?;
        let (kind, _) = rest.split_once(" = ")?;
        let is_file = ["File", "Path", "Folder"]
            .iter()
            .any(|word| kind.contains(word));
        is_file.then_some(field)
    });
    fields.collect()
}

/// Returns what reaches a file in code that is not of tests.
fn reaches(code: &str) -> Vec<&'static str> {
    let code = code
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    REACHES
        .into_iter()
        .filter(|word| code.contains(word))
        .collect()
}

#[test]
fn every_setting_that_names_a_file_keeps_to_the_rules_of_plans() {
    let code = source("crates/plan/src/config/settings.rs");
    assert_eq!(fields_with_files(&code), FIELDS, "fields with files");
    let listed = code
        .split("fn files(")
        .nth(1)
        .expect("the files of settings");
    let listed = listed.split("\n    }\n").next().unwrap_or_default();
    for field in FIELDS {
        assert!(
            listed.contains(&format!("(\"{field}\", &mut self.{field})")),
            "Settings::files lacks '{field}'"
        );
    }
}

#[test]
fn nothing_that_a_plan_calls_opens_a_file_in_another_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut users, mut found) = (Vec::new(), Vec::new());
    for file in source_files(root) {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        let code = source(&name);
        let is_test = name.contains("/tests") || name.ends_with("fixture.rs");
        if is_test || name.starts_with("crates/base/src/files/") {
            continue;
        }
        if code.contains(".of_plan(") {
            users.push(name.to_string());
        }
        if name.starts_with("crates/lua/src/") && !OPERATORS.contains(&&*name) {
            let reaches = reaches(&code).into_iter();
            found.extend(reaches.map(|word| format!("{name}: '{word}'")));
        }
    }
    let mut expected = USERS.map(str::to_owned);
    expected.sort();
    users.sort();
    assert_eq!(users, expected, "files that take paths of plans");
    assert!(
        found.is_empty(),
        "use NamedFile::of_plan:\n{}\n",
        found.join("\n")
    );
}

#[test]
fn what_escapes_the_rules_is_found() {
    let table = "    users: u64 = read_users;\n    jar: PathBuf = |value| value.text();\n    /// A field: String = x\n";
    assert_eq!(fields_with_files(table), ["jar"]);
    for (code, expected) in [
        ("std::fs::read(path)", &["fs::read"][..]),
        ("let file = File::open(path)?;", &["File::open"]),
        ("crate::files::open(&path)", &["files::open"]),
        ("NamedFile::from(name).of_plan(&folder).open()", &[]),
        ("files::read_text(opened)", &[]),
        (
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    fs::read(path);\n}\n",
            &[],
        ),
    ] {
        assert_eq!(reaches(code), expected, "{code}");
    }
}
