//! Checks, metrics and transactions in a whole run: the report of all users, and the tables.

use crate::program::Lgoose;
use crate::report::iterate;
use crate::server::Server;
use serde_json::json;

#[test]
fn the_report_holds_what_the_users_of_all_threads_measured() {
    let server = Server::start();
    let report = iterate("tests/lua/measures.lua", &server, 3, 2);
    assert_eq!(report.task("browse"), (6, 0), "{:?}", report.errors());
    assert_eq!(report.sent(), server.received());
    assert_eq!(
        report.json["checks"],
        json!([
            { "name": "the page is there", "passes": 6, "failures": 0 },
            { "name": "never the second time", "passes": 3, "failures": 3 },
        ])
    );
    let metric = |name: &str| {
        let rows = report.json["metrics"].as_array().expect("a list");
        let mut found = rows.iter().filter(|row| row["name"] == name);
        found.next().expect("it was used").clone()
    };
    assert_eq!(metric("visits")["value"], 6.0);
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
        "Metrics",
        "Counters",
        "   look around",
    ] {
        assert!(
            ended.stdout.contains(text),
            "'{text}' is missing in\n{}",
            ended.stdout
        );
    }
}
