//! Requests that time out: their phases are in the report and in the request log, and the phase that did not end took
//! the rest of the time.

use crate::http2_site::Http2;
use crate::log_lines::rows;
use crate::program::{plan, scratch};
use crate::report::run;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

const PHASES: [&str; 6] = ["dns", "connect", "tls", "send", "first_byte", "receive"];

/// Returns the address of a listener as a URL.
fn url(scheme: &str, listener: &TcpListener) -> String {
    let address = listener.local_addr().expect("it is bound");
    format!("{scheme}://{address}")
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a port is free")
}

/// Starts a site that sends `start` of its response and keeps the connection.
fn stops_after(start: &'static str) -> String {
    let listener = listener();
    let url = url("http", &listener);
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let _asked = stream.read(&mut [0; 4096]);
            let _sent = stream.write_all(start.as_bytes());
            kept.push(stream);
        }
    });
    url
}

/// Asserts that a request without a complete response times out in the phase `open`, after the phases `before`.
fn assert_open(name: &str, url: &str, more: &[&str], error: &str, before: &[&str], open: &str) {
    let text = "task { function(user) user:get(\"/hold\", { name = \"page\", timeout = 2 }) end }";
    let path = plan(&format!("unanswered_{name}.lua"), text);
    let log = scratch(&format!("unanswered_{name}.csv"));
    let log = log.to_str().expect("a path of text");
    let own = [&path, "-H", url, "-u", "1", "-i", "1", "--request-log", log];
    let report = run(own.iter().chain(more));
    assert_eq!(report.messages_of("GET page"), [error], "{name}");
    let told = &report.json["requests"][0]["phases_ms"];
    let kept = rows(log);
    let kept = kept.first().expect("a line of the log");
    let number = |column: &str| kept[column].parse::<u64>().expect("a number");
    let latency = number("end_ns") - number("start_ns");
    let phases = PHASES.map(|phase| (phase, number(&format!("{phase}_ns"))));
    let sum: u64 = phases.iter().map(|(_, time)| time).sum();
    assert_eq!(sum, latency, "{name}: {phases:?}");
    for (phase, time) in phases {
        let seen = told[phase].is_number();
        assert_eq!(seen, time > 0, "{name}: {phase} {told}");
        if phase == open {
            assert!(time > latency / 2, "{name}: {phases:?}");
        } else if !before.contains(&phase) {
            assert_eq!(time, 0, "{name}: {phases:?}");
        }
    }
    for phase in before {
        assert!(told[phase].is_number(), "{name}: no {phase} in {told}");
    }
}

/// Returns whether the client is not reqwest, which does not distinguish sending from waiting, nor TLS from connecting.
fn is_direct() -> bool {
    crate::CLIENT.is_none()
}

#[test]
fn a_timeout_before_the_answer_has_the_phases_up_to_it() {
    let silent = listener();
    let before: &[&str] = if is_direct() {
        &["dns", "connect", "send"]
    } else {
        &["connect"]
    };
    let url = url("http", &silent);
    assert_open("silent", &url, &[], "timeout", before, "first_byte");
}

#[test]
fn a_timeout_within_the_answer_has_the_phases_up_to_it() {
    let before: &[&str] = if is_direct() {
        &["dns", "connect", "send", "first_byte"]
    } else {
        &["connect", "first_byte"]
    };
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
    for (name, start) in [("half", half), ("chunk", chunk)] {
        assert_open(name, &stops_after(start), &[], "timeout", before, "receive");
    }
}

#[test]
fn a_timeout_during_the_handshake_has_the_phases_up_to_it() {
    let silent = listener();
    let (before, open): (&[&str], _) = if is_direct() {
        (&["dns", "connect"], "tls")
    } else {
        (&[], "connect")
    };
    let url = url("https", &silent);
    let more = ["--insecure"];
    assert_open("tls", &url, &more, "connect timeout", before, open);
}

/// Runs on Linux only, where a full queue of connections accepts no more of them.
#[cfg(target_os = "linux")]
#[test]
fn a_timeout_while_connecting_has_the_phases_up_to_it() {
    let full = listener();
    rustix::net::listen(&full, 0).expect("a listener can listen for less");
    let address = full.local_addr().expect("it is bound");
    let waiting: Vec<TcpStream> = (0..8)
        .filter_map(|_| {
            let patience = std::time::Duration::from_millis(100);
            TcpStream::connect_timeout(&address, patience).ok()
        })
        .collect();
    assert!(waiting.len() < 8, "the queue is not full");
    let before: &[&str] = if is_direct() { &["dns"] } else { &[] };
    let url = url("http", &full);
    assert_open("full", &url, &[], "connect timeout", before, "connect");
}

#[test]
fn over_http_2_it_is_the_same() {
    let site = Http2::start(None);
    let url = site.url("http");
    let more = ["--http", "2"];
    let before: &[&str] = if is_direct() {
        &["dns", "connect", "send"]
    } else {
        &["connect"]
    };
    assert_open("http2", &url, &more, "timeout", before, "first_byte");
}
