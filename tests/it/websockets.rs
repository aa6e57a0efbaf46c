//! WebSockets, with the server of another library (tungstenite) as the judge: what a plan sees, what the server sees, and how
//! both are counted.

use crate::log_lines::{path as log_path, rows};
use crate::program::{Lgoose, plan, wait_until};
use crate::report::{Report, iterate_at, read, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::protocol::frame::CloseFrame;
use tungstenite::{Message, accept_hdr};

/// What the server has seen.
#[derive(Default)]
struct Seen {
    opened: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    /// Closing handshakes that the client began or took part in.
    closed: AtomicU64,
}

/// Starts the server; it ends with the process.
fn server() -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let seen = Arc::new(Seen::default());
    let all = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = all.clone();
            thread::spawn(move || serve(stream, &seen));
        }
    });
    (address, seen)
}

/// Returns the path of a request whose bytes stay to be read.
fn path_of(stream: &TcpStream) -> String {
    let mut head = [0; 4096];
    let count = stream.peek(&mut head).unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..count]);
    head.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn serve(mut stream: TcpStream, seen: &Seen) {
    let path = path_of(&stream);
    let (kind, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    match kind {
        "page" => respond(&mut stream, "200 OK\r\nContent-Length: 2", "ok"),
        "refuse" => respond(&mut stream, "403 Forbidden\r\nContent-Length: 2", "no"),
        "deaf" => {
            upgrade(&mut stream, "Sec-WebSocket-Accept: $");
            let _end = stream.read_to_end(&mut Vec::new());
        }
        "hold" => {
            // Until the client goes.
            let _end = stream.read_to_end(&mut Vec::new());
        }
        "wrong" => {
            let more = match rest {
                "accept" => "Sec-WebSocket-Accept: x",
                "protocol" => "Sec-WebSocket-Accept: $\r\nSec-WebSocket-Protocol: v9",
                _ => "Sec-WebSocket-Accept: $\r\nSec-WebSocket-Extensions: x-webkit-deflate-frame",
            };
            upgrade(&mut stream, more);
            let _end = stream.read(&mut [0; 64]);
        }
        // Control frames and empty fragments, as fast as they are taken.
        "flood" => {
            upgrade(&mut stream, "Sec-WebSocket-Accept: $");
            let frame: &[u8] = match rest {
                "pings" => &[0x89, 2, b'h', b'i'],
                "pongs" => &[0x8a, 0],
                _ => &[0x00, 0x00],
            };
            let _begun = stream.write_all(&[0x01, 0x00]);
            let frames = frame.repeat(10_000);
            while stream.write_all(&frames).is_ok() {}
        }
        "raw" => {
            upgrade(&mut stream, "Sec-WebSocket-Accept: $");
            let bytes: &[u8] = match rest {
                "masked" => &[0x81, 0x82, 1, 2, 3, 4, 5, 6],
                "half" => &[0x81, 100, b'x'],
                _ => &[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0],
            };
            let _sent = stream.write_all(bytes);
            if rest != "half" {
                let _end = stream.read_to_end(&mut Vec::new());
            }
        }
        _ => converse(stream, kind, rest, seen),
    }
}

fn respond(stream: &mut TcpStream, head: &str, body: &str) {
    let _read = stream.read(&mut [0; 4096]);
    let _sent = write!(stream, "HTTP/1.1 {head}\r\n\r\n{body}");
}

/// Answers the handshake; `$` stands for the right key.
fn upgrade(stream: &mut TcpStream, more: &str) {
    let mut head = [0; 4096];
    let count = stream.read(&mut head).unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..count]);
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let key = lines.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    let accept = derive_accept_key(key.expect("a key").1.as_bytes());
    let more = more.replace('$', &accept);
    let _sent = write!(
        stream,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{more}\r\n\r\n"
    );
}

#[expect(
    clippy::result_large_err,
    reason = "the error is what the library wants"
)]
fn converse(stream: TcpStream, kind: &str, rest: &str, seen: &Seen) {
    let choose = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        if request.headers().contains_key("sec-websocket-protocol") {
            let chosen = "v1".parse().expect("a value");
            response
                .headers_mut()
                .insert("sec-websocket-protocol", chosen);
        }
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr(stream, choose) else {
        return;
    };
    seen.opened.fetch_add(1, Ordering::SeqCst);
    match kind {
        "drop" => return,
        "close" => {
            // A while after the handshake.
            if rest == "4001" {
                thread::sleep(Duration::from_millis(60));
            }
            let code = rest.parse::<u16>().ok();
            let close = code.map(|code| CloseFrame {
                code: code.into(),
                reason: "enough".into(),
            });
            let _closing = socket.close(close);
        }
        "feed" => {
            for number in 1..=rest.parse::<u64>().expect("a number") {
                if socket.send(Message::text(number.to_string())).is_err() {
                    return;
                }
                seen.sent.fetch_add(1, Ordering::SeqCst);
            }
            let normal = CloseFrame {
                code: 1000.into(),
                reason: "".into(),
            };
            let _closing = socket.close(Some(normal));
        }
        _ => {}
    }
    loop {
        match socket.read() {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                seen.received.fetch_add(1, Ordering::SeqCst);
                if socket.send(message).is_err() {
                    return;
                }
                seen.sent.fetch_add(1, Ordering::SeqCst);
            }
            Ok(_) => {}
            Err(tungstenite::Error::ConnectionClosed) => {
                seen.closed.fetch_add(1, Ordering::SeqCst);
                return;
            }
            Err(_) => return,
        }
    }
}

#[test]
fn a_url_of_a_socket_needs_no_plan() {
    let (address, seen) = server();
    let url = format!("ws://{address}/echo");
    let report = run([&url, "--body", "hello", "-u", "2", "-i", "3"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let row = row(&report, "/echo");
    assert_eq!((&row["count"], &row["failures"]), (&6.into(), &0.into()));
    assert_eq!(
        row["messages"],
        serde_json::json!({ "sent": 6, "received": 6 })
    );
    assert_eq!(seen.received.load(Ordering::SeqCst), 6);
    assert_eq!(seen.closed.load(Ordering::SeqCst), 6);
    // Its server has chosen a subprotocol that was offered, or the opening would fail.
    let offered = run([&url, "--subprotocol", "v1", "-u", "1", "-i", "1"]);
    assert_eq!(offered.failures("WS /echo"), 0, "{:?}", offered.errors());
    let unknown = run([&url, "--subprotocol", "v7", "-u", "1", "-i", "1"]);
    assert_eq!(unknown.failures("WS /echo"), 1, "{:?}", unknown.errors());
    let feed = format!("ws://{address}/feed/100");
    let report = run([&feed, "--stream", "-u", "1", "-i", "1"]);
    assert_eq!(report.json["requests"][0]["messages"]["received"], 100);
}

/// Three ways to count are one: the report, the server, and its own log; also at Ctrl-C.
#[test]
fn a_stop_closes_sockets_and_every_message_is_counted() {
    let (address, seen) = server();
    let path = plan(
        "websockets_stop.lua",
        "task { function(user)
           local socket = user.data.socket or user:websocket('/echo', { name = 'echo' })
           user.data.socket = socket
           socket:send 'ping'
           socket:receive()
           print 'it flows'
         end }",
    );
    let url = format!("http://{address}");
    let running = Lgoose::new([&*path, "-H", &url, "-u", "3", "-r", "100", "-o", "json=-"]).start();
    wait_until("all flow", || {
        let shown = running.stderr();
        (1..=3).all(|user| shown.contains(&format!("it flows user={user} ")))
    });
    running.interrupt();
    let report = read(running.end());
    let row = row(&report, "echo");
    assert_eq!(
        (&row["count"], &row["failures"]),
        (&3.into(), &0.into()),
        "{row}"
    );
    assert_eq!(
        row["messages"]["sent"],
        seen.received.load(Ordering::SeqCst)
    );
    assert_eq!(
        row["messages"]["received"],
        seen.sent.load(Ordering::SeqCst)
    );
    assert_eq!(seen.closed.load(Ordering::SeqCst), 3, "as they should be");
}

/// A question is a request: a stop lets it end, an abort counts it.
#[test]
fn a_question_under_way_is_waited_for_at_a_stop_and_counted_at_an_abort() {
    let (address, seen) = server();
    let text = "task { function(user)
           local socket = user:websocket('/echo', { name = 'echo' })
           user:spawn(function() user:wait(60) end)
           local function holds(message) return message.data == 'now' end
           user:spawn(function() socket:ask('never', { name = 'question', match = holds }) end)
           user:wait(0.01)
           print 'it is asked'
         end }";
    let path = plan("websockets_question.lua", text);
    let url = format!("http://{address}");
    let running = Lgoose::new([&*path, "-H", &url, "-u", "1", "-o", "json=-"]).start();
    wait_until("it is asked", || {
        running.stderr().contains("it is asked") && seen.received.load(Ordering::SeqCst) == 1
    });
    running.interrupt();
    wait_until("the first Ctrl-C is told", || {
        running.stderr().contains("Ctrl-C again")
    });
    assert!(!running.has_ended());
    running.interrupt();
    let report = read(running.end());
    let question = row(&report, "question");
    assert_eq!(
        (&question["count"], &question["failures"]),
        (&1.into(), &1.into())
    );
    assert_eq!(report.messages_of("WS question"), ["aborted"]);
}

/// Asserts that the lines of a log have as many messages as the rows of the report.
fn assert_logged(report: &Report, lines: &[BTreeMap<String, String>]) {
    for row in report.json["requests"].as_array().expect("rows") {
        let of_row = |line: &&BTreeMap<String, String>| {
            row["method"] == *line["method"] && row["name"] == *line["name"]
        };
        for way in ["sent", "received"] {
            let column = format!("messages_{way}");
            let logged = lines.iter().filter(of_row);
            let logged = logged.filter_map(|line| line[&column].parse::<u64>().ok());
            let messages = row["messages"][way].as_u64().unwrap_or(0);
            assert_eq!(logged.sum::<u64>(), messages, "{column} of {row}");
        }
    }
    let page = lines.iter().find(|line| line["method"] == "GET");
    assert_eq!(page.expect("a page was requested")["messages_sent"], "");
}

fn row<'a>(report: &'a Report, name: &str) -> &'a Value {
    report.row(&format!("WS {name}"))
}

#[test]
fn sockets_send_receive_and_end_as_the_other_side_says() {
    let (address, seen) = server();
    let log = log_path("websockets.csv");
    for client in ["direct", "reqwest"] {
        let url = format!("http://{address}");
        let report = iterate_at(
            "tests/lua/websockets.lua",
            &url,
            1,
            1,
            &["--client", client, "--request-log", &log],
        );
        assert_eq!(report.task_failures(), 0, "{client}: {:?}", report.errors());
        assert_logged(&report, &rows(&log));
        let messages = |name: &str, way: &str| row(&report, name)["messages"][way].as_u64();
        assert_eq!(messages("echo", "sent"), Some(21), "{client}");
        assert_eq!(messages("feed", "received"), Some(500), "{client}");
        assert_eq!(messages("many", "sent"), Some(50), "{client}");
        for name in ["echo", "kept", "many", "feed"] {
            assert_eq!(row(&report, name)["failures"], 0, "{client}: {name}");
        }
        assert_eq!(row(&report, "many")["count"], 50, "{client}");
        let question = row(&report, "question");
        let counts = (&question["count"], &question["failures"]);
        assert_eq!(counts, (&5.into(), &0.into()), "{client}");
        assert_eq!(row(&report, "questions")["count"], 1, "{client}");
        let slow = messages("slow", "received");
        assert_eq!(slow, Some(60_000), "{client}");
        assert_eq!(row(&report, "ping")["failures"], 0, "{client}");
        assert_eq!(row(&report, "pong")["count"], 1, "{client}");
        assert_eq!(row(&report, "again")["count"], 3, "{client}");
        for name in ["late", "to nobody", "otherwise", "refused", "no pong"] {
            assert_eq!(row(&report, name)["failures"], 1, "{client}: {name}");
        }
        // One that fails counts when it does.
        let closed = row(&report, "/close/4001")["latency_ms"]["max"].as_f64();
        assert!(closed >= Some(50.0), "{client}: {closed:?}");
        assert!(row(&report, "after")["latency_ms"]["max"].as_f64() > Some(0.0));
        let late = row(&report, "late")["latency_ms"]["max"].as_f64();
        assert!(late >= Some(30.0), "{client}: {late:?}");
        assert_eq!(row(&report, "many")["status"]["101"], 50, "{client}");
    }
    let sum = |count: &AtomicU64| count.load(Ordering::SeqCst);
    assert!(
        sum(&seen.closed) > 100,
        "{} are closed as they should be",
        sum(&seen.closed)
    );
}

#[test]
fn a_task_that_reads_for_ever_what_has_ended_holds_up_nobody() {
    let (address, _) = server();
    let text = "
      local function read(user)
        local socket = user:websocket('/refuse', { name = 'refused' })
        while true do socket:receive() end
      end
      scenario { 'task', users = 1, task { read } }
      scenario { 'job', users = 1, iterations = 1, task { function(user)
        local job = user:spawn(read, user)
        user:wait(0.05)
        job:cancel()
        user:get('/page', { name = 'cancelled' })
      end } }
      scenario { 'others', users = 1, iterations = 20, task { function(user) user:get('/page', { name = 'page' }) end } }";
    let path = plan("websockets_ended_for_ever.lua", text);
    let url = format!("http://{address}");
    let limits = "--threads 1 -u 3 -r 1000 -t 4s --stop-timeout 100ms";
    let report = run([&*path, "-H", &url].into_iter().chain(limits.split(' ')));
    assert_eq!(report.count("GET page"), 20);
    assert_eq!(report.count("GET cancelled"), 1);
    assert_eq!(report.count("WS refused"), 2);
}

#[test]
fn a_server_that_sends_nothing_but_control_frames_takes_neither_memory_nor_the_thread() {
    let (address, _) = server();
    for kind in ["pings", "pongs", "fragments"] {
        let text = format!(
            "scenario {{ 'flooded', users = 1, iterations = 1, task {{ function(user)
              local socket = user:websocket('/flood/{kind}', {{ name = 'flooded' }})
              socket:receive {{ timeout = 0.5 }}
              socket:close()
            end }} }}
            scenario {{ 'others', users = 1, iterations = 20, task {{ function(user)
              user:get('/page', {{ name = 'page' }})
              user:wait(0.01)
            end }} }}"
        );
        let path = plan("websockets_flood.lua", &text);
        let url = format!("http://{address}");
        let limits = "--threads 1 -u 2 -r 1000 -t 30s --memory 256MiB";
        let report = run([&*path, "-H", &url].into_iter().chain(limits.split(' ')));
        assert!(report.ended.code <= 1, "{kind}: {}", report.ended.stderr);
        assert_eq!(report.count("GET page"), 20, "{kind}");
        assert_eq!(report.count("WS flooded"), 1, "{kind}");
        assert_eq!(report.json["ending"]["cause"], "iterations_done", "{kind}");
    }
}

/// Each of them is waited for for two seconds.
#[test]
fn servers_that_do_not_answer_a_close_keep_a_user_no_longer_than_one_does() {
    let (address, _) = server();
    let text = "task { function(user)
      for _ = 1, 8 do user:websocket('/deaf', { name = 'deaf' }) end
      user:wait(60)
    end }";
    let path = plan("websockets_deaf.lua", text);
    let url = format!("http://{address}");
    let limits = "-u 1 -t 1s --stop-timeout 12s";
    let report = run([&*path, "-H", &url].into_iter().chain(limits.split(' ')));
    assert_eq!(report.count("WS deaf"), 8);
    assert_eq!(report.errors(), Vec::<String>::new());
}

#[test]
fn the_lines_of_an_access_log_are_what_the_report_says() {
    use crate::faulty::{Act, Site, answer};

    let site = Site::start(|asked| match asked.path.as_str() {
        "/moved" => answer(302, "location: /there\r\n", ""),
        // Its connection looks kept, and is closed before the next request.
        "/last" => [answer(200, "", "bye"), vec![Act::HalfClose]]
            .into_iter()
            .flatten()
            .collect(),
        "/digest" if asked.header("authorization").is_empty() => answer(
            401,
            "www-authenticate: Digest realm=\"a\", nonce=\"n\", qop=\"auth\"\r\n",
            "",
        ),
        "/fresh" => answer(200, "cache-control: max-age=600\r\n", "fresh"),
        "/stale" if asked.header("if-none-match").is_empty() => {
            answer(200, "etag: \"1\"\r\ncache-control: no-cache\r\n", "stale")
        }
        "/stale" => answer(304, "etag: \"1\"\r\n", ""),
        _ => answer(200, "", "good"),
    });
    let (sockets, seen) = server();
    let text = format!(
        "on('test_start', function(user) user:get '/begin' end)\non('test_stop', function(user) user:get '/end' end)\n\
         task {{ 'all', function(user)\n\
           user:get '/a' user:get '/moved' user:get('/quiet', {{ count = false }})\n\
           user:get '/last' user:get '/after'\n\
           user:digest_auth('ada', 'secret') user:get '/digest'\n\
           user:get '/fresh' user:get '/fresh' user:get '/stale' user:get '/stale'\n\
           user:get('http://127.0.0.1:1/', {{ allow_failure = true }})\n\
           local socket = user:websocket 'ws://{sockets}/echo'\n\
           for n = 1, 3 do socket:ask('x' .. n, {{ name = 'ask' }}) end\n\
           socket:close()\n\
           user:timed('timed', function() user:get '/inside' return true end)\n\
         end }}"
    );
    let path = plan("access_log.lua", &text);
    let report = run([&path, "-H", &site.url(), "-u", "2", "-i", "3", "--cache"]);
    let figure = |row: &str| report.count(row);
    let (asks, timed) = (figure("WS ask"), figure("TIMED timed"));
    assert_eq!((asks, timed), (18, 6), "{:?}", report.rows());
    let quiet = site.asked_for("/quiet").len() as u64;
    let refused = report.errors_with("connection refused");
    assert_eq!((quiet, refused), (6, 6), "{:?}", report.errors());
    assert!(report.retries() > 0, "{:?}", report.rows());
    let lines = site.received() + site.late() + seen.opened.load(Ordering::SeqCst);
    assert_eq!(lines, report.sent() - refused - asks - timed + quiet);
}
