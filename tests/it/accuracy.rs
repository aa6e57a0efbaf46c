//! The accuracy of latencies: a site takes a known time for each answer, from a fixed list with two peaks and
//! a tail, notes how long it really took, and every percentile of the report is compared with the list's own.

use crate::program::plan;
use crate::report::run;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The number of answers whose time is known.
const KNOWN: usize = 2_000;
const USERS: usize = 20;

/// Returns the time of the n-th answer: six in ten around 4 ms, three around 20 ms, and a tail up to 200 ms.
fn service_time(n: usize) -> Duration {
    let spread = (n * 7_919 % 1_000) as u64;
    let us = match n % 100 {
        0..60 => 3_500 + spread,
        60..90 => 18_000 + 4 * spread,
        90..99 => 30_000 + 30 * spread,
        _ => 80_000 + 120 * spread,
    };
    Duration::from_micros(us)
}

/// The times of answers as the site itself measured them: the known ones, and those that wait for nothing.
#[derive(Default)]
struct Took {
    known: Mutex<Vec<Duration>>,
    at_once: Mutex<Vec<Duration>>,
}

fn start_site(took: Arc<Took>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let took = took.clone();
            // A client that goes away ends its connection, not the site.
            thread::spawn(move || serve(stream, &took).ok());
        }
    });
    format!("http://{address}")
}

fn serve(mut stream: TcpStream, took: &Took) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let begin = Instant::now();
        let path = head.split(' ').nth(1).unwrap_or_default();
        let list = match path.strip_prefix("/known/") {
            Some(n) => {
                thread::sleep(service_time(n.parse().unwrap_or(0)));
                &took.known
            }
            None => &took.at_once,
        };
        let time = begin.elapsed();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
        list.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(time);
    }
}

/// Returns a quantile as histograms define it: the smallest of the sorted times that the given share of them, of 1,
/// does not exceed.
fn quantile_ms(times: &[Duration], quantile: f64) -> f64 {
    let rank = (quantile * times.len() as f64).ceil() as usize;
    times[rank.clamp(1, times.len()) - 1].as_secs_f64() * 1e3
}

fn figure(row: &Value, key: &str) -> f64 {
    row["latency_ms"][key].as_f64().expect("a figure")
}

#[test]
fn every_percentile_is_that_of_the_site_within_a_thousandth_and_the_loopback() {
    let took = Arc::<Took>::default();
    let url = start_site(took.clone());
    // Between two known answers, one that the site gives at once: what it takes is the way there and back.
    let text = format!(
        "task {{ function(user)\n  \
         local n = (user.iteration - 1) * {USERS} + user.id - 1\n  \
         user:get(\"/known/\" .. n, {{ name = \"known\" }})\n  \
         user:get(\"/at-once\", {{ name = \"at once\" }})\nend }}"
    );
    let path = plan("accuracy.lua", &text);
    let (users, iterations) = (USERS.to_string(), (KNOWN / USERS).to_string());
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        &users,
        "-r",
        "1000",
        "-i",
        &iterations,
    ]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);

    let mut times = took.known.lock().expect("nobody panicked").clone();
    times.sort_unstable();
    assert_eq!(times.len(), KNOWN);
    let rows = report.json["requests"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).expect("a row");
    let (known, at_once) = (row("known"), row("at once"));
    // The longest way there and back that was measured, connections included.
    let loopback = figure(at_once, "max");

    let sum: Duration = times.iter().sum();
    let mean = sum.as_secs_f64() * 1e3 / KNOWN as f64;
    let truths = [
        ("min", quantile_ms(&times, 0.0)),
        ("avg", mean),
        ("p50", quantile_ms(&times, 0.5)),
        ("p75", quantile_ms(&times, 0.75)),
        ("p90", quantile_ms(&times, 0.9)),
        ("p95", quantile_ms(&times, 0.95)),
        ("p98", quantile_ms(&times, 0.98)),
        ("p99", quantile_ms(&times, 0.99)),
        ("p99.9", quantile_ms(&times, 0.999)),
        ("p99.99", quantile_ms(&times, 0.9999)),
        ("max", quantile_ms(&times, 1.0)),
    ];
    for (key, truth) in truths {
        let told = figure(known, key);
        assert!(
            told >= truth * 0.999 && told <= truth * 1.001 + loopback,
            "{key}: {told} ms told, {truth} ms true, {loopback} ms at most on the way"
        );
        eprintln!("{key:>7}  told {told:8.3} ms  true {truth:8.3} ms");
    }
    eprintln!(
        "loopback: p50 {:.3} ms, max {loopback:.3} ms",
        figure(at_once, "p50")
    );
}
