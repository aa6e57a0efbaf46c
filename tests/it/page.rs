//! The HTML report in a real browser: its scripts run, draw and sort, and the console stays silent.
//!
//! Needs Chromium (Debian's package `chromium`) and is skipped with a message where that is missing.

use crate::browser::Browser;
use crate::program::{Lgoose, plan, scratch};
use crate::server::Server;
use serde_json::{Value, json};

const PLAN: &str = r#"
scenario { "reader",
  task { "read", function(user)
    user:get("/status/200", { name = "front </script><img src=x onerror=alert(1)> page" })
    user:get("/status/404", { name = "gone" })
  end },
}
plan { thresholds = { "failures < 1%" } }
"#;

#[test]
fn a_browser_draws_the_charts_and_finds_nothing_to_complain_about() {
    let server = Server::start();
    let (url, file) = (server.url(), scratch("page.html"));
    let (path, output) = (plan("page.lua", PLAN), format!("html={}", file.display()));
    let ended = Lgoose::new([&*path, "-H", &url, "-u", "2", "-i", "20", "-o", &output]).finish();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stdout.contains("Aggregated"), "{}", ended.stdout);
    let Some(browser) = Browser::start("report") else {
        return;
    };
    let tab = browser.open(&format!("file://{}", file.display()), (1280, 900), "light");
    tab.wait_for("document.readyState === 'complete'");
    let found = |selector: &str| {
        let all = format!("document.querySelectorAll({}).length", json!(selector));
        tab.js(&all).as_u64().expect("a count")
    };
    for chart in ["rate", "latency", "errors", "users", "names", "spread"] {
        let line = format!("#chart-{chart} .plot svg path.line");
        assert!(found(&line) > 0, "no line in the chart of {chart}");
    }
    assert_eq!(found("#chart-names .legend button"), 2);
    assert_eq!((found("button.theme"), found("img")), (1, 0));
    // By name, then the other way round.
    let sorted = || {
        tab.js("document.querySelector('#requests th button').click()");
        let names = tab.js(
            "[...document.querySelectorAll('#requests tbody tr')].map(row => row.cells[0].textContent)",
        );
        serde_json::from_value::<Vec<String>>(names).expect("names")
    };
    let (first, mut second) = (sorted(), sorted());
    assert_eq!(first.len(), 2, "{first:?}");
    second.reverse();
    assert_eq!(first, second, "tables do not sort");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
}

#[test]
fn an_hour_of_seconds_is_drawn_as_ranges_with_its_outlier_limit_and_heatmap() {
    let server = Server::start();
    let (url, saved) = (server.url(), scratch("hour.json"));
    let text =
        "plan { thresholds = { 'p95 < 4ms' } } task { function(user) user:get '/status/200' end }";
    let (path, output) = (plan("hour.lua", text), format!("json={}", saved.display()));
    let ended = Lgoose::new([&*path, "-H", &url, "-u", "1", "-i", "20", "-o", &output]).finish();
    assert!(ended.code <= 1, "{}", ended.stderr);
    let mut report: Value = crate::report::saved(&saved);
    let point = report["series"][0].clone();
    let points = (0..3600u32).map(|second| {
        let mut point = point.clone();
        point["second"] = second.into();
        point["seconds"] = 1.0.into();
        for (key, ms) in [("p50_ms", 2.0), ("p95_ms", 3.0), ("p99_ms", 5.0)] {
            point[key] = (ms + f64::from(second % 7) / 10.0).into();
        }
        point["count"] = 211.into();
        point
    });
    report["series"] = points.collect();
    report["series"][2520]["p99_ms"] = 8_000.0.into();
    report["started"] = "2026-05-04T03:11:48.000Z".into();
    report["elapsed_s"] = 3600.0.into();
    let page = scratch("hour.html");
    let output = format!("html={}", page.display());
    let ended = Lgoose::new(["report", "-", "-o", &output])
        .input(&report.to_string())
        .finish();
    assert!(ended.code <= 1, "{}", ended.stderr);
    let Some(browser) = Browser::start("hour") else {
        return;
    };
    let tab = browser.open(&format!("file://{}", page.display()), (1280, 900), "light");
    tab.wait_for("document.readyState === 'complete'");
    let latency = "document.querySelector('#chart-latency')";
    let texts = tab.js(&format!(
        "[...{latency}.querySelectorAll('svg text')].map(text => text.textContent)"
    ));
    let texts = texts.to_string();
    assert!(
        texts.contains("\"▲8 s\"") && texts.contains("\"p95 < 4ms\""),
        "{texts}"
    );
    assert!(
        !texts.contains("\"8 s\""),
        "the axis ends far below: {texts}"
    );
    let paths = |class: &str| tab.js(&format!("document.querySelectorAll('{class}').length"));
    assert_eq!(paths("#chart-latency .range"), json!(3));
    assert!(paths("#chart-heat .heat").as_u64() > Some(0));
    // At the outlier: the run's clock, that of the wall, and how many requests there were.
    tab.js(&format!(
        "charts.find(chart => chart.figure === {latency}).readAt(2520.5)"
    ));
    let tip = tab.text("#chart-latency .tip");
    for part in ["42m", "| 03:53:4", "UTC · 211 requests", "8.00 s"] {
        assert!(tip.contains(part), "{part} in {tip}");
    }
    assert_eq!(tab.complaints(), Vec::<Value>::new());
}
