//! Logs of runs on workers: they end on the manager's disk, complete, with the worker of each line; what is not there is
//! counted and told.

use crate::broker::Broker;
use crate::gaggle::{managed, pass, report_of, under_load, worker};
use crate::log_lines::{log_row, objects, path, rows};
use crate::program::{plan, wait_until};
use crate::report::Report;
use crate::server::Server;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns the lines of each worker.
fn by_worker(path: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for row in rows(path) {
        *all.entry(row["worker"].clone()).or_default() += 1;
    }
    all
}

/// Returns the requests of each worker by the report.
fn requests_of_workers(report: &Report) -> BTreeMap<String, u64> {
    let workers = report.json["workers"].as_array().expect("rows").iter();
    let figures = workers.map(|row| {
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, row["requests"].as_u64().expect("a count"))
    });
    figures.collect()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn logs_of_all_workers_end_on_the_managers_disk() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let server = Server::start();
    let path_of_plan = plan(
        "gaggle_logs.lua",
        "on(\"test_start\", function(user) user:get \"/setup\" end)\n\
         on(\"test_stop\", function(user) user:get \"/teardown\" end)\n\
         task { \"one\", function(user) user:get(\"/one/\" .. user.id) user:wait(0.01) end }\n\
         task { \"two\", function(user) user:get(\"/status/404?\" .. (\"x\"):rep(500)) end }",
    );
    let _workers = [
        worker(&broker, "w1", &[]),
        worker(&broker, "w2", &["--threads", "2"]),
    ];
    let files = ["all.csv", "tasks.jsonl", "failed.csv", "debug.jsonl"];
    let [all, tasks, failed, debug] = files.map(|file| path(&format!("gaggle_logs_{file}")));
    let options = [
        "-u",
        "9",
        "-r",
        "1000",
        "-i",
        "100",
        "--request-log",
        &all,
        "--request-log-sorted",
        // Its warning is one of a busy machine.
        "--co-mitigation",
        "disabled",
        "--task-log",
        &tasks,
        "--error-log",
        &failed,
        "--debug-log",
        &debug,
    ];
    let running = managed(&broker, &path_of_plan, &server, "2", &options);
    let (report, warnings) = report_of(running.end());
    assert!(warnings.is_empty(), "{warnings:?}");
    let events = |row: &BTreeMap<String, String>| row["user"] == "0";
    let (events, users): (Vec<_>, Vec<_>) = rows(&all).into_iter().partition(events);
    assert_eq!((users.len(), events.len()), (1_800, 2));
    assert_eq!(log_row(&report, "requests"), (1_802, 0));
    let mut counted = requests_of_workers(&report);
    // Both events ran on the first one.
    *counted.get_mut("w1").expect("it took part") += 2;
    assert_eq!(by_worker(&all), counted);
    let asked: BTreeMap<String, u64> = rows(&all).iter().fold(BTreeMap::new(), |mut all, row| {
        let url = row["url"].replace(&server.url(), "");
        *all.entry(format!("GET {url}")).or_default() += 1;
        all
    });
    let mut received = BTreeMap::new();
    for request in server.requests() {
        *received.entry(request).or_default() += 1;
    }
    assert_eq!(asked, received, "the log has the requests of the site");
    let number = |row: &BTreeMap<String, String>, key: &str| row[key].parse::<u64>().expect(key);
    let last = users.iter().map(|row| number(row, "end_ns")).max();
    let teardown = events.iter().find(|row| row["url"].ends_with("/teardown"));
    assert!(teardown.is_some_and(|row| Some(number(row, "start_ns")) > last));
    let in_order = |pair: &[BTreeMap<String, String>]| {
        let key = |row| (number(row, "connection"), number(row, "start_ns"));
        pair[0]["worker"] != pair[1]["worker"] || key(&pair[0]) <= key(&pair[1])
    };
    assert!(rows(&all).windows(2).all(in_order), "it is sorted");
    assert_eq!(objects(&tasks).len(), 1_800);
    assert_eq!(objects(&debug).len(), 900);
    assert_eq!(by_worker(&failed).values().sum::<u64>(), 900);
    assert!(
        objects(&debug)
            .iter()
            .all(|line| line["worker"] == "w1" || line["worker"] == "w2")
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_log_is_complete_when_the_broker_comes_back() {
    let Some(mut broker) = Broker::start() else {
        return;
    };
    let log = path("gaggle_logs_broker.csv");
    let options = ["-t", "12s", "--request-log", &log];
    let (server, _workers, running) = under_load(&broker, "logs_broker", &options);
    broker.kill();
    pass(Duration::from_secs(3));
    broker.restart();
    let (report, warnings) = report_of(running.end());
    assert_eq!(rows(&log).len() as u64, server.received(), "{warnings:?}");
    assert_eq!(log_row(&report, "requests"), (report.total("count"), 0));
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn what_a_lost_worker_had_not_handed_over_of_a_log_is_told() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let log = path("gaggle_logs_lost.csv");
    let options = ["-t", "9s", "--request-log", &log];
    let (_server, [first, _second], running) = under_load(&broker, "logs_lost", &options);
    // It hands over once a second.
    pass(Duration::from_secs(3));
    first.signal(Signal::KILL);
    let (report, warnings) = report_of(running.end());
    let told = "logs of worker 'w1' are incomplete";
    assert!(
        warnings.iter().any(|text| text.contains(told)),
        "{warnings:?}"
    );
    let others = by_worker(&log);
    assert_eq!(others.get("w2"), requests_of_workers(&report).get("w2"));
    assert!(
        others.contains_key("w1"),
        "what it had handed over is there"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_log_that_nobody_takes_holds_up_no_user_and_is_told() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, pipe) = (Server::start(), path("gaggle_logs_pipe.csv"));
    let _left_from_before = std::fs::remove_file(&pipe);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, pipe.as_str(), fifo, mode, 0).expect("a pipe");
    let path_of_plan = plan(
        "gaggle_logs_pipe.lua",
        "task { function(user) user:get(\"/\", { name = ('n'):rep(2000) }) end }",
    );
    let _worker = worker(&broker, "w1", &[]);
    let options = ["-u", "2", "-r", "1000", "-i", "200", "--request-log", &pipe];
    let running = managed(&broker, &path_of_plan, &server, "1", &options);
    wait_until("users are through", || server.received() == 400);
    let (report, warnings) = report_of(running.end());
    let (lines, left_out) = log_row(&report, "requests");
    assert!(
        left_out > 0 && lines + left_out == 400,
        "{lines} and {left_out}"
    );
    let told = format!("{left_out} of 400 lines");
    assert!(
        warnings.iter().any(|text| text.contains(&told)),
        "{warnings:?}"
    );
}
