//! The sample configuration of a broker: what its permissions let managers and workers do, and what not.

use crate::broker::Broker;
use crate::gaggle::report_of;
use crate::logs::{path, rows};
use crate::program::{Lgoose, Running, plan, wait_until};
use crate::server::Server;

const SAMPLE: &str = include_str!("../../deploy/nats.conf");

/// Starts a broker with the sample's accounts; `change` may change the text.
fn broker(change: impl Fn(String) -> String) -> Option<Broker> {
    let own = |line: &&str| {
        let line = line.trim_start();
        !["listen:", "http:", "max_", "#"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let text: Vec<&str> = SAMPLE.lines().filter(own).collect();
    let text = text.join("\n");
    let text = text.replace("\"/var/lib/nats/jetstream\"", "\"STORE\"");
    let text = text.replace("$LGOOSE_MANAGER_PASSWORD", "\"m4nager\"");
    Broker::with(
        "",
        &change(text.replace("$LGOOSE_WORKER_PASSWORD", "\"w0rker\"")),
    )
}

fn worker(broker: &Broker, name: &str) -> Running {
    let worker = Lgoose::new(["worker", "--name", name, "--threads", "1"])
        .env("LGOOSE_NATS", &broker.url_with("worker:w0rker"))
        .start();
    wait_until("the worker is ready", || {
        worker.stderr().contains("waits for runs")
    });
    worker
}

fn manager(broker: &Broker, server: &Server, more: &[&str]) -> Running {
    let url = server.url();
    let path = plan(
        "gaggle_permitted.lua",
        "task { function(user) user:get \"/\" user:wait(0.02) end }",
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
fn the_sample_configuration_permits_all_that_a_run_needs() {
    let Some(broker) = broker(|text| text) else {
        return;
    };
    let (server, log) = (Server::start(), path("gaggle_permitted.csv"));
    let workers = [worker(&broker, "w1"), worker(&broker, "w2")];
    let options = ["-r", "100", "-t", "2s", "--request-log", &log];
    let (report, warnings) = report_of(manager(&broker, &server, &options).end());
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(report.sent(), server.received());
    assert_eq!(rows(&log).len() as u64, server.received());
    for worker in &workers {
        let told = worker.stderr();
        assert!(!told.contains("the broker says"), "{told}");
    }
}

#[test]
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
