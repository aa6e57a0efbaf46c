//! Checks, metrics and transactions in whole runs: the report of all users, and the tables.

use crate::program::{Lgoose, plan};
use crate::report::{iterate, run};
use crate::server::Server;
use serde_json::{Value, json};

#[test]
fn the_report_holds_what_the_users_of_all_threads_measured() {
    let server = Server::start();
    let report = iterate("tests/lua/measures.lua", &server, 3, 2);
    assert_eq!(report.task("browse"), (6, 0), "{:?}", report.errors());
    assert_eq!(report.sent(), server.received());
    let mut checks = report.json["checks"].clone();
    let firsts = [0, 1].map(|at| checks[at]["first_failed_s"].take());
    assert!(firsts[0].is_null() && firsts[1].is_number(), "{firsts:?}");
    assert_eq!(
        checks,
        json!([
            { "name": "the page is there", "passes": 6, "failures": 0, "first_failed_s": null },
            { "name": "never the second time", "passes": 3, "failures": 3, "first_failed_s": null },
        ])
    );
    let metric = |name: &str| {
        let rows = report.json["metrics"].as_array().expect("a list");
        let mut found = rows.iter().filter(|row| row["name"] == name);
        found.next().expect("it was used").clone()
    };
    assert_eq!(metric("visits")["value"], 18.0);
    let held = report.json["thresholds"].as_array().expect("a list");
    assert_eq!(held.len(), 2);
    for threshold in held {
        assert_eq!(threshold["passed"], true, "{threshold}");
    }
    for (name, value) in [
        ("visits{first=true, kind=page}", 6.0),
        ("visits{first=false, kind=page}", 6.0),
    ] {
        assert_eq!(metric(name)["value"], value, "{name}");
    }
    assert_eq!(metric("visits")["kind"], "counter");
    assert_eq!(
        (&metric("depth")["min"], &metric("depth")["max"]),
        (&json!(1.0), &json!(2.0))
    );
    assert_eq!(metric("fresh")["value"], 0.5);
    let length = metric("length");
    assert!(length["value"].as_f64() > Some(100.0), "{length}");
    assert_eq!(length["p50"], length["max"], "every page is the same");
}

#[test]
fn transactions_are_rows_beside_the_tasks() {
    let server = Server::start();
    let report = iterate("tests/lua/measures.lua", &server, 3, 2);
    assert_eq!(report.task("look around"), (6, 0), "{:?}", report.errors());
    assert_eq!(report.task("break off"), (6, 6));
    assert_eq!(report.errors_with("broken off"), 6, "{:?}", report.errors());
    let rows = report.json["tasks"].as_array().expect("a list");
    for row in rows {
        assert_eq!(row["scenario"], "default");
    }
    assert_eq!(rows[0]["name"], "browse", "tasks come first");
    let slowest = rows[1]["latency_ms"]["max"].as_f64();
    assert!(slowest >= Some(1.0), "the wait is part of it: {slowest:?}");
}

/// Twelve iterations of one user, of which the eleventh waits for a second.
const STALL: &str = "task { \"page\", function(user)\n  user:get(user.iteration == 11 and \"/delay/1000\" or \"/delay/10\")\nend }";

#[test]
fn what_a_stall_kept_a_user_from_is_filled_in_beside_what_was_measured() {
    let server = Server::start();
    let path = plan("stall.lua", STALL);
    let url = server.url();
    let usual = [path.as_str(), "-H", &url, "-u", "1", "-i", "12"];
    let report = run(usual.iter().chain(&["--co-mitigation", "average"]));
    assert_eq!(
        (report.count("GET page"), server.received()),
        (12, 12),
        "{:?}",
        report.errors()
    );
    let filled = &report.json["co_mitigation"];
    assert_eq!(filled["cadence"], "average");
    assert!(filled["late_cycles"].as_u64() >= Some(1), "{filled}");
    let row = &filled["requests"][0];
    assert_eq!(
        (&row["method"], &row["name"]),
        (&json!("GET"), &json!("page"))
    );
    let number = |value: &Value| {
        value
            .as_u64()
            .unwrap_or_else(|| panic!("a number in {filled}"))
    };
    assert!(number(&row["filled"]) >= 1);
    assert_eq!(number(&row["count"]), 12 + number(&row["filled"]));
    let median = |row: &Value| row["latency_ms"]["p50"].as_f64();
    assert!(
        median(row) > median(&report.json["requests"][0]),
        "{filled}"
    );
    assert_eq!(filled["aggregated"]["filled"], row["filled"]);

    let path = plan(
        "stall_of_plan.lua",
        &format!("plan {{ co_mitigation = \"maximum\" }}\n{STALL}"),
    );
    let ended = Lgoose::new([
        path.as_str(),
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "12",
        "--summary",
        "full",
    ])
    .finish();
    for text in [
        "Coordinated omission",
        "over twice the longest",
        " filled in ",
    ] {
        assert!(
            ended.stdout.contains(text),
            "'{text}' is missing in\n{}",
            ended.stdout
        );
    }
}

#[test]
fn nothing_is_filled_in_unless_it_is_asked_for() {
    let server = Server::start();
    let path = plan(
        "no_stall.lua",
        "task { \"page\", function(user) user:get \"/\" end }",
    );
    let url = server.url();
    let usual = [path.as_str(), "-H", &url, "-u", "1", "-i", "3"];
    assert_eq!(run(usual).json["co_mitigation"], Value::Null);
    let off = run(usual.iter().chain(&["--co-mitigation", "disabled"]));
    assert_eq!(off.json["co_mitigation"], Value::Null);
    let ended = Lgoose::new(usual.iter().chain(&["--co-mitigation", "median"])).finish();
    assert_eq!(ended.code, 2);
    let words = "'median' is not a cadence: write 'average', 'minimum', 'maximum' or 'disabled'";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
}

#[test]
fn the_tables_show_checks_and_metrics() {
    let server = Server::start();
    let url = server.url();
    let arguments = [
        "tests/lua/measures.lua",
        "-H",
        &url,
        "-u",
        "3",
        "-r",
        "1000",
        "-i",
        "2",
    ];
    let ended = Lgoose::new(arguments).finish();
    for text in [
        "✓ the page is there",
        "✗ never the second time",
        "50.0%",
        "Custom metrics",
        "counter: the sum",
        "   look around",
    ] {
        assert!(
            ended.stdout.contains(text),
            "'{text}' is missing in\n{}",
            ended.stdout
        );
    }
}
