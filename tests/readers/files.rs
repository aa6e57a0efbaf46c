//! Readers of files that people hand to lgoose: recordings, tests of other tools, reports.

use super::{Reader, assert_bounded, text};
use lgoose_audit::{AuditInput, audit};
use lgoose_base::yaml;
use lgoose_import::{ImportOptions, import};
use lgoose_metrics::Report;
use serde_json::Value;
use std::fs;
use std::time::Duration;

fn imported(name: &str, bytes: &[u8]) {
    // Whether it can be imported does not matter, only how long that takes.
    let _imported = import(name, bytes, &ImportOptions::default());
}

/// Compares the totals of a run with an access log.
fn access_log(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("access.log");
    fs::write(&log, bytes).expect("the folder takes a file");
    let report = Report {
        started: "2026-11-30T06:45:10Z".to_owned(),
        ..Report::default()
    };
    let input = AuditInput {
        report: &report,
        report_file: "run.json",
        request_log: None,
        access_logs: &[log],
        log_format: None,
        user_agents: &[],
        tolerance: Duration::from_secs(2),
        clock_offset_ns: 0,
        shown: 10,
    };
    // Whether both agree does not matter.
    let _audit = audit(&input);
}

const HAR: &str =
    r#"{ "log": { "version": "1.2", "creator": { "name": "a", "version": "1" }, "entries": ["#;

fn har_entry(number: usize) -> String {
    let comma = if number == 0 { "" } else { "," };
    format!(
        r#"{comma}{{ "startedDateTime": "2026-01-01T00:00:00.000Z", "time": 1, "request": {{ "method": "GET",
        "url": "http://site/{number}?t=token{number}", "headers": [], "queryString": [], "cookies": [], "headersSize": -1,
        "bodySize": -1, "httpVersion": "HTTP/1.1" }}, "response": {{ "status": 200, "statusText": "OK", "headers": [],
        "cookies": [], "redirectURL": "", "headersSize": -1, "bodySize": 9, "httpVersion": "HTTP/1.1", "content": {{
        "size": 9, "mimeType": "application/json", "text": "{{\"id\": \"token{number}\"}}" }} }}, "cache": {{}},
        "timings": {{ "send": 0, "wait": 1, "receive": 0 }} }}"#
    )
}

const READERS: &[Reader] = &[
    Reader {
        name: "a recording of a browser (HAR)",
        bound: "linear",
        size: 100,
        input: |n| text(HAR, n, har_entry, "] } }"),
        read: |bytes| imported("a.har", bytes),
    },
    Reader {
        name: "commands of curl",
        bound: "2,000",
        size: 200,
        input: |n| {
            text(
                "",
                n,
                |i| format!("curl http://site/{i} -H 'a: {i}' -d b={i}\n"),
                "",
            )
        },
        read: |bytes| imported("a.txt", bytes),
    },
    Reader {
        name: "an argument of curl that never ends",
        bound: "linear",
        size: 50_000,
        input: |n| text("curl http://site/ -d '", n, |_| "\\\n\"".to_owned(), ""),
        read: |bytes| imported("a.txt", bytes),
    },
    Reader {
        name: "a collection of Postman",
        bound: "linear",
        size: 200,
        input: |n| {
            let item = |i| {
                let comma = if i == 0 { "" } else { "," };
                format!(
                    r#"{comma}{{ "name": "r{i}", "request": {{ "method": "GET", "url": "http://site/{{{{v{i}}}}}" }} }}"#
                )
            };
            let start = r#"{ "info": { "name": "a", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
                "item": ["#;
            text(start, n, item, "] }")
        },
        read: |bytes| imported("a.json", bytes),
    },
    Reader {
        name: "an OpenAPI document: paths of one schema",
        bound: "linear",
        size: 100,
        input: |n| {
            let path = |i| {
                let comma = if i == 0 { "" } else { "," };
                format!(
                    r##"{comma}"/p{i}/{{id}}": {{ "post": {{ "requestBody": {{ "content": {{ "application/json": {{ "schema":
                    {{ "$ref": "#/components/schemas/A" }} }} }} }}, "responses": {{ "200": {{ "description": "" }} }} }} }}"##
                )
            };
            let start = r#"{ "openapi": "3.0.0", "info": { "title": "a", "version": "1" }, "servers": [{ "url": "http://site" }],
                "components": { "schemas": { "A": { "type": "object", "properties": { "n": { "type": "integer" } } } } }, "paths": {"#;
            text(start, n, path, "} }")
        },
        read: |bytes| imported("a.json", bytes),
    },
    Reader {
        name: "an OpenAPI document: schemas that need each other twice",
        bound: "bounded",
        size: 10,
        input: |n| {
            let schema = |i| {
                format!(
                    r##""S{i}": {{ "type": "object", "required": ["a", "b"], "properties": {{ "a": {{ "$ref": "#/components/schemas/S{next}" }},
                    "b": {{ "$ref": "#/components/schemas/S{next}" }} }} }},"##,
                    next = i + 1
                )
            };
            let start = r##"{ "openapi": "3.0.0", "info": { "title": "a", "version": "1" }, "servers": [{ "url": "http://site" }],
                "paths": { "/": { "post": { "requestBody": { "content": { "application/json": { "schema": {
                "$ref": "#/components/schemas/S0" } } } }, "responses": {} } } }, "components": { "schemas": {"##;
            text(start, n, schema, r#""last": { "type": "string" } } } }"#)
        },
        read: |bytes| imported("a.json", bytes),
    },
    Reader {
        name: "a test plan of JMeter",
        bound: "linear",
        size: 100,
        input: |n| {
            let sampler = |i| {
                format!(
                    r#"<HTTPSamplerProxy testname="r{i}"><stringProp name="HTTPSampler.domain">site</stringProp><stringProp
                    name="HTTPSampler.path">/{i}</stringProp></HTTPSamplerProxy><hashTree/>"#
                )
            };
            let start = r#"<?xml version="1.0"?><jmeterTestPlan version="1.2"><hashTree><TestPlan testname="a"/><hashTree>
                <ThreadGroup testname="g"/><hashTree>"#;
            text(
                start,
                n,
                sampler,
                "</hashTree></hashTree></hashTree></jmeterTestPlan>",
            )
        },
        read: |bytes| imported("a.jmx", bytes),
    },
    Reader {
        name: "a script of Artillery",
        bound: "linear",
        size: 200,
        input: |n| {
            let start = "config:\n  target: http://site\nscenarios:\n  - flow:\n";
            text(
                start,
                n,
                |i| format!("      - get:\n          url: /{i}\n"),
                "",
            )
        },
        read: |bytes| imported("a.yml", bytes),
    },
    Reader {
        name: "a script of k6",
        bound: "linear",
        size: 200,
        input: |n| {
            let start = "import http from 'k6/http';\nexport default function () {\n";
            text(
                start,
                n,
                |i| format!("  http.get('http://site/{i}');\n"),
                "}\n",
            )
        },
        read: |bytes| imported("a.js", bytes),
    },
    Reader {
        name: "a list of targets",
        bound: "linear",
        size: 200,
        input: |n| text("", n, |i| format!("GET http://site/{i}\nA: {i}\n\n"), ""),
        read: |bytes| imported("a.txt", bytes),
    },
    Reader {
        name: "a report: rows",
        bound: "linear",
        size: 20,
        input: |n| {
            let report = include_str!("../../crates/report/src/golden/report.json");
            let mut report: Value = serde_json::from_str(report).expect("it is JSON");
            let rows = report["requests"].as_array_mut().expect("it has rows");
            let row = rows[0].clone();
            for number in 0..n {
                let mut row = row.clone();
                row["name"] = format!("page {number}").into();
                rows.push(row);
            }
            report.to_string().into_bytes()
        },
        read: |bytes| {
            let text = str::from_utf8(bytes).expect("it is a text");
            // Its sums are wrong, which is found out once it is read.
            let _read = lgoose_report::json::from_json(text, "run.json");
        },
    },
    Reader {
        name: "YAML: values",
        bound: "2,000,000",
        size: 5_000,
        input: |n| text("", n, |i| format!("- a{i}: [{i}, 'x']\n"), ""),
        read: |bytes| drop(yaml::parse(str::from_utf8(bytes).expect("it is a text"))),
    },
    Reader {
        name: "YAML: aliases of lists of aliases",
        bound: "2,000,000",
        size: 6,
        input: |n| {
            let list = |i: usize| {
                let alias = format!("*a{i},");
                format!("a{next}: &a{next} [{}]\n", alias.repeat(8), next = i + 1)
            };
            text("a0: &a0 [1]\n", n, list, "")
        },
        read: |bytes| drop(yaml::parse(str::from_utf8(bytes).expect("it is a text"))),
    },
    Reader {
        name: "access logs: lines of a common format",
        bound: "linear",
        size: 500,
        input: |n| {
            let line = |i| {
                format!(
                    "127.0.0.1 - - [30/Nov/2026:06:45:10 +0000] \"GET /{i}?a=b HTTP/1.1\" 200 12 \"-\" \"agent {i}\"\n"
                )
            };
            text("", n, line, "")
        },
        read: access_log,
    },
    Reader {
        name: "access logs: lines of JSON",
        bound: "linear",
        size: 500,
        input: |n| {
            let line = |i| {
                format!(
                    "{{\"time\":\"2026-11-30T06:45:10Z\",\"method\":\"GET\",\"uri\":\"/{i}\",\"status\":200}}\n"
                )
            };
            text("", n, line, "")
        },
        read: access_log,
    },
    Reader {
        name: "access logs: a line of escapes",
        bound: "64 KiB",
        size: 15_000,
        input: |n| {
            let start = "127.0.0.1 - - [30/Nov/2026:06:45:10 +0000] \"GET /";
            text(
                start,
                n,
                |_| "\\x22".to_owned(),
                " HTTP/1.1\" 200 12 \"-\" \"-\"\n",
            )
        },
        read: access_log,
    },
    Reader {
        name: "YAML: names of one map",
        bound: "2,000,000",
        size: 5_000,
        input: |n| text("", n, |i| format!("a{i}: 1\n"), ""),
        read: |bytes| drop(yaml::parse(str::from_utf8(bytes).expect("it is a text"))),
    },
];

#[test]
fn files_of_other_tools_are_read_in_proportion_to_their_size() {
    assert_bounded(READERS);
}
