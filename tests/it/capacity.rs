//! `lgoose capacity` with real runs: what is found, what is refused, and what is reported. How often a search finds what it
//! should is told by `benches/capacity.py`, and for simulated sites by the unit tests.

use crate::broker::Broker;
use crate::gaggle::worker;
use crate::program::{Ended, Lgoose, plan, scratch, wait_until};
use crate::report::saved;
use crate::server::Server;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Steps as short as they may be.
const SHORT: [&str; 6] = [
    "--step-time",
    "2s",
    "--confirm-time",
    "2s",
    "--recovery-time",
    "5s",
];

fn arguments<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["capacity"], first, &SHORT, more].concat()
}

fn search(first: &[&str], more: &[&str]) -> Ended {
    Lgoose::new(arguments(first, more)).finish()
}

/// Serves a page to so many connections at a time, and closes any other; returns its URL.
fn limited(most: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let open = Arc::<AtomicUsize>::default();
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            if open.fetch_add(1, Ordering::SeqCst) >= most {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let open = open.clone();
            thread::spawn(move || {
                // A client that goes away frees its place.
                let _gone = serve(stream);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    format!("http://{address}/")
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
        }
        thread::sleep(Duration::from_millis(20));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
    }
}

/// Returns the load of each step, its result, and whether it confirms. A step in which a busy machine held lgoose up, and which
/// is repeated, belongs to no test.
fn steps(report: &Value) -> Vec<(f64, &str, bool)> {
    let steps = report["capacity"]["steps"].as_array().expect("steps");
    let step = |one: &'_ Value| one["load"].as_f64().expect("a load");
    let each = steps.iter().map(|one| {
        let result = one["result"].as_str().unwrap_or_default();
        (step(one), result, one["confirms"] == true)
    });
    each.filter(|(_, result, _)| *result != "generator")
        .collect()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_limit_on_connections_is_the_number_of_users_that_is_found() {
    let url = limited(3);
    let file = scratch("capacity_users.json");
    let output = format!("json={}", file.display());
    let more = ["--by", "users", "--from", "2", "-o", &output];
    let ended = search(&[&url, "--slo", "failures < 1%"], &more);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = saved(&file);
    let capacity = &report["capacity"];
    assert_eq!(capacity["by"], "users");
    assert_eq!(capacity["outcome"], "found");
    assert_eq!(
        (&capacity["users"], &capacity["low"], &capacity["high"]),
        (&3.into(), &3.0.into(), &4.0.into())
    );
    // On a busy machine the users that are served get so slow that most requests are those that are not.
    let limits = ["failures < 1%", "failures"].map(Value::from);
    assert!(limits.contains(&capacity["limited_by"]), "{capacity}");
    assert_eq!(
        steps(&report),
        [
            (2.0, "held", false),
            (4.0, "failed", false),
            (3.0, "held", false),
            (4.0, "failed", false),
            (3.0, "held", true)
        ]
    );
    assert_eq!(
        report["users"], 3,
        "the report is that of the confirming run"
    );
    assert_eq!(report["verdict"]["exit_code"], 0);
    assert!(
        ended.stdout.contains("the site holds 3 users"),
        "{}",
        ended.stdout
    );
    for told in ["held", "failed", "confirmed"] {
        assert!(ended.stderr.contains(told), "{told} in {}", ended.stderr);
    }
    // The saved report shows all of it again.
    let page = scratch("capacity_users.html");
    let output = format!("html={}", page.display());
    let file = file.display().to_string();
    let again = Lgoose::new(["report", &file, "-o", &output]).finish();
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(
        again.stdout.contains("the site holds 3 users"),
        "{}",
        again.stdout
    );
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("Throughput over load"));
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_limit_that_is_never_reached_is_said_to_hold_at_least() {
    let site = Server::start();
    let path = plan(
        "capacity_two.lua",
        "task { function(user) user:get '/a'; user:get '/b' end }",
    );
    let file = scratch("capacity_two.json");
    let output = format!("json={}", file.display());
    let more = [
        "--from",
        "60",
        "--to",
        "60",
        "-o",
        &output,
        "--slo",
        "failures < 50%",
    ];
    let ended = search(&[&path, "-H", &site.url()], &more);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = saved(&file);
    assert_eq!(report["capacity"]["outcome"], "at_least");
    assert_eq!(report["capacity"]["rate"], 60.0);
    assert_eq!(report["capacity"]["high"], Value::Null);
    assert_eq!(
        steps(&report),
        [(60.0, "held", false), (60.0, "held", true)]
    );
    let step = &report["capacity"]["steps"][1];
    let figure = |key: &str| step[key].as_f64().expect("a figure");
    let (requests, iterations) = (figure("count"), figure("iterations_ended"));
    // An iteration may have its first request within the step alone, or its second.
    assert!(
        iterations > 0.0 && (requests - 2.0 * iterations).abs() <= 4.0,
        "two requests each: {step}"
    );
    let per_second = requests / figure("measured_s");
    assert!(
        (figure("throughput") / per_second - 1.0).abs() < 0.01,
        "{step}"
    );
    assert!(
        ended.stdout.contains("at least 60 iterations/s"),
        "{}",
        ended.stdout
    );
}

#[test]
fn steps_that_are_shorter_than_an_iteration_find_nothing_and_say_how_long_they_have_to_be() {
    let site = Server::start();
    let path = plan(
        "capacity_too_short.lua",
        "scenario { 'visitor', wait = 30, order = 'serial',
            task { function(user) user:get '/a' end },
            task { function(user) user:get '/b' end } }",
    );
    let file = scratch("capacity_too_short.json");
    let output = format!("json={}", file.display());
    let more = ["--step-time-max", "8s", "-o", &output, "--slo", "p95 < 10s"];
    let ended = search(&[&path, "-H", &site.url()], &more);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let report = saved(&file);
    let capacity = &report["capacity"];
    assert_eq!(capacity["outcome"], "steps_too_short");
    assert_eq!(
        (&capacity["low"], &capacity["confirmed"]),
        (&Value::Null, &false.into())
    );
    assert_eq!(steps(&report), [(10.0, "too_short", false)]);
    let step = &capacity["steps"][0];
    assert_eq!(step["iterations_ended"], 0);
    assert!(step["iterations_started"].as_u64() > Some(20), "{step}");
    let told = capacity["text"].as_str().unwrap_or_default();
    for part in [
        "the steps are too short for this plan",
        "iterations started and 0 ended",
        "an iteration takes about 30s",
        "'--step-time-max 50s'",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_step_lasts_until_as_many_iterations_end_as_start() {
    let site = Server::start();
    let path = plan(
        "capacity_long.lua",
        "task { function(user) user:get '/a'; user:wait(5); user:get '/b' end }",
    );
    let file = scratch("capacity_long.json");
    let output = format!("json={}", file.display());
    let more = [
        "--from",
        "20",
        "--to",
        "20",
        "-o",
        &output,
        "--slo",
        "failures < 50%",
    ];
    let ended = search(&[&path, "-H", &site.url()], &more);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = saved(&file);
    assert_eq!(
        steps(&report),
        [(20.0, "held", false), (20.0, "held", true)]
    );
    for step in report["capacity"]["steps"].as_array().expect("steps") {
        let settled = step["settling_s"].as_f64();
        assert!(settled >= Some(5.0), "{step}");
        let counts = ["iterations_started", "iterations_ended", "count"];
        let [started, ended, requests] = counts.map(|key| step[key].as_f64().unwrap_or(0.0));
        assert!(
            ended >= started * 0.8 && requests >= started * 1.3,
            "{step}"
        );
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_search_whose_time_is_up_has_confirmed_what_held_until_then() {
    let site = Server::start();
    let file = scratch("capacity_time.json");
    let output = format!("json={}", file.display());
    let more = ["--from", "20", "--time", "30s", "-o", &output];
    let url = format!("{}/a", site.url());
    let ended = search(&[&url, "--slo", "p95 < 10s"], &more);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("takes 30s at most"),
        "{}",
        ended.stderr
    );
    let report = saved(&file);
    let capacity = &report["capacity"];
    assert_eq!(capacity["outcome"], "time_up");
    assert_eq!(
        (&capacity["confirmed"], &capacity["high"]),
        (&true.into(), &Value::Null)
    );
    let steps = steps(&report);
    let last = steps.last().expect("there is a step");
    assert_eq!((last.1, last.2), ("held", true));
    assert_eq!(capacity["low"].as_f64(), Some(last.0));
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_site_that_is_down_fails_the_first_step() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    drop(listener);
    let file = scratch("capacity_down.json");
    let output = format!("json={}", file.display());
    let ended = search(&[&url, "--slo", "p95 < 1s"], &["-o", &output]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the first step fails already"),
        "{}",
        ended.stderr
    );
    let ending = &saved(&file)["ending"];
    assert_eq!(ending["cause"], "time_up", "no user stopped it: {ending}");
    let told = ending["text"].as_str().unwrap_or_default();
    assert!(told.starts_with("the step was decided after"), "{told}");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn an_interrupt_ends_the_search_with_what_it_has() {
    for signal in [Signal::INT, Signal::HUP] {
        let site = Server::start();
        let file = scratch("capacity_stopped.json");
        let output = format!("json={}", file.display());
        let more = ["--from", "50", "--to", "800", "-o", &output];
        let url = format!("{}/a", site.url());
        let running = Lgoose::new(arguments(&[&url, "--slo", "p95 < 10s"], &more)).start();
        wait_until("the first step is over", || {
            running.stderr().contains("held")
        });
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("the search was stopped"),
            "{}",
            ended.stderr
        );
        let report = saved(&file);
        assert_eq!(report["capacity"]["outcome"], "stopped");
        assert_eq!(report["capacity"]["confirmed"], false);
        assert_eq!(report["capacity"]["low"], 50.0);
    }
}

#[test]
fn mistakes_are_told_with_the_way_out_before_anything_is_sent() {
    let site = Server::start();
    let url = format!("{}/a", site.url());
    let own = plan(
        "capacity_own.lua",
        "scenario { 'a', users = 3, task { function(user) user:get '/a' end } }",
    );
    let own = [own.as_str(), "-H", &site.url(), "--slo", "p95 < 1s"];
    let with = |more: &[&'static str]| {
        let all = [["capacity", &url].as_slice(), more].concat();
        Lgoose::new(all).finish()
    };
    let limit = ["--slo", "p95 < 1s"];
    for (more, told) in [
        (&[][..], "the search needs at least one limit"),
        (&["--slo", "p95 < 1"][..], "p95 < 1"),
        (
            &["--from", "20", "--to", "10"][..],
            "'--from 20' is more than '--to 10'",
        ),
        (
            &["--by", "users", "--from", "2.5"][..],
            "not a number of users",
        ),
        (&["--rate", "10"][..], "the search decides the load"),
        (&["-t", "10s"][..], "'--step-time-max' limits it"),
        (
            &["--threshold", "p95 < 1s"][..],
            "give the limits with '--slo'",
        ),
        (&["--once"][..], "for a single run"),
        (&["--within", "0%"][..], "too narrow"),
        (&["--time", "20s"][..], "leaves no time for a step"),
        (&["--step-time", "95s"][..], "no time for a step to settle"),
        (&["--from", "0"][..], "is not a rate"),
    ] {
        let plain = more.is_empty() || more[0] == "--slo";
        let all = if plain {
            more.to_vec()
        } else {
            [more, &limit].concat()
        };
        let ended = with(&all);
        assert_eq!(ended.code, 2, "{all:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{all:?}: {}", ended.stderr);
    }
    let ended = search(&own, &["--by", "users"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("a fixed number of users"),
        "{}",
        ended.stderr
    );
    let ended = Lgoose::new(["capacity", "--slo", "p95 < 1s"]).finish();
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("no plan is given"),
        "{}",
        ended.stderr
    );
    assert_eq!(site.received(), 0);
}

#[test]
fn a_search_runs_on_workers() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let site = Server::start();
    let _workers = [worker(&broker, "w1", &[]), worker(&broker, "w2", &[])];
    let file = scratch("capacity_gaggle.json");
    let (url, output) = (
        format!("{}/a", site.url()),
        format!("json={}", file.display()),
    );
    let more = [
        "--from",
        "60",
        "--to",
        "60",
        "--workers",
        "2",
        "-o",
        &output,
    ];
    let all = arguments(&[&url, "--slo", "failures < 50%"], &more);
    let ended = Lgoose::new(all).env("LGOOSE_NATS", &broker.url()).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = saved(&file);
    assert_eq!(
        steps(&report),
        [(60.0, "held", false), (60.0, "held", true)]
    );
    let workers = report["workers"]
        .as_array()
        .expect("they are in the report");
    assert!(
        workers.iter().all(|one| one["requests"].as_u64() > Some(0)),
        "{workers:?}"
    );
}
