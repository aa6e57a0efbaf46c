//! Runs on several workers over a real broker: they are one run, whatever breaks on the way.

use crate::broker::{Broker, Cluster};
use crate::program::{DEADLINE, Ended, Lgoose, Running, plan, wait_until};
use crate::report::{Report, read, run};
use crate::server::Server;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Iterations with random choices, waits and failures.
pub(crate) const MIXED: &str = "plan { seed = 11 }\n\
    scenario { \"a\", weight = 3,\n  \
      task { \"one\", function(user) user:get(\"/one/\" .. random.int(1, 20)) end, wait = 0.01 } }\n\
    scenario { \"b\", task { \"two\", function(user) user:get(\"/status/404?\" .. user.id) end, wait = 0.02 } }";

/// Requests without an end.
pub(crate) const STEADY: &str =
    "task { \"front\", function(user) user:get \"/\" user:wait(0.02) end }";

pub(crate) fn worker(broker: &Broker, name: &str, more: &[&str]) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = vec!["worker", "--name", name];
    if !more.contains(&"--threads") {
        arguments.extend(["--threads", "1"]);
    }
    arguments.extend(more);
    let worker = Lgoose::new(arguments)
        .env("LGOOSE_NATS", &broker.url())
        .within(folder.path())
        .start();
    wait_until("the worker is ready", || {
        worker.stderr().contains("waits for runs")
    });
    worker
}

pub(crate) fn managed(
    broker: &Broker,
    path: &str,
    server: &Server,
    workers: &str,
    more: &[&str],
) -> Running {
    let url = server.url();
    let mut arguments = vec![path, "-H", &url, "--workers", workers, "-o", "json=-"];
    arguments.extend(more);
    Lgoose::new(arguments)
        .env("LGOOSE_NATS", &broker.url())
        .start()
}

/// Starts a run of ten users on two workers, and waits until they work.
pub(crate) fn under_load(
    broker: &Broker,
    name: &str,
    more: &[&str],
) -> (Server, [Running; 2], Running) {
    let (server, path) = (Server::start(), plan(&format!("gaggle_{name}.lua"), STEADY));
    let workers = ["w1", "w2"].map(|name| worker(broker, name, &[]));
    let options = [&["-u", "10", "-r", "1000"][..], more].concat();
    let running = managed(broker, &path, &server, "2", &options);
    wait_until("users work", || server.received() > 500);
    (server, workers, running)
}

pub(crate) fn report_of(ended: Ended) -> (Report, Vec<String>) {
    let report = read(ended);
    let warnings = report.json["warnings"].as_array().expect("a list");
    let warnings = warnings
        .iter()
        .map(|text| text.as_str().unwrap_or_default().to_owned());
    // How busy the machine of the test is belongs to no test.
    let warnings = warnings.filter(|text: &String| !text.starts_with("lgoose itself was"));
    let warnings = warnings.collect();
    (report, warnings)
}

/// Returns the users at the end of a second of the run.
pub(crate) fn users_at(report: &Report, second: u64) -> u64 {
    let points = report.json["series"].as_array().expect("points");
    let point = points.iter().find(|point| point["second"] == second);
    let users = point.and_then(|point| point["users"].as_u64());
    users.unwrap_or_else(|| panic!("{points:?}"))
}

pub(crate) fn sorted(server: &Server) -> Vec<String> {
    let mut requests = server.requests();
    requests.sort();
    requests
}

/// Waits for so long: what is tested takes time.
pub(crate) fn pass(time: Duration) {
    let begin = Instant::now();
    wait_until("time passes", || begin.elapsed() >= time);
}

#[test]
fn two_workers_make_the_requests_of_one_process_with_two_threads() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let path = plan("gaggle_same.lua", MIXED);
    let options = ["-u", "12", "-r", "200", "-i", "15"];
    let (alone, together) = (Server::start(), Server::start());
    let url = alone.url();
    let one = run([&[&*path, "-H", &url, "--threads", "2"][..], &options].concat());
    let _workers = [worker(&broker, "w1", &[]), worker(&broker, "w2", &[])];
    let (all, warnings) = report_of(managed(&broker, &path, &together, "2", &options).end());
    assert_eq!(sorted(&together), sorted(&alone));
    for row in ["GET one", "GET two"] {
        assert_eq!(all.count(row), one.count(row));
        assert_eq!(all.failures(row), one.failures(row));
    }
    assert_eq!(all.sent(), together.received());
    assert_eq!(all.scenario_users(), one.scenario_users());
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(all.json["ending"]["cause"], "iterations_done");
    assert_eq!(all.json["generator"]["threads"], 2);
}

#[test]
fn a_plan_travels_with_its_modules_data_and_variables_and_setup_is_run_once() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("it is written");
    };
    write("names.lua", "return { prefix = \"/item/\" }");
    let rows: Vec<String> = (0..30).map(|n| format!("row{n}")).collect();
    write("rows.csv", &format!("id\n{}\n", rows.join("\n")));
    write(
        "plan.lua",
        "local names = require \"names\"\n\
         local rows = data.csv(\"rows.csv\", { order = \"unique\" })\n\
         on(\"test_start\", function(user) user:get \"/setup\" return { key = \"k\" } end)\n\
         on(\"test_stop\", function(user) user:get(\"/teardown/\" .. shared.key) end)\n\
         task { function(user)\n  \
           local row = rows:next(user)\n  \
           if row == nil then user:stop() return end\n  \
           user:get(names.prefix .. row.id .. \"/\" .. shared.key .. \"/\" .. env \"FLAVOUR\", { name = \"item\" })\n\
         end }",
    );
    let server = Server::start();
    let _workers = [
        worker(&broker, "w1", &[]),
        worker(&broker, "w2", &["--threads", "2"]),
        worker(&broker, "w3", &[]),
    ];
    let path = folder.path().join("plan.lua").display().to_string();
    let options = [
        "-u",
        "6",
        "-r",
        "1000",
        "-i",
        "100",
        "--env",
        "FLAVOUR=sour",
    ];
    let (report, warnings) = report_of(managed(&broker, &path, &server, "3", &options).end());
    let mut items: Vec<String> = rows
        .iter()
        .map(|row| format!("GET /item/{row}/k/sour"))
        .collect();
    items.extend(["GET /setup".to_owned(), "GET /teardown/k".to_owned()]);
    items.sort();
    assert_eq!(
        sorted(&server),
        items,
        "no row twice, none left out: {warnings:?}"
    );
    assert_eq!(
        (report.count("GET item"), report.start_stop("count")),
        (30, 2)
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_that_is_killed_loses_only_what_it_had_not_delivered() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, [first, _second], running) = under_load(&broker, "killed", &["-t", "12s"]);
    first.signal(Signal::KILL);
    let (report, warnings) = report_of(running.end());
    let (counted, received) = (report.sent(), server.received());
    // Five users of 50 requests a second at most, and what was not handed over of a second and a bit.
    assert!(
        counted <= received && received - counted <= 5 * 50 * 3 / 2,
        "{counted} of {received}"
    );
    let lost = warnings
        .iter()
        .any(|text| text.contains("worker 'w1' was lost"));
    assert!(lost, "{warnings:?}");
    assert_eq!(report.json["ending"]["cause"], "time_up");
    assert_eq!(users_at(&report, 10), 5, "the others go on");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_free_worker_takes_the_place_of_one_that_is_lost() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (_server, [first, _second], running) = under_load(
        &broker,
        "replaced",
        &["-t", "14s", "--on-worker-loss", "replace"],
    );
    let _third = worker(&broker, "w3", &[]);
    first.signal(Signal::KILL);
    let (report, warnings) = report_of(running.end());
    let told = warnings
        .iter()
        .any(|text| text.contains("worker 'w3' took the place of 'w1'"));
    assert!(told, "{warnings:?}");
    assert_eq!(users_at(&report, 12), 10, "the load is back");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn whoever_takes_a_place_takes_no_row_and_no_iteration_a_second_time() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (folder, server) = (tempfile::tempdir().expect("a folder"), Server::start());
    let rows: String = (0..5_000).map(|row| format!("{row}\n")).collect();
    std::fs::write(folder.path().join("rows.txt"), rows).expect("it is written");
    let path = folder.path().join("plan.lua");
    let source = "local rows = data.lines('rows.txt', { order = 'unique' })
        task { 'take', function(user) user:get('/' .. rows:next()) user:wait(0.02) end }";
    std::fs::write(&path, source).expect("it is written");
    let _workers = ["w1", "w2"].map(|name| worker(&broker, name, &[]));
    let options = ["-u", "10", "-r", "1000", "--shared-iterations", "3000"];
    let replaces = ["--on-worker-loss", "replace"];
    let path = path.to_string_lossy();
    let running = managed(
        &broker,
        &path,
        &server,
        "2",
        &[&options[..], &replaces].concat(),
    );
    wait_until("users take rows", || server.received() > 300);
    // It goes on without anybody who hears it, and comes back once another has its place.
    let (_free, standing) = (worker(&broker, "w3", &[]), &_workers[0]);
    standing.signal(Signal::STOP);
    pass(Duration::from_secs(8));
    standing.signal(Signal::CONT);
    let (report, warnings) = report_of(running.end());
    let mut taken = sorted(&server);
    let all = taken.len();
    taken.dedup();
    assert_eq!(
        (taken.len(), report.sent()),
        (all, all as u64),
        "{warnings:?}"
    );
    // What the lost worker had reserved ahead is nobody's, and told.
    let left = &report.json["ending"];
    assert!((2_500..3_000).contains(&all), "{all}: {warnings:?}");
    assert_eq!(
        (&left["iterations_done"], &left["iterations_due"]),
        (&all.into(), &3_000.into())
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_others_share_the_load_of_a_worker_that_is_lost() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, path) = (Server::start(), plan("gaggle_spread.lua", STEADY));
    let first = worker(&broker, "w1", &["--threads", "2"]);
    let _others = ["w2", "w3"].map(|name| worker(&broker, name, &[]));
    let options = ["--rate", "80", "-t", "14s", "--on-worker-loss", "spread"];
    let running = managed(&broker, &path, &server, "3", &options);
    wait_until("iterations start", || server.received() > 100);
    first.signal(Signal::KILL);
    let (report, warnings) = report_of(running.end());
    for name in ["w2", "w3"] {
        let told = format!("worker '{name} for w1' took the place of 'w1'");
        assert!(warnings.contains(&told), "{warnings:?}");
    }
    // Whatever was due was started, or nothing is known of it, and nobody caught up on what was another's.
    let arrivals = &report.json["arrivals"];
    let [started, dropped, missing] =
        ["started", "dropped", "missing"].map(|key| arrivals[key].as_u64().expect("a number"));
    assert_eq!((started + missing, dropped), (80 * 14, 0), "{warnings:?}");
    assert_eq!(started, report.sent());
    // Half of the load, for the time until that was noticed.
    assert!((100..400).contains(&missing), "{missing} {warnings:?}");
    assert!(users_at(&report, 12) <= 20, "{warnings:?}");
    let missing = report.json["ending"]["missing_load"].as_f64();
    assert!(
        missing.is_some_and(|part| (0.1..0.3).contains(&part)),
        "{missing:?}"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_loss_of_a_worker_ends_the_run_if_that_is_wanted() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (_server, [first, _second], running) = under_load(
        &broker,
        "stopped",
        &["-t", "50s", "--on-worker-loss", "stop"],
    );
    first.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("worker 'w1' was lost"),
        "{}",
        ended.stderr
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_run_that_all_workers_were_lost_to_passes_nothing() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (_server, workers, running) = under_load(
        &broker,
        "all_lost",
        &["-t", "9s", "--threshold", "p95 < 30000ms"],
    );
    workers
        .iter()
        .for_each(|worker| worker.signal(Signal::KILL));
    let report = read(running.end());
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
    let (ending, verdict) = (&report.json["ending"], &report.json["verdict"]);
    assert_eq!(ending["cause"], "workers_lost", "{ending}");
    assert_eq!(ending["cut_short"], true, "{ending}");
    assert!(
        ending["at_s"].as_f64().is_some_and(|at| at < 8.0),
        "{ending}"
    );
    let text = verdict["text"].as_str().unwrap_or_default();
    assert!(
        text.starts_with("failed: no worker was heard from after "),
        "{verdict}"
    );
}

#[test]
fn a_run_whose_workers_were_all_told_to_end_passes_nothing() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (_server, workers, running) = under_load(
        &broker,
        "all_left",
        &["-t", "50s", "--threshold", "p95 < 30000ms"],
    );
    workers
        .iter()
        .for_each(|worker| worker.signal(Signal::TERM));
    let report = read(running.end());
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
    assert_eq!(report.json["ending"]["cause"], "workers_lost");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_node_of_a_cluster_that_is_killed_and_comes_back_loses_nothing() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let url = cluster.url();
    let (server, path) = (Server::start(), plan("gaggle_cluster.lua", STEADY));
    let start = |arguments: &[&str]| {
        let run = Lgoose::new(arguments.iter().copied());
        run.env("LGOOSE_NATS", &url).start()
    };
    let _workers = ["w1", "w2"].map(|name| start(&["worker", "--threads", "1", "--name", name]));
    let host = server.url();
    let arguments = [&*path, "-H", &host, "--workers", "2", "-o", "json=-"];
    let load = ["-u", "8", "-r", "1000", "-t", "24s"];
    // Until the cluster has elected its leader, it has no JetStream.
    wait_until("the cluster keeps streams", || {
        let listing = Lgoose::new(["gaggle"]).env("LGOOSE_NATS", &url);
        listing.finish().code == 0
    });
    let running = start(&[&arguments[..], &load].concat());
    wait_until("users work", || server.received() > 100);
    for node in &mut cluster.0 {
        node.kill();
        pass(Duration::from_secs(3));
        node.restart();
        pass(Duration::from_secs(3));
    }
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert!(
        !warnings.iter().any(|text| text.contains("was lost")),
        "{warnings:?}"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_broker_that_is_killed_and_comes_back_loses_nothing() {
    let Some(mut broker) = Broker::start() else {
        return;
    };
    let (server, _workers, running) = under_load(&broker, "broker", &["-t", "14s"]);
    broker.kill();
    pass(Duration::from_secs(4));
    broker.restart();
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert_eq!(report.json["ending"]["cause"], "time_up");
    let told = "the broker could not be reached for";
    assert!(
        warnings.iter().any(|text| text.contains(told)),
        "{warnings:?}"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_that_stood_still_is_back_and_delivers() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, [first, _second], running) = under_load(&broker, "still", &["-t", "16s"]);
    first.signal(Signal::STOP);
    pass(Duration::from_secs(8));
    first.signal(Signal::CONT);
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    for told in [
        "worker 'w1' was lost",
        "worker 'w1' is back",
        "worker 'w1' stood still for",
        "is missing: the worker stood still",
    ] {
        assert!(
            warnings.iter().any(|text| text.contains(told)),
            "{told}: {warnings:?}"
        );
    }
    // Half of the load for half of the time, even though all figures have come.
    let missing = report.json["ending"]["missing_load"].as_f64();
    assert!(
        missing.is_some_and(|part| (0.2..0.3).contains(&part)),
        "{missing:?}"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_stop_ends_the_users_of_all_workers_and_they_are_free_for_the_next_run() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let path = plan(
        "gaggle_stop.lua",
        "task { on_stop = true, function(user) user:get \"/bye\" end }\n\
         task { \"front\", function(user) user:get \"/\" user:wait(0.05) end }",
    );
    let _workers = [worker(&broker, "w1", &[]), worker(&broker, "w2", &[])];
    for _ in 0..2 {
        let server = Server::start();
        let running = managed(&broker, &path, &server, "2", &["-u", "6", "-r", "1000"]);
        wait_until("users work", || server.received() > 50);
        running.interrupt();
        let (report, _) = report_of(running.end());
        assert_eq!(server.count("GET /bye"), 6);
        assert_eq!(report.sent(), server.received());
        assert_eq!(report.json["ending"]["cause"], "signal");
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_stop_does_not_wait_for_a_worker_that_a_reload_waits_for() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let text = "task { on_stop = true, function(user) user:get \"/bye\" end }\n\
                task { \"front\", function(user) user:get \"/\" user:wait(0.05) end }";
    let (server, path) = (Server::start(), plan("gaggle_stop_reload.lua", text));
    let (first, _second) = (worker(&broker, "w1", &[]), worker(&broker, "w2", &[]));
    let options = ["-u", "6", "-r", "1000", "--watch"];
    let running = managed(&broker, &path, &server, "2", &options);
    wait_until("users work", || server.received() > 50);
    first.signal(Signal::STOP);
    let _edited = plan("gaggle_stop_reload.lua", &format!("{text}\n-- edited"));
    // The new version is on its way to both.
    pass(Duration::from_secs(2));
    running.interrupt();
    let begin = Instant::now();
    wait_until("the users of the other worker stop", || {
        server.count("GET /bye") == 3
    });
    let promised = Duration::from_secs(10);
    assert!(begin.elapsed() < promised, "{:?}", begin.elapsed());
    first.signal(Signal::CONT);
    let (report, _) = report_of(running.end());
    assert_eq!(report.json["ending"]["cause"], "signal");
    assert_eq!(server.count("GET /bye"), 6);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn an_event_whose_worker_dies_is_run_by_another() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let text = "on(\"test_start\", function(user) user:get \"/setup\" user:wait(4) return { n = 1 } end)\n\
                task { \"front\", function(user) assert(shared.n == 1) user:get \"/\" user:wait(0.05) end }";
    let (server, path) = (Server::start(), plan("gaggle_event_lost.lua", text));
    let workers = [worker(&broker, "w1", &[]), worker(&broker, "w2", &[])];
    let options = ["-u", "6", "-r", "1000", "-t", "3s"];
    let running = managed(&broker, &path, &server, "2", &options);
    wait_until("the event has begun", || server.count("GET /setup") == 1);
    workers[0].signal(Signal::KILL);
    let (report, warnings) = report_of(running.end());
    assert_eq!(server.count("GET /setup"), 2, "{warnings:?}");
    for told in [
        "worker 'w1' was lost while it ran test_start, which another runs anew",
        "worker 'w1' did not begin: it was lost before",
    ] {
        let is_told = warnings.iter().any(|text| text.contains(told));
        assert!(is_told, "{told}: {warnings:?}");
    }
    assert!(server.count("GET /") > 0, "the other has worked");
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn users_stop_when_nobody_can_be_reached() {
    let Some(mut broker) = Broker::start() else {
        return;
    };
    let path = plan(
        "gaggle_alone.lua",
        "task { on_stop = true, function(user) user:get \"/bye\" end }\n\
         task { \"front\", function(user) user:get \"/\" user:wait(0.1) end }",
    );
    let server = Server::start();
    let worker = worker(&broker, "w1", &[]);
    let running = managed(
        &broker,
        &path,
        &server,
        "1",
        &["-u", "3", "-r", "1000", "-t", "10m"],
    );
    wait_until("users work", || server.received() > 30);
    broker.kill();
    running.signal(Signal::KILL);
    let begin = Instant::now();
    while server.count("GET /bye") < 3 {
        assert!(begin.elapsed() < DEADLINE, "they go on");
        pass(Duration::from_millis(500));
    }
    assert!(
        begin.elapsed() > Duration::from_secs(40),
        "a broker may be away for a while"
    );
    assert!(
        worker.stderr().contains("the broker cannot be reached"),
        "{}",
        worker.stderr()
    );
}

fn refused(broker: &Broker, url: &str, more: &[&str]) -> String {
    let (server, path) = (Server::start(), plan("gaggle_refused.lua", STEADY));
    let site = server.url();
    let mut arguments = vec![
        &*path,
        "-H",
        &site,
        "--workers",
        "1",
        "--workers-timeout",
        "1s",
        "-t",
        "1s",
        "-q",
    ];
    arguments.extend(more);
    let ended = Lgoose::new(arguments).env("LGOOSE_NATS", url).finish();
    assert_eq!((ended.code, server.received()), (3, 0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("s3cret"), "{}", ended.stderr);
    let _kept = broker;
    ended.stderr
}

#[test]
fn what_keeps_a_run_from_starting_is_told() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let told = refused(&broker, &broker.url_with("wrong"), &[]);
    assert!(told.contains("does not accept these credentials"), "{told}");
    let told = refused(&broker, &broker.url(), &[]);
    assert!(told.contains("of 1 worker, 0 came within 1 s"), "{told}");
    let strict = worker(&broker, "strict", &["--allow-host", "*.example.org"]);
    let told = refused(&broker, &broker.url(), &[]);
    assert!(
        told.contains("worker 'strict': '127.0.0.1' is not among the hosts"),
        "{told}"
    );
    drop(strict);
    let Some(plain) = Broker::with("s3cret", "") else {
        return;
    };
    let told = refused(&plain, &plain.url(), &[]);
    assert!(told.contains("JetStream"), "{told}");
}

#[test]
fn a_plan_goes_nowhere_that_its_worker_does_not_allow() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, other) = (Server::start(), Server::start());
    let elsewhere = other.url().replace("127.0.0.1", "localhost");
    let text = format!(
        "task {{ function(user) user:get \"/\" user:get(\"{elsewhere}/evil\", {{ name = \"evil\" }}) end }}"
    );
    let path = plan("gaggle_allowed.lua", &text);
    let _worker = worker(&broker, "w1", &["--allow-host", "127.0.0.1"]);
    let (report, _) =
        report_of(managed(&broker, &path, &server, "1", &["-u", "1", "-i", "2"]).end());
    assert_eq!((report.failures("GET evil"), other.received()), (2, 0));
    assert_eq!(report.count("GET /"), 2);
}

#[test]
fn lgoose_starts_a_broker_where_none_is_named() {
    if Broker::start().is_none() {
        return;
    }
    let (server, path) = (Server::start(), plan("gaggle_own.lua", STEADY));
    let url = server.url();
    let running = Lgoose::new([
        &*path,
        "-H",
        &url,
        "--workers",
        "1",
        "-u",
        "2",
        "-r",
        "100",
        "-t",
        "1s",
        "-o",
        "json=-",
        "--nats-listen",
        "127.0.0.1:0",
    ])
    .start();
    let mut line = None;
    wait_until("the line for workers", || {
        let told = running.stderr();
        let found = told
            .split_once("lgoose worker ")
            .map(|(_, rest)| rest.to_owned());
        line = found.and_then(|rest| rest.lines().next().map(str::to_owned));
        line.is_some()
    });
    let worker = Lgoose::new(["worker", line.as_deref().expect("a URL"), "--once"]).start();
    let (report, _) = report_of(running.end());
    assert_eq!(report.sent(), server.received());
    assert_eq!(worker.end().code, 0);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn no_output_shows_the_token() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, path) = (Server::start(), plan("gaggle_secret.lua", STEADY));
    let first = worker(&broker, "w1", &[]);
    let ended = managed(
        &broker,
        &path,
        &server,
        "1",
        &["-u", "2", "-r", "100", "-t", "1s", "-v"],
    )
    .end();
    let listed = Lgoose::new(["gaggle"])
        .env("LGOOSE_NATS", &broker.url())
        .finish();
    assert!(listed.stdout.contains("w1"), "{}", listed.stdout);
    let all = [
        ended.stdout,
        ended.stderr,
        first.stderr(),
        first.stdout(),
        listed.stdout,
        listed.stderr,
    ]
    .concat();
    assert!(!all.contains("s3cret"), "{all}");
}

#[test]
fn a_plan_sees_the_variables_of_its_manager_and_none_of_a_workers() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let server = Server::start();
    let path = plan(
        "gaggle_variables.lua",
        "task { function(user)\n  \
           user:get(\"/\" .. tostring(env \"LATE\") .. \"/\" .. tostring(env \"LGOOSE_NATS\"), { name = \"all\" })\n\
         end }",
    );
    let _worker = worker(&broker, "w1", &[]);
    let url = server.url();
    let arguments = [
        &*path,
        "-H",
        &url,
        "--workers",
        "1",
        "-u",
        "1",
        "-i",
        "1",
        "-o",
        "json=-",
        "--env-allow",
        "LATE",
    ];
    let running = Lgoose::new(arguments)
        .env("LGOOSE_NATS", &broker.url())
        .env("LATE", "here")
        .start();
    report_of(running.end());
    assert_eq!(server.requests(), ["GET /here/nil"]);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_that_is_told_to_end_says_so_and_hands_everything_over() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, [first, _second], running) = under_load(&broker, "leaves", &["-t", "10s"]);
    first.signal(Signal::TERM);
    assert_eq!(first.end().code, 0);
    assert!(!running.has_ended(), "the others go on");
    let (report, warnings) = report_of(running.end());
    let told = "worker 'w1' was told to end before the run was over";
    assert!(
        warnings.iter().any(|text| text.contains(told)),
        "{warnings:?}"
    );
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert_eq!(users_at(&report, 6), 5);
}

#[test]
fn labels_of_workers_are_compared_and_judged() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, path) = (Server::start(), plan("gaggle_labels.lua", STEADY));
    let _workers = [
        worker(&broker, "w1", &["--label", "region=eu"]),
        worker(&broker, "w2", &["--label", "region=us"]),
    ];
    let options = [
        "-u",
        "6",
        "-r",
        "1000",
        "-t",
        "2s",
        "--threshold",
        "region=eu: p95 < 1us",
        "--threshold",
        "region=us: p95 < 50s",
    ];
    let ended = managed(&broker, &path, &server, "2", &options).end();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a report");
    let passed: Vec<_> = report["thresholds"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["name"].as_str(), row["passed"].as_bool()))
        .collect();
    let expected = [
        (Some("region=eu"), Some(false)),
        (Some("region=us"), Some(true)),
    ];
    assert_eq!(passed, expected);
    let count = |row: &serde_json::Value| row["aggregated"]["count"].as_u64().expect("a count");
    let labels = report["by_label"].as_array().expect("rows");
    let sum: u64 = labels.iter().map(count).sum();
    assert_eq!((labels.len(), sum), (2, count(&report)));
    let names = report["workers"].as_array().expect("rows").iter();
    let names: Vec<_> = names.map(|row| row["name"].as_str()).collect();
    assert_eq!(names, [Some("w1"), Some("w2")]);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn workers_are_free_at_once_when_a_manager_stops_waiting_for_more() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, path) = (Server::start(), plan("gaggle_waits.lua", STEADY));
    let _worker = worker(&broker, "w1", &[]);
    let waiting = managed(&broker, &path, &server, "2", &["-u", "2", "-t", "1s"]);
    wait_until("one is there", || {
        waiting.stderr().contains("1 of 2 are there")
    });
    waiting.interrupt();
    let ended = waiting.end();
    assert_eq!((ended.code, server.received()), (3, 0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("stopped before the run began"),
        "{}",
        ended.stderr
    );
    let listed = Lgoose::new(["gaggle"])
        .env("LGOOSE_NATS", &broker.url())
        .finish();
    assert!(
        listed.stdout.contains("free") && !listed.stdout.contains("run "),
        "{}",
        listed.stdout
    );
    let options = [
        "-u",
        "2",
        "-r",
        "100",
        "-t",
        "1s",
        "--workers-timeout",
        "5s",
    ];
    report_of(managed(&broker, &path, &server, "1", &options).end());
}
