//! `require "lgoose.graphql_ws"` against npm's `graphql-ws`; without it a test says "skipped" and passes, and fails with
//! `LGOOSE_NEED_GRAPHQL_WS=1`. `GRAPHQL_WS_NODE` names a folder where 'npm install graphql-ws graphql ws' was called. What was sent is
//! judged by the server's own counts; what no server sends comes from one that is made here.

use crate::outside_server::{OutsideServer, found};
use crate::program::plan;
use crate::report::{Report, iterate_at, run};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::{Message, accept_hdr};

fn server() -> Option<OutsideServer> {
    let folder = found("GRAPHQL_WS_NODE", "graphql-ws").unwrap_or_else(|| ".".to_owned());
    let skipped = [
        "tests of GraphQL over WebSockets",
        "'npm install graphql-ws graphql ws' in a folder that GRAPHQL_WS_NODE names",
    ];
    let script = "tests/websockets/graphql.mjs";
    let server = OutsideServer::start("node", script, &[&folder], skipped);
    let is_needed = std::env::var_os("LGOOSE_NEED_GRAPHQL_WS").is_some();
    assert!(server.is_some() || !is_needed, "graphql-ws is missing");
    server
}

/// Asserts that both sides have counted the same messages.
fn assert_messages(report: &Report, seen: &Value) {
    let messages = |way| report.websocket_messages(way);
    let frames = json!({ "received": messages("sent"), "sent": messages("received") });
    assert_eq!(seen["frames"], frames);
}

#[test]
fn queries_and_subscriptions_have_what_the_server_gives() {
    let Some(server) = server() else { return };
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at("tests/lua/graphql_ws.lua", &url, 1, 1, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let seen = server.seen();
    assert_messages(&report, &seen);
    for (row, count, failures) in [
        ("GQL connect", 12, 1),
        ("GQL Named", 1, 0),
        ("GQL fails", 4, 4),
        ("GQL late", 1, 1),
        ("GQL ping", 1, 0),
        ("GQL Say", 3, 0),
        ("GQL Count", 20, 0),
        // The first message of each, and its error later.
        ("GQL broken", 2, 1),
        ("GQL flood", 2, 1),
        ("GQL refused", 1, 1),
        ("GQL closed", 7, 7),
        ("WS closed 4429", 1, 1),
        ("WS closed 1000", 1, 0),
        ("GQL disconnect", 1, 1),
    ] {
        let counts = (report.count(row), report.failures(row));
        assert_eq!(counts, (count, failures), "{row}");
    }
    let mut codes: Vec<u64> = seen["codes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    codes.sort_unstable();
    let own = [1000, 1000, 1000, 1000];
    let of_server = [1000, 4321, 4400, 4401, 4403, 4409, 4429, 4500];
    assert_eq!(codes, [&own[..], &of_server[..]].concat());
}

#[test]
fn each_of_many_subscribers_hears_what_all_say() {
    let Some(server) = server() else { return };
    let text = r#"local graphql_ws = require "lgoose.graphql_ws"
      local heard = metric.counter "heard"
      local all = require("lgoose.shared").counter "all"
      task { "subscribe", on_start = true, function(user)
        local client = graphql_ws.connect(user, { max_messages = 100000 })
        user.data.client = client
        user.data.said = client:subscribe "subscription Said { said }"
      end }
      task { "say", function(user)
        local client, said = user.data.client, user.data.said
        run.ready()
        local function say() return client:query('mutation Say { say(text: "line") }').say end
        -- Until the last of them has subscribed, too.
        while all:get() == 0 do
          if user.id == 1 and say() == 50 then all:incr() end
          user:wait(0.05)
        end
        for n = 1, 5 do say() end
        while said:next(5) do heard:add() end
        said:stop()
      end }
      task { "leave", on_stop = true, function(user) user.data.client:close() end }"#;
    let path = plan("graphql_ws_many.lua", text);
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at(&path, &url, 50, 1, &[]);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let seen = server.seen();
    assert_messages(&report, &seen);
    assert_eq!(report.json["metrics"][0]["count"], seen["said"]);
    assert!(report.count("GQL Say") > 250, "{:?}", report.rows());
    assert_eq!(report.count("GQL Said"), 50);
}

#[test]
fn the_example_of_subscriptions_runs() {
    let Some(server) = server() else { return };
    let url = format!("http://127.0.0.1:{}", server.port);
    let limits = "-u 5 -r 100 -t 1s --wait-factor 0.05";
    let arguments = ["examples/subscriptions.lua", "-H", &url];
    let report = run(arguments.into_iter().chain(limits.split(' ')));
    // Its thresholds of time may be broken on a busy machine.
    assert!(report.ended.code <= 1, "{}", report.ended.stderr);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    // What is said while one of them leaves may be sent and not received.
    let frames = &server.seen()["frames"];
    assert_eq!(
        frames["received"],
        report.row("WS graphql")["messages"]["sent"]
    );
    assert!(report.count("GQL Say") > 0);
    assert_eq!(report.count("PUSH heard"), report.count("GQL Say"));
}

const ACK: &str = r#"{"type":"connection_ack"}"#;

/// What no server sends, before the client has sent a query and after that, and the reason that the plan gets.
const GARBAGE: [(&[&str], &[&str], &str); 14] = [
    (
        &[""],
        &[],
        "protocol: this is no message of graphql-transport-ws: ",
    ),
    (
        &["[]"],
        &[],
        "protocol: this is no message of graphql-transport-ws: []",
    ),
    (&["{}"], &[], "protocol: "),
    (&[r#"{"type":1}"#], &[], "protocol: "),
    (&[], &[], "timeout"),
    (&[ACK], &[], "timeout"),
    (&[ACK], &[r#"{"type":"next"}"#], "protocol: "),
    (
        &[ACK],
        &[r#"{"type":"next","id":"1","payload":null}"#],
        "protocol: ",
    ),
    (
        &[ACK],
        &[r#"{"type":"error","id":"1","payload":"x"}"#],
        "protocol: ",
    ),
    (
        &[ACK],
        &[r#"{"type":"error","id":"1","payload":[]}"#],
        "the server names no error",
    ),
    (
        &[ACK],
        &[r#"{"type":"complete","id":"1"}"#],
        "protocol: the operation has ended without a result",
    ),
    (
        &[ACK],
        &[
            r#"{"type":"next","id":"1","payload":{}}"#,
            r#"{"type":"complete","id":"1"}"#,
        ],
        "protocol: the result has neither data nor errors",
    ),
    (
        &[ACK],
        &[
            r#"{"type":"next","id":"1","payload":{"errors":"x"}}"#,
            r#"{"type":"complete","id":"1"}"#,
        ],
        "the server names no error",
    ),
    (&[ACK], &[r#"{"type":"complete","id":"2"}"#], "timeout"),
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

#[expect(
    clippy::result_large_err,
    reason = "the error is what the library wants"
)]
fn send_garbage(stream: TcpStream) {
    let mut number = 0;
    let choose = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        number = request.uri().path()[1..].parse().expect("a number");
        let protocol = "graphql-transport-ws".parse().expect("a value");
        let headers = response.headers_mut();
        headers.insert("sec-websocket-protocol", protocol);
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr(stream, choose) else {
        return;
    };
    let (first, then, _) = GARBAGE[number];
    for texts in [first, then] {
        // A greeting, and then a query.
        if socket.read().is_err() {
            return;
        }
        for text in texts {
            let _sent = socket.send(Message::text(*text));
        }
    }
    while socket.read().is_ok() {}
}

#[test]
fn what_is_no_message_fails_with_the_reason_and_ends_nothing_else() {
    let address = garbage_server();
    let text = r#"local graphql_ws = require "lgoose.graphql_ws"
      task { "garbage", function(user)
        local number = user.iteration - 1
        local client = graphql_ws.connect(user, { path = "/" .. number, timeout = 1, name = "garbage" })
        local problem = client.error
        if client.ok then problem = select(2, client:query("{ hello }", nil, { name = "late" })) end
        log.warn(("<%d>%s"):format(number, problem))
        client:close()
      end }"#;
    let path = plan("graphql_ws_garbage.lua", text);
    let url = format!("http://{address}");
    let count = u32::try_from(GARBAGE.len()).expect("a few");
    let report = iterate_at(&path, &url, 1, count, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let log = &report.ended.stderr;
    for (number, (_, _, reason)) in GARBAGE.iter().enumerate() {
        let wanted = format!("<{number}>{reason}");
        assert!(log.contains(&wanted), "{wanted}\n{log}");
    }
    // Each fails one request: the connection, or the query.
    let failed = report.failures("GQL connect") + report.failures("GQL late");
    assert_eq!(failed, u64::from(count));
}

#[test]
fn a_server_that_does_not_know_the_subprotocol_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Ok(mut socket) = tungstenite::accept(stream) else {
                continue;
            };
            while socket.read().is_ok() {}
        }
    });
    let text = r#"local graphql_ws = require "lgoose.graphql_ws"
      task { function(user)
        local client = graphql_ws.connect(user, { timeout = 1 })
        check(client.error == "protocol: the server does not take the subprotocol graphql-transport-ws", "refused")
      end }"#;
    let path = plan("graphql_ws_subprotocol.lua", text);
    let report = iterate_at(&path, &url, 1, 1, &[]);
    assert_eq!(report.json["checks"][0]["failures"], 0);
    assert_eq!(report.failures("GQL connect"), 1);
}
