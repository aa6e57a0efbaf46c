//! Real runs compared with the table of endings, `crates/report/src/golden/endings.txt`: their ends, exit codes and verdicts
//! are those of its lines, whose numbers may differ.

use crate::program::{Ended, Lgoose, Running, in_repository, plan, scratch, wait_until};
use crate::report::{Report, read};
use crate::server::Server;
use regex::Regex;

/// A task that succeeds.
const FINE: &str = "task { \"front page\", wait = 0.01, function(user) user:get \"/\" end }";

/// Thresholds that hold and thresholds that do not, on any machine.
const LOOSE: [&str; 2] = ["--threshold", "p95 < 30000ms"];
const TIGHT: [&str; 2] = ["--threshold", "p95 < 0.001ms"];
const ABORTING: [&str; 2] = ["--threshold", "p95 < 0.001ms abort"];

const SHORT: [&str; 2] = ["-t", "200ms"];
const LONG: [&str; 2] = ["-t", "100s"];

/// Replaces each number in a text by `N`, each separate unit of time by `T`, and a line of a plan by `PLACE`.
fn without_figures(text: &str) -> String {
    let text = Regex::new(r"\([^ ()]*\.lua:\d+\)")
        .expect("a pattern")
        .replace_all(text, "(PLACE)");
    let text = Regex::new(r"\d+(\.\d+)?")
        .expect("a pattern")
        .replace_all(&text, "N");
    let text = Regex::new(r"N (µs|ms|s)\b")
        .expect("a pattern")
        .replace_all(&text, "N T");
    text.into_owned()
}

/// Returns the line with that name in the table.
fn wanted(name: &str) -> String {
    let path = in_repository("crates/report/src/golden/endings.txt");
    let table = std::fs::read_to_string(path).expect("it is checked in");
    let start = format!("{name} | ");
    let line = table.lines().find(|line| line.starts_with(&start));
    line.unwrap_or_else(|| panic!("the table has no line '{name}'"))
        .to_owned()
}

/// Asserts that a run ended as the line with that name says.
fn assert_ended(name: &str, ended: Ended) -> Report {
    let report = read(ended);
    let (ending, verdict) = (&report.json["ending"], &report.json["verdict"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
    let line = format!(
        "{name} | {} | {} | {} | {}",
        report.ended.code,
        text(&ending["cause"]),
        text(&ending["text"]),
        text(&verdict["text"])
    );
    // What ended the first user is not in the table.
    let line = match line.rsplit_once("'on_start': ") {
        Some((start, why)) => {
            assert!(why.contains("no login"), "{why}");
            format!("{start}'on_start'")
        }
        None => line,
    };
    // Nor is the error of the first run of a task that always fails.
    let line = match line.split_once(" runs: ") {
        Some((start, why)) => {
            assert!(why.starts_with("task front page: bad "), "{why}");
            let more = why.find(" (and ").map_or("", |at| &why[at..]);
            format!("{start} runs{more}")
        }
        None => line,
    };
    // The exit code is a figure, too.
    assert_eq!(verdict["exit_code"], report.ended.code, "{name}");
    let codes = [&line, &wanted(name)].map(|line| line.split(" | ").nth(1).map(str::to_owned));
    assert_eq!(codes[0], codes[1], "{name}: {}", report.ended.stderr);
    assert_eq!(
        without_figures(&line),
        without_figures(&wanted(name)),
        "{}",
        report.ended.stderr
    );
    report
}

/// Runs two users of a plan, started at once.
fn start(name: &str, source: &str, server: &Server, flags: &[&[&str]]) -> Running {
    let path = plan(
        &format!("ends_{}.lua", name.replace([' ', ','], "_")),
        source,
    );
    let url = server.url();
    let usual = [&path, "-H", &url, "-o", "json=-"];
    let at_rate = flags.iter().any(|flags| flags.contains(&"--rate"));
    let users: &[&str] = if at_rate {
        &[]
    } else {
        &["-u", "2", "-r", "1000"]
    };
    Lgoose::new(
        usual
            .iter()
            .chain(users)
            .chain(flags.iter().copied().flatten()),
    )
    .start()
}

fn ends(name: &str, source: &str, flags: &[&[&str]]) -> Report {
    let server = Server::start();
    let running = start(name, source, &server, flags);
    assert_ended(name, running.end())
}

/// Runs them and sends Ctrl-C once requests arrive.
fn interrupted(name: &str, source: &str, flags: &[&[&str]]) -> Report {
    let server = Server::start();
    let running = start(name, source, &server, flags);
    wait_until("requests arrive", || server.received() > 2);
    running.interrupt();
    assert_ended(name, running.end())
}

#[test]
fn when_the_time_is_up() {
    ends("time up", FINE, &[&SHORT]);
    ends("time up, thresholds hold", FINE, &[&SHORT, &LOOSE]);
    ends("time up, a threshold is broken", FINE, &[&SHORT, &TIGHT]);
    let some = "task { wait = 0.01, function(user) user:get \"/\" user:get \"/status/500\" end }";
    ends(
        "time up, fail-on-error, failures",
        some,
        &[&SHORT, &["--fail-on-error"]],
    );
    let none = "task { wait = 0.01, function(user) user:get \"/status/500\" end }";
    ends("time up, not one success", none, &[&SHORT]);
}

#[test]
fn when_a_task_always_fails() {
    let source =
        "task { \"front page\", wait = 0.01, function(user) user:get \"/\" error \"bad\" end }";
    let report = ends("time up, a task always failed", source, &[&SHORT]);
    let reason = report.json["verdict"]["reasons"][0]
        .as_str()
        .expect("a reason");
    assert!(
        reason.starts_with("the task 'front page' failed in all of its "),
        "{reason}"
    );
    let strict = ["--fail-on-error"];
    ends(
        "time up, fail-on-error, a task always failed",
        source,
        &[&SHORT, &strict],
    );
}

#[test]
fn when_test_stop_raises() {
    let source = format!("{FINE}\non(\"test_stop\", function() error \"no key\" end)");
    let report = ends("time up, test_stop raised", &source, &[&SHORT]);
    let remark = report.json["verdict"]["remarks"][0]
        .as_str()
        .expect("a remark");
    assert!(remark.starts_with("test_stop raised: no key ("), "{remark}");
    let strict = ["--fail-on-error"];
    ends(
        "time up, fail-on-error, test_stop raised",
        &source,
        &[&SHORT, &strict],
    );
}

#[test]
fn when_tasks_do_not_end() {
    let source = "task { function(user) user:get \"/\" user:get \"/hold\" end }";
    ends(
        "time up, tasks cut off",
        source,
        &[&SHORT, &["--stop-timeout", "100ms"]],
    );
}

#[test]
fn when_all_iterations_are_done() {
    ends("iterations done", FINE, &[&["-i", "2"]]);
    ends(
        "iterations done before the time",
        FINE,
        &[&["-i", "2"], &LONG, &LOOSE],
    );
}

#[test]
fn when_a_signal_stops_it() {
    interrupted("signal", FINE, &[&LONG]);
    interrupted("signal, no planned end, thresholds hold", FINE, &[&LOOSE]);
    let report = interrupted("signal, thresholds hold", FINE, &[&LONG, &LOOSE]);
    let told = &report.ended.stderr;
    assert!(
        told.contains("error: cut short (passed so far, stopped at "),
        "{told}"
    );
    interrupted(
        "signal, iterations planned, thresholds hold",
        FINE,
        &[&["-i", "1000000"], &LOOSE],
    );
    let name = "signal, thresholds hold, allow-short";
    interrupted(name, FINE, &[&LONG, &LOOSE, &["--allow-short"]]);
    let declared = format!("plan {{ allow_short = true }}\n{FINE}");
    interrupted(name, &declared, &[&LONG, &LOOSE]);
}

#[test]
fn when_a_signal_stops_it_before_anything_counts() {
    let warmup = ["--warmup", "50s"];
    let report = interrupted(
        "signal within the warm-up, thresholds",
        FINE,
        &[&LONG, &warmup, &TIGHT],
    );
    assert_eq!(
        report.json["thresholds"],
        serde_json::json!([]),
        "nothing was judged"
    );
    interrupted("signal within the warm-up", FINE, &[&LONG, &warmup]);
}

#[test]
fn when_a_signal_comes_in_test_start() {
    let server = Server::start();
    let source = format!(
        "on(\"test_start\", function(user) user:log \"it has begun\" user:wait(3600) end)\n\
         on(\"test_stop\", function(user) user:log \"and has ended\" end)\n{FINE}"
    );
    let name = "signal in test_start";
    let running = start(name, &source, &server, &[&LONG]);
    wait_until("test_start runs", || {
        running.stderr().contains("it has begun")
    });
    running.interrupt();
    let report = assert_ended(name, running.end());
    assert!(
        report.ended.stderr.contains("and has ended"),
        "{}",
        report.ended.stderr
    );
    assert_eq!(server.received(), 0, "no user was started");
}

#[test]
fn when_a_threshold_stops_it() {
    ends("a threshold with abort", FINE, &[&LONG, &ABORTING]);
    ends("a threshold with abort, no planned end", FINE, &[&ABORTING]);
}

#[test]
fn when_the_plan_ends_its_users() {
    let source = "task { function(user) user:get \"/\" user:stop() end }";
    ends(
        "the plan ended its users, thresholds hold",
        source,
        &[&LOOSE],
    );
    let name = "the plan ended its users before the time, thresholds hold";
    ends(name, source, &[&LONG, &LOOSE]);
}

#[test]
fn when_the_plan_stops_the_run() {
    let source = "task { function(user) user:get \"/\" run.stop \"the stock is sold out\" end }";
    ends(
        "run.stop, no planned end, thresholds hold",
        source,
        &[&LOOSE],
    );
    ends("run.stop", source, &[&LONG]);
    ends("run.stop, thresholds hold", source, &[&LONG, &LOOSE]);
    let allowed = ["--allow-short"];
    let name = "run.stop, thresholds hold, allow-short";
    ends(name, source, &[&LONG, &LOOSE, &allowed]);
    let source =
        format!("on(\"test_start\", function() run.stop \"the stock is sold out\" end)\n{FINE}");
    ends("run.stop in test_start", &source, &[&LONG]);
}

#[test]
fn when_the_plan_lets_the_run_fail() {
    let source = "task { function(user) user:get \"/\" run.fail \"prices differ\" end }\n\
        on(\"test_stop\", function() run.fail \"no stock\" end)";
    let report = ends("run.fail", source, &[&SHORT]);
    let reasons = serde_json::json!(["prices differ", "no stock"]);
    assert_eq!(report.json["verdict"]["reasons"], reasons);
    assert_eq!(report.json["ending"]["failed"], reasons);
    for reason in ["prices differ", "no stock"] {
        assert!(
            report.ended.stderr.contains(reason),
            "{}",
            report.ended.stderr
        );
    }
    ends("run.fail, thresholds hold", source, &[&SHORT, &LOOSE]);
}

#[test]
fn when_every_user_is_lost() {
    let source = format!(
        "task {{ on_start = true, function(user) user:get \"/\" error \"no login\" end }}\n{FINE}"
    );
    ends("every user lost", &source, &[&LONG]);
    ends(
        "every user lost, thresholds hold",
        &source,
        &[&LONG, &LOOSE],
    );
    let rate = ["--rate", "50/s"];
    ends(
        "time up at a rate, every user lost",
        &source,
        &[&SHORT, &LOOSE, &rate],
    );
}

#[test]
fn when_test_start_raises() {
    let source = format!("on(\"test_start\", function() error \"not ready\" end)\n{FINE}");
    ends("test_start raised", &source, &[&LONG]);
}

#[test]
fn when_it_is_aborted() {
    let source = "task { function(user) user:get \"/\" user:get \"/hold\" end }";
    for (name, flags) in [
        ("second Ctrl-C", &[][..]),
        ("second Ctrl-C, thresholds hold", &LOOSE),
    ] {
        let server = Server::start();
        let running = start(name, source, &server, &[&LONG, flags]);
        wait_until("both users hang", || server.count("GET /hold") == 2);
        running.interrupt();
        wait_until("the first Ctrl-C is told", || {
            running.stderr().contains("Ctrl-C again")
        });
        running.interrupt();
        assert_ended(name, running.end());
    }
}

#[test]
fn when_a_log_cannot_be_written() {
    let path = scratch("full.csv");
    let _fresh = std::fs::remove_file(&path);
    std::os::unix::fs::symlink("/dev/full", &path).expect("the scratch folder takes a link");
    let server = Server::start();
    let shown = path.display().to_string();
    let flags: [&[&str]; 3] = [&SHORT, &LOOSE, &["--request-log", &shown]];
    let report = read(start("full", FINE, &server, &flags).end());
    assert_eq!(report.ended.code, 3, "{}", report.ended.stderr);
    assert_eq!(report.json["verdict"]["result"], "failed");
    assert_eq!(report.json["verdict"]["exit_code"], 3);
    assert_eq!(report.json["ending"]["cause"], "time_up");
}

#[test]
fn a_saved_report_tells_the_verdict_of_its_run() {
    let server = Server::start();
    let path = plan("ends_saved.lua", FINE);
    let saved = scratch("ends_saved.json");
    let (url, output) = (server.url(), format!("json={}", saved.display()));
    let run = [
        &path, "-H", &url, "-u", "2", "-r", "1000", "-t", "100s", "-o", &output,
    ];
    let running = Lgoose::new(run.iter().chain(&LOOSE)).start();
    wait_until("requests arrive", || server.received() > 2);
    running.interrupt();
    let ended = running.end();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let shown = saved.display().to_string();
    let again = Lgoose::new(["report", &shown]).finish();
    assert_eq!(again.code, 0, "it could be shown");
    let verdict = |text: &str| {
        let at = text.rfind("\n verdict ").expect("it is told");
        text[at..].to_owned()
    };
    assert_eq!(verdict(&again.stdout), verdict(&ended.stdout));
    let markdown = Lgoose::new(["report", &shown, "-o", "md=-"])
        .finish()
        .stdout;
    assert!(markdown.starts_with("### ❌ failed"), "{markdown}");
    // A report of an lgoose that had no verdicts is judged by what it holds.
    let mut old: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&saved).expect("it was written"))
            .expect("JSON");
    let keys = old.as_object_mut().expect("a report");
    for key in ["ending", "verdict", "settings"] {
        keys.remove(key);
    }
    let earlier = scratch("ends_earlier.json");
    std::fs::write(&earlier, old.to_string()).expect("written");
    let shown = Lgoose::new(["report".to_owned(), earlier.display().to_string()]).finish();
    assert!(
        shown.stdout.contains("passed so far: 1 threshold held"),
        "{}",
        shown.stdout
    );
}

#[test]
fn the_settings_tell_what_decided_the_load() {
    let report = ends(
        "time up",
        FINE,
        &[
            &SHORT,
            &[
                "--wait-factor",
                "0.5",
                "--header",
                "Authorization: Bearer hidden",
            ],
        ],
    );
    let settings = &report.json["settings"];
    assert_eq!(settings["users"], 2);
    assert_eq!(settings["run_time"], "0.2s");
    assert_eq!(settings["wait_factor"], 0.5);
    assert_eq!(settings["headers"], serde_json::json!(["Authorization"]));
    assert_eq!(settings["plan_sha256"].as_str().map(str::len), Some(64));
    assert!(settings["machine"]["cores"].as_u64() > Some(0));
    assert!(!report.ended.stdout.contains("hidden"));
}
