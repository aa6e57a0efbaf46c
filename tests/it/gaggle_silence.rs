//! Runs on workers that nobody hears any more: the broker hangs or is gone for good, or the manager stands still.

use crate::broker::Broker;
use crate::gaggle::{STEADY, managed, pass, report_of, under_load, worker};
use crate::program::{Ended, Lgoose, Running, plan, wait_until};
use crate::report::Report;
use crate::server::Server;
use rustix::process::Signal;
use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
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
#[ignore = "takes long: 'just test-all' runs it"]
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
#[ignore = "takes long: 'just test-all' runs it"]
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
#[ignore = "takes long: 'just test-all' runs it"]
fn a_manager_whose_broker_is_gone_ends_in_time() {
    let options = ["-t", "20s", "--stop-timeout", "2s"];
    let Some(lasted) = without_broker("gone_time", &options, 0) else {
        return;
    };
    let promised = Duration::from_secs(40);
    assert!(lasted < promised + Duration::from_secs(10), "{lasted:?}");
}

/// Returns how many seconds from now on the latest moment is that a text names: `until 06:45:10 UTC at the latest`.
fn seconds_ahead(text: &str) -> i64 {
    let (_, rest) = text.split_once("until ").expect("a moment");
    let (clock, _) = rest.split_once(" UTC at the latest").expect("a moment");
    let parts = clock
        .split(':')
        .map(|part| part.parse::<i64>().expect("a number"));
    let then = parts.fold(0, |sum, part| sum * 60 + part);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is later");
    let day = 24 * 3_600;
    let ahead = (then - now.as_secs() as i64 % day).rem_euclid(day);
    if ahead > day / 2 { ahead - day } else { ahead }
}

/// Asserts that a manager has named these workers as ones that may go on sending, for no longer than that.
fn assert_unstopped(case: &str, ended: &Ended, names: &str, most_s: i64) {
    let errors = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: worker"));
    let error = errors.map(str::to_owned).next();
    let error = error.unwrap_or_else(|| panic!("{case}: {}", ended.stderr));
    assert!(
        error.starts_with(&format!(
            "error: {names} not confirmed that users stopped, and may go on sending until "
        )),
        "{case}: {error}"
    );
    let ahead = seconds_ahead(&error);
    // The manager may have ended a while ago, on a busy machine.
    assert!(
        (-120..=most_s).contains(&ahead),
        "{case}: {ahead} s: {error}"
    );
    assert_eq!(ended.code, 3, "{case}: {}", ended.stderr);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_stop_that_a_worker_cannot_confirm_names_it_and_is_no_success() {
    type Case = fn(&[Running; 2], &Running);
    let cases: [(&str, &[&str], Case, &str, i64); 8] = [
        (
            "stopped",
            &[],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                pass(Duration::from_secs(6));
                running.interrupt();
            },
            "worker 'w1' has",
            61 + 4,
        ),
        (
            "at_once",
            &[],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                running.interrupt();
            },
            "worker 'w1' has",
            61 + 4,
        ),
        (
            "killed",
            &["-t", "1h"],
            |workers, running| {
                workers[1].signal(Signal::KILL);
                running.interrupt();
            },
            "worker 'w2' has",
            61 + 4,
        ),
        (
            "both",
            &[],
            |workers, running| {
                workers.iter().for_each(|one| one.signal(Signal::STOP));
                running.interrupt();
            },
            "workers 'w1' and 'w2' have",
            61 + 4,
        ),
        (
            "twice",
            &["-t", "1h"],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                running.interrupt();
                pass(Duration::from_secs(5));
                running.interrupt();
            },
            "worker 'w1' has",
            61 + 4,
        ),
        (
            "limits",
            &["-t", "1h", "--threshold", "p95 < 30s", "--allow-short"],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                running.interrupt();
            },
            "worker 'w1' has",
            61 + 4,
        ),
        // The end of the timetable is sooner.
        (
            "soon",
            &["-t", "40s"],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                running.interrupt();
            },
            "worker 'w1' has",
            40 + 4,
        ),
        (
            "terminated",
            &[],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                running.signal(Signal::TERM);
            },
            "worker 'w1' has",
            61 + 4,
        ),
    ];
    thread::scope(|scope| {
        for (name, options, act, names, most_s) in cases {
            scope.spawn(move || {
                let Some(broker) = Broker::start() else {
                    return;
                };
                let options = [&["--stop-timeout", "4s"], options].concat();
                let (_server, workers, running) =
                    under_load(&broker, &format!("unstopped_{name}"), &options);
                pass(Duration::from_secs(2));
                act(&workers, &running);
                let ended = running.end();
                assert_unstopped(name, &ended, names, most_s);
                let (report, warnings) = report_of(ended);
                let cause = if name == "twice" { "aborted" } else { "signal" };
                assert_eq!(
                    report.json["ending"]["cause"], cause,
                    "{name}: {warnings:?}"
                );
                // What is not known is not claimed.
                for word in ["cut off", "nobody's", "computing"] {
                    let claims = warnings.iter().find(|text| text.contains(word));
                    assert_eq!(claims, None, "{name}");
                }
                assert_eq!(report.json["ending"]["cut_off"], false, "{name}");
            });
        }
    });
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_stop_that_all_workers_confirm_is_one_whatever_happened_before() {
    type Case = fn(&[Running; 2], &Running);
    let cases: [(&str, &[&str], Case, &str); 4] = [
        (
            "back",
            &[],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                pass(Duration::from_secs(6));
                workers[0].signal(Signal::CONT);
                // What it has kept comes within a second.
                pass(Duration::from_secs(3));
                running.interrupt();
            },
            "signal",
        ),
        (
            "short",
            &[],
            |workers, running| {
                workers[0].signal(Signal::STOP);
                running.interrupt();
                pass(Duration::from_secs(1));
                workers[0].signal(Signal::CONT);
            },
            "signal",
        ),
        (
            "told",
            &[],
            |workers, running| {
                workers[0].signal(Signal::TERM);
                wait_until("it ends", || workers[0].has_ended());
                running.interrupt();
            },
            "signal",
        ),
        // It ends by its timetable, and no stop is to be confirmed.
        (
            "time",
            &["-t", "9s"],
            |workers, _| workers[0].signal(Signal::KILL),
            "time_up",
        ),
    ];
    thread::scope(|scope| {
        for (name, options, act, cause) in cases {
            scope.spawn(move || {
                let Some(broker) = Broker::start() else {
                    return;
                };
                let (_server, workers, running) =
                    under_load(&broker, &format!("confirmed_{name}"), options);
                pass(Duration::from_secs(2));
                act(&workers, &running);
                let ended = running.end();
                assert_eq!(ended.code, 0, "{name}: {}", ended.stderr);
                let (report, warnings) = report_of(ended);
                assert_eq!(
                    report.json["ending"]["cause"], cause,
                    "{name}: {warnings:?}"
                );
                let unstopped = warnings
                    .iter()
                    .find(|text| text.contains("not confirmed that users stopped"));
                assert_eq!(unstopped, None, "{name}");
                let missing = warnings
                    .iter()
                    .filter(|text| text.starts_with("the load of worker 'w1'"));
                let missing: Vec<_> = missing.collect();
                match name {
                    "time" => assert!(
                        missing[0].contains("which may have sent it (until "),
                        "{missing:?}"
                    ),
                    "told" => assert!(
                        missing
                            .iter()
                            .all(|text| text.ends_with("the worker was told to end")),
                        "{missing:?}"
                    ),
                    // All figures came; what its users did not do meanwhile is missing all the same.
                    _ => assert!(
                        missing
                            .iter()
                            .all(|text| text.ends_with("the worker stood still"))
                            && (name == "short" || missing.len() == 1),
                        "{name}: {missing:?}"
                    ),
                }
            });
        }
    });
}

/// A way to a broker that can be cut.
struct Link {
    address: SocketAddr,
    /// The connections through it; `None` while it is cut.
    open: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Link {
    fn to(broker: &Broker) -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("an address");
        let open = Arc::new(Mutex::new(Some(Vec::new())));
        let (all, far) = (open.clone(), broker.socket());
        thread::spawn(move || {
            for near in listener.incoming().filter_map(Result::ok) {
                let mut open = all.lock().expect("no test fails in it");
                let (Some(connections), Ok(far)) = (&mut *open, TcpStream::connect(far)) else {
                    continue;
                };
                let pair = || {
                    (
                        near.try_clone().expect("a socket"),
                        far.try_clone().expect("a socket"),
                    )
                };
                for (mut from, mut to) in [pair(), (pair().1, pair().0)] {
                    thread::spawn(move || {
                        let _cut = copy(&mut from, &mut to);
                        let _gone = to.shutdown(Shutdown::Both);
                    });
                }
                connections.extend([near, far]);
            }
        });
        Link { address, open }
    }

    fn cut(&self) {
        let connections = self.open.lock().expect("no test fails in it").take();
        for connection in connections.into_iter().flatten() {
            let _gone = connection.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        *self.open.lock().expect("no test fails in it") = Some(Vec::new());
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_that_is_back_when_its_run_is_over_stops_at_once_and_is_free() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let (server, path) = (Server::start(), plan("gaggle_back_late.lua", STEADY));
    let link = Link::to(&broker);
    let _first = worker(&broker, "w1", &[]);
    let cut = Lgoose::new(["worker", "--name", "w2", "--threads", "1"])
        .env("LGOOSE_NATS", &broker.url_at(link.address))
        .start();
    wait_until("the worker is ready", || {
        cut.stderr().contains("waits for runs")
    });
    let options = ["-u", "10", "-r", "1000", "-t", "1h", "--stop-timeout", "2s"];
    let running = managed(&broker, &path, &server, "2", &options);
    wait_until("users work", || server.received() > 500);
    link.cut();
    let before = server.received();
    running.interrupt();
    let ended = running.end();
    assert_unstopped("cut off", &ended, "worker 'w2' has", 61 + 2);
    let (report, _): (Report, _) = report_of(ended);
    // It went on without its manager, which said so.
    assert!(server.received() > before && server.received() > report.sent());
    link.mend();
    wait_until("it is free", || cut.stderr().contains("is over"));
    let then = server.received();
    let again = managed(&broker, &path, &server, "2", &["-u", "4", "-i", "5"]);
    let (report, warnings) = report_of(again.end());
    assert_eq!(report.total("count"), 20, "{warnings:?}");
    assert_eq!(server.received() - then, 20, "nothing else was sent");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_worker_that_hears_nobody_cuts_off_what_still_runs_after_a_stop() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let server = Server::start();
    // Each iteration goes on for far longer than a stop may take.
    let text =
        "task { function(user) for n = 1, 100000 do user:get('/' .. n) user:wait(0.02) end end }";
    let path = plan("gaggle_hears_nobody.lua", text);
    let link = Link::to(&broker);
    let cut = Lgoose::new(["worker", "--name", "w1", "--threads", "1"])
        .env("LGOOSE_NATS", &broker.url_at(link.address))
        .start();
    wait_until("the worker is ready", || {
        cut.stderr().contains("waits for runs")
    });
    let options = ["-u", "4", "-r", "1000", "-t", "3s", "--stop-timeout", "2s"];
    let running = managed(&broker, &path, &server, "1", &options);
    wait_until("users work", || server.received() > 20);
    link.cut();
    // Its timetable ends after 3 s, and its tasks 2 s later.
    let mut latest = (server.received(), Instant::now());
    wait_until("it sends nothing for a while", || {
        let now = server.received();
        if now > latest.0 {
            latest = (now, Instant::now());
        }
        latest.1.elapsed() > Duration::from_secs(3)
    });
    running.interrupt();
    drop(running);
}
