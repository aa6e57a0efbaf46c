//! gRPC: against a server that does each thing wrong, made with the crate h2; against the interoperability server of gRPC for
//! Go; and against Python's grpcio. What is not installed is skipped with a message.

use crate::outside_server::{OutsideServer, found, python};
use crate::program::{Lgoose, plan, wait_until};
use crate::report::{Report, iterate_at, run};
use crate::secure::Authority;
use crate::skipping::skip;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use serde_json::Value;
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Field 3, 'an_int32', as 7.
const SEVEN: &[u8] = b"\x18\x07";

fn framed(flags: u8, message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[flags], &length[..], message].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Starts the server, which ends with the process.
fn faulty() -> SocketAddr {
    faulty_with(h2::server::Builder::new(), Arc::default())
}

/// Starts it with the settings of `builder`; it counts its connections in `opened`.
fn faulty_with(builder: h2::server::Builder, opened: Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it may wait");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            let seen = Arc::<Mutex<HashSet<String>>>::default();
            while let Ok((tcp, _)) = listener.accept().await {
                opened.fetch_add(1, Ordering::Relaxed);
                let (seen, builder) = (seen.clone(), builder.clone());
                tokio::spawn(async move {
                    let Ok(mut connection) = builder.handshake(tcp).await else {
                        return;
                    };
                    while let Some(Ok((request, respond))) = connection.accept().await {
                        let fault = request.headers().get("x-fault");
                        let fault = fault.map_or("", |fault| fault.to_str().expect("a text"));
                        if fault == "close" {
                            return;
                        }
                        if fault == "goaway" {
                            // The task below ends with the connection.
                            connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                        }
                        let first = seen.lock().expect("no panic").insert(fault.to_owned());
                        let fault = fault.to_owned();
                        tokio::spawn(async move {
                            // A client that has gone is no matter.
                            let _gone = reply(&fault, first, request, respond).await;
                        });
                    }
                });
            }
        });
    });
    address
}

fn head(status: u16) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("content-type", kind);
    response
}

fn trailers(status: &'static str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(status));
    trailers
}

async fn reply(
    fault: &str,
    first: bool,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    if let Some(status) = fault.strip_prefix("http-") {
        let mut response = head(status.parse().expect("a status"));
        response.headers_mut().remove("content-type");
        response
            .headers_mut()
            .insert("location", HeaderValue::from_static("/elsewhere"));
        respond.send_response(response, true)?;
        return Ok(());
    }
    if let Some(code) = fault.strip_prefix("reset-")
        && let Ok(code) = code.parse::<u32>()
    {
        respond.send_reset(Reason::from(code));
        return Ok(());
    }
    let mut response = head(200);
    let coding = match fault {
        "bomb" | "no-gzip" => Some("gzip"),
        "unknown-coding" => Some("snappy"),
        _ => None,
    };
    if let Some(coding) = coding {
        response
            .headers_mut()
            .insert("grpc-encoding", HeaderValue::from_static(coding));
    }
    match fault {
        "trailers-only" => {
            response.headers_mut().extend(trailers("5"));
            respond.send_response(response, true)?;
            return Ok(());
        }
        "refused-once" if first => {
            respond.send_reset(Reason::REFUSED_STREAM);
            return Ok(());
        }
        "html" => {
            let html = HeaderValue::from_static("text/html");
            response.headers_mut().insert("content-type", html);
        }
        "silent" | "goaway" => return std::future::pending().await,
        _ => {}
    }
    let mut stream = respond.send_response(response, false)?;
    let good = framed(0, SEVEN);
    let (body, status): (Vec<u8>, Option<&'static str>) = match fault {
        "html" => (b"<p>hello".to_vec(), None),
        "no-trailers" => (good, None),
        "no-status" => {
            stream.send_data(good.into(), false)?;
            let mut odd = HeaderMap::new();
            odd.insert("x-odd", HeaderValue::from_static("1"));
            return stream.send_trailers(odd);
        }
        "bad-status" => (good, Some("x")),
        "strange-status" => (good, Some("99")),
        "half-message" => (b"\0\0\0\0\x64abc".to_vec(), Some("0")),
        "half-head" => ([&good[..], b"\0\0"].concat(), Some("0")),
        "no-message" => (Vec::new(), Some("0")),
        "two-messages" => ([&good[..], &good[..]].concat(), Some("0")),
        "flags" => (framed(6, SEVEN), Some("0")),
        "long" => (b"\0\x7f\xff\xff\xffabc".to_vec(), Some("0")),
        "bomb" => (framed(1, &gzip(&vec![0; 64 << 20])), Some("0")),
        "no-gzip" | "unknown-coding" | "no-coding" => (framed(1, b"abc"), Some("0")),
        "no-protobuf" => (framed(0, b"\xff\xff\xff"), Some("0")),
        "reset-after-message" => {
            stream.send_data(good.into(), false)?;
            stream.send_reset(Reason::INTERNAL_ERROR);
            return Ok(());
        }
        "endless" => loop {
            // 'value' is 1.
            put(&mut stream, framed(0, b"\x08\x02")).await?;
            // What goes out is another task's.
            tokio::task::yield_now().await;
        },
        _ => (read(request).await?, Some("0")),
    };
    match status {
        None => stream.send_data(body.into(), true),
        Some(status) => {
            put(&mut stream, body).await?;
            stream.send_trailers(trailers(status))
        }
    }
}

/// Sends bytes as far as the client takes them.
async fn put(stream: &mut SendStream<Bytes>, bytes: Vec<u8>) -> Result<(), h2::Error> {
    let mut bytes = Bytes::from(bytes);
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let room = room.unwrap_or(Err(Reason::CANCEL.into()))?;
        let piece = bytes.split_to(room.min(bytes.len()));
        stream.send_data(piece, false)?;
    }
    Ok(())
}

async fn read(request: Request<RecvStream>) -> Result<Vec<u8>, h2::Error> {
    let mut body = request.into_body();
    let mut all = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

fn row<'a>(report: &'a Report, name: &str) -> &'a Value {
    report.row(&format!("GRPC {name}"))
}

fn assert_no_task_failed(report: &Report) {
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
}

#[test]
fn what_a_server_does_wrong_is_a_failure_and_what_a_plan_does_wrong_raises() {
    let url = format!("http://{}", faulty());
    for client in ["direct", "reqwest"] {
        let report = iterate_at("tests/lua/grpc.lua", &url, 1, 1, &["--client", client]);
        assert_no_task_failed(&report);
        let fails = row(&report, "fails");
        assert_eq!(fails["count"], fails["failures"], "{client}: {fails}");
        assert_eq!(fails["count"], 43, "{client}");
        for name in ["good", "closed", "open"] {
            let failures = &row(&report, name)["failures"];
            assert_eq!(failures, 0, "{client}: {name}: {:?}", report.errors());
        }
        let closed = &row(&report, "closed")["messages"];
        assert!(closed["received"].as_u64() >= Some(10_100), "{closed}");
        assert_eq!(closed["sent"], 3, "{closed}");
    }
}

/// Runs the calls of two users, each of which begins many at once on a new connection.
fn assert_all_are_taken(url: &str) {
    let report = iterate_at("tests/lua/grpc_burst.lua", url, 2, 1, &[]);
    assert_no_task_failed(&report);
    for name in ["unary", "stream"] {
        let row = row(&report, name);
        let counts = (&row["count"], &row["failures"]);
        assert_eq!(counts, (&60.into(), &0.into()), "{:?}", report.errors());
    }
    assert_eq!(report.retries(), 0);
}

#[test]
fn calls_that_begin_together_wait_for_the_streams_that_a_server_allows() {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(2);
    assert_all_are_taken(&format!("http://{}", faulty_with(builder, Arc::default())));
    if let Some(server) = grpcio(None, &["--streams=2"]) {
        assert_all_are_taken(&format!("http://127.0.0.1:{}", server.port));
    }
}

#[test]
fn calls_take_the_connection_of_their_user_one_of_their_own_or_that_of_their_thread() {
    for (connection, expected) in [("user", 3), ("own", 24), ("shared", 1)] {
        let opened = Arc::default();
        let address = faulty_with(h2::server::Builder::new(), Arc::clone(&opened));
        let more = [
            "--threads",
            "1",
            "--env",
            &format!("CONNECTION={connection}"),
        ];
        let url = format!("http://{address}");
        let report = iterate_at("tests/lua/grpc_connections.lua", &url, 3, 2, &more);
        assert_no_task_failed(&report);
        assert_eq!(row(&report, "echo")["count"], 24);
        assert_eq!(row(&report, "echo")["failures"], 0, "{connection}");
        assert_eq!(opened.load(Ordering::Relaxed), expected, "{connection}");
    }
}

#[test]
fn a_server_without_settings_holds_up_no_call_longer_than_its_time() {
    // Connections are accepted by the system, and nobody reads them.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let report = iterate_at("tests/lua/grpc_no_settings.lua", &url, 1, 1, &[]);
    assert_no_task_failed(&report);
    let calls = row(&report, "calls");
    assert_eq!(
        (&calls["count"], &calls["failures"]),
        (&16.into(), &16.into())
    );
}

#[test]
fn calls_come_over_http2_whatever_the_other_requests_speak() {
    let plan = plan(
        "grpc_demo.lua",
        "grpc.reflect()
         task { 'order', function(user)
           assert(user:get('/api/products').ok)
           local made = user:grpc('shop.v1.Orders/Create', { customer = 7, items = { { product = 'tea', quantity = 2 } } })
           assert(made.ok and made.message.quantity == 2 and made.message.items[1].product == 'tea')
           assert(user:get('/api/products').ok)
           assert(user:grpc('shop.v1.Orders/Get', { id = -1 }, { expect = { status = 'NOT_FOUND' } }).ok)
         end }",
    );
    for http in [None, Some("1.1")] {
        let http = http.map(|version| ["--http", version]);
        let http = http.iter().flatten().copied();
        let usual = [&*plan, "-H", "demo:api", "-u", "5", "-r", "100", "-i", "3"];
        let report = run(usual.into_iter().chain(http));
        assert_no_task_failed(&report);
        assert_eq!(row(&report, "shop.v1.Orders/Create")["count"], 15);
        // One user has asked for all.
        assert_eq!(row(&report, "grpc reflection")["count"], 2);
    }
}

#[test]
fn a_method_needs_no_plan() {
    let shop = Lgoose::new(["demo", "api", "--port", "0"]).start();
    wait_until("the shop has an address", || shop.stdout().ends_with('\n'));
    let shown = shop.stdout();
    let mut words = shown.split_whitespace();
    let address = words.find_map(|word| word.strip_prefix("http://"));
    let address = address.expect("its address");
    let address = address.trim_end_matches([';', '/']);
    let url = format!("grpc://{address}/shop.v1.Orders/Create");
    let report = run([&*url, "--body", r#"{"customer": 7}"#, "-i", "2", "-u", "1"]);
    assert_eq!(row(&report, "shop.v1.Orders/Create")["count"], 2);
    let url = format!("grpc://{address}/shop.v1.Orders/Watch");
    let report = run([
        &*url,
        "--body",
        r#"{"id": "7"}"#,
        "-i",
        "1",
        "-u",
        "1",
        "--stream",
    ]);
    assert_eq!(
        row(&report, "shop.v1.Orders/Watch")["messages"]["received"],
        3
    );
}

/// Answers each request over HTTP/1.1 with the message that it has, and with trailers of gRPC-Web, as PROTOCOL-WEB.md has
/// them. A path that ends in 'Fail' has a status alone.
fn serve_web(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut length, mut path, mut is_web) = (0, String::new(), false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
            is_web |= line == "content-type: application/grpc-web+proto";
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        assert!(is_web, "{path}");
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let counted = [2, 4, 6].map(|value| framed(0, &[8, value])).concat();
        let (message, trailers) = match path.as_str() {
            "/test.v1.kinds/fail" => (&b""[..], "grpc-status: 5\r\ngrpc-message: none%21\r\n"),
            "/test.v1.kinds/sleep" => (&body[..], ""),
            // 1, 2 and 3, as zigzag has them.
            "/test.v1.kinds/count" if body.is_empty() => panic!("nothing was sent"),
            "/test.v1.kinds/count" => (&counted[..], "grpc-status: 0\r\n"),
            _ => (&body[..], "Grpc-Status:0\r\nx-own: 1\r\n"),
        };
        let trailers = match trailers {
            "" => Vec::new(),
            trailers => framed(0x80, trailers.as_bytes()),
        };
        let all = [message, &trailers].concat();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/grpc-web+proto\r\nContent-Length: {}\r\n\r\n",
            all.len()
        );
        stream.write_all(head.as_bytes())?;
        // In two pieces, of which the first ends within a message.
        let (one, other) = all.split_at(3.min(all.len()));
        stream.write_all(one)?;
        stream.write_all(other)?;
    }
}

#[test]
fn calls_go_by_grpc_web_over_http1() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || serve_web(&mut stream));
        }
    });
    let url = format!("http://{address}");
    for client in ["direct", "reqwest"] {
        let report = iterate_at("tests/lua/grpc_web.lua", &url, 1, 1, &["--client", client]);
        assert_no_task_failed(&report);
        assert_eq!(row(&report, "echo")["failures"], 0, "{client}");
        assert_eq!(row(&report, "fails")["failures"], 2, "{client}");
        let stream = row(&report, "count");
        assert_eq!(stream["failures"], 0, "{client}");
        assert_eq!(stream["messages"]["received"], 3, "{client}");
    }
}

#[test]
fn calls_by_connect_are_what_connects_own_server_has() {
    let folder = found("CONNECT_NODE", "connect").unwrap_or_else(|| ".".to_owned());
    let skipped = [
        "gRPC by Connect",
        "'npm install @connectrpc/connect-node' in a folder that CONNECT_NODE names",
    ];
    let server = OutsideServer::start("node", "tests/grpc/connect.mjs", &[&folder], skipped);
    let Some(server) = server else { return };
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at("tests/lua/grpc_connect.lua", &url, 1, 1, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.total("failures"), 1, "{:?}", report.errors());
    let [counts] = &server.finish()[..] else {
        panic!("it prints one line");
    };
    assert_eq!(*counts, serde_json::json!({ "Say": 5, "Fail": 2 }));
}

/// Starts Python's server, over TLS with a certificate and its key, with options of that program; `None` with a printed reason where it is missing.
fn grpcio(identity: Option<[String; 2]>, options: &[&str]) -> Option<OutsideServer> {
    let python = python("GRPC_PYTHON", "grpcio");
    let skipped = [
        "gRPC with Python's grpcio",
        "the packages grpcio, grpcio-tools and grpcio-reflection; GRPC_PYTHON names a Python that has them",
    ];
    let files = identity.iter().flatten().map(String::as_str);
    let options = options.iter().copied();
    let arguments: Vec<&str> = options.chain(["0"]).chain(files).collect();
    OutsideServer::start(&python, "tests/grpc/server.py", &arguments, skipped)
}

fn assert_kinds(report: &Report) {
    assert_no_task_failed(report);
    let count = |name: &str| {
        let row = row(report, name);
        (row["count"].as_u64(), row["failures"].as_u64())
    };
    assert_eq!(count("fails"), (Some(19), Some(19)));
    assert_eq!(count("expected"), (Some(16), Some(0)));
    for name in [
        "echo",
        "empty",
        "long",
        "count",
        "sum",
        "double",
        "cancelled",
        "metadata",
    ] {
        assert_eq!(row(report, name)["failures"], 0, "{name}");
    }
    assert_eq!(row(report, "count")["messages"]["received"], 200);
    assert_eq!(row(report, "sum")["messages"]["sent"], 100);
    assert_eq!(row(report, "sum")["messages"]["received"], 1);
    assert_eq!(row(report, "double")["messages"]["received"], 11);
}

#[test]
fn pythons_server_reads_all_kinds_of_fields_and_its_statuses_are_read() {
    let Some(server) = grpcio(None, &[]) else {
        return;
    };
    let url = format!("http://127.0.0.1:{}", server.port);
    for schema in ["SCHEMA=loaded", "SCHEMA=reflected"] {
        let report = iterate_at("tests/lua/grpc_kinds.lua", &url, 1, 1, &["-e", schema]);
        assert_kinds(&report);
    }
}

#[test]
fn what_a_server_describes_and_lgoose_cannot_read_fails_by_name_and_the_rest_is_called() {
    let Some(server) = grpcio(None, &[]) else {
        return;
    };
    let url = format!("http://127.0.0.1:{}", server.port);
    for client in ["direct", "reqwest"] {
        let plan = "tests/lua/grpc_editions.lua";
        let report = iterate_at(plan, &url, 1, 2, &["--client", client]);
        assert_no_task_failed(&report);
        // That of the service for which the server has an error.
        assert_eq!(row(&report, "grpc reflection")["failures"], 1);
        let read = row(&report, "read");
        assert_eq!((&read["count"], &read["failures"]), (&4.into(), &0.into()));
        let unread = row(&report, "unread");
        assert_eq!(
            (&unread["count"], &unread["failures"]),
            (&20.into(), &20.into())
        );
    }
}

#[test]
fn pythons_server_reads_every_message_that_is_compressed() {
    let Some(server) = grpcio(None, &[]) else {
        return;
    };
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at("tests/lua/grpc_gzip.lua", &url, 1, 1, &["--seed", "1952"]);
    assert_no_task_failed(&report);
    let gzip = row(&report, "gzip");
    assert_eq!((&gzip["count"], &gzip["failures"]), (&57.into(), &0.into()));
}

#[test]
fn python_reads_messages_that_no_call_has_sent_and_its_details_of_a_status_are_read() {
    let Some(server) = grpcio(None, &[]) else {
        return;
    };
    let url = format!("http://127.0.0.1:{}", server.port);
    let report = iterate_at("tests/lua/grpc_messages.lua", &url, 2, 1, &[]);
    assert_no_task_failed(&report);
    let judged = row(&report, "judge");
    assert_eq!(
        (&judged["count"], &judged["failures"]),
        (&66.into(), &0.into())
    );
    for name in ["details", "user", "own", "shared"] {
        assert_eq!(row(&report, name)["failures"], 0, "{name}");
    }
}

#[test]
fn python_reads_messages_of_an_edition_and_its_features() {
    let Some(server) = grpcio(None, &[]) else {
        return;
    };
    let url = format!("http://127.0.0.1:{}", server.port);
    for schema in ["SCHEMA=loaded", "SCHEMA=reflected"] {
        let plan = "tests/lua/grpc_edition_2023.lua";
        let report = iterate_at(plan, &url, 1, 1, &["-e", schema]);
        assert_no_task_failed(&report);
        assert_eq!(row(&report, "judge")["count"], 9, "{schema}");
    }
}

#[test]
fn pythons_server_is_called_over_tls() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]).files("grpcio");
    let Some(server) = grpcio(Some(identity), &[]) else {
        return;
    };
    let url = format!("https://localhost:{}", server.port);
    let ca = authority.file("grpcio-authority.crt");
    for http in [&[][..], &["--http", "1.1"]] {
        let more = [&["--ca", &*ca][..], http].concat();
        let report = iterate_at("tests/lua/grpc_kinds.lua", &url, 1, 1, &more);
        assert_kinds(&report);
    }
}

/// A program that ends with this.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn the_interoperability_tests_of_grpc_pass() {
    let Some(server) = found("GRPC_INTEROP_SERVER", "grpc-interop/server") else {
        let wants = "'go install google.golang.org/grpc/interop/server@latest'; GRPC_INTEROP_SERVER names the program";
        return skip("the interoperability tests of gRPC", wants);
    };
    // It wants a port that is free, and says nothing once it listens.
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let child = Command::new(server)
        .arg(format!("--port={}", address.port()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = Ending(child.expect("it starts"));
    wait_until("the server listens", || TcpStream::connect(address).is_ok());
    let url = format!("http://{address}");
    let report = iterate_at("tests/lua/grpc_interop.lua", &url, 1, 1, &[]);
    assert_no_task_failed(&report);
    assert_eq!(report.json["tasks"].as_array().map(Vec::len), Some(14));
    for row in report.json["requests"].as_array().expect("rows") {
        assert_eq!(row["failures"], 0, "{row}");
    }
}
