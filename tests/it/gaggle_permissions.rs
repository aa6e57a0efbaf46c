//! The sample configuration of a broker: what its permissions let managers, workers and gathers do, and what happens
//! without them.

use crate::attach::run_at;
use crate::broker::Broker;
use crate::gaggle::report_of;
use crate::log_lines::{path, rows};
use crate::program::{Lgoose, Running, plan, wait_until};
use crate::server::Server;
use rustix::process::Signal;

const SAMPLE: &str = include_str!("../../deploy/nats.conf");

/// Starts a broker with the sample's accounts; `change` may change the text.
fn broker(change: impl Fn(String) -> String) -> Option<Broker> {
    // The part that the sample has for gathers.
    let text = SAMPLE
        .replace("\n# GATHER = {\n", "\nGATHER = {\n")
        .replace("\n#   ", "\n  ")
        .replace("\n# }\n", "\n}\n")
        .replace("# { user: \"gather\"", "{ user: \"gather\"");
    let own = |line: &&str| {
        let line = line.trim_start();
        !["listen:", "http:", "max_", "#"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let text: Vec<&str> = text.lines().filter(own).collect();
    let text = text.join("\n");
    let text = text.replace("$LGOOSE_GATHER_PASSWORD", "\"g4ther\"");
    let text = text.replace("\"/var/lib/nats/jetstream\"", "\"STORE\"");
    let text = text.replace("$LGOOSE_MANAGER_PASSWORD", "\"m4nager\"");
    Broker::with(
        "",
        &change(text.replace("$LGOOSE_WORKER_PASSWORD", "\"w0rker\"")),
    )
}

fn ready(command: &[&str], broker: &Broker, account: &str) -> Running {
    let process = Lgoose::new(command)
        .env("LGOOSE_NATS", &broker.url_with(account))
        .start();
    wait_until("it is ready", || {
        process.stderr().contains("waits for runs")
    });
    process
}

fn worker(broker: &Broker, name: &str) -> Running {
    let label = format!("name={name}");
    let command = [
        "worker",
        "--name",
        name,
        "--threads",
        "1",
        "--label",
        &label,
    ];
    ready(&command, broker, "worker:w0rker")
}

/// Starts a gather for the figures of the worker 'w1'.
fn gather(broker: &Broker) -> Running {
    let command = ["gather", "--name", "g1", "--label", "name=w1"];
    ready(&command, broker, "gather:g4ther")
}

/// Returns the change of the configuration that takes a permission away, wherever it stands between these two words.
fn without(permission: &str, from: &str, to: &str) -> impl Fn(String) -> String {
    let line = format!("\"{permission}\"\n");
    let (from, to) = (from.to_owned(), to.to_owned());
    move |text| {
        let (before, rest) = text.split_once(&*from).expect("where it begins");
        let (part, after) = rest.split_once(&*to).expect("where it ends");
        assert!(part.contains(&line), "{part}");
        let part = part.replace(&line, "\n");
        format!("{before}{from}{part}{to}{after}")
    }
}

/// Attaches to the run that the broker keeps.
fn attach(broker: &Broker, account: &str) -> Running {
    let url = broker.url_with(account);
    let attaching = Lgoose::new(["attach", &run_at(&url), "-o", "json=-"]);
    attaching.env("LGOOSE_NATS", &url).start()
}

fn manager(broker: &Broker, server: &Server, more: &[&str]) -> Running {
    let url = server.url();
    let path = plan(
        "gaggle_permitted.lua",
        "local ids = require('lgoose.shared').run.counter 'ids'
        task { function(user) user:get('/' .. ids:incr()) user:wait(0.02) end }",
    );
    let arguments = [
        &*path,
        "-H",
        &url,
        "--workers",
        "2",
        "-u",
        "4",
        "-o",
        "json=-",
    ];
    Lgoose::new([&arguments[..], more].concat())
        .env("LGOOSE_NATS", &broker.url_with("manager:m4nager"))
        .start()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_sample_configuration_permits_all_that_a_run_needs() {
    let Some(broker) = broker(|text| text) else {
        return;
    };
    let (server, log) = (Server::start(), path("gaggle_permitted.csv"));
    let workers = [worker(&broker, "w1"), worker(&broker, "w2")];
    let reserved = ["--on-worker-loss", "replace", "--shared-iterations", "250"];
    let options = [&["-r", "100", "--request-log", &log][..], &reserved].concat();
    let (report, warnings) = report_of(manager(&broker, &server, &options).end());
    assert_eq!(report.sent(), 250, "{warnings:?}");
    // Users may have to wait where the machine is busy.
    let not_of_pace = |warning: &&String| !warning.contains("coordinated omission");
    let warnings: Vec<_> = warnings.iter().filter(not_of_pace).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(report.sent(), server.received());
    assert_eq!(rows(&log).len() as u64, server.received());
    for worker in &workers {
        let told = worker.stderr();
        assert!(!told.contains("the broker says"), "{told}");
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_that_may_reserve_nothing_is_refused_where_it_has_to() {
    let Some(broker) = broker(without(
        "lgoose.run.*.reserved.>",
        "WORKER = {",
        "subscribe: {",
    )) else {
        return;
    };
    let server = Server::start();
    let _workers = [worker(&broker, "w1"), worker(&broker, "w2")];
    let options = [
        "--shared-iterations",
        "250",
        "--on-worker-loss",
        "spread",
        "-q",
    ];
    let ended = manager(&broker, &server, &options).end();
    assert_eq!((ended.code, server.received()), (3, 0), "{}", ended.stderr);
    let told = "worker 'w1': the broker does not take what it reserves; may it publish lgoose.run.*.reserved.>?";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_with_a_user_of_its_own_hears_nothing_of_others() {
    let narrow = |text: String| {
        let text = text.replace(
            "lgoose.worker.>\", \"lgoose.run",
            "lgoose.worker.w1.*\", \"lgoose.run",
        );
        let text = text.replace("lgoose.inbox.>", "lgoose.inbox.w1.>");
        text.replace(".up.>", ".up.w1.*")
            .replace(".log.>", ".log.w1.*")
            .replace(".part.>", ".part.*.w1.*")
            .replace(".told.>", ".told.w1.*")
            .replace(".reserved.>", ".reserved.w1.*")
    };
    let Some(broker) = broker(narrow) else {
        return;
    };
    let server = Server::start();
    let _own = worker(&broker, "w1");
    let other = Lgoose::new(["worker", "--name", "w2", "--threads", "1"])
        .env("LGOOSE_NATS", &broker.url_with("worker:w0rker"))
        .start();
    wait_until("it is refused", || {
        other
            .stderr()
            .contains("Permissions Violation for Subscription")
    });
    let ended = manager(
        &broker,
        &server,
        &["-t", "1s", "--workers-timeout", "3s", "-q"],
    )
    .end();
    assert_eq!((ended.code, server.received()), (3, 0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("of 2 workers, 1 came"),
        "{}",
        ended.stderr
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn gathers_and_other_managers_need_no_more_than_the_sample_configuration() {
    let Some(broker) = broker(|text| text) else {
        return;
    };
    let server = Server::start();
    let (gather, _workers) = (
        gather(&broker),
        [worker(&broker, "w1"), worker(&broker, "w2")],
    );
    let leading = manager(&broker, &server, &["-r", "100", "-t", "8s"]);
    wait_until("users work", || server.received() > 100);
    assert!(gather.stderr().contains("are added up"));
    let attached = attach(&broker, "manager:m4nager");
    wait_until("it watches", || attached.stderr().contains("watched"));
    leading.signal(Signal::KILL);
    wait_until("the manager has ended", || leading.has_ended());
    let ended = attached.end();
    let told = format!("{}{}", gather.stderr(), ended.stderr);
    assert!(!told.contains("the broker says"), "{told}");
    let (report, _) = report_of(ended);
    assert_eq!(report.sent(), server.received());
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_run_that_its_manager_may_not_steer_or_read_is_refused_or_ended() {
    let removed = without("lgoose.run.*.down.*", "MANAGER = {", "subscribe");
    let Some(mute) = broker(removed) else {
        return;
    };
    let server = Server::start();
    let _workers = [worker(&mute, "w1"), worker(&mute, "w2")];
    let ended = manager(&mute, &server, &["-t", "2s", "-q"]).end();
    assert_eq!((ended.code, server.received()), (3, 0), "{}", ended.stderr);
    let told = "cannot lead the run at the broker";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("may not publish to"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("lgoose help workers"),
        "{}",
        ended.stderr
    );

    let removed = without("$JS.API.CONSUMER.MSG.NEXT.*.*", "MANAGER = {", "subscribe");
    let Some(deaf) = broker(removed) else {
        return;
    };
    let _workers = [worker(&deaf, "w1"), worker(&deaf, "w2")];
    let ended = manager(&deaf, &server, &["-t", "60s", "-q"]).end();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("cannot read the run's figures"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("CONSUMER.MSG.NEXT"),
        "{}",
        ended.stderr
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn who_may_not_take_a_run_over_says_so_and_ends() {
    let no_lead = |text: String| {
        // The manager keeps its own; one who attaches has another account.
        let (before, rest) = text.split_once("MANAGER = {").expect("the manager's");
        let (manager, after) = rest.split_once("\n}\n").expect("its end");
        let attach = manager.replace("\"lgoose.run.*.kept.*\"\n", "\n");
        let text = format!("{before}MANAGER = {{{manager}\n}}\nATTACH = {{{attach}\n}}\n{after}");
        let user = "{ user: \"attach\", password: \"a77ach\", permissions: $ATTACH }";
        text.replace(
            "{ user: \"worker\"",
            &format!("{user}\n{{ user: \"worker\""),
        )
    };
    let Some(broker) = broker(no_lead) else {
        return;
    };
    let server = Server::start();
    let _workers = [worker(&broker, "w1"), worker(&broker, "w2")];
    let leading = manager(&broker, &server, &["-r", "100", "-t", "20s"]);
    wait_until("users work", || server.received() > 50);
    let attached = attach(&broker, "attach:a77ach");
    wait_until("it watches", || attached.stderr().contains("watched"));
    leading.signal(Signal::KILL);
    let ended = attached.end();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("cannot lead the run at the broker"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains(".kept.lead"), "{}", ended.stderr);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_gather_that_may_not_read_leaves_its_workers_to_the_manager() {
    let removed = without("$JS.API.CONSUMER.MSG.NEXT.*.*", "GATHER = {", "subscribe");
    let Some(broker) = broker(removed) else {
        return;
    };
    let server = Server::start();
    let (gather, _workers) = (
        gather(&broker),
        [worker(&broker, "w1"), worker(&broker, "w2")],
    );
    let (report, _) = report_of(manager(&broker, &server, &["-r", "100", "-t", "10s"]).end());
    assert_eq!(report.sent(), server.received());
    let told = gather.stderr();
    assert!(
        told.contains("may not publish to \"$JS.API.CONSUMER.MSG.NEXT"),
        "{told}"
    );
}
