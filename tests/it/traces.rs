//! Traces of requests after they were sent: in reports, logs, metrics, exports and runs on workers. Every id that lgoose
//! shows is one that the site has seen.

use crate::broker::Broker;
use crate::faulty::{Asked, Site, answer};
use crate::gaggle::worker;
use crate::log_lines::{objects, path, rows};
use crate::otlp::{Collector, spans};
use crate::program::{Lgoose, plan};
use crate::report::{read, run};
use crate::web_client::Served;
use serde_json::Value;
use std::collections::BTreeMap;

/// Requests that succeed, that fail and that are redirected.
const PLAN: &str = "task { \"visit\", function(user)\n  \
    user:get(\"/\", { name = \"front\" }) user:get(\"/fails\", { name = \"fails\" })\n  \
    user:get(\"/away\", { name = \"away\" }) user:wait(0.01)\nend }";

fn site() -> Site {
    Site::start(|asked| match asked.path.as_str() {
        "/fails" => answer(503, "", "no"),
        "/away" => answer(302, "location: /here\r\n", ""),
        _ => answer(200, "", "good"),
    })
}

/// Returns the path that was asked for in each trace, and whether that is sampled; of a redirect the first.
fn seen(asked: &[Asked]) -> BTreeMap<String, (String, bool)> {
    let mut seen = BTreeMap::new();
    for asked in asked {
        let header = asked.header("traceparent");
        let (trace, sampled) = (header[3..35].to_owned(), header.ends_with("-01"));
        seen.entry(trace)
            .or_insert_with(|| (asked.path.clone(), sampled));
    }
    seen
}

fn list(value: &Value) -> Vec<&Value> {
    value.as_array().into_iter().flatten().collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn the_report_has_the_traces_of_failed_and_of_slow_requests() {
    let (site, path) = (site(), plan("traces_report.lua", PLAN));
    let url = site.url();
    let report = run([
        &*path,
        "-H",
        &url,
        "-u",
        "3",
        "-i",
        "40",
        "--trace-sample",
        "50%",
    ]);
    let seen = seen(&site.asked());
    assert_eq!(seen.len(), 360);
    let error = &report.json["errors"][0];
    assert!(list(&error["exemplars"]).len() >= 3);
    for exemplar in list(&error["exemplars"]) {
        let trace = &exemplar["trace"];
        let (path, sampled) = &seen[text(&trace["trace_id"])];
        assert_eq!(
            (path.as_str(), Some(*sampled)),
            ("/fails", trace["sampled"].as_bool())
        );
        let sent: Vec<&str> = list(&exemplar["request_headers"])
            .into_iter()
            .map(text)
            .collect();
        let header = sent
            .iter()
            .find(|line| line.starts_with("traceparent: 00-"));
        assert!(
            header.is_some_and(|line| line.contains(text(&trace["span_id"]))),
            "{sent:?}"
        );
    }
    for (name, path) in [("front", "/"), ("fails", "/fails"), ("away", "/away")] {
        let rows = list(&report.json["requests"]);
        let row = rows.iter().find(|row| row["name"] == name).expect("a row");
        let traced = list(&row["traced"]);
        assert_eq!(traced.len(), 3, "{row}");
        let latencies: Vec<_> = traced
            .iter()
            .map(|one| one["latency_ms"].as_f64())
            .collect();
        assert!(
            latencies.windows(2).all(|pair| pair[0] >= pair[1]),
            "{latencies:?}"
        );
        for one in traced {
            let of_site = &seen[text(&one["trace"]["trace_id"])];
            assert_eq!(of_site, &(path.to_owned(), true));
            assert_eq!(text(&one["url"]), format!("{url}{path}"));
            assert_eq!(
                list(&one["trace"]["hops"]).len(),
                usize::from(name == "away")
            );
            assert_eq!(one["error"].is_null(), name != "fails");
        }
    }
    assert_eq!(report.json["settings"]["trace_sample"], 0.5);
}

#[test]
fn without_traces_reports_and_logs_are_as_before() {
    let (site, path_of_plan) = (site(), plan("traces_none.lua", PLAN));
    let (url, log) = (site.url(), path("traces_none.csv"));
    let report = run([
        &*path_of_plan,
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "3",
        "--request-log",
        &log,
    ]);
    assert!(!report.json["requests"].to_string().contains("traced"));
    for row in list(&report.json["requests"]) {
        let slowest = list(&row["slowest"])[0];
        assert_eq!(slowest["latency_ms"], row["latency_ms"]["max"], "{row}");
        assert!(text(&slowest["url"]).starts_with(&url) && slowest["trace"].is_null());
    }
    assert!(report.json["errors"][0]["exemplars"][0]["trace"].is_null());
    assert!(!rows(&log)[0].contains_key("trace_id"));
}

#[test]
fn each_line_of_a_log_has_its_trace() {
    let (site, path_of_plan) = (site(), plan("traces_logs.lua", PLAN));
    let url = site.url();
    let [all, failed, debug] =
        ["all.csv", "failed.jsonl", "debug.jsonl"].map(|file| path(&format!("traces_{file}")));
    run([
        &*path_of_plan,
        "-H",
        &url,
        "-u",
        "2",
        "-i",
        "20",
        "--trace",
        "--trace-sample",
        "0.5",
        "--request-log",
        &all,
        "--error-log",
        &failed,
        "--debug-log",
        &debug,
    ]);
    let seen = seen(&site.asked());
    let all = rows(&all);
    assert_eq!((all.len(), seen.len()), (120, 120));
    for row in all {
        let (path, sampled) = &seen[&row["trace_id"]];
        assert_eq!(row["url"], format!("{url}{path}"));
        assert_eq!(row["sampled"], sampled.to_string());
    }
    for file in [&failed, &debug] {
        let lines = objects(file);
        assert_eq!(lines.len(), 40);
        for line in lines {
            let (path, sampled) = &seen[text(&line["trace_id"])];
            assert_eq!(
                (&**path, Some(*sampled)),
                ("/fails", line["sampled"].as_bool())
            );
        }
    }
}

#[test]
fn metrics_have_traces_of_each_bucket_that_the_site_keeps() {
    let (site, path) = (site(), plan("traces_metrics.lua", PLAN));
    let url = site.url();
    let served = Served::start(&[&path, "-H", &url, "-u", "2", "--trace-sample", "0.5"]);
    crate::program::wait_until("requests", || site.received() > 400);
    let metrics = served.web.get("/metrics");
    let metrics = String::from_utf8(metrics.body).expect("text");
    let seen = seen(&site.asked());
    let mut names = BTreeMap::<&str, u32>::new();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let Some((figure, exemplar)) = line.split_once(" # {trace_id=\"") else {
            continue;
        };
        let (trace, rest) = exemplar.split_once("\"} ").expect("a value");
        let (value, at) = rest.split_once(' ').expect("a time");
        let (path, sampled) = &seen[trace];
        let name = if path == "/" {
            "front"
        } else {
            path.trim_start_matches('/')
        };
        assert!(
            *sampled && figure.contains(&format!("name=\"{name}\"")),
            "{line}"
        );
        let value: f64 = value.parse().expect("a number");
        assert!(at.parse::<f64>().expect("a time") > 1.7e9, "{line}");
        if let Some((_, border)) = figure.split_once("le=\"") {
            let border = border.split('"').next().expect("a border");
            let border = border
                .replace("+Inf", "inf")
                .parse::<f64>()
                .expect("a number");
            assert!(value <= border, "{line}");
        }
        *names
            .entry(figure.split('{').next().expect("a name"))
            .or_default() += 1;
    }
    assert!(
        names["lgoose_request_duration_seconds_bucket"] >= 3,
        "{names:?}"
    );
    assert_eq!(names["lgoose_request_failures_total"], 1, "{metrics}");
    assert_eq!(served.web.post("/api/v1/stop", "").status, 202);
    served.running.end();
}

#[test]
fn spans_are_those_that_the_site_has_seen() {
    let (site, path, collector) = (
        site(),
        plan("traces_otlp.lua", PLAN),
        Collector::start("200 OK"),
    );
    let url = site.url();
    let arguments = [
        &*path,
        "-H",
        &url,
        "-u",
        "2",
        "-i",
        "20",
        "--trace",
        "-o",
        "json=-",
        "--otlp",
        &collector.url,
    ];
    let report = read(Lgoose::new(arguments).finish());
    let asked = site.asked();
    let known = |trace: &str, span: &str| {
        let sent = format!("00-{trace}-{span}-01");
        asked
            .iter()
            .any(|asked| asked.header("traceparent") == sent)
    };
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let spans = spans(&collector);
    for span in &spans {
        assert!(known(&hex(&span.trace_id), &hex(&span.span_id)), "{span:?}");
    }
    let ids: Vec<String> = spans.iter().map(|span| hex(&span.span_id)).collect();
    let exemplars = list(&report.json["errors"][0]["exemplars"]);
    let slow = list(&report.json["requests"]);
    let slow = slow.iter().flat_map(|row| list(&row["traced"]));
    for one in exemplars.into_iter().chain(slow) {
        let trace = &one["trace"];
        assert!(ids.iter().any(|id| trace["span_id"] == **id), "{one}");
        for hop in list(&trace["hops"]) {
            let span = spans
                .iter()
                .find(|span| hop["span_id"] == hex(&span.span_id));
            let parent = hex(&span.expect("it was exported").parent_span_id);
            assert_eq!(trace["span_id"], parent);
        }
    }
}

#[test]
fn workers_trace_as_the_manager_says() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (site, path_of_plan) = (site(), plan("traces_gaggle.lua", PLAN));
    let (url, log) = (site.url(), path("traces_gaggle.csv"));
    let _workers = [worker(&broker, "w1", &[]), worker(&broker, "w2", &[])];
    let arguments = [
        &*path_of_plan,
        "-H",
        &url,
        "--workers",
        "2",
        "-u",
        "4",
        "-r",
        "1000",
        "-i",
        "25",
        "--seed",
        "3",
        "--trace-sample",
        "50%",
        "--request-log",
        &log,
        "-o",
        "json=-",
    ];
    let run = Lgoose::new(arguments).env("LGOOSE_NATS", &broker.url());
    let report = read(run.finish());
    let seen = seen(&site.asked());
    assert_eq!(seen.len(), 300, "no two workers have one trace");
    assert_eq!(rows(&log).len(), 300);
    for row in rows(&log) {
        let (path, sampled) = &seen[&row["trace_id"]];
        assert_eq!(row["url"], format!("{url}{path}"));
        assert_eq!(row["sampled"], sampled.to_string());
    }
    let rows = list(&report.json["requests"]);
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(list(&row["traced"]).len(), 3, "{row}");
        for one in list(&row["traced"]) {
            assert!(seen[text(&one["trace"]["trace_id"])].1);
        }
    }
    for exemplar in list(&report.json["errors"][0]["exemplars"]) {
        assert_eq!(seen[text(&exemplar["trace"]["trace_id"])].0, "/fails");
    }
}
