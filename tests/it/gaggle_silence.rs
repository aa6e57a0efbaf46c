//! Runs on workers that nobody hears any more: the broker hangs or is gone for good, or the manager stands still.

use crate::broker::Broker;
use crate::gaggle::{pass, report_of, under_load};
use rustix::process::Signal;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn nobody_is_lost_while_the_broker_hangs() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, _workers, running) = under_load(&broker, "hangs", &["-t", "28s"]);
    broker.signal(Signal::STOP);
    pass(Duration::from_secs(18));
    broker.signal(Signal::CONT);
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert_eq!(report.json["ending"]["cause"], "time_up", "{warnings:?}");
    let lost = warnings.iter().find(|text| text.contains("was lost"));
    assert_eq!(lost, None);
}

#[test]
fn a_manager_that_stood_still_calls_nobody_lost() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let options = ["-t", "14s", "--on-worker-loss", "stop"];
    let (server, _workers, running) = under_load(&broker, "manager_still", &options);
    running.signal(Signal::STOP);
    pass(Duration::from_secs(8));
    running.signal(Signal::CONT);
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received(), "{warnings:?}");
    assert_eq!(report.json["ending"]["cause"], "time_up", "{warnings:?}");
    let lost = warnings.iter().find(|text| text.contains("was lost"));
    assert_eq!(lost, None);
}

/// Runs for a while, has the broker end for good, interrupts the manager as often, and returns how long it went on.
fn without_broker(name: &str, options: &[&str], interrupts: usize) -> Option<Duration> {
    let mut broker = Broker::start()?;
    let (server, _workers, running) = under_load(&broker, name, options);
    // What is delivered once a second has come by then.
    pass(Duration::from_secs(3));
    let delivered = server.received();
    pass(Duration::from_secs(2));
    broker.kill();
    pass(Duration::from_secs(1));
    let begin = Instant::now();
    for _ in 0..interrupts {
        running.interrupt();
        pass(Duration::from_millis(300));
    }
    let ended = running.end();
    let lasted = begin.elapsed();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let (report, warnings) = report_of(ended);
    let named = format!("nothing comes from the broker at {}", broker.address());
    assert!(
        warnings.iter().any(|text| text.contains(&named)),
        "{warnings:?}"
    );
    let counted = report.sent();
    assert!((delivered..=server.received()).contains(&counted));
    Some(lasted)
}

#[test]
fn a_manager_whose_broker_is_gone_ends_when_it_is_told_to() {
    // The time between two interrupts is part of it.
    let cases = [("gone_stop", 1, 300 + 2_000), ("gone_abort", 2, 600 + 400)];
    thread::scope(|scope| {
        for (name, interrupts, promised_ms) in cases {
            scope.spawn(move || {
                let options = ["--stop-timeout", "2s"];
                let Some(lasted) = without_broker(name, &options, interrupts) else {
                    return;
                };
                // Room for a busy machine, and far less than a request to the broker may take.
                let most = Duration::from_millis(promised_ms + 2_500);
                assert!(lasted < most, "{name}: {lasted:?}");
            });
        }
    });
}

#[test]
fn a_manager_whose_broker_is_gone_ends_in_time() {
    let options = ["-t", "20s", "--stop-timeout", "2s"];
    let Some(lasted) = without_broker("gone_time", &options, 0) else {
        return;
    };
    let promised = Duration::from_secs(40);
    assert!(lasted < promised + Duration::from_secs(10), "{lasted:?}");
}
