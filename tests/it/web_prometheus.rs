//! A real Prometheus finds what the report says.

use crate::faulty::{Site, answer};
use crate::program::{plan, wait_until};
use crate::prometheus::{Histograms, Prometheus};
use crate::server::Server;
use crate::web_client::Served;
use std::collections::BTreeMap;

/// Returns the values of a query by name and status; nothing as long as it does not answer.
fn figures(prometheus: &Prometheus, query: &str) -> BTreeMap<(String, String), f64> {
    let rows = prometheus.rows(query);
    let label = |row: &serde_json::Value, name: &str| {
        row["metric"][name].as_str().unwrap_or_default().to_owned()
    };
    rows.iter()
        .filter_map(|row| {
            let value = row["value"][1].as_str()?.parse().ok()?;
            Some(((label(row, "name"), label(row, "status")), value))
        })
        .collect()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn prometheus_finds_the_figures_of_the_report() {
    let server = Server::start();
    let path = plan(
        "web_prometheus.lua",
        "task { wait = 0.003, function(user) user:get \"/\" user:get(\"/status/503\", { name = \"it's \\\"so\\\"\" }) end }",
    );
    let url = server.url();
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "4", "-r", "1000"]);
    let Some(prometheus) = Prometheus::start("figures", web, Histograms::Native) else {
        return;
    };
    wait_until("requests", || server.received() > 2_000);
    assert_eq!(web.post("/api/v1/pause", "").status, 202);
    // What was under way when it was paused is counted.
    let count = || web.get("/api/v1/status").json()["aggregated"]["count"].as_u64();
    wait_until("all is counted", || count() == Some(server.received()));
    let report = web.get("/api/v1/report.json").json();
    let total = report["aggregated"]["count"].as_f64().expect("a count");
    wait_until("a scrape", || {
        figures(&prometheus, "lgoose_requests_total")
            .values()
            .sum::<f64>()
            == total
    });
    for row in report["requests"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        let requests = figures(&prometheus, "lgoose_requests_total");
        for (status, count) in row["status"].as_object().expect("statuses") {
            let key = (name.to_owned(), status.clone());
            assert_eq!(requests.get(&key), count.as_f64().as_ref(), "{key:?}");
        }
        let key = (name.to_owned(), String::new());
        let failures = figures(&prometheus, "lgoose_request_failures_total");
        assert_eq!(failures.get(&key), row["failures"].as_f64().as_ref());
        for (quantile, percentile) in [("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99")] {
            let query = format!("histogram_quantile({quantile}, lgoose_request_duration_seconds)");
            let found = figures(&prometheus, &query)[&key] * 1e3;
            let reported = row["latency_ms"][percentile].as_f64().expect("a latency");
            let off = (found / reported - 1.0).abs();
            assert!(
                off < 0.02,
                "{percentile} of {name}: {found} ms instead of {reported} ms"
            );
        }
    }
    running.interrupt();
    running.end();
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn prometheus_keeps_traces_whichever_way_metrics_are_written() {
    let text = "task { wait = 0.003, function(user) user:get(\"/\", { name = \"a\" }) user:get(\"/fails\", { name = \"b\" }) end }";
    let path = plan("web_prometheus_traces.lua", text);
    for (name, histograms, duration) in [
        (
            "traces_classic",
            Histograms::Classic,
            "lgoose_request_duration_seconds_bucket",
        ),
        (
            "traces_native",
            Histograms::Native,
            "lgoose_request_duration_seconds",
        ),
    ] {
        let site = Site::start(|asked| match asked.path.as_str() {
            "/fails" => answer(503, "", "no"),
            _ => answer(200, "", "good"),
        });
        let url = site.url();
        let served = Served::start(&[&path, "-H", &url, "-u", "2", "-r", "1000", "--trace"]);
        let Some(prometheus) = Prometheus::start(name, served.web, histograms) else {
            return;
        };
        for (metric, names) in [
            (duration, &["a", "b"][..]),
            ("lgoose_request_failures_total", &["b"]),
        ] {
            let mut found = Vec::new();
            wait_until("exemplars", || {
                found = prometheus.exemplars(metric);
                names
                    .iter()
                    .all(|name| found.iter().any(|(known, ..)| known == name))
            });
            let asked = site.asked();
            for (name, trace, value) in found {
                let header = format!("00-{trace}-");
                let mut all = asked.iter();
                let of_site = all.find(|one| one.header("traceparent").starts_with(&header));
                let path = of_site.map(|one| one.path.as_str());
                let expected = if name == "a" { "/" } else { "/fails" };
                assert_eq!(path, Some(expected), "{histograms:?} {metric} {trace}");
                assert!(value > 0.0 && names.contains(&&*name), "{value} {name}");
            }
        }
        served.running.interrupt();
        served.running.end();
    }
}
