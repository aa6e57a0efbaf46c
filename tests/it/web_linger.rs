//! What those that watch a run over HTTP get of its end: the final figures while `test_stop` runs, and one more scrape after it.

use crate::faulty::{Act, Site, answer, send};
use crate::program::{plan, scratch, wait_until};
use crate::prometheus::{Histograms, Prometheus};
use crate::report::saved;
use crate::server::Server;
use crate::web_client::{Event, Served, Web};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Starts a site whose `/bye` answers when its gate is open.
fn gated_site() -> Site {
    Site::start(|asked| match asked.path.as_str() {
        "/bye" => {
            let rest = "HTTP/1.1 200 Whatever\r\ncontent-length: 0\r\n\r\n";
            vec![Act::Gate, Act::Send(rest.into())]
        }
        "/fails" => answer(503, "", "no"),
        "/cut" => send(
            "HTTP/1.1 200 Whatever\r\ncontent-length: 9\r\n\r\n",
            Act::Close,
        ),
        _ => answer(200, "", "good"),
    })
}

/// Returns the figures that only grow, and those of the run's time and users.
fn figures(metrics: &str) -> BTreeMap<String, f64> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split(" # ").next()?.rsplit_once(' '));
    let is_figure = |name: &str| {
        let name = name.split('{').next().unwrap_or_default();
        ["_total", "_count", "_sum", "_bucket"]
            .iter()
            .any(|end| name.ends_with(end))
            || [
                "lgoose_users",
                "lgoose_scenario_users",
                "lgoose_measured_seconds",
            ]
            .contains(&name)
    };
    let figures = pairs.filter(|(name, _)| is_figure(name));
    figures
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

fn scrape(web: &Web) -> BTreeMap<String, f64> {
    let answer = web.get("/metrics");
    assert_eq!(answer.status, 200, "{}", answer.text());
    figures(&answer.text())
}

/// Waits until the process says that it waits for a scrape.
fn wait_for_linger(served: &Served) {
    wait_until("it waits for a scrape", || {
        assert!(!served.running.has_ended(), "{}", served.running.stderr());
        served
            .running
            .stderr()
            .contains("one more scrape of /metrics")
    });
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn while_test_stop_runs_the_metrics_and_the_page_show_the_final_figures() {
    const STOP: &str = "on('test_stop', function(user) user:get '/bye' end)\n";
    const PLAIN: &str = "task { function(user) user:get('/a', { name = 'x' }) end }";
    let waits = "task { wait = 0.003, function(user) user:get '/a' end }";
    for (name, text, options) in [
        ("iterations", PLAIN, &["-u", "2", "-i", "20"][..]),
        ("one", PLAIN, &["-u", "1", "-i", "1"]),
        ("shared", PLAIN, &["-u", "3", "--shared-iterations", "50"]),
        ("threads", PLAIN, &["-u", "8", "-i", "30", "--threads", "4"]),
        ("time", waits, &["-u", "2", "-t", "700ms"]),
        (
            "rate",
            PLAIN,
            &["--rate", "60", "--max-users", "4", "-t", "700ms"],
        ),
        (
            "dropped",
            waits,
            &["--rate", "2000", "--max-users", "1", "-t", "600ms"],
        ),
        (
            "warmup",
            waits,
            &["-u", "2", "-t", "1s", "--warmup", "400ms"],
        ),
        ("reset", waits, &["-u", "4", "-t", "600ms", "--reset-stats"]),
        (
            "fails",
            "task { function(user) user:get '/fails' user:get '/cut' error 'no' end }",
            &["-u", "2", "-i", "9"],
        ),
        (
            "measured",
            "local sum, size = metric.counter 'sum', metric.trend 'size'\n\
             task { function(user) sum:add(2) size:add(user.id) check(true, 'well') end }",
            &["-u", "2", "-i", "25"],
        ),
        (
            "scenarios",
            "scenario { 'a', task { function(user) user:get '/a' end } }\n\
             scenario { 'b', task { tags = { kind = 'b' }, function(user) user:get '/b' end } }",
            &["-u", "4", "-i", "12"],
        ),
    ] {
        let site = gated_site();
        let path = plan(&format!("web_stop_{name}.lua"), &format!("{STOP}{text}"));
        let url = site.url();
        let at_once: &[&str] = match options {
            ["--rate", ..] => &[],
            _ => &["-r", "1000"],
        };
        let run = [&path, "-H", &url, "--web-linger", "1h"];
        let served = Served::start(&[&run[..], at_once, options].concat());
        wait_until("test_stop", || !site.asked_for("/bye").is_empty());
        let phase = || served.web.get("/api/v1/status").json()["phase"].clone();
        wait_until("the stop is shown", || phase() == "stopping");
        let (first, second) = (scrape(&served.web), scrape(&served.web));
        assert_eq!(first, second, "{name}");
        let status = served.web.get("/api/v1/status").json();
        // The page is made from events, which come once a second; a new reader begins with the whole state.
        let count = &status["aggregated"]["count"];
        let has_come = |event: &Event| event.data["aggregated"]["count"] == *count;
        served
            .web
            .events(None)
            .find(has_come)
            .expect("the stream goes on");
        let whole = || {
            let mut events = served.web.events(None);
            events.find(|event| event.name == "snapshot")
        };
        let mut shown = Value::Null;
        wait_until("the page shows the stop", || {
            shown = whole().expect("the stream goes on").data;
            shown["phase"] == "stopping"
        });
        site.open_gate();
        wait_for_linger(&served);
        let report = served.web.get("/api/v1/report.json").json();
        let figures = scrape(&served.web);
        assert_eq!(first, figures, "{name}");
        assert_eq!(first["lgoose_users"], 0.0, "{name}");
        for seen in [&status, &shown] {
            assert_eq!(
                seen["aggregated"]["count"], report["aggregated"]["count"],
                "{name}"
            );
            assert_eq!(seen["users_now"], 0, "{name}");
            assert_eq!(seen["phase"], "stopping", "{name}");
        }
        let iterations = |value: &Value| -> Vec<u64> {
            let all = value["scenarios"].as_array().expect("scenarios").iter();
            all.filter_map(|row| row["iterations"].as_u64()).collect()
        };
        assert_eq!(iterations(&shown), iterations(&report), "{name}");
        let ended = served.running.end();
        assert!(ended.code < 2, "{name}: {}", ended.stderr);
    }
}

/// Starts a run that goes on until somebody stops it, with its report in a file.
fn going_on(name: &str, server: &Server, more: &[&str]) -> (Served, PathBuf) {
    let text = "task { wait = 0.005, function(user) user:get '/' end }";
    let (path, report) = (
        plan(&format!("{name}.lua"), text),
        scratch(&format!("{name}.json")),
    );
    let _of_an_earlier_test = std::fs::remove_file(&report);
    let (url, output) = (server.url(), format!("json={}", report.display()));
    let run = [&path, "-H", &url, "-u", "2", "-r", "1000", "-o", &output];
    let served = Served::start(&[&run[..], more].concat());
    served.wait_for_requests();
    (served, report)
}

#[test]
fn one_more_scrape_is_waited_for_and_has_the_figures_of_the_report() {
    let server = Server::start();
    let (served, report) = going_on("web_linger", &server, &["--web-linger", "1h"]);
    let (before, _) = (scrape(&served.web), scrape(&served.web));
    assert_eq!(served.web.post("/api/v1/stop", "").status, 202);
    wait_for_linger(&served);
    let report = saved(&report);
    // Only what scrapes metrics ends the wait.
    for path in ["/api/v1/report.json", "/api/v1/status", "/metric", "/"] {
        assert!(served.web.get(path).status > 0);
    }
    let bare = format!(
        "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        served.web.address
    );
    assert_eq!(served.web.raw(&bare).status, 401);
    assert!(!served.running.has_ended());
    let after = scrape(&served.web);
    let ended = served.running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let total: f64 = after
        .iter()
        .filter(|(name, _)| name.starts_with("lgoose_requests_total"))
        .map(|(_, value)| value)
        .sum();
    assert_eq!(Some(total), report["aggregated"]["count"].as_f64());
    assert_eq!(total, server.received() as f64);
    assert!(before.values().sum::<f64>() < after.values().sum::<f64>());
    let told = "waiting up to 1h for one more scrape of /metrics: Ctrl-C skips that, '--web-linger 0' leaves it out";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[test]
fn a_scraper_that_does_not_come_again_is_waited_for_as_long_as_it_took_before() {
    let server = Server::start();
    for (name, scrapes, more, waits) in [
        ("web_linger_gone", 2, &[][..], true),
        ("web_linger_short", 3, &["--web-linger", "50ms"], true),
        (
            "web_linger_quiet",
            2,
            &["-q", "--web-linger", "50ms"],
            false,
        ),
        ("web_linger_off", 2, &["--web-linger", "0"], false),
        ("web_linger_once", 1, &[], false),
        ("web_linger_once_set", 1, &["--web-linger", "1h"], false),
        ("web_linger_nobody", 0, &["--web-linger", "1h"], false),
        ("web_linger_aborted", 2, &["--web-linger", "1h"], false),
    ] {
        let (served, report) = going_on(name, &server, more);
        (0..scrapes).for_each(|_| drop(scrape(&served.web)));
        let (path, code) = match name {
            "web_linger_aborted" => ("/api/v1/abort", 130),
            _ => ("/api/v1/stop", 0),
        };
        assert_eq!(served.web.post(path, "").status, 202);
        let ended = served.running.end();
        assert_eq!(ended.code, code, "{name}: {}", ended.stderr);
        assert_eq!(
            ended.stderr.contains("one more scrape"),
            waits,
            "{name}: {}",
            ended.stderr
        );
        assert!(report.exists(), "{name}");
    }
}

#[test]
fn a_signal_skips_the_wait_and_changes_nothing() {
    let server = Server::start();
    let broken = ["--web-linger", "1h", "--threshold", "count < 1"];
    let held = [
        "--web-linger",
        "1h",
        "--threshold",
        "count > 1",
        "--allow-short",
    ];
    for (name, more, first, signal, code) in [
        ("web_skip", &broken[..2], None, Signal::INT, 0),
        ("web_skip_broken", &broken, None, Signal::INT, 1),
        ("web_skip_term", &broken, None, Signal::TERM, 1),
        ("web_skip_hangup", &held, None, Signal::HUP, 0),
        ("web_skip_usr1", &held, None, Signal::USR1, 0),
        // The first stops the run.
        ("web_skip_second", &held, Some(Signal::INT), Signal::INT, 0),
        (
            "web_skip_second_broken",
            &broken,
            Some(Signal::INT),
            Signal::INT,
            1,
        ),
        ("web_skip_both", &held, Some(Signal::TERM), Signal::INT, 0),
    ] {
        let (served, report) = going_on(name, &server, more);
        (0..2).for_each(|_| drop(scrape(&served.web)));
        match first {
            Some(first) => served.running.signal(first),
            None => assert_eq!(served.web.post("/api/v1/stop", "").status, 202),
        }
        wait_for_linger(&served);
        let report = saved(&report);
        served.running.signal(signal);
        let ended = served.running.end();
        assert_eq!(ended.code, code, "{name}: {}", ended.stderr);
        assert_eq!(report["verdict"]["exit_code"], code, "{name}");
    }
}

#[test]
fn a_run_of_lgoose_serve_waits_for_nobody() {
    let plans = crate::program::empty_folder("web_linger_plans");
    let data = crate::program::empty_folder("web_linger_data");
    let serve = [
        "serve",
        &plans.display().to_string(),
        "--data",
        &data.display().to_string(),
        "--web-linger",
        "5s",
    ];
    let ended = crate::program::Lgoose::new(serve).finish();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("--web-linger"), "{}", ended.stderr);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn prometheus_has_the_figures_of_the_report_after_the_end() {
    let server = Server::start();
    let (served, report) = going_on("web_linger_prometheus", &server, &[]);
    let Some(prometheus) = Prometheus::every_second("linger", served.web, Histograms::Classic)
    else {
        return;
    };
    let total = || {
        let rows = prometheus.rows("sum(last_over_time(lgoose_requests_total[10m]))");
        let value = rows
            .first()
            .and_then(|row| row["value"][1].as_str()?.parse::<f64>().ok());
        value.unwrap_or_default()
    };
    // Two scrapes.
    wait_until("a scrape", || total() > 0.0);
    let before = total();
    wait_until("another", || total() > before);
    assert_eq!(served.web.post("/api/v1/stop", "").status, 202);
    let ended = served.running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let count = saved(&report)["aggregated"]["count"].as_f64();
    wait_until("Prometheus has it", || Some(total()) == count);
    assert_eq!(count, Some(server.received() as f64));
}
