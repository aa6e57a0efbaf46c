//! `require "lgoose.socketio"` against npm's `socket.io`, with a client of `socket.io-client` in the same room; without them a test says
//! "skipped" and passes, and fails with `LGOOSE_NEED_SOCKETIO=1`. `SOCKETIO_NODE` names a folder where 'npm install socket.io
//! socket.io-client' was called. What was sent is judged by the server's own counts; what no server sends comes from one that is made here.

use crate::outside_server::{OutsideServer, found};
use crate::program::plan;
use crate::report::{Report, iterate_at, run};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use tungstenite::{Message, accept};

/// Starts the server, which pings as often as that, in milliseconds.
fn server(pings: &str) -> Option<OutsideServer> {
    let folder = found("SOCKETIO_NODE", "socketio").unwrap_or_else(|| ".".to_owned());
    let skipped = [
        "tests of Socket.IO",
        "'npm install socket.io socket.io-client' in a folder that SOCKETIO_NODE names",
    ];
    let script = "tests/websockets/socketio.mjs";
    let server = OutsideServer::start("node", script, &[&folder, pings], skipped);
    let is_needed = std::env::var_os("LGOOSE_NEED_SOCKETIO").is_some();
    assert!(server.is_some() || !is_needed, "socket.io is missing");
    server
}

/// Asserts that both sides have counted the same packets.
fn assert_packets(report: &Report, seen: &Value) {
    let packets = json!({ "received": report.websocket_messages("sent"), "sent": report.websocket_messages("received") });
    assert_eq!(seen["packets"], packets);
}

#[test]
fn events_acknowledgements_binary_data_and_namespaces_are_what_the_server_has() {
    let Some(server) = server("1000") else { return };
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at("tests/lua/socketio.lua", &url, 1, 1, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let seen = server.seen();
    assert_packets(&report, &seen);
    for event in ["whoami", "echo", "join", "say"] {
        let row = format!("SIO {event}");
        assert_eq!(seen["received"][event], report.count(&row), "{event}");
        assert_eq!(report.failures(&row), 0, "{event}");
    }
    let answers = json!([["sum", 3], [42, { "type": "Buffer", "data": [122] }]]);
    assert_eq!(seen["answers"], answers);
    for (row, count, failures) in [
        ("SIO too late", 1, 1),
        ("SIO connect", 12, 1),
        ("SIO connect /admin", 2, 1),
        // The fifth is told to the plan, and no failure.
        ("SIO disconnect", 4, 4),
        ("SIO after restart", 1, 1),
        ("WS restart", 1, 0),
    ] {
        let counts = (report.count(row), report.failures(row));
        assert_eq!(counts, (count, failures), "{row}");
    }
}

#[test]
fn of_a_hundred_users_in_a_room_each_hears_what_all_say() {
    let Some(server) = server("25000") else {
        return;
    };
    let text = r#"local socketio = require "lgoose.socketio"
      local heard = metric.counter "heard"
      local all = require("lgoose.shared").counter "all"
      task { "enter", on_start = true, function(user)
        local socket = socketio.connect(user, { namespace = "/chat" })
        user.data.socket, user.data.heard = socket, 0
        socket:on("said", function()
          user.data.heard = user.data.heard + 1
          heard:add()
        end)
        check(socket:request("join", "hall") == "joined", "joined")
      end }
      task { "say", function(user)
        local socket = user.data.socket
        run.ready()
        -- Until the last of them has joined, too.
        while all:get() == 0 do
          if user.id == 1 and socket:request("say", "hall", "is everybody there?") == 101 then all:incr() end
          user:wait(0.05)
        end
        for n = 1, 5 do check(socket:request("say", "hall", "line " .. n) == 101, "all are there") end
        check(socket:request { "flood", 100, name = "flood" } == 100, "a flood of what may be lost")
        local before
        repeat
          before = user.data.heard
          user:wait(5)
        until user.data.heard == before
      end }
      task { "leave", on_stop = true, function(user) user.data.socket:disconnect() end }"#;
    let path = plan("socketio_room.lua", text);
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at(&path, &url, 100, 1, &[]);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let seen = server.seen();
    assert_packets(&report, &seen);
    let said = report.count("SIO say");
    assert!(said > 500, "{said}");
    assert_eq!(seen["received"]["say"], said);
    // The client of another library hears each line once, and so does each user that is in the room.
    assert_eq!(seen["heard"], said);
    let heard = report.json["metrics"][0]["count"].as_u64();
    assert_eq!(heard, seen["sent"]["said"].as_u64().map(|sent| sent - said));
    for check in report.json["checks"].as_array().expect("checks") {
        assert_eq!(check["failures"], 0, "{check}");
    }
    let left = json!({ "client namespace disconnect": 100 });
    assert_eq!(seen["reasons"], left);
}

#[test]
fn the_example_of_a_chat_runs() {
    let Some(server) = server("1000") else { return };
    let url = format!("http://127.0.0.1:{}", server.port);
    let limits = "-u 5 -r 100 -t 1s --wait-factor 0.05";
    let arguments = ["examples/socketio_chat.lua", "-H", &url];
    let report = run(arguments.into_iter().chain(limits.split(' ')));
    // Its thresholds of time may be broken on a busy machine.
    assert!(report.ended.code <= 1, "{}", report.ended.stderr);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    let seen = server.seen();
    // What is said while one of them leaves may be sent and not received.
    assert_eq!(
        seen["packets"]["received"],
        report.websocket_messages("sent")
    );
    assert_eq!(seen["received"]["say"], report.count("SIO say"));
    assert_eq!(seen["received"]["typing"], report.count("SIO say"));
    assert!(report.count("SIO say") > 0);
}

const OPEN: &str =
    r#"0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#;
const CONNECTED: &str = r#"40{"sid":"a"}"#;

/// What no server of Socket.IO sends: by name, before the client connects to its namespace and after that; and the reason that the plan
/// gets.
const GARBAGE: [(&str, &[&str], &[&str], &str); 19] = [
    ("nothing", &[""], &[], "protocol: "),
    ("letters", &["hello"], &[], "protocol: "),
    ("silence", &[], &[], "timeout"),
    ("half of an open", &["0{"], &[], "protocol: "),
    ("an open of null", &["0null"], &[], "protocol: "),
    ("an open without pings", &["0{}"], &[], "protocol: "),
    ("two of them", &[OPEN, OPEN], &[], "protocol: "),
    ("no connect", &[OPEN], &[], "timeout"),
    ("half of a connect", &[OPEN], &["40{"], "protocol: "),
    (
        "an error without words",
        &[OPEN],
        &["44{}"],
        "refused: the server gives no reason",
    ),
    (
        "half of an event",
        &[OPEN],
        &[CONNECTED, "42[\"a\""],
        "protocol: ",
    ),
    ("no event", &[OPEN], &[CONNECTED, "42[]"], "protocol: "),
    (
        "an object",
        &[OPEN],
        &[CONNECTED, "42{\"a\":1}"],
        "protocol: ",
    ),
    (
        "an acknowledgement of nothing",
        &[OPEN],
        &[CONNECTED, "43[]"],
        "protocol: ",
    ),
    (
        "much binary data",
        &[OPEN],
        &[CONNECTED, "4599999999999-[\"a\"]"],
        "protocol: ",
    ),
    (
        "no binary data",
        &[OPEN],
        &[
            CONNECTED,
            r#"451-["a",{"_placeholder":true,"num":0}]"#,
            "42[\"b\"]",
        ],
        "protocol: ",
    ),
    (
        "binary data alone",
        &[OPEN],
        &[CONNECTED, "binary"],
        "protocol: ",
    ),
    (
        "the wrong binary data",
        &[OPEN],
        &[
            CONNECTED,
            r#"451-["a",{"_placeholder":true,"num":7}]"#,
            "binary",
        ],
        "protocol: ",
    ),
    (
        "a type of the future",
        &[OPEN],
        &[CONNECTED, "49"],
        "protocol: ",
    ),
];

/// Starts a server that sends the garbage of the number in the path; it ends with the process.
fn garbage_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || send_garbage(stream));
        }
    });
    address
}

fn send_garbage(stream: TcpStream) {
    let mut head = [0; 1024];
    let count = stream.peek(&mut head).unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..count]);
    let number = head.split(['/', '?']).nth(1).unwrap_or_default();
    let (_, first, then, _) = GARBAGE[number.parse::<usize>().expect("a number")];
    let Ok(mut socket) = accept(stream) else {
        return;
    };
    let send = |socket: &mut tungstenite::WebSocket<TcpStream>, texts: &[&str]| {
        for text in texts {
            let message = match *text {
                "binary" => Message::binary(vec![1, 2, 3]),
                text => Message::text(text),
            };
            let _sent = socket.send(message);
        }
    };
    send(&mut socket, first);
    if !then.is_empty() && socket.read().is_ok() {
        send(&mut socket, then);
    }
    while socket.read().is_ok() {}
}

#[test]
fn what_is_no_packet_fails_with_the_reason_and_ends_nothing_else() {
    let address = garbage_server();
    let text = r#"local socketio = require "lgoose.socketio"
      task { "garbage", function(user)
        local number = user.iteration - 1
        local socket = socketio.connect(user, { path = "/" .. number, timeout = 1, name = "garbage" })
        if socket.ok then socket:request { "late", timeout = 2, name = "late" } end
        log.warn(("<%d>%s"):format(number, socket.error))
        check(not socket.ok, "it has ended")
        socket:disconnect()
      end }"#;
    let path = plan("socketio_garbage.lua", text);
    let url = format!("http://{address}");
    let count = u32::try_from(GARBAGE.len()).expect("a few");
    let report = iterate_at(&path, &url, 1, count, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let log = &report.ended.stderr;
    for (number, (name, _, _, reason)) in GARBAGE.iter().enumerate() {
        let wanted = format!("<{number}>{reason}");
        assert!(log.contains(&wanted), "{name}: {wanted}\n{log}");
    }
    assert_eq!(report.json["checks"][0]["failures"], 0, "{log}");
    // Each fails one request: the connection, or what was asked over it.
    let failed = report.failures("SIO connect") + report.failures("SIO late");
    assert_eq!(failed, u64::from(count));
}
