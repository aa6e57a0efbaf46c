//! Thresholds in whole runs: the exit code, the end of a run, and the output on the screen and in JSON.

use crate::program::{Lgoose, plan};
use crate::report::{Report, read, run};
use crate::server::Server;
use serde_json::{Value, json};

/// A plan of two users with two iterations each: a page with a check and a metric, and one that fails.
const PAGES: &str = "local size = metric.trend \"size\"\ntask { function(user)\n  local page = user:get(\"/a\", { name = \"page\" })\n  \
     check(page.ok, \"whole\")\n  size:add(12)\n  user:get(\"/status/503\", { name = \"gone\" })\nend }";

fn judged(name: &str, declared: &str, flags: &[&str]) -> Report {
    let server = Server::start();
    let url = server.url();
    let path = plan(name, &format!("{declared}\n{PAGES}"));
    let usual = [
        path.as_str(),
        "-H",
        &url,
        "-u",
        "2",
        "-r",
        "1000",
        "-i",
        "2",
    ];
    run(usual.iter().chain(flags))
}

/// Returns each as `NAME: THRESHOLD: PASSED`.
fn verdicts(report: &Report) -> Vec<String> {
    let rows = report.json["thresholds"].as_array().expect("a list");
    let shown = |row: &Value| {
        let name = row["name"].as_str().unwrap_or("all");
        format!(
            "{name}: {}: {}",
            row["threshold"].as_str().unwrap_or("?"),
            row["passed"]
        )
    };
    rows.iter().map(shown).collect()
}

#[test]
fn thresholds_that_hold_leave_the_exit_code_alone() {
    let declared = "plan { thresholds = {\n  \"p99.9 < 30s\", \"failures <= 50%\", \"count >= 8\", \"checks >= 100%\",\n  \
         [\"GET page\"] = { \"failures < 1\", \"max < 30s\" }, page = \"count <= 4\", size = \"max <= 12\",\n  \
         checks = \"rate > 99%\", whole = { \"failures < 1%\", abort = true },\n} }";
    let report = judged("thresholds_hold.lua", declared, &[]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(
        verdicts(&report),
        [
            "all: p99.9 < 30s: true",
            "all: failures <= 50%: true",
            "all: count >= 8: true",
            "all: checks >= 100%: true",
            "GET page: failures < 1: true",
            "GET page: max < 30s: true",
            "checks: rate > 99%: true",
            "page: count <= 4: true",
            "size: max <= 12: true",
            "whole: failures < 1% abort: true",
        ]
    );
    assert_eq!(
        report.json["thresholds"][1],
        json!({ "threshold": "failures <= 50%", "name": null, "value": 50.0, "limit": 50.0, "unit": "%",
                "passed": true, "broken_s": null,
                "subject": { "kind": "requests", "name": null, "scenarios": [] } })
    );
}

#[test]
fn a_broken_threshold_makes_the_exit_code_1_and_is_shown() {
    let report = judged(
        "threshold_broken.lua",
        "",
        &[
            "--threshold",
            "GET gone: failures < 10%",
            "--threshold",
            "count > 0",
        ],
    );
    assert_eq!(report.ended.code, 1);
    assert_eq!(
        verdicts(&report),
        ["GET gone: failures < 10%: false", "all: count > 0: true"]
    );
    assert_eq!(
        report.ended.stderr,
        "error: the threshold 'GET gone: failures < 10%' is broken: 100%\n"
    );
}

#[test]
fn a_name_that_never_fired_has_no_data_and_fails() {
    let report = judged(
        "threshold_no_data.lua",
        "plan { thresholds = { [\"GET pgae\"] = \"p95 < 30s\" } }",
        &[],
    );
    assert_eq!(report.ended.code, 1);
    assert_eq!(report.json["thresholds"][0]["value"], Value::Null);
    assert_eq!(
        report.ended.stderr,
        "error: the threshold 'GET pgae: p95 < 30s' has no data\n"
    );
    let warnings = report.json["warnings"].to_string();
    assert!(warnings.contains("did you mean 'GET page'?"), "{warnings}");
}

#[test]
fn thresholds_of_the_command_line_replace_the_plans() {
    let declared = "plan { thresholds = \"failures < 1%\" }";
    let report = judged(
        "threshold_override.lua",
        declared,
        &["--threshold", "failures < 99%"],
    );
    assert_eq!(
        (report.ended.code, verdicts(&report)),
        (0, vec!["all: failures < 99%: true".to_owned()])
    );
}

#[test]
fn the_screen_shows_figure_and_limit_of_each() {
    let server = Server::start();
    let path = plan("threshold_screen.lua", PAGES);
    let ended = Lgoose::new([
        path.as_str(),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
        "--threshold",
        "failures < 1%",
        "--threshold",
        "whole: checks > 0%",
    ])
    .finish();
    assert_eq!(ended.code, 1);
    for line in ["✗ failures", "✓ whole: checks"] {
        assert!(
            ended
                .stdout
                .lines()
                .any(|shown| shown.starts_with(&format!(" {line}"))),
            "{}",
            ended.stdout
        );
    }
    assert!(ended.stdout.contains("< 1%   50.0%"), "{}", ended.stdout);
}

#[test]
fn abort_stops_the_run_in_order_once_its_time_has_come() {
    let server = Server::start();
    let text = "plan { thresholds = { { \"failures < 10%\", abort = true, after = \"500ms\" } } }\nscenario { \"s\",\n  \
         task { wait = 0.01, function(user) user:get \"/status/500\" end },\n  \
         task { on_stop = true, function(user) user:get \"/bye\" end },\n}";
    let path = plan("threshold_abort.lua", text);
    let report = run([
        path.as_str(),
        "-H",
        &server.url(),
        "-u",
        "2",
        "-r",
        "1000",
        "-t",
        "1h",
    ]);
    assert_eq!(report.ended.code, 1);
    let row = &report.json["thresholds"][0];
    assert_eq!(
        (&row["passed"], &row["value"]),
        (&json!(false), &json!(100.0))
    );
    assert!(row["broken_s"].as_f64() >= Some(0.5), "{row}");
    assert_eq!(server.count("GET /bye"), 2, "on_stop ran");
    assert_eq!(report.sent(), server.received());
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("the threshold 'failures < 10% abort after 0.5s' was broken"),
        "{warnings}"
    );
}

#[test]
fn a_bad_stretch_breaks_a_run_that_is_good_as_a_whole() {
    let server = Server::start();
    let text = "task { wait = 0.01, function(user)\n  local bad = user.iteration > 100 and user.iteration < 200\n  \
                user:get(bad and \"/status/500\" or \"/\")\nend }";
    let path = plan("threshold_during.lua", text);
    let report = run([
        path.as_str(),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "400",
        "--threshold",
        "failures < 40%",
        "--threshold",
        "failures < 40% during 1s abort",
    ]);
    assert_eq!(report.ended.code, 1);
    let row = &report.json["thresholds"][1];
    assert_eq!(row["passed"], json!(false));
    assert!(row["value"].as_f64() >= Some(40.0), "{row}");
    assert!(report.total("count") < 400, "it was stopped");
}

#[test]
fn looking_at_a_plan_once_judges_nothing() {
    let server = Server::start();
    let path = plan(
        "threshold_once.lua",
        &format!("plan {{ thresholds = {{ \"count > 1000\" }} }}\n{PAGES}"),
    );
    let ended =
        Lgoose::new([path.as_str(), "-H", &server.url(), "--once", "-o", "json=-"]).finish();
    let report = read(ended);
    assert_eq!((report.ended.code, verdicts(&report)), (0, Vec::new()));
    let told =
        "no verdict: one iteration ('--once') is too little to judge by; 1 of 2 requests failed";
    assert_eq!(report.json["verdict"]["text"], told);
}

#[test]
fn a_mistake_on_the_command_line_is_marked_at_its_place() {
    for (text, lines) in [
        (
            "GET /: p95 < 300sec",
            "unknown unit 'sec'; there are us, ms, s, % and /s, and for bytes KB, MB and GB\n\n  GET /: p95 < 300sec\n                  ^^^\n",
        ),
        (
            "fialures < 1%",
            "unknown figure 'fialures'; did you mean 'failures'?\n\n  fialures < 1%\n  ^^^^^^^^\n",
        ),
        (
            "count < 3 after 5s",
            "give one of them too\n\n  count < 3 after 5s\n  ^^^^^^^^^^^^^^^^^^\n",
        ),
    ] {
        let ended = Lgoose::new(["plans/drupal.lua", "--threshold", text]).finish();
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{text}");
        assert!(ended.stderr.contains(lines), "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains("--threshold"), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("write FIGURE < LIMIT"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn iterations_have_durations_and_limits_of_all_and_of_a_scenario() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "thresholds_iterations.lua",
        "scenario { 'quick', wait = 0.2, task { function(user) user:get '/' end } }
         scenario { 'slow', thresholds = { iterations = 'min > 50ms' },
           task { function(user) user:get '/' user:wait(0.06) end } }",
    );
    let limits = [
        "iterations: count >= 6",
        "scenario=slow, iterations: p50 < 40ms",
    ];
    let with = |limit: &str| {
        run([
            &path,
            "-H",
            &url,
            "-u",
            "2",
            "-i",
            "3",
            "--threshold",
            limit,
        ])
        .json["thresholds"][0]
            .clone()
    };
    let rows = limits.map(with);
    assert_eq!(
        (&rows[0]["value"], &rows[0]["passed"]),
        (&json!(6.0), &json!(true))
    );
    assert!(
        rows[1]["value"].as_f64() > Some(55.0) && rows[1]["passed"] == json!(false),
        "{rows:?}"
    );
    let report = run([&path, "-H", &url, "-u", "2", "-i", "3"]).json;
    assert_eq!(
        report["thresholds"][0]["passed"], true,
        "{}",
        report["thresholds"]
    );
    let took = |at: usize| report["scenarios"][at]["iteration_ms"]["p50"].as_f64();
    assert!(
        took(0) < Some(100.0),
        "the pause after a task is no part: {:?}",
        took(0)
    );
    assert!(
        took(1) > Some(55.0)
            && report["tasks"]
                .as_array()
                .is_some_and(|rows| rows.len() == 2)
    );
}

#[test]
fn phases_and_bytes_have_thresholds_of_their_own() {
    let declared = "plan { thresholds = {\n  \"first_byte p95 < 30s\", \"bytes > 0.01KB\", \"bytes < 1GB/s\",\n  \
         [\"GET page\"] = { \"receive max < 30s\", \"connect max < 30s during 1s\" }, [\"GET gone\"] = \"tls p95 < 30s\",\n} }";
    let report = judged("thresholds_phases.lua", declared, &[]);
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
    assert_eq!(
        verdicts(&report),
        [
            "all: first_byte p95 < 30s: true",
            "all: bytes > 0.01KB: true",
            "all: bytes < 1GB/s: true",
            "GET gone: tls p95 < 30s: false",
            "GET page: receive max < 30s: true",
            "GET page: connect max < 30s during 1s: true",
        ]
    );
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("no request had a phase 'tls'"),
        "{warnings}"
    );
}
