//! WebSockets with servers that did not come from here: of the packages `websockets` and `hypercorn` of Python, the latter over
//! HTTP/2, and `ws` of npm. What they have received is what the report says. Without one its test says "skipped" and passes;
//! `WEBSOCKETS_PYTHON` names a Python that has both, `WEBSOCKETS_NODE` a folder where 'npm install ws' was called, `AUTOBAHN_WSTEST`
//! the program of Autobahn's test suite, which runs on Python 2.7.

use crate::outside_server::{OutsideServer, found, python};
use crate::program::{in_repository, scratch};
use crate::report::iterate_at;
use crate::secure::Authority;
use crate::skipping::skip;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

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

/// Starts the server of the package `websockets`, with these parameters of permessage-deflate.
fn websockets(parameters: &[&str]) -> Option<OutsideServer> {
    let python = python("WEBSOCKETS_PYTHON", "websockets");
    let skipped = [
        "WebSockets with the server 'websockets'",
        "a Python that has 'websockets', named by WEBSOCKETS_PYTHON",
    ];
    let arguments = [&["websockets"], parameters].concat();
    OutsideServer::start(&python, "tests/websockets/server.py", &arguments, skipped)
}

/// Likewise that of the package `ws`.
fn ws(parameters: &[&str]) -> Option<OutsideServer> {
    let folder = found("WEBSOCKETS_NODE", "ws").unwrap_or_else(|| ".".to_owned());
    let skipped = [
        "WebSockets with the server 'ws'",
        "'npm install ws' in a folder that WEBSOCKETS_NODE names",
    ];
    let arguments = [&[&*folder], parameters].concat();
    OutsideServer::start("node", "tests/websockets/server.mjs", &arguments, skipped)
}

#[test]
fn a_server_of_the_package_websockets_has_what_was_sent() {
    let Some(server) = websockets(&[]) else {
        return;
    };
    judge(server);
}

#[test]
fn a_server_of_the_package_ws_has_what_was_sent() {
    let Some(server) = ws(&[]) else { return };
    judge(server);
}

/// How many sockets talk to a server that is started again and again.
const SOCKETS: u32 = 200;

#[test]
fn report_request_log_and_server_count_the_same_while_the_server_starts_again() {
    let python = python("WEBSOCKETS_PYTHON", "websockets");
    let skipped = [
        "WebSockets with the server 'websockets'",
        "a Python that has 'websockets', named by WEBSOCKETS_PYTHON",
    ];
    let script = "tests/websockets/server.py";
    let Some(mut server) = OutsideServer::start(&python, script, &["restarting"], skipped) else {
        return;
    };
    let url = format!("http://127.0.0.1:{}", server.port);
    let log = scratch("websockets_restarts.csv");
    let log = log.display().to_string();
    let more = ["--request-log", &log];
    let (report, server) = std::thread::scope(|scope| {
        let restarts = scope.spawn(move || {
            for _ in 0..3 {
                std::thread::sleep(Duration::from_secs(1));
                server.ask();
            }
            server
        });
        let report = iterate_at("tests/websockets/restarts.lua", &url, SOCKETS, 1, &more);
        (report, restarts.join().expect("it starts again"))
    });
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let [seen] = &server.finish()[..] else {
        panic!("it prints one line");
    };
    let row = &report.json["requests"][0];
    let messages = &row["messages"];
    assert_eq!(seen["messages"], messages["sent"], "{row}");
    assert_eq!(seen["sent"], messages["received"], "{row}");
    let text = std::fs::read_to_string(&log).expect("a log");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(row["count"], lines.len(), "{row}");
    // One that the server has closed is a failure, in the words for that.
    let is_opened = |line: &&&str| line.contains(",101,") || line.contains("closed the socket");
    let opened = lines.iter().filter(is_opened).count();
    assert_eq!(seen["opened"], opened, "{row}");
    assert!(opened > SOCKETS as usize, "they open again");
}

/// The parameters that a server may answer an offer of permessage-deflate with.
const TERMS: [&[&str]; 9] = [
    &[],
    &["client_no_context_takeover"],
    &["server_no_context_takeover"],
    &["server_no_context_takeover", "client_no_context_takeover"],
    &["server_max_window_bits=9"],
    &["server_max_window_bits=12", "client_no_context_takeover"],
    &["client_max_window_bits=9"],
    &["client_max_window_bits=12", "client_no_context_takeover"],
    &["client_max_window_bits=14", "server_max_window_bits=9"],
];
/// How many messages of random length are sent beside those of certain lengths, for each of those terms.
const RANDOM_LENGTHS: usize = 40;
/// How many messages that is, in one piece and in several.
const MESSAGES: usize = 2 * (51 + RANDOM_LENGTHS);

/// Has a server read and return messages of all lengths, with and without context takeover.
fn judge_compression(start: impl Fn(&[&str]) -> Option<OutsideServer>) {
    for (seed, terms) in TERMS.into_iter().enumerate() {
        let Some(server) = start(terms) else { return };
        let url = format!("http://127.0.0.1:{}", server.port);
        let count = format!("COUNT={RANDOM_LENGTHS}");
        let seed = seed.to_string();
        let more = ["-e", "PATHS=echo pieces", "-e", &count, "--seed", &seed];
        let report = iterate_at("tests/websockets/deflate.lua", &url, 1, 1, &more);
        assert_eq!(
            report.task_failures(),
            0,
            "{terms:?}: {:?}",
            report.errors()
        );
        let [seen] = &server.finish()[..] else {
            panic!("it prints one line");
        };
        assert_eq!(seen["messages"], MESSAGES, "{terms:?}");
    }
}

#[test]
fn the_package_websockets_reads_every_message_that_is_compressed() {
    judge_compression(websockets);
}

#[test]
fn the_package_ws_reads_every_message_that_is_compressed() {
    judge_compression(ws);
}

/// The cases of Autobahn that are run: all but those of compression, of which there are 216, most with 1,000 messages.
const AUTOBAHN: [&str; 9] = [
    "1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*",
];
/// The kinds of cases of compression.
const AUTOBAHN_KINDS: [&str; 8] = [
    "12.*", "13.1", "13.2", "13.3", "13.4", "13.5", "13.6", "13.7",
];
/// Of each kind, 1,000 messages of 1,024, 16,384 and 32,768 bytes, and of 32,768 in fragments.
const AUTOBAHN_CASES: [u32; 4] = [4, 7, 8, 13];

/// Returns the record of all 517 cases, by their names.
fn autobahn() -> BTreeMap<String, Value> {
    let path = in_repository("tests/websockets/autobahn.jsonl");
    let text = std::fs::read_to_string(path).expect("the record");
    let line = |line: &str| -> Value { serde_json::from_str(line).expect("JSON") };
    let cases = text.lines().skip(1).map(line);
    let named = cases.map(|case| (case["case"].as_str().expect("a name").to_owned(), case));
    named.collect()
}

#[test]
fn no_case_of_autobahn_fails() {
    let record = autobahn();
    assert_eq!(record.len(), 517);
    for (case, result) in &record {
        let is_right = ["OK", "NON-STRICT", "INFORMATIONAL"].map(|word| result["behavior"] == word);
        assert!(is_right.contains(&true), "{case}: {result}");
        assert!(result["close"] != "FAILED", "{case}: {result}");
    }
}

#[test]
fn the_cases_of_autobahn_end_as_they_are_recorded() {
    let Some(wstest) = found("AUTOBAHN_WSTEST", "autobahn/bin/wstest") else {
        let wants = "'pip install autobahntestsuite==25.10.1' for Python 2.7; AUTOBAHN_WSTEST names its program 'wstest'";
        return skip("WebSockets with Autobahn's test suite", wants);
    };
    let skipped = ["WebSockets with Autobahn's test suite", "'wstest'"];
    let of_kind = |kind: &str| AUTOBAHN_CASES.map(|case| format!("{kind}.{case}"));
    let cases: Vec<_> = AUTOBAHN_KINDS.into_iter().flat_map(of_kind).collect();
    let cases = AUTOBAHN.into_iter().chain(cases.iter().map(|one| &**one));
    let arguments: Vec<&str> = [&*wstest].into_iter().chain(cases).collect();
    let server = OutsideServer::start(
        "python3",
        "tests/websockets/autobahn.py",
        &arguments,
        skipped,
    );
    let Some(server) = server else { return };
    let url = format!("http://127.0.0.1:{}", server.port);
    let more = ["--lua-memory", "256MiB"];
    let report = iterate_at("tests/websockets/autobahn.lua", &url, 1, 1, &more);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let [results] = &server.finish()[..] else {
        panic!("it prints one line");
    };
    let (results, record) = (results.as_object().expect("an object"), autobahn());
    assert_eq!(results.len(), 301 + (5 + 7) * AUTOBAHN_CASES.len());
    for (case, result) in results {
        let recorded = &record[case];
        // Whether a text is returned before the bad frame behind it is read depends on the moment.
        let is_known = result["behavior"] == "OK" || result["behavior"] == recorded["behavior"];
        assert!(is_known, "{case}: {result}, recorded as {recorded}");
        assert_eq!(
            result["behaviorClose"], recorded["close"],
            "{case}: {result}"
        );
    }
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
