//! Who may do what over HTTP: requests that must not come through, and bodies and names that must do no harm.

use crate::program::{Lgoose, plan, scratch, wait_until};
use crate::secure::{Authority, Identity};
use crate::server::Server;
use crate::web_client::{Served, TOKEN, Web, read};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

const COMMANDS: [&str; 8] = [
    "users", "rate", "pause", "resume", "reset", "reload", "stop", "abort",
];

/// Starts a run that ends only when it is told to.
fn serve(name: &str, server: &Server, more: &[&str]) -> Served {
    let path = plan(
        &format!("{name}.lua"),
        "task { wait = 0.01, function(user) user:get \"/\" end }",
    );
    let url = server.url();
    let served = Served::start(&[&[path.as_str(), "-H", &url, "-u", "1"], more].concat());
    served.wait_for_requests();
    served
}

#[test]
fn requests_without_a_right_change_nothing_and_learn_nothing() {
    let server = Server::start();
    let Served { running, web } = serve("web_guard", &server, &[]);
    let host = web.address;
    let ask = |request: &str, lines: &str| {
        web.raw(&format!(
            "{request} HTTP/1.1\r\nConnection: close\r\n{lines}\r\n"
        ))
    };
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let own = format!("Host: {host}\r\n");
    let wrong = "Authorization: Bearer 0123456789abcdeF\r\n";
    for (lines, status) in [
        (own.clone(), 401),
        (format!("{own}{wrong}"), 401),
        (
            format!("{own}Cookie: lgoose_{}=wrong\r\n", host.port()),
            401,
        ),
        (format!("{own}{token}Origin: http://evil.example\r\n"), 403),
        (format!("{own}{token}Origin: null\r\n"), 403),
        (format!("{own}{token}Sec-Fetch-Site: cross-site\r\n"), 403),
        (format!("Host: evil.example\r\n{token}"), 403),
        (
            format!("Host: evil.example:{}\r\n{token}", host.port()),
            403,
        ),
        (token.clone(), 403),
    ] {
        let answer = ask("POST /api/v1/abort", &lines);
        assert_eq!(answer.status, status, "{lines}: {}", answer.text());
        assert!(answer.json()["error"].is_string());
        let reads = ask("GET /api/v1/status", &lines);
        let expected = if lines.contains("Sec-Fetch") {
            200
        } else {
            status
        };
        assert_eq!(reads.status, expected, "{lines}");
        assert_eq!(reads.text().contains("phase"), expected == 200);
    }
    for command in COMMANDS {
        let answer = web.get(&format!("/api/v1/{command}"));
        assert_eq!(answer.status, 405, "{command}");
        assert_eq!(answer.header("allow"), "POST");
    }
    for path in [
        "/nothing",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/api/v1/report.txt",
        "/api/v1",
    ] {
        assert_eq!(web.get(path).status, 404, "{path}");
    }
    assert_eq!(web.get("/api/v1/status").json()["phase"], "running");
    running.interrupt();
    assert_eq!(running.end().code, 0);
}

#[test]
fn the_token_in_the_address_becomes_a_cookie() {
    let server = Server::start();
    let Served { running, web } = serve("web_cookie", &server, &[]);
    let (host, port) = (web.address, web.address.port());
    let ask = |path: &str, lines: &str| {
        web.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n"
        ))
    };
    let answer = ask(&format!("/?token={TOKEN}"), "");
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    let cookie = answer.header("set-cookie").to_owned();
    let session = cookie.strip_prefix(&format!("lgoose_{port}="));
    let session = session.and_then(|rest| rest.strip_suffix("; Path=/; HttpOnly; SameSite=Strict"));
    let session = session.unwrap_or_else(|| panic!("{cookie}"));
    assert!(session.len() == 64 && !cookie.contains(TOKEN), "{cookie}");
    let followed = ask(
        &format!("/?token={TOKEN}"),
        "Sec-Fetch-Site: cross-site\r\n",
    );
    assert_eq!(
        (followed.status, followed.header("set-cookie")),
        (200, cookie.as_str())
    );
    assert!(
        followed.text().contains("http-equiv=refresh"),
        "{}",
        followed.text()
    );
    assert_eq!(ask("/?token=wrong", "").status, 401);
    let pair = cookie.split(';').next().expect("a pair");
    for path in [
        "/",
        "/page.js",
        "/page.css",
        "/api/v1/status",
        "/api/v1/report.html",
        "/metrics",
        "/none",
    ] {
        let answer = ask(path, &format!("Cookie: a=b; {pair}\r\n"));
        assert_eq!(
            answer.status,
            if path == "/none" { 404 } else { 200 },
            "{path}"
        );
        let policy = answer.header("content-security-policy");
        match path {
            "/api/v1/report.html" => assert!(policy.starts_with("sandbox"), "{policy}"),
            _ => assert!(
                policy.contains("default-src 'none'; script-src 'self'"),
                "{path}: {policy}"
            ),
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(!policy.contains("allow-same-origin"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    let page = ask("/", &format!("Cookie: {pair}\r\n")).text();
    assert!(
        !page.contains("style=") && !page.contains("<script>"),
        "{page}"
    );
    running.interrupt();
    running.end();
}

#[test]
fn whoever_may_only_watch_can_do_that() {
    let server = Server::start();
    let Served { running, web } = serve("web_read_only", &server, &["--web-read-only"]);
    for command in COMMANDS {
        let answer = web.post(&format!("/api/v1/{command}"), "");
        assert_eq!(answer.status, 403, "{command}");
        assert!(
            answer.text().contains("--web-read-only"),
            "{}",
            answer.text()
        );
    }
    let status = web.get("/api/v1/status").json();
    assert_eq!(
        (&status["phase"], &status["read_only"]),
        (&"running".into(), &true.into())
    );
    running.interrupt();
    assert_eq!(running.end().code, 0);
}

#[test]
fn bodies_are_small_and_json() {
    let server = Server::start();
    let Served { running, web } = serve("web_bodies", &server, &[]);
    let host = web.address;
    let head = |lines: &str| {
        format!(
            "POST /api/v1/users HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\n{lines}\r\n"
        )
    };
    for body in [
        "",
        "5",
        "[]",
        "{\"n\": -1}",
        "{\"n\": 1.5}",
        "{\"n\": 1, \"x\": 2}",
        "{\"n\": 1} {",
        "\u{0}",
    ] {
        let answer = web.post("/api/v1/users", body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert_eq!(answer.json()["help"], "{\"n\": 50}");
    }
    let form = web.send(
        "POST /api/v1/users",
        "Content-Type: text/plain\r\n",
        "{\"n\": 1}",
    );
    assert_eq!(form.status, 415);
    assert_eq!(web.post("/api/v1/pause", "{\"n\": 1}").status, 400);
    // Whoever only announces a large body is told so at once.
    let announced = web.raw(&head("Content-Length: 104857600\r\n"));
    assert_eq!(announced.status, 413, "{}", announced.head);
    let whole = format!(
        "{}{}",
        head("Content-Length: 104857600\r\n"),
        "x".repeat(100 << 20)
    );
    let sent = web.raw(&whole);
    // The connection may be reset while much is on its way.
    assert!(matches!(sent.status, 413 | 0), "{}", sent.head);
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let chunked = web.raw(&format!(
        "{}{chunk}{chunk}",
        head("Transfer-Encoding: chunked\r\n")
    ));
    assert!(matches!(chunked.status, 413 | 0), "{}", chunked.head);
    let long = "x".repeat(100_000);
    let answer = web.send("GET /", &format!("X: {long}\r\n"), "");
    assert!(matches!(answer.status, 431 | 0), "{}", answer.head);
    assert!(
        running.peak_memory() < 200 << 20,
        "{} bytes",
        running.peak_memory()
    );
    assert_eq!(web.get("/api/v1/status").json()["phase"], "running");
    running.interrupt();
    assert_eq!(running.end().code, 0);
}

#[test]
fn a_name_that_is_markup_stays_a_name() {
    let server = Server::start();
    let markup = "<script>alert(1)</script>";
    let folder = scratch("web_<script>alert(1)<");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("script>.lua");
    let text = format!(
        "task {{ wait = 0.01, function(user) user:get(\"/status/500\", {{ name = \"{markup}\" }}) user:log \"{markup}\" end }}"
    );
    std::fs::write(&path, text).expect("written");
    let (path, url) = (path.display().to_string(), server.url());
    let served = Served::start(&[&path, "-H", &url, "-u", "1"]);
    served.wait_for_requests();
    let Served { running, web } = served;
    for path in ["/", "/api/v1/report.html"] {
        let page = web.get(path);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert!(!page.text().contains("<script>alert"), "{path}");
    }
    for path in [
        "/api/v1/status",
        "/api/v1/snapshot",
        "/api/v1/report.json",
        "/metrics",
    ] {
        let answer = web.get(path);
        assert!(!answer.header("content-type").contains("html"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(
            answer.text().contains("<script>alert(1)<"),
            "{path}: the name is there"
        );
    }
    assert_eq!(
        web.get("/%3Cscript%3Ealert(1)%3C/script%3E")
            .header("content-type"),
        "application/json"
    );
    running.interrupt();
    running.end();
}

#[test]
fn pages_behind_a_proxy_that_ends_tls_steer_the_run() {
    let server = Server::start();
    let text = "task { wait = 0.01, function(user) user:get \"/\" end }";
    let (path, url) = (plan("web_origin.lua", text), server.url());
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.expect("a free port");
    let (place, origin) = (address.to_string(), "https://load.example.com");
    let arguments = [&path, "-H", &url, "-u", "1", "--headless", "--web", &place];
    let more = ["--web-origin", origin, "--web-token", TOKEN];
    let running = Lgoose::new(arguments.iter().chain(&more)).start();
    let page = format!("{origin}/?token={TOKEN}");
    wait_until("its address", || running.stderr().contains(&page));
    wait_until("requests", || server.received() > 5);
    let pause = |origin: &str| {
        Web::at(address).raw(&format!(
            "POST /api/v1/pause HTTP/1.1\r\nHost: load.example.com\r\nOrigin: {origin}\r\n\
             Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ))
    };
    assert_eq!(pause("https://evil.example").status, 403);
    assert_eq!(pause(origin).status, 202);
    running.interrupt();
    assert_eq!(running.end().code, 0);
}

#[test]
fn others_are_served_over_https_or_if_that_is_wanted() {
    let server = Server::start();
    let (path, url) = (
        plan(
            "web_https.lua",
            "task { wait = 0.01, function(user) user:get \"/\" end }",
        ),
        server.url(),
    );
    let refused = Lgoose::new([&path, "-H", &url, "--web", "0.0.0.0:0"]).finish();
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--web-cert") && refused.stderr.contains("--web-insecure"),
        "{}",
        refused.stderr
    );
    assert_eq!(server.received(), 0, "nothing was sent");
    let free = Lgoose::new([
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "--web",
        "0.0.0.0:0",
        "--web-insecure",
        "--headless",
    ])
    .start();
    wait_until("an address", || free.stderr().contains("/?token="));
    wait_until("requests", || server.received() > 5);
    free.interrupt();
    assert_eq!(free.end().code, 0);

    let authority = Authority::new();
    let Identity { certificate, key } = authority.sign(&["127.0.0.1"]);
    let (cert, secret) = (scratch("web_cert.pem"), scratch("web_key.pem"));
    std::fs::write(&cert, certificate.pem()).expect("written");
    std::fs::write(&secret, key.serialize_pem()).expect("written");
    let (cert, secret) = (cert.display().to_string(), secret.display().to_string());
    let arguments = [
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "--headless",
        "--web",
        "0.0.0.0:0",
        "--web-cert",
        &cert,
        "--web-key",
        &secret,
        "--web-token",
        TOKEN,
    ];
    let running = Lgoose::new(arguments).start();
    let before = server.received();
    wait_until("requests", || server.received() > before + 5);
    let printed = running.stderr();
    assert!(printed.contains("page of this run: https://"), "{printed}");
    let port: u16 = printed
        .split("/?")
        .next()
        .and_then(|text| text.rsplit(':').next()?.parse().ok())
        .expect("a port");
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate()).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "127.0.0.1".try_into().expect("an address");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(
        client,
        TcpStream::connect(("127.0.0.1", port)).expect("it listens"),
    );
    let request = format!(
        "GET /?token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it is open");
    let answer = read(&mut stream);
    assert_eq!(answer.status, 303, "{}", answer.head);
    assert!(
        answer.header("set-cookie").ends_with("; Secure"),
        "{}",
        answer.head
    );
    running.interrupt();
    assert_eq!(running.end().code, 0);

    let missing = Lgoose::new([&path, "-H", &url, "--web", "--web-cert", "/no/such.pem"]).finish();
    assert_eq!(missing.code, 2);
    assert!(
        missing.stderr.contains("--web-cert /no/such.pem"),
        "{}",
        missing.stderr
    );
    let lonely = Lgoose::new([&path, "-H", &url, "--web", "--web-key", &secret]).finish();
    assert!(
        lonely.code == 2 && lonely.stderr.contains("without '--web-cert'"),
        "{}",
        lonely.stderr
    );
    let short = Lgoose::new([&path, "-H", &url, "--web", "--web-token=secret"]).finish();
    assert!(
        short.code == 2 && short.stderr.contains("a token has 16"),
        "{}",
        short.stderr
    );
}
