//! Runs whose workers' figures a gather adds up, over a real broker: their reports are those of runs without one,
//! whatever breaks on the way.

use crate::broker::Broker;
use crate::gaggle::{MIXED, STEADY, managed, pass, report_of, sorted, users_at, worker};
use crate::program::{Lgoose, Running, plan, wait_until};
use crate::report::Report;
use crate::server::Server;
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

fn gather(broker: &Broker, name: &str, labels: &[&str]) -> Running {
    let mut arguments = vec!["gather", "--name", name];
    arguments.extend(labels.iter().flat_map(|label| ["--label", label]));
    let gather = Lgoose::new(arguments)
        .env("LGOOSE_NATS", &broker.url())
        .start();
    wait_until("the gather is ready", || {
        gather.stderr().contains("waits for runs")
    });
    gather
}

fn in_region(broker: &Broker, name: &str, region: &str) -> Running {
    worker(broker, name, &["--label", &format!("region={region}")])
}

/// Starts a run of twelve users on three workers, two of them with a gather, and waits until they work.
fn under_load(
    broker: &Broker,
    name: &str,
    more: &[&str],
) -> (Server, [Running; 3], Running, Running) {
    let (server, path) = (Server::start(), plan(&format!("gather_{name}.lua"), STEADY));
    let gather = gather(broker, "g1", &["region=eu"]);
    let workers = [("w1", "eu"), ("w2", "eu"), ("w3", "us")];
    let workers = workers.map(|(name, region)| in_region(broker, name, region));
    let options = [&["-u", "12", "-r", "1000"][..], more].concat();
    let running = managed(broker, &path, &server, "3", &options);
    wait_until("users work", || server.received() > 600);
    (server, workers, gather, running)
}

fn told(warnings: &[String], text: &str) -> bool {
    warnings.iter().any(|warning| warning.contains(text))
}

/// Returns what each worker and each label has counted, by name.
fn counted(report: &Report) -> Vec<(String, u64)> {
    let rows = |list: &str, name: &str, count: fn(&Value) -> &Value| -> Vec<(String, u64)> {
        let rows = report.json[list].as_array().expect("rows").iter();
        let rows = rows.map(|row| {
            let name = row[name].as_str().expect("a name").to_owned();
            (name, count(row).as_u64().expect("a count"))
        });
        rows.collect()
    };
    let mut all = rows("workers", "name", |row| &row["requests"]);
    all.extend(rows("by_label", "label", |row| &row["aggregated"]["count"]));
    all
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_run_with_a_gather_is_reported_as_one_without() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let path = plan("gather_same.lua", MIXED);
    let _workers = [("w1", "eu"), ("w2", "eu"), ("w3", "us")]
        .map(|(name, region)| in_region(&broker, name, region));
    let options = ["-u", "12", "-r", "200", "-i", "200"];
    let run = || {
        let server = Server::start();
        let running = managed(&broker, &path, &server, "3", &options);
        let ended = running.end();
        let stderr = ended.stderr.clone();
        (report_of(ended), sorted(&server), stderr)
    };
    let ((single, _), requests, _) = run();
    let _gather = gather(&broker, "g1", &["region=eu", "region=ap"]);
    let ((gathered, warnings), again, log) = run();
    assert!(
        log.contains("gather 'g1' adds up the figures of 2 workers with region=eu"),
        "{log}"
    );
    assert_eq!(again, requests);
    for row in ["GET one", "GET two"] {
        assert_eq!(gathered.count(row), single.count(row));
        assert_eq!(gathered.failures(row), single.failures(row));
    }
    assert_eq!(counted(&gathered), counted(&single));
    assert_eq!(gathered.scenario_users(), single.scenario_users());
    let errors = |report: &Report| -> Vec<u64> {
        let rows = report.json["errors"].as_array().expect("rows").iter();
        rows.map(|row| row["count"].as_u64().expect("a count"))
            .collect()
    };
    assert_eq!(errors(&gathered), errors(&single));
    assert!(!gathered.json["errors"][0]["exemplars"][0].is_null());
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(gathered.json["ending"]["cause"], "iterations_done");
    for worker in gathered.json["workers"].as_array().expect("rows") {
        assert!(worker["p95_ms"].as_f64().expect("requests") > 0.0);
        assert_eq!(
            (&worker["state"], &worker["users"]),
            (&"done".into(), &4.into())
        );
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn gathers_are_listed_and_a_second_one_of_a_label_stands_by() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (_server, _workers, _gather, running) = under_load(&broker, "listed", &["-t", "10m"]);
    let second = gather(&broker, "g2", &["region=eu"]);
    wait_until("the second knows of the first", || {
        let told = second.stderr();
        told.contains("gather 'g1' has the label 'region=eu', too")
    });
    let listed = Lgoose::new(["gaggle"])
        .env("LGOOSE_NATS", &broker.url())
        .finish();
    let line = |name: &str| {
        let mut lines = listed.stdout.lines();
        let line = lines.find(|line| line.starts_with(name));
        line.unwrap_or_default().to_owned()
    };
    assert!(line("g1").contains("run "), "{}", listed.stdout);
    assert!(line("g2").contains("waits"), "{}", listed.stdout);
    running.signal(Signal::INT);
    running.end();
    let (server, path) = (Server::start(), plan("gather_second.lua", STEADY));
    let ended = managed(&broker, &path, &server, "3", &["-u", "3", "-t", "1s"]).end();
    let log = ended.stderr.clone();
    let (report, _) = report_of(ended);
    assert!(
        log.contains("gathers 'g1' and 'g2' both have the label 'region=eu'"),
        "{log}"
    );
    assert_eq!(report.sent(), server.received());
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_gather_that_is_killed_is_passed_over_and_another_one_goes_on() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, first, running) = under_load(&broker, "killed", &["-t", "18s"]);
    first.signal(Signal::KILL);
    pass(Duration::from_secs(6));
    let _second = gather(&broker, "g2", &["region=eu"]);
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    for text in [
        "gather 'g1' was lost",
        "gather 'g2' adds up the figures of region=eu again",
    ] {
        assert!(told(&warnings, text), "{text}: {warnings:?}");
    }
    assert!(!told(&warnings, "worker 'w"), "{warnings:?}");
    assert_eq!(users_at(&report, 12), 12);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_gather_that_stays_away_holds_nothing_up() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, gather, running) = under_load(&broker, "away", &["-t", "8s"]);
    gather.signal(Signal::KILL);
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert!(told(&warnings, "gather 'g1' was lost"), "{warnings:?}");
    assert_eq!(report.json["ending"]["cause"], "time_up");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_gather_that_stood_still_counts_nothing_twice() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, gather, running) = under_load(&broker, "still", &["-t", "16s"]);
    gather.signal(Signal::STOP);
    pass(Duration::from_secs(7));
    gather.signal(Signal::CONT);
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert!(told(&warnings, "gather 'g1' was lost"), "{warnings:?}");
    assert!(told(&warnings, "gather 'g1' adds up"), "{warnings:?}");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_that_is_lost_behind_a_gather_is_noticed_and_replaced() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let options = ["-t", "15s", "--on-worker-loss", "replace"];
    let (server, [first, _second, _third], _gather, running) =
        under_load(&broker, "lost", &options);
    let _fourth = in_region(&broker, "w4", "eu");
    first.signal(Signal::KILL);
    let (report, warnings) = report_of(running.end());
    for text in ["worker 'w1' was lost", "worker 'w4' took the place of 'w1'"] {
        assert!(told(&warnings, text), "{text}: {warnings:?}");
    }
    assert!(!told(&warnings, "gather"), "{warnings:?}");
    assert_eq!(users_at(&report, 13), 12, "the load is back");
    // What the lost one had not handed over: four users of 50 requests a second at most.
    let (counted, received) = (report.sent(), server.received());
    assert!(
        counted <= received && received - counted <= 4 * 50 * 3 / 2,
        "{counted} of {received}"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_broker_that_is_killed_and_comes_back_loses_nothing_of_a_gather() {
    let Some(mut broker) = Broker::start() else {
        return;
    };
    let (server, _workers, _gather, running) = under_load(&broker, "broker", &["-t", "14s"]);
    broker.kill();
    pass(Duration::from_secs(4));
    broker.restart();
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert_eq!(report.json["ending"]["cause"], "time_up");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_warmup_ends_for_workers_with_a_gather_as_for_others() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, _gather, running) =
        under_load(&broker, "warmup", &["-t", "5s", "--warmup", "2s"]);
    let (report, warnings) = report_of(running.end());
    let warm = report.json["warmup"]["aggregated"]["count"].as_u64();
    let warm = warm.expect("a report of the warm-up");
    assert!(warm > 300 && report.sent() > 300, "{warnings:?}");
    assert_eq!(warm + report.sent(), server.received(), "{warnings:?}");
}

#[test]
fn labels_of_a_gather_are_checked() {
    let ended = Lgoose::new(["gather", "nats://127.0.0.1:1", "--label", "eu"]).finish();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("'eu' is not a label"),
        "{}",
        ended.stderr
    );
    let ended = Lgoose::new(["gather", "nats://127.0.0.1:1"]).finish();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("--label"), "{}", ended.stderr);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn figures_of_many_workers_are_added_up_and_count_once() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let _gather = gather(&broker, "g1", &["region=eu"]);
    let url = broker.url();
    let simulated = std::thread::spawn(move || lgoose_gaggle::simulate(&url, 45, 50));
    let (server, path) = (Server::start(), plan("gather_many.lua", STEADY));
    let ended = managed(&broker, &path, &server, "45", &["-u", "45", "-t", "4s"]).end();
    let log = ended.stderr.clone();
    let (report, warnings) = report_of(ended);
    wait_until("the workers are let go", || simulated.is_finished());
    let simulated = simulated.join().expect("it ends with the run");
    let [delivered, _] = simulated.expect("the broker is there");
    assert!(
        log.contains("gather 'g1' adds up the figures of 15 workers with region=eu"),
        "{log}"
    );
    assert!(delivered >= 45 * 50 * 2, "{delivered}");
    assert_eq!(
        report.json["aggregated"]["count"], delivered,
        "{warnings:?}"
    );
    let rows = report.json["workers"].as_array().expect("rows").iter();
    let each: Vec<u64> = rows
        .map(|row| row["requests"].as_u64().expect("a count"))
        .collect();
    assert_eq!((each.len(), each.iter().sum::<u64>()), (45, delivered));
    assert!(warnings.is_empty(), "{warnings:?}");
}
