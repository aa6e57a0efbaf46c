//! Runs on workers whose manager is lost: another one goes on with them, and watches those that are led.

use crate::broker::Broker;
use crate::gaggle::{managed, pass, report_of, under_load, worker};
use crate::program::{Lgoose, Running, plan, wait_until};
use crate::server::Server;
use rustix::process::Signal;
use std::time::Duration;

/// Requests without an end, and one at each end of the test.
const STEADY: &str = "on(\"test_start\", function(user) user:get \"/setup\" end)\n\
    on(\"test_stop\", function(user) user:get \"/teardown\" end)\n\
    task { \"front\", function(user) user:get \"/\" user:wait(0.02) end }";

/// Returns what `lgoose gaggle` prints.
fn listing(url: &str) -> String {
    let listing = Lgoose::new(["gaggle"]).env("LGOOSE_NATS", url);
    listing.finish().stdout
}

/// Returns the run that `lgoose gaggle` lists of the broker at that URL.
pub(crate) fn run_at(url: &str) -> String {
    let listed = listing(url);
    let run = listed.lines().find_map(|line| line.strip_prefix("run "));
    let run = run
        .and_then(|line| line.split_once(':'))
        .map(|(run, _)| run);
    run.unwrap_or_else(|| panic!("{listed}")).to_owned()
}

pub(crate) fn attach(broker: &Broker, run: &str) -> Running {
    Lgoose::new(["attach", run, "-o", "json=-"])
        .env("LGOOSE_NATS", &broker.url())
        .start()
}

/// Kills a process, as a machine that fails does.
pub(crate) fn kill(process: Running) {
    process.signal(Signal::KILL);
    wait_until("it has ended", || process.has_ended());
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_run_whose_manager_is_killed_is_taken_over_with_every_figure() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, path) = (Server::start(), plan("attach_killed.lua", STEADY));
    let _workers = ["w1", "w2"].map(|name| worker(&broker, name, &[]));
    let options = [
        "-u",
        "10",
        "-r",
        "1000",
        "-t",
        "8s",
        "--threshold",
        "failures < 1%",
    ];
    let manager = managed(&broker, &path, &server, "2", &options);
    wait_until("users work", || server.received() > 500);
    kill(manager);
    let run = run_at(&broker.url());
    let (report, mut warnings) = report_of(attach(&broker, &run).end());
    // A machine that stands still for a moment makes users late, whoever manages them.
    warnings.retain(|warning| !warning.contains("(coordinated omission)"));
    assert_eq!(report.sent(), server.received());
    assert_eq!(report.start_stop("count"), 2);
    assert_eq!(
        server.count("GET /setup") + server.count("GET /teardown"),
        2
    );
    assert_eq!(
        warnings,
        ["another manager took the run over: the one before was lost"]
    );
    assert_eq!(report.json["ending"]["cause"], "time_up");
    assert_eq!(report.json["verdict"]["result"], "passed");
    assert_eq!(report.json["plan"].as_str(), Some(&*path));
    assert_eq!(report.json["workers"].as_array().map(Vec::len), Some(2));
    let listed = listing(&broker.url());
    assert!(
        listed.contains("free") && !listed.contains("run "),
        "{listed}"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_run_is_watched_left_and_stopped_by_whoever_has_taken_it_over() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, manager) = under_load(&broker, "watched", &[]);
    let run = run_at(&broker.url());
    let (watching, leaving) = (attach(&broker, &run), attach(&broker, &run));
    wait_until("they watch", || {
        watching.stderr().contains("watched") && leaving.stderr().contains("watched")
    });
    pass(Duration::from_secs(2));
    leaving.interrupt();
    let (left, _) = report_of(leaving.end());
    assert_eq!(left.json["ending"]["cause"], "left");
    assert!(left.sent() > 0 && left.sent() <= server.received());
    kill(manager);
    wait_until("it is taken over", || {
        watching.stderr().contains("it is led from here")
    });
    let before = server.received();
    wait_until("users go on", || server.received() > before + 100);
    watching.interrupt();
    let (report, _) = report_of(watching.end());
    assert_eq!(report.sent(), server.received());
    assert_eq!(report.json["ending"]["cause"], "signal");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn whoever_watches_a_run_sees_its_end_and_a_manager_that_stood_still_leaves_it() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, manager) = under_load(&broker, "deposed", &["-t", "25s"]);
    let run = run_at(&broker.url());
    manager.signal(Signal::STOP);
    let taking = attach(&broker, &run);
    wait_until("it is taken over", || {
        taking.stderr().contains("it is led from here")
    });
    let watching = attach(&broker, &run);
    manager.signal(Signal::CONT);
    let deposed = manager.end();
    assert_eq!(deposed.code, 3, "{}", deposed.stderr);
    assert!(
        deposed
            .stderr
            .contains("another manager has taken the run over"),
        "{}",
        deposed.stderr
    );
    let ((taken, _), (watched, _)) = (report_of(taking.end()), report_of(watching.end()));
    assert_eq!(taken.sent(), server.received());
    assert_eq!(watched.sent(), server.received());
    assert_eq!(taken.json["ending"]["cause"], "time_up");
}

#[test]
fn a_run_that_is_not_there_is_told_with_those_that_are() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let attach = |run: &str| {
        Lgoose::new(["attach", run])
            .env("LGOOSE_NATS", &broker.url())
            .finish()
    };
    let ended = attach("none");
    assert_eq!(ended.code, 3);
    assert!(
        ended.stderr.contains("the broker keeps no run"),
        "{}",
        ended.stderr
    );
    let (server, path) = (Server::start(), plan("attach_waits.lua", STEADY));
    let waiting = managed(&broker, &path, &server, "1", &["-t", "1s"]);
    wait_until("it waits", || waiting.stderr().contains("0 of 1 are there"));
    let run = run_at(&broker.url());
    let ended = attach("none");
    assert!(ended.stderr.contains(&run), "{}", ended.stderr);
    let ended = attach(&run);
    assert_eq!(ended.code, 3);
    assert!(
        ended.stderr.contains("its users have not started"),
        "{}",
        ended.stderr
    );
    waiting.interrupt();
    waiting.end();
    let listed = listing(&broker.url());
    assert!(!listed.contains("run "), "nothing is left of it: {listed}");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn whoever_attaches_quietly_gets_the_report_and_no_word() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, manager) = under_load(&broker, "quiet", &["-t", "6s"]);
    let run = run_at(&broker.url());
    let quiet =
        Lgoose::new(["attach", &run, "-q", "-o", "json=-"]).env("LGOOSE_NATS", &broker.url());
    let ended = quiet.finish();
    assert_eq!(ended.stderr, "");
    let (watched, _) = report_of(ended);
    let (led, _) = report_of(manager.end());
    assert_eq!(watched.sent(), server.received());
    assert_eq!(led.sent(), server.received());
}
