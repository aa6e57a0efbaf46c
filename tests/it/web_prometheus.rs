//! A real Prometheus scrapes a run. Debian's package is enough (`apt-get install prometheus`); without one on the PATH this says
//! "skipped" and passes, and fails with `LGOOSE_NEED_PROMETHEUS=1`.

use crate::faulty::{Site, answer};
use crate::program::{plan, scratch, wait_until};
use crate::server::Server;
use crate::web_client::{Answer, Served, TOKEN, Web};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A running Prometheus; killed when this is dropped.
struct Prometheus {
    child: Child,
    web: Web,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Prometheus {
    /// Starts one with these features that scrapes a run; `None` if this machine has none.
    fn start(run: Web, features: &str) -> Option<Prometheus> {
        let folder = scratch(&format!("web_prometheus_{features}"));
        let _of_an_earlier_test = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\nscrape_configs:\n  - job_name: lgoose\n    \
             authorization: {{ credentials: {TOKEN} }}\n    static_configs: [{{ targets: [\"{}\"] }}]\n",
            run.address
        );
        std::fs::write(&config, text).expect("written");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = free.local_addr().expect("an address");
        drop(free);
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg(format!("--enable-feature={features}"))
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => Some(Prometheus {
                child,
                web: Web { address },
            }),
            Err(error) => {
                let needed = std::env::var_os("LGOOSE_NEED_PROMETHEUS").is_some();
                assert!(!needed, "no 'prometheus' on the PATH: {error}");
                eprintln!("skipped: there is no 'prometheus' on the PATH: {error}");
                None
            }
        }
    }

    /// Returns the names, trace ids and values of the exemplars of a metric.
    fn exemplars(&self, metric: &str) -> Vec<(String, String, f64)> {
        if std::net::TcpStream::connect(self.web.address).is_err() {
            return Vec::new();
        }
        let answer: Answer = self.web.raw(&format!(
            "GET /api/v1/query_exemplars?query={metric}&start=0&end=9999999999 HTTP/1.0\r\nHost: {}\r\n\r\n",
            self.web.address
        ));
        let json: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let series = json["data"].as_array().cloned().unwrap_or_default();
        let all = series.iter().flat_map(|series| {
            let name = series["seriesLabels"]["name"].as_str().unwrap_or_default();
            let exemplars = series["exemplars"].as_array().into_iter().flatten();
            exemplars.filter_map(move |one| {
                let trace = one["labels"]["trace_id"].as_str()?.to_owned();
                Some((name.to_owned(), trace, one["value"].as_str()?.parse().ok()?))
            })
        });
        all.collect()
    }

    /// Returns the values of a query by name and status; nothing as long as it does not answer.
    fn ask(&self, query: &str) -> BTreeMap<(String, String), f64> {
        let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
        if std::net::TcpStream::connect(self.web.address).is_err() {
            return BTreeMap::new();
        }
        let answer: Answer = self.web.raw(&format!(
            "GET /api/v1/query?query={query} HTTP/1.0\r\nHost: {}\r\n\r\n",
            self.web.address
        ));
        let json: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let rows = json["data"]["result"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let label =
            |row: &Value, name: &str| row["metric"][name].as_str().unwrap_or_default().to_owned();
        rows.iter()
            .filter_map(|row| {
                let value = row["value"][1].as_str()?.parse().ok()?;
                Some(((label(row, "name"), label(row, "status")), value))
            })
            .collect()
    }
}

#[test]
fn prometheus_finds_the_figures_of_the_report() {
    let server = Server::start();
    let path = plan(
        "web_prometheus.lua",
        "task { wait = 0.003, function(user) user:get \"/\" user:get(\"/status/503\", { name = \"it's \\\"so\\\"\" }) end }",
    );
    let url = server.url();
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "4", "-r", "1000"]);
    let Some(prometheus) = Prometheus::start(web, "native-histograms") else {
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
        prometheus
            .ask("lgoose_requests_total")
            .values()
            .sum::<f64>()
            == total
    });
    for row in report["requests"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        let requests = prometheus.ask("lgoose_requests_total");
        for (status, count) in row["status"].as_object().expect("statuses") {
            let key = (name.to_owned(), status.clone());
            assert_eq!(requests.get(&key), count.as_f64().as_ref(), "{key:?}");
        }
        let key = (name.to_owned(), String::new());
        let failures = prometheus.ask("lgoose_request_failures_total");
        assert_eq!(failures.get(&key), row["failures"].as_f64().as_ref());
        for (quantile, percentile) in [("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99")] {
            let query = format!("histogram_quantile({quantile}, lgoose_request_duration_seconds)");
            let found = prometheus.ask(&query)[&key] * 1e3;
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
fn prometheus_keeps_traces_whichever_way_metrics_are_written() {
    let text = "task { wait = 0.003, function(user) user:get(\"/\", { name = \"a\" }) user:get(\"/fails\", { name = \"b\" }) end }";
    let path = plan("web_prometheus_traces.lua", text);
    for (features, duration) in [
        ("exemplar-storage", "lgoose_request_duration_seconds_bucket"),
        (
            "exemplar-storage,native-histograms",
            "lgoose_request_duration_seconds",
        ),
    ] {
        let site = Site::start(|asked| match asked.path.as_str() {
            "/fails" => answer(503, "", "no"),
            _ => answer(200, "", "good"),
        });
        let url = site.url();
        let served = Served::start(&[&path, "-H", &url, "-u", "2", "-r", "1000", "--trace"]);
        let Some(prometheus) = Prometheus::start(served.web, features) else {
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
                assert_eq!(path, Some(expected), "{features} {metric} {trace}");
                assert!(value > 0.0 && names.contains(&&*name), "{value} {name}");
            }
        }
        served.running.interrupt();
        served.running.end();
    }
}
