//! Every plan under `plans/` and `examples/`, found on disk: about a second of load against the built-in site that it
//! names, in which requests are made and none fails. Files in a folder `lib` are modules, not plans.

use crate::program::{Lgoose, Running, in_repository};
use crate::report::read;
use std::path::{Path, PathBuf};

/// Plans that need more than a built-in site or more than a second, and the test that runs each instead.
const ELSEWHERE: [(&str, &str); 7] = [
    ("plans/llm.lua", "tests/it/llm.rs"),
    ("plans/wordpress.lua", "tests/it/wordpress.rs"),
    ("examples/iot.lua", "tests/it/mqtt.rs"),
    ("examples/postgres.lua", "tests/it/postgres.rs"),
    ("examples/socketio_chat.lua", "tests/it/socketio.rs"),
    ("examples/subscriptions.lua", "tests/it/graphql_ws.rs"),
    ("examples/from/k6_scenarios.lua", "tests/it/from.rs"),
];

/// The number of plans that run at the same time.
const AT_ONCE: usize = 6;

/// Returns all Lua files below a folder but modules, sorted, with paths from the repository's root.
pub(crate) fn plans_below(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(in_repository(&folder.display().to_string()));
        for entry in entries.expect("the folder can be listed") {
            let name = entry.expect("the folder can be listed").file_name();
            let path = folder.join(&name);
            if in_repository(&path.display().to_string()).is_dir() {
                folders.extend((name != "lib").then_some(path));
            } else if path.extension().is_some_and(|ending| ending == "lua") {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Runs a plan for a second with few users that hardly wait; together they send few enough requests for a busy machine.
fn start(plan: &str) -> Running {
    let text = std::fs::read_to_string(in_repository(plan)).expect("the plan can be read");
    // What is left out of a threshold must not be all of it.
    let time = if text.contains("after = \"5s\"") {
        "6s"
    } else {
        "1s"
    };
    let mut arguments = vec![plan, "-t", time, "--wait-factor", "0.05"];
    // A plan with a rate keeps it, as that is what it shows; any other load becomes a few users.
    if !text.contains("rate = \"") {
        arguments.extend(["-u", "5", "-r", "100", "--throttle-requests", "60"]);
    }
    // A second of a warm-up would leave nothing to judge.
    if text.contains("warmup = ") {
        arguments.extend(["--warmup", "0s"]);
    }
    arguments.extend(["-o", "json=-"]);
    Lgoose::new(arguments).start()
}

fn judge(plan: &str, run: Running) {
    let report = read(run.end());
    let errors = report.errors().join("\n");
    assert!(report.total("count") > 0, "{plan} asks for nothing");
    assert_eq!(report.total("failures"), 0, "{plan}\n{errors}");
    assert_eq!(report.task_failures(), 0, "{plan}\n{errors}");
    // A limit that has no data or counts failures tells of the plan; how slow a busy machine is does not.
    let mut slow = false;
    for limit in report.json["thresholds"].as_array().expect("a list") {
        let of_time = ["us", "ms", "s"].iter().any(|unit| limit["unit"] == *unit);
        let broken = limit["passed"] == false;
        assert!(
            !limit["value"].is_null() && (of_time || !broken),
            "{plan}: {limit}"
        );
        slow |= broken;
    }
    assert_eq!(
        report.ended.code,
        i32::from(slow),
        "{plan}\n{}",
        report.ended.stderr
    );
    for check in report.json["checks"].as_array().expect("a list") {
        assert_eq!(check["failures"], 0, "{plan}: {check}");
    }
    let warnings = report.json["warnings"].as_array().expect("a list").iter();
    let warnings = warnings.filter_map(|warning| warning.as_str());
    // How busy the machine is at the moment is no matter of the plan, nor are so few users.
    let others = [
        "lgoose itself was the bottleneck",
        "(coordinated omission)",
        "no user plays",
    ];
    let mut matter = warnings.filter(|warning| !others.iter().any(|text| warning.contains(text)));
    assert_eq!(matter.next(), None, "{plan}");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn every_plan_and_example_runs_without_a_failure() {
    let elsewhere = |plan: &String| ELSEWHERE.iter().any(|(known, _)| known == plan);
    let mut plans = [plans_below("plans"), plans_below("examples")].concat();
    plans.retain(|plan| !elsewhere(plan));
    assert!(plans.len() > 20, "{plans:?}");
    for some in plans.chunks(AT_ONCE) {
        let running: Vec<_> = some.iter().map(|plan| (plan, start(plan))).collect();
        for (plan, run) in running {
            judge(plan, run);
        }
    }
}

#[test]
fn plans_that_are_run_elsewhere_exist_and_so_do_their_tests() {
    for (plan, test) in ELSEWHERE {
        assert!(in_repository(plan).is_file(), "{plan}");
        assert!(in_repository(test).is_file(), "{test}");
    }
}

#[test]
fn an_example_is_short_and_says_what_it_shows_and_how_to_run_it() {
    for plan in plans_below("examples") {
        let text = std::fs::read_to_string(in_repository(&plan)).expect("it can be read");
        let lines = text.lines().count();
        assert!((10..=45).contains(&lines), "{plan} has {lines} lines");
        assert!(
            text.starts_with("-- Shows "),
            "{plan} does not say what it shows"
        );
        let last = text.lines().last().unwrap_or_default();
        let command = last.strip_prefix("-- lgoose ").unwrap_or_default();
        let named = command.split(' ').next().map(Path::new);
        assert_eq!(
            named,
            Some(Path::new(&plan)),
            "{plan} does not end with its command"
        );
    }
}
