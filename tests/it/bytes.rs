//! Strings of a plan that are not UTF-8: no failure with one is lost, and reports show its bytes.

use crate::report::iterate;
use crate::server::Server;

#[test]
fn bytes_that_are_no_text_are_shown_and_lose_no_failure() {
    let server = Server::start();
    let report = iterate("tests/lua/bytes.lua", &server, 1, 1);
    // Of the transaction that raises on purpose.
    assert_eq!(report.task_failures(), 1, "{}", report.errors().join("\n"));
    assert_eq!(report.sent(), server.received());
    assert_eq!(report.failures("GET verdict"), 1, "{:?}", report.errors());
    assert_eq!(report.messages_of("GET verdict"), ["caf\\xc3"]);
    assert_eq!(report.messages_of("GET number"), ["7"]);
    assert_eq!(report.count("GET request caf\\xc3"), 1);
    let names = |list: &str| {
        let rows = report.json[list].as_array().expect("a list").iter();
        let names = rows.filter_map(|row| row["name"].as_str().map(str::to_owned));
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("checks"), ["check caf\\xc3"]);
    assert_eq!(names("metrics"), ["metric caf\\xc3"]);
    let tasks = names("tasks");
    for name in ["task caf\\xc3", "transaction caf\\xc3", "failed caf\\xc3"] {
        assert!(tasks.iter().any(|task| task == name), "{name}: {tasks:?}");
    }
    let transaction = report.messages_of("task failed caf\\xc3");
    assert_eq!(transaction, ["caf\\xc3"], "{:?}", report.errors());
}
