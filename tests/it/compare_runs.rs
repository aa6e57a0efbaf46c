//! `lgoose compare` with a plan: it is run as often as is wanted, against two sites in turn or beside older reports.

use crate::program::{
    Ended, Lgoose, empty_folder, exit_code, process_id, signal, unread, wait_until,
};
use crate::report::saved;
use crate::server::Server;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const PLAN: &str = "task { 'front', function(user) user:get '/' end }";

/// Options of runs of two seconds at forty requests a second.
const SHORT: [&str; 8] = [
    "--rate",
    "40",
    "--max-users",
    "40",
    "-t",
    "2s",
    "--warmup",
    "500ms",
];

/// Creates the empty folder of one test, with the plan in it.
fn folder(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    fs::write(folder.join("plan.lua"), PLAN).expect("the folder takes a file");
    folder
}

/// Compares within a folder, with short runs against `host`.
fn compare(folder: &Path, arguments: &[&str], host: &str) -> Ended {
    let options = ["--", "-H", host].into_iter().chain(SHORT);
    let all = ["compare"].into_iter().chain(arguments.iter().copied());
    Lgoose::new(all.chain(options)).within(folder).finish()
}

#[test]
fn a_plan_is_run_against_two_sites_in_turn_and_the_reports_are_kept() {
    let folder = folder("compare_against");
    let (before, after) = (Server::start(), Server::start());
    let url = after.url();
    let arguments = [
        "plan.lua",
        "--against",
        &url,
        "--repeat",
        "2",
        "--keep",
        "runs",
        "-o",
        "json=c.json",
        "--anyway",
    ];
    let ended = compare(&folder, &arguments, &before.url());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let turns: Vec<&str> = ended
        .stderr
        .lines()
        .filter_map(|line| {
            line.strip_prefix("run ")?
                .split_once(": http")?
                .0
                .split_once(", ")
        })
        .map(|(_, side)| side)
        .collect();
    assert_eq!(
        turns,
        ["before", "after", "after", "before"],
        "{}",
        ended.stderr
    );
    let json = saved(&folder.join("c.json"));
    let mut seeds = Vec::new();
    for (side, server) in [("before", &before), ("after", &after)] {
        let mut asked = 0;
        for number in [1, 2] {
            let file = format!("runs/{side}-{number}.json");
            let report = saved(&folder.join(&file));
            assert_eq!(report["host"], server.url().as_str());
            assert_eq!(json[side][number - 1]["file"], file.as_str());
            assert_eq!(
                json[side][number - 1]["requests"],
                report["aggregated"]["count"]
            );
            let warmup = &report["warmup"]["aggregated"]["count"];
            asked += [&report["aggregated"]["count"], warmup]
                .map(|count| count.as_u64().unwrap_or(0))
                .iter()
                .sum::<u64>();
            seeds.push(report["seed"].clone());
        }
        assert_eq!(server.received(), asked, "{side}");
    }
    assert!(
        seeds.iter().all(|seed| *seed == seeds[0]),
        "all runs make the same choices: {seeds:?}"
    );
    let schema = crate::program::in_repository("schema/comparison.schema.json");
    let schema: Value =
        serde_json::from_str(&fs::read_to_string(schema).expect("it is checked in")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let problems: Vec<String> = validator
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(problems, Vec::<String>::new());
    let again = compare(&folder, &arguments, &before.url());
    assert_eq!(again.code, 2);
    assert!(
        again
            .stderr
            .contains("'runs/before-1.json' is there already"),
        "{}",
        again.stderr
    );
}

#[test]
fn runs_of_a_plan_are_compared_with_older_reports() {
    let folder = folder("compare_older");
    let site = Server::start();
    let first = ["plan.lua", "-o", "json=before.json", "-q", "-H"];
    let url = site.url();
    let all = first.into_iter().chain([url.as_str()]).chain(SHORT);
    let ended = Lgoose::new(all).within(&folder).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let ended = compare(
        &folder,
        &[
            "before.json",
            "plan.lua",
            "--repeat",
            "2",
            "-o",
            "json=-",
            "--anyway",
        ],
        &url,
    );
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let json: Value = serde_json::from_str(&ended.stdout).expect("nothing but JSON");
    let files = |side: &str| -> Vec<String> {
        let runs = json[side].as_array().expect("runs");
        runs.iter()
            .map(|run| run["file"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(files("before"), ["before.json"]);
    assert_eq!(files("after"), ["after-1", "after-2"]);
    let reasons = json["reasons"].to_string();
    assert!(
        !reasons.contains("seed") && !reasons.contains("loads"),
        "the runs keep to the first: {reasons}"
    );
}

#[test]
fn a_run_that_is_stopped_ends_the_comparison() {
    let folder = folder("compare_stopped");
    let site = Server::start();
    let url = site.url();
    let options = [
        "compare",
        "plan.lua",
        "--repeat",
        "3",
        "--",
        "-H",
        &url,
        "-u",
        "1",
        "-t",
        "50s",
        "--throttle-requests",
        "20",
    ];
    for signal in [Signal::INT, Signal::HUP] {
        let running = Lgoose::new(options).within(&folder).start();
        let before = site.received();
        wait_until("the first run is on its way", || {
            site.received() > before + 2
        });
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, 130, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("nothing is compared"),
            "{}",
            ended.stderr
        );
        assert!(!ended.stderr.contains("run 2 of 6"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn a_signal_ends_a_comparison_that_nobody_reads() {
    let folder = folder("compare_unread");
    let site = Server::start();
    // Enough rows to fill a pipe.
    let many = "task { function(user) for n = 1, 100 do user:get('/' .. n) end end }";
    fs::write(folder.join("many.lua"), many).expect("the folder takes a file");
    let (plan, runs) = (folder.join("many.lua"), folder.join("runs"));
    let (plan, runs) = [&plan, &runs]
        .map(|path| path.to_str().expect("a plain path"))
        .into();
    let url = site.url();
    let mut child = unread(&[
        "compare",
        plan,
        "--repeat",
        "1",
        "--against",
        &url,
        "--keep",
        runs,
        "-o",
        "json=-",
        "--",
        "-H",
        &url,
        "-i",
        "1",
    ]);
    let kept = folder.join("runs/after-1.json");
    wait_until("all runs are over", || saved_whole(&kept));
    signal(process_id(&child), Signal::INT);
    assert_eq!(exit_code(&mut child), Some(130));
}

/// Returns whether a report is there as a whole.
fn saved_whole(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| serde_json::from_str::<Value>(&text).is_ok())
}

#[test]
fn what_cannot_be_run_is_told_before_anything_is_sent() {
    let folder = folder("compare_unfit");
    let site = Server::start();
    let url = site.url();
    fs::write(folder.join("a.json"), "{}").expect("the folder takes a file");
    fs::write(folder.join("other.lua"), PLAN).expect("the folder takes a file");
    let wrong = "task { wieght = 1, function() end }";
    fs::write(folder.join("wrong.lua"), wrong).expect("the folder takes a file");
    for (arguments, words) in [
        (&["plan.lua"][..], "'--against URL'"),
        (&["plan.lua", "other.lua"], "are two plans"),
        (&["plan.lua", "a.json"], "stands before or among reports"),
        (
            &["a.json", "plan.lua", "--against", &url],
            "both say what to compare with",
        ),
        (
            &["plan.lua", "--repeat", "0"],
            "'0' is not a whole number of at least 1",
        ),
        (&["a.json", "a.json"], "'--' is for runs of a plan"),
        (
            &["nix.lua", "--repeat", "2"],
            "cannot read the plan 'nix.lua'",
        ),
        (
            &["wrong.lua", "--repeat", "2", "--keep", "runs"],
            "unknown field 'wieght'",
        ),
    ] {
        let ended = compare(&folder, arguments, &url);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(words),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
    for (options, words) in [
        (&["--once"][..], "one iteration says nothing"),
        (&["-o", "json=x"], "before '--'"),
        (&["--request-log", "x.csv"], "each run would write over it"),
        (
            &["--uesrs", "3"],
            "the options of the runs, after '--': unexpected argument '--uesrs'",
        ),
    ] {
        let all = ["compare", "plan.lua", "--repeat", "2", "--", "-H", &url];
        let ended = Lgoose::new(all.iter().chain(options).copied())
            .within(&folder)
            .finish();
        assert_eq!(ended.code, 2, "{options:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(words),
            "{options:?}: {}",
            ended.stderr
        );
    }
    assert!(!folder.join("runs").exists(), "a mistake leaves nothing");
    assert_eq!(site.received(), 0);
}
