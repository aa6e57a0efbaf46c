//! Mistakes in plans as their authors see them: each `tests/bad/NAME.lua` is refused with the text of `NAME.stderr`,
//! nothing on standard output and exit code 2, before any load is sent.
//!
//! `BLESS=1 cargo test mistakes` writes what the program prints now; read it before it is kept.

use crate::program::{Lgoose, in_repository};
use crate::server::Server;
use std::path::{Path, PathBuf};

/// Returns the names of the bad plans, without `.lua`.
fn bad_plans() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder can be listed");
    let files = entries.map(|entry| entry.expect("the folder can be listed").path());
    let plans = files.filter(|path| path.extension().is_some_and(|ending| ending == "lua"));
    let mut names: Vec<String> = plans
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

fn folder() -> PathBuf {
    in_repository("tests/bad")
}

/// Asserts that `check` prints the text of each plan's `.stderr`.
fn assert_told(names: impl IntoIterator<Item = String>) {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for name in names {
        let ended = Lgoose::new(["check", &format!("{name}.lua")])
            .within(&folder())
            .finish();
        let golden = folder().join(format!("{name}.stderr"));
        if bless {
            std::fs::write(&golden, &ended.stderr).expect("the folder takes a file");
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if (ended.code, ended.stdout.as_str()) != (2, "") || ended.stderr != expected {
            wrong.push(format!(
                "{name}: code {}, stdout '{}'\n{}",
                ended.code, ended.stdout, ended.stderr
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "not as in the .stderr files:\n\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_mistake_is_told_with_its_line_and_the_remedy() {
    assert_told(bad_plans());
}

#[test]
fn a_run_refuses_what_check_refuses_and_sends_nothing() {
    let server = Server::start();
    let url = server.url();
    for name in bad_plans() {
        let file = format!("{name}.lua");
        let ended = Lgoose::new([file.as_str(), "-H", &url, "-u", "1", "-i", "1"])
            .within(&folder())
            .finish();
        let expected =
            std::fs::read_to_string(folder().join(format!("{name}.stderr"))).unwrap_or_default();
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{name}");
        assert_eq!(ended.stderr, expected, "{name}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn every_message_names_the_file_quotes_the_line_and_hides_the_insides() {
    for name in bad_plans() {
        let text = std::fs::read_to_string(folder().join(format!("{name}.stderr")))
            .expect("it has its text");
        let plan =
            std::fs::read_to_string(folder().join(format!("{name}.lua"))).expect("it is text");
        assert!(
            text.starts_with("error: ") && text.ends_with('\n'),
            "{name}: {text}"
        );
        for insides in [
            "lgoose:",
            "prelude",
            "stack traceback",
            "mlua",
            "[C]",
            "[string",
            "src/",
            "runtime error",
            "Lua string",
            "0x",
        ] {
            assert!(!text.contains(insides), "{name} shows '{insides}': {text}");
        }
        let place = format!("--> {name}.lua");
        let line = text
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(&place));
        let line = line.unwrap_or_else(|| panic!("{name} names no place: {text}"));
        let Some(number) = line.strip_prefix(':') else {
            assert!(
                text.contains("the plan declares no task"),
                "{name} has a line to name: {text}"
            );
            continue;
        };
        let at: usize = number.parse().expect("a line's number");
        let quoted = plan.lines().nth(at - 1).expect("the plan has that line");
        assert!(
            text.contains(&format!("{at} | {}", quoted.trim_end())),
            "{name} does not quote line {at}: {text}"
        );
    }
}

#[test]
fn the_stack_of_the_plan_is_shown_when_asked_for() {
    let folder: &Path = &folder();
    let ended = Lgoose::new(["check", "error_in_a_function.lua", "--backtrace"])
        .within(folder)
        .finish();
    assert_eq!(ended.code, 2);
    for line in ["error_in_a_function.lua:4", "error_in_a_function.lua:8"] {
        assert!(
            ended.stderr.contains(line),
            "'{line}' is missing in\n{}",
            ended.stderr
        );
    }
}
