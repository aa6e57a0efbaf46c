//! Plain sockets against a server that does what the plan asks of it in its first line: it echoes, closes, resets, sends without
//! end, is silent, speaks TLS. What a plan sees, what is counted, and what the server itself has counted.

use crate::forward::Forward;
use crate::program::{Lgoose, plan, wait_until};
use crate::report::{Report, iterate_at, read, run};
use crate::secure::{Authority, server as tls_config};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What the server has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    /// Connections whose client has closed as it should.
    closed: AtomicU64,
}

/// A server: its addresses, the authority of its certificate, and what it has seen.
struct Judge {
    tcp: SocketAddr,
    tls: SocketAddr,
    udp: SocketAddr,
    authority: Authority,
    seen: Arc<Seen>,
}

impl Judge {
    /// Starts it; it ends with the process.
    fn start() -> Judge {
        let authority = Authority::new();
        let identity = authority.sign(&["judge.test"]);
        let config = Arc::new(tls_config(&identity, None));
        let seen = Arc::new(Seen::default());
        let (of_tcp, of_starttls) = (seen.clone(), config.clone());
        let tcp = listen(move |stream| {
            of_tcp.connections.fetch_add(1, Ordering::SeqCst);
            let socket = stream.try_clone().expect("a socket");
            let mut stream = Counted(stream, of_tcp.clone());
            let next = obey(&mut stream, &socket, &of_tcp);
            if matches!(next, Ok(Next::StartTls)) {
                let _end = echo(&mut secured(stream, &of_starttls));
            }
        });
        let of_tls = seen.clone();
        let tls = listen(move |stream| {
            let socket = stream.try_clone().expect("a socket");
            let mut stream = secured(Counted(stream, of_tls.clone()), &config);
            let _end = obey(&mut stream, &socket, &Seen::default());
        });
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let udp = socket.local_addr().expect("an address");
        thread::spawn(move || {
            let mut buffer = vec![0; 65_535];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                if &buffer[..length] != b"silence" {
                    let _sent = socket.send_to(&buffer[..length], from);
                }
            }
        });
        Judge {
            tcp,
            tls,
            udp,
            authority,
            seen,
        }
    }

    /// Returns the arguments by which a plan knows it.
    fn arguments(&self, name: &str) -> Vec<String> {
        let authority = self.authority.file(&format!("{name}_ca.pem"));
        let all = [
            "-e".to_owned(),
            format!("TLS={}", self.tls),
            "-e".to_owned(),
            format!("UDP={}", self.udp),
            "--ca".to_owned(),
            authority,
        ];
        all.into()
    }
}

fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A connection whose bytes are counted.
struct Counted(TcpStream, Arc<Seen>);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.received.fetch_add(count as u64, Ordering::SeqCst);
        Ok(count)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.0.write(bytes)?;
        self.1.sent.fetch_add(count as u64, Ordering::SeqCst);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// What is to be done after the first line.
enum Next {
    Close,
    StartTls,
}

/// Does what the first line of a connection says, over TLS or not.
fn obey(
    stream: &mut (impl Read + Write),
    socket: &TcpStream,
    seen: &Seen,
) -> std::io::Result<Next> {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte)? > 0 && byte != *b"\n" {
        line.push(byte[0]);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    let (word, number) = line.split_once(' ').unwrap_or((&line, "0"));
    match word {
        "echo" => {
            echo(stream)?;
            seen.closed.fetch_add(1, Ordering::SeqCst);
        }
        "lines" => {
            let lines: String = (1..=number.parse().unwrap_or(0))
                .map(|n: u64| format!("{n}\r\n"))
                .collect();
            stream.write_all(lines.as_bytes())?;
        }
        "pieces" => {
            for byte in b"-a--b--en--end--line\r\n" {
                stream.write_all(&[*byte])?;
                stream.flush()?;
            }
            stream.read_to_end(&mut Vec::new())?;
        }
        "half" => stream.write_all(b"half a li")?,
        "reset" => {
            stream.write_all(b"x")?;
            rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))?;
        }
        "endless" => loop {
            stream.write_all(&[b'x'; 4096])?;
        },
        "starttls" => {
            stream.write_all(b"go\r\n")?;
            return Ok(Next::StartTls);
        }
        "silent" => {
            stream.read_to_end(&mut Vec::new())?;
        }
        "deaf" => loop {
            thread::park();
        },
        _ => {}
    }
    stream.flush()?;
    Ok(Next::Close)
}

fn echo(stream: &mut (impl Read + Write)) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..count])?;
        stream.flush()?;
    }
}

fn secured(stream: Counted, tls: &Arc<ServerConfig>) -> StreamOwned<ServerConnection, Counted> {
    let connection = ServerConnection::new(tls.clone()).expect("it is configured");
    StreamOwned::new(connection, stream)
}

fn row<'a>(report: &'a Report, kind: &str, name: &str) -> &'a Value {
    report.row(&format!("{kind} {name}"))
}

fn counts(report: &Report, kind: &str, name: &str) -> (u64, u64) {
    let row = row(report, kind, name);
    let count = |key: &str| row[key].as_u64().expect("a count");
    (count("count"), count("failures"))
}

#[test]
fn sockets_do_what_the_plan_says_and_end_as_the_other_side_says() {
    let judge = Judge::start();
    let url = format!("http://{}", judge.tcp);
    let more = judge.arguments("sockets");
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let report = iterate_at("tests/lua/sockets.lua", &url, 1, 1, &more);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    for kind in ["TCP", "TLS"] {
        for (name, expected) in [
            // Opened, and what has failed since.
            ("lines 500", (1, 0)),
            ("lines 3", (1, 0)),
            ("pieces", (1, 0)),
            ("half", (2, 1)),
            ("reset", (2, 1)),
            ("closed", (1, 0)),
            ("endless", (4, 2)),
            ("short", (2, 1)),
            ("silent", (1, 0)),
            ("deaf", (2, 1)),
        ] {
            assert_eq!(counts(&report, kind, name), expected, "{kind} {name}");
        }
    }
    for (kind, name, expected) in [
        ("TCP", "echo", (1, 0)),
        ("TCP", "refused", (1, 1)),
        ("TCP", "unknown", (1, 1)),
        ("TCP", "many", (250, 0)),
        ("TCP", "half, timed", (1, 0)),
        ("TLS", "tls", (2, 0)),
        ("TLS", "wrong name", (1, 1)),
        ("TLS", "no TLS", (1, 1)),
        ("TCP", "starttls", (1, 0)),
        ("TCP", "early", (2, 1)),
        ("TCP", "wrong name", (2, 1)),
        ("UDP", "udp", (1, 0)),
        ("TIMED", "ask", (1, 0)),
        ("ECHO", "ask", (1, 0)),
        ("TIMED", "reason", (1, 1)),
        ("TIMED", "nothing", (1, 0)),
        ("TIMED", "failed", (1, 1)),
        ("TIMED", "handled", (1, 0)),
        ("TIMED", "raised", (1, 1)),
        ("TIMED", "outer", (1, 1)),
        ("TIMED", "half", (1, 1)),
        ("TIMED", "success after it", (1, 1)),
    ] {
        assert_eq!(counts(&report, kind, name), expected, "{kind} {name}");
    }
    let messages = |kind: &str, name: &str| row(&report, kind, name)["messages"].clone();
    let both = |sent: u64, received: u64| serde_json::json!({ "sent": sent, "received": received });
    assert_eq!(messages("TCP", "lines 500"), both(1, 500));
    assert_eq!(messages("TCP", "kept"), both(2, 1));
    assert_eq!(messages("TLS", "lines 500"), both(1, 500));
    assert_eq!(messages("TLS", "tls"), both(3, 2));
    assert_eq!(messages("UDP", "udp"), both(6, 5));
    let udp = row(&report, "UDP", "udp");
    assert_eq!(
        (&udp["bytes"], &udp["bytes_sent"]),
        (&61_403.into(), &61_410.into())
    );
    let tls = &row(&report, "TLS", "tls")["phases_ms"];
    assert!(
        tls["tls"].as_f64() > Some(0.0) && tls["connect"].as_f64() > Some(0.0),
        "{tls}"
    );
    let failed = row(&report, "TIMED", "failed")["latency_ms"]["max"].as_f64();
    assert!(failed >= Some(10.0), "{failed:?}");
    let tags = report.json["by_tag"].as_array().expect("tags");
    assert!(tags.iter().any(|row| row["tag"] == "way=there"), "{tags:?}");
}

/// Three ways to count are one: the report, the server, and what the plan saw; also at Ctrl-C.
#[test]
fn a_stop_finishes_what_is_timed_and_closes_sockets() {
    let judge = Judge::start();
    let path = plan(
        "sockets_stop.lua",
        "task { function(user)
           local socket = user.data.socket or user:tcp(nil, { name = 'echo' })
           if not user.data.socket then socket:send 'echo\\n' end
           user.data.socket = socket
           user:timed('ask', function()
             socket:send 'ping\\n'
             return socket:receive(5)
           end)
           print 'it flows'
         end }
         task { 'leave', on_stop = true, function(user)
           local socket = user.data.socket
           socket:send 'bye\\n'
           check(socket:receive 'line' == 'bye', 'it goes on to the end')
         end }",
    );
    let url = format!("http://{}", judge.tcp);
    let running = Lgoose::new([&*path, "-H", &url, "-u", "3", "-r", "100", "-o", "json=-"]).start();
    wait_until("all flow", || {
        let shown = running.stderr();
        (1..=3).all(|user| shown.contains(&format!("it flows user={user} ")))
    });
    running.interrupt();
    let report = read(running.end());
    assert_eq!(counts(&report, "TCP", "echo"), (3, 0));
    let (asked, failed) = counts(&report, "TIMED", "ask");
    assert_eq!(failed, 0, "{:?}", report.errors());
    let echo = row(&report, "TCP", "echo");
    // The first line of each is not echoed.
    assert_eq!(echo["messages"]["sent"], asked + 6);
    assert_eq!(echo["messages"]["received"], asked + 3);
    let seen = |count: &AtomicU64| count.load(Ordering::SeqCst);
    assert_eq!(echo["bytes_sent"], seen(&judge.seen.received));
    assert_eq!(echo["bytes"], seen(&judge.seen.sent));
    wait_until("the server has seen them close", || {
        seen(&judge.seen.closed) == 3
    });
    assert_eq!(report.json["checks"][0]["failures"], 0);
}

#[test]
fn waiting_ends_with_the_run_and_what_is_cut_off_is_counted() {
    let judge = Judge::start();
    let url = format!("http://{}", judge.tcp);
    let wait = |name: &str, body: &str, is_aborted: bool| {
        let text = format!(
            "task {{ function(user)
               local socket = user:tcp(nil, {{ name = 'silent' }})
               socket:send 'silent\\n'
               print 'it waits'
               {body}
               print 'never'
             end }}"
        );
        let path = plan(&format!("{name}.lua"), &text);
        let running = Lgoose::new([&*path, "-H", &url, "-u", "1", "-o", "json=-"]).start();
        wait_until("it waits", || running.stderr().contains("it waits"));
        running.interrupt();
        if is_aborted {
            wait_until("the first signal is told", || {
                running.stderr().contains("press Ctrl-C again")
            });
            running.signal(rustix::process::Signal::TERM);
        }
        let report = read(running.end());
        assert!(!report.ended.stderr.contains("never"), "{name}");
        report
    };
    let report = wait("sockets_wait", "socket:receive 'line'", false);
    assert_eq!(
        counts(&report, "TCP", "silent"),
        (1, 0),
        "as user:wait ends"
    );
    let timed = "user:timed('question', function() return socket:receive 'line' end)";
    let report = wait("sockets_abort", timed, true);
    assert_eq!(counts(&report, "TIMED", "question"), (1, 1));
    assert!(
        report.errors()[0].contains("aborted"),
        "as a request is: {:?}",
        report.errors()
    );
}

#[test]
fn sockets_go_through_the_proxy_of_the_run() {
    let (judge, proxy) = (Judge::start(), Forward::guarded());
    let path = plan(
        "sockets_proxy.lua",
        "task { function(user)
           local socket = user:tcp(nil, { name = 'through' })
           socket:send 'lines 2\\n'
           check(socket:receive 'all' == '1\\r\\n2\\r\\n', 'what came through')
           local datagrams = user:udp(nil, { name = 'beside' })
           check(datagrams.error == 'connect failed: datagrams cannot go through a proxy', 'none')
         end }",
    );
    let url = format!("http://{}", judge.tcp);
    let through = proxy.url("http", "me:secret@");
    let report = run([
        &*path, "-H", &url, "-u", "1", "-i", "1", "--proxy", &through,
    ]);
    assert_eq!(
        counts(&report, "TCP", "through"),
        (1, 0),
        "{:?}",
        report.errors()
    );
    assert_eq!(counts(&report, "UDP", "beside"), (1, 1));
    let checks = report.json["checks"].as_array().expect("checks");
    let fine = |check: &Value| check["failures"] == 0;
    assert!(checks.iter().all(fine) && checks.len() == 2, "{checks:?}");
    assert_eq!(proxy.asked(), [format!("CONNECT {}", judge.tcp)]);
}
