//! WebSockets with servers that did not come from here: of the packages `websockets` and `hypercorn` of Python, the latter over
//! HTTP/2, and `ws` of npm. What they have received is what the report says. Without one its test says "skipped" and passes;
//! `WEBSOCKETS_PYTHON` names a Python that has both, `WEBSOCKETS_NODE` a folder where 'npm install ws' was called.

use crate::outside_server::{OutsideServer, found, python};
use crate::report::iterate_at;
use crate::secure::Authority;
use serde_json::{Value, json};

const PLAN: &str = "tests/websockets/judge.lua";
const ALL: &str = "PATHS=echo ping pieces close/1000 close/4321";
/// The codes with which each of them is closed.
const CODES: [u64; 5] = [3004, 3004, 3006, 1000, 4321];

/// Runs the plan against a server, and compares what both say.
fn judge(server: OutsideServer) {
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at(PLAN, &url, 1, 1, &["-e", ALL]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let rows = report.json["requests"].as_array().expect("rows");
    let sent = |row: &Value| row["messages"]["sent"].as_u64();
    let sent: u64 = rows.iter().filter_map(sent).sum();
    let [seen] = &server.finish()[..] else {
        panic!("it prints one line");
    };
    assert_eq!(seen["messages"], sent);
    assert_eq!(seen["codes"], json!(CODES));
}

#[test]
fn a_server_of_the_package_websockets_has_what_was_sent() {
    let python = python("WEBSOCKETS_PYTHON", "websockets");
    let skipped = [
        "WebSockets with the server 'websockets'",
        "a Python that has 'websockets', named by WEBSOCKETS_PYTHON",
    ];
    let script = "tests/websockets/server.py";
    let server = OutsideServer::start(&python, script, &["websockets"], skipped);
    let Some(server) = server else { return };
    judge(server);
}

#[test]
fn a_server_of_the_package_ws_has_what_was_sent() {
    let folder = found("WEBSOCKETS_NODE", "ws").unwrap_or_else(|| ".".to_owned());
    let skipped = [
        "WebSockets with the server 'ws'",
        "'npm install ws' in a folder that WEBSOCKETS_NODE names",
    ];
    let script = "tests/websockets/server.mjs";
    let server = OutsideServer::start("node", script, &[&folder], skipped);
    let Some(server) = server else { return };
    judge(server);
}

#[test]
fn a_server_of_the_package_hypercorn_has_what_was_sent_over_http_2() {
    let authority = Authority::new();
    let [cert, key] = authority.sign(&["127.0.0.1"]).files("hypercorn");
    let python = python("WEBSOCKETS_PYTHON", "websockets");
    let skipped = [
        "WebSockets over HTTP/2 with the server 'hypercorn'",
        "a Python that has 'hypercorn', named by WEBSOCKETS_PYTHON",
    ];
    let script = "tests/websockets/server.py";
    let server = OutsideServer::start(&python, script, &["hypercorn", &cert, &key], skipped);
    let Some(server) = server else { return };
    let url = format!("https://127.0.0.1:{}", server.port);
    let ca = authority.file("hypercorn_ca.pem");
    for more in [&["-e", "PAGE=/page"][..], &["--http", "2"]] {
        let all = [more, &["--ca", &ca, "-e", "PATHS=echo"]].concat();
        let report = iterate_at(PLAN, &url, 1, 1, &all);
        assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    }
    // Its application has only seen HTTP/2, or it would have failed.
    let [seen] = &server.finish()[..] else {
        panic!("it prints one line");
    };
    assert_eq!(seen["messages"], 2 * 115);
}
