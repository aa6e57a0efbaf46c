//! `lgoose import` of a page whose scripts ask for several things at once: the plan asks for them at once, too.

use crate::import::imported;
use crate::program::plan;
use crate::report::run;
use crate::server::Server;
use serde_json::{Value, json};

const TICKET: &str = "550e8400-e29b-41d4-a716-446655440000";

/// What a browser has recorded on a site: three calls that were there together, others beside them, and what came of them.
fn recording(site: &str) -> String {
    let entry = |kind: &str, path: &str, begin: u32, took: u32, text: &str| {
        json!({
            "startedDateTime": format!("2026-05-04T10:00:00.{begin:03}Z"), "time": took, "_resourceType": kind,
            "request": { "method": "GET", "url": format!("{site}{path}"), "headers": [] },
            "response": {
                "status": 200, "headers": [],
                "content": { "mimeType": if text.starts_with('{') { "application/json" } else { "text/html" }, "text": text },
            },
        })
    };
    let changed = |mut entry: Value, part: &str, value: Value| {
        entry[part] = value;
        entry
    };
    let ticket = json!({ "ticket": TICKET }).to_string();
    let post = json!({
        "method": "POST", "url": format!("{site}/echo"), "headers": [],
        "postData": { "mimeType": "application/json", "text": "{\"n\":1}" },
    });
    let hop = json!({ "status": 302, "headers": [], "redirectURL": "/redirect/0", "content": {} });
    let gone = json!({ "status": 0, "headers": [], "content": {} });
    let missing = json!({ "status": 404, "headers": [], "content": {} });
    let entries = [
        entry("document", "/page", 0, 100, "<title>/page</title>"),
        entry("xhr", "/meet/3?a", 110, 300, "{}"),
        changed(entry("fetch", "/echo", 120, 300, "{}"), "request", post),
        entry("xhr", "/meet/3?b", 130, 300, &ticket),
        changed(entry("xhr", "/redirect/1", 140, 20, ""), "response", hop),
        changed(entry("xhr", "/aborted", 141, 20, ""), "response", gone),
        entry("xhr", "/meet/3?a", 150, 300, "{}"),
        entry("xhr", "/redirect/0", 161, 200, "arrived"),
        changed(
            entry("xhr", "/status/404", 165, 20, ""),
            "response",
            missing,
        ),
        entry("fetch", &format!("/last?ticket={TICKET}"), 600, 100, ""),
    ];
    plan(
        "side_by_side.har",
        &json!({ "log": { "entries": entries } }).to_string(),
    )
}

#[test]
fn calls_that_a_page_sent_side_by_side_go_side_by_side() {
    let site = Server::start();
    let (path, text, told) = imported(&recording(&site.url()), "imported_batch.lua");
    assert_eq!(text.matches("user:batch {").count(), 1, "{text}");
    for part in [
        "{ method = \"POST\", path = \"/echo\", json = { n = 1 }, expect = { status = 200 } },",
        "{ path = \"/redirect/1\", expect = { status = 200 } },",
        "{ path = \"/status/404\", expect = { status = 404 } },",
        "local ticket = answers[3]:ensure():json().ticket",
        "user:get(\"/last?ticket=\" .. ticket",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(
        told.starts_with("note: left out 1 request without an answer")
            && told.contains("/aborted")
            && told.lines().count() == 1,
        "{told}"
    );
    // '/meet/3' answers nobody before three are there: one after another they would wait without end.
    let load = ["-u", "2", "-r", "1000", "-i", "3", "--wait-factor", "0"];
    let report = run([path.as_str()].into_iter().chain(load));
    assert_eq!(
        (report.total("failures"), report.task_failures()),
        (0, 0),
        "{text}\n{:?}",
        report.errors()
    );
    let requests = site.requests();
    for (request, times) in [
        ("GET /meet/3?a", 12),
        ("GET /meet/3?b", 6),
        ("POST /echo", 6),
        ("GET /redirect/1", 6),
        ("GET /redirect/0", 6),
        ("GET /status/404", 6),
        ("GET /aborted", 0),
    ] {
        assert_eq!(site.count(request), times, "{request} in {requests:?}");
    }
    let mut sent: Vec<&String> = requests
        .iter()
        .filter(|request| request.starts_with("GET /last?ticket=ticket-"))
        .collect();
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), 6, "each visit sends its own: {requests:?}");
}
