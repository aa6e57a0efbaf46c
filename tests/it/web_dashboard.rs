//! What `deploy/` has for those who watch runs with Prometheus and Grafana: the configuration is valid, and every expression of
//! the dashboard finds something in a Prometheus that scrapes a run. Grafana itself is not here.

use crate::broker::Broker;
use crate::gaggle::worker;
use crate::program::{in_repository, plan, wait_until};
use crate::prometheus::{Histograms, Prometheus, config, missing};
use crate::server::Server;
use crate::web_client::{Served, Web};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Something of everything that is told.
const PLAN: &str = r#"
local length, seen, level, fresh = metric.trend "length", metric.counter "seen", metric.gauge "level", metric.rate "fresh"
task { function(user)
  local page = user:get "/"
  user:get("/status/503", { name = "it's \"so\"" })
  check(page.status == 200, "the page is there")
  check(user.id > 2, "one of the others")
  length:add(#page.body)
  seen:add()
  level:add(user.id)
  fresh:add(user.id > 1)
end }
plan { thresholds = { "p95 < 10s", "failures < 1%" } }
"#;
const OPTIONS: [&str; 4] = ["--max-users", "10", "--rate", "100/s"];

/// What only a run on workers tells.
const OF_WORKERS: [&str; 9] = [
    "lgoose_worker_requests_total",
    "lgoose_worker_request_failures_total",
    "lgoose_worker_users",
    "lgoose_worker_busy_ratio",
    "lgoose_worker_lag_seconds",
    "lgoose_worker_up",
    "lgoose_label_requests_total",
    "lgoose_label_request_failures_total",
    "lgoose_label_request_duration_seconds",
];

fn dashboard() -> Value {
    let text = std::fs::read_to_string(in_repository("deploy/grafana-dashboard.json"));
    serde_json::from_str(&text.expect("a dashboard")).expect("JSON")
}

/// Calls `see` with all objects in a value.
fn objects(value: &Value, see: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            see(fields);
            fields.values().for_each(|field| objects(field, see));
        }
        Value::Array(values) => values.iter().for_each(|value| objects(value, see)),
        _ => {}
    }
}

/// Returns the expressions of all panels, variables and annotations, variables replaced as Grafana would.
fn expressions(web: Web) -> BTreeSet<String> {
    let (mut found, dashboard) = (BTreeSet::new(), dashboard());
    objects(&dashboard, &mut |fields| {
        found.extend(
            fields
                .get("expr")
                .and_then(Value::as_str)
                .map(str::to_owned),
        );
        let query = fields.get("query").and_then(Value::as_str);
        let values = query.and_then(|query| query.strip_prefix("label_values("));
        found.extend(values.map(|values| {
            let (selector, label) = values
                .trim_end_matches(')')
                .rsplit_once(", ")
                .expect("a label");
            format!("group by ({label}) ({selector})")
        }));
    });
    let instance = web.address.to_string();
    let variables = [
        ("$__rate_interval", "8s"),
        ("$plan", "(.*)"),
        ("$job", "(lgoose)"),
        ("$instance", instance.as_str()),
        ("$name", ".*"),
    ];
    let replaced = found.into_iter().map(|expression| {
        let all = variables.iter();
        let done = all.fold(expression, |text, (name, value)| text.replace(name, value));
        assert!(!done.contains('$'), "a variable that is not known: {done}");
        done
    });
    replaced.collect()
}

/// Returns the metrics that an expression names.
fn metrics(expression: &str) -> BTreeSet<&str> {
    let words = expression.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    let names = words.filter(|word| word.starts_with("lgoose_"));
    names.map(|name| name.trim_end_matches("_bucket")).collect()
}

/// Asserts that every expression finds something, those of `empty` nothing, and that none names what the run does not tell.
fn assert_found(prometheus: &Prometheus, web: Web, empty: &[&str]) {
    let expressions = expressions(web);
    let shown: BTreeSet<String> = expressions
        .iter()
        .flat_map(|expression| metrics(expression))
        .map(str::to_owned)
        .collect();
    // Some are told when the first request is over.
    let mut known = told(web, empty);
    wait_until("all is told", || {
        known = told(web, empty);
        known.len() >= shown.len()
    });
    assert_eq!(
        shown, known,
        "the dashboard shows all that is told, and nothing else"
    );
    for expression in &expressions {
        let nothing = metrics(expression).iter().all(|name| empty.contains(name));
        // One pause later.
        if expression.contains("phase=\"paused\"") {
            continue;
        }
        let mut last = Value::Null;
        wait_until(expression, || {
            last = prometheus
                .ask("query?query", expression)
                .unwrap_or_default();
            assert_ne!(last["status"], "error", "{expression}: {last:#}");
            last["status"] == "success" && nothing != has_value(&last)
        });
    }
}

/// Returns the names of the metrics that a run tells, and of these.
fn told(web: Web, others: &[&str]) -> BTreeSet<String> {
    let told = web.get("/metrics").text();
    let types = told
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    // A counter's rows end with `_total`.
    let names = types.map(|(name, kind)| match kind {
        "counter" => format!("{name}_total"),
        _ => name.to_owned(),
    });
    let others = others.iter().map(|&name| name.to_owned());
    names.chain(others).collect()
}

/// Returns whether a value that is a number was found.
fn has_value(answer: &Value) -> bool {
    let rows = answer["data"]["result"].as_array().expect("rows");
    let mut values = rows.iter().filter_map(|row| row["value"][1].as_str());
    values.any(|value| value.parse().is_ok_and(f64::is_finite))
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_dashboard_finds_all_of_a_run_with_native_and_with_classic_histograms() {
    let server = Server::start();
    let (path, url) = (plan("web_dashboard.lua", PLAN), server.url());
    let Served { running, web } = Served::start(&[&[&*path, "-H", &url], &OPTIONS[..]].concat());
    let started = [Histograms::Native, Histograms::Classic]
        .map(|histograms| Prometheus::start(&format!("dashboard_{histograms:?}"), web, histograms));
    let [Some(native), Some(classic)] = started else {
        return;
    };
    for prometheus in [&native, &classic] {
        assert_found(prometheus, web, &OF_WORKERS);
    }
    // Each half of the dashboard's expression is needed.
    let buckets = "lgoose_request_duration_seconds_bucket";
    assert_eq!(native.rows(buckets).len(), 0);
    assert!(classic.rows(buckets).len() > 2);
    assert_eq!(web.post("/api/v1/pause", "").status, 202);
    let paused = expressions(web);
    let paused = paused.iter().find(|one| one.contains("phase=\"paused\""));
    let paused = paused.expect("an annotation");
    wait_until(paused, || native.rows(paused).len() == 1);
    running.interrupt();
    running.end();
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_dashboard_finds_the_workers_of_a_run() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let server = Server::start();
    let _workers = [("w1", "region=eu"), ("w2", "region=us")]
        .map(|(name, label)| worker(&broker, name, &["--label", label]));
    let (path, url) = (plan("web_dashboard_workers.lua", PLAN), server.url());
    let arguments = [&[&*path, "-H", &url, "--workers", "2"], &OPTIONS[..]].concat();
    let variables = [("LGOOSE_NATS", &*broker.url())];
    let Served { running, web } = Served::start_in(&arguments, &variables);
    let Some(prometheus) = Prometheus::start("dashboard_workers", web, Histograms::Native) else {
        return;
    };
    assert_found(&prometheus, web, &[]);
    running.interrupt();
    running.end();
}

#[test]
fn the_configuration_of_prometheus_is_valid() {
    let address = ([127, 0, 0, 1], 7400).into();
    let config = config("config", Web::at(address));
    let checked = Command::new("promtool")
        .args(["check", "config"])
        .arg(&config)
        .output();
    match checked {
        Ok(checked) => assert!(
            checked.status.success(),
            "{}",
            String::from_utf8_lossy(&checked.stderr)
        ),
        Err(error) => missing("promtool", &error),
    }
}

#[test]
fn every_panel_of_the_dashboard_has_a_place_of_its_own_and_the_data_source_that_was_chosen() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut taken = BTreeSet::new();
    let mut idents = BTreeSet::new();
    for panel in panels {
        let title = &panel["title"];
        assert!(
            idents.insert(panel["id"].as_u64()),
            "{title}: an id that is not new"
        );
        let place =
            ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().expect("a place"));
        let [x, y, width, height] = place;
        assert!(x + width <= 24, "{title}: {place:?}");
        for cell in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{title} lies over another panel");
        }
        let targets = panel["targets"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(targets.is_empty(), panel["type"] == "row", "{title}");
        for source in targets
            .iter()
            .chain([panel])
            .filter(|_| panel["type"] != "row")
        {
            assert_eq!(source["datasource"]["uid"], "${datasource}", "{title}");
        }
    }
}
