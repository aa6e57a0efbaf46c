//! WebSockets over streams of HTTP/2 (RFC 8441), with the servers of the `h2` and `tungstenite` crates as judges.

use crate::http2_site::{Http2, Odd};
use crate::program::{plan, wait_until};
use crate::report::{Report, run};
use crate::secure::{Authority, server};

fn run_at(name: &str, url: &str, body: &str, options: &[impl AsRef<str>]) -> Report {
    let text = format!("task {{ function(user)\n{body}\nend }}");
    let path = plan(&format!("{name}.lua"), &text);
    let own = [&*path, "-H", url, "-u", "1", "-i", "1"];
    let options = options.iter().map(AsRef::as_ref);
    run(own.into_iter().chain(options))
}

/// A site over TLS, and the option with which it is trusted.
fn site(name: &str, start: impl FnOnce(rustls::ServerConfig) -> Http2) -> (Http2, [String; 2]) {
    let authority = Authority::new();
    let ca = authority.file(&format!("{name}.pem"));
    let mut tls = server(&authority.sign(&["127.0.0.1"]), None);
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let site = start(tls);
    (site, ["--ca".to_owned(), ca])
}

#[test]
fn a_socket_is_a_stream_of_the_connection_that_its_user_has() {
    let (site, ca) = site("websockets_http2_shared", |tls| Http2::start(Some(tls)));
    let text = "
        user:get '/first'
        local socket = user:websocket('/echo', { name = 'echo', subprotocols = { 'v1', 'v2' }, headers = { ['X-Own'] = 'yes' },
          max_buffer = 4000000 })
        assert(socket.ok and socket.status == 101 and socket.subprotocol == 'v2', socket.error)
        socket:send 'hello'
        assert(socket:receive().data == 'hello')
        user:get '/second'
        local long = ('x'):rep(3000000)
        socket:send(long)
        user:get '/third'
        assert(socket:receive({ timeout = 20 }).data == long)
        local other = user:websocket('/echo', { name = 'other' })
        for n = 1, 200 do socket:send('a' .. n) other:send('b' .. n) end
        for n = 1, 200 do
          assert(socket:receive().data == 'a' .. n)
          assert(other:receive().data == 'b' .. n)
        end
        assert(socket:ask('x', { name = 'ask' }).data == 'x')
        socket:close()
        assert(socket.ok and socket.close_code == 1000, socket.error)
        user:get '/fourth'";
    let report = run_at("websockets_http2_shared", &site.url("https"), text, &ca);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((site.connections(), site.count("/echo")), (1, 2));
    let (_, headers) = &site.requests()[1];
    assert_eq!(headers["sec-websocket-version"], "13");
    assert_eq!(headers["x-own"], "yes");
    for name in ["sec-websocket-key", "upgrade", "connection"] {
        assert!(!headers.contains_key(name), "{name}");
    }
    let messages = &report.row("WS echo")["messages"];
    assert_eq!(
        (&messages["sent"], &messages["received"]),
        (&203.into(), &203.into())
    );
    let received = report.figure("WS echo", "bytes");
    assert!((3_000_600..3_010_000).contains(&received), "{received}");
    wait_until("both have ended", || site.socket_ends().len() == 2);
}

#[test]
fn a_run_that_demands_http_2_opens_a_connection_for_a_socket() {
    let (site, ca) = site("websockets_http2_alone", |tls| Http2::start(Some(tls)));
    let text = "
        local socket = user:websocket('/echo', { name = 'echo' })
        socket:send 'hello'
        assert(socket:receive().data == 'hello')
        socket:close()";
    let options = [&ca[0], &ca[1], "--http", "2"];
    let report = run_at("websockets_http2_alone", &site.url("https"), text, &options);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((site.connections(), site.count("/echo")), (1, 1));
}

#[test]
fn a_server_that_takes_no_streams_of_sockets_is_asked_over_http_1_1() {
    let (site, ca) = site("websockets_http2_none", Http2::socketless);
    let text = "
        user:get '/first'
        local socket = user:websocket('/echo', { name = 'echo' })
        assert(not socket.ok)
        user:get '/second'";
    let report = run_at("websockets_http2_none", &site.url("https"), text, &ca);
    // The site speaks nothing but HTTP/2.
    assert_eq!(report.failures("WS echo"), 1, "{:?}", report.errors());
    assert_eq!((site.connections(), site.count("/echo")), (2, 0));
    assert_eq!(site.requests().len(), 2);
}

#[test]
fn what_goes_wrong_with_a_socket_is_said_and_the_connection_goes_on() {
    let (site, ca) = site("websockets_http2_faults", |tls| Http2::start(Some(tls)));
    let text = "
        user:get '/first'
        for _, path in ipairs { 'refused', 'vanishes', 'reset', 'late', 'away', 'echo' } do
          local socket = user:websocket('/' .. path, { name = path })
          socket:send 'hello'
          socket:receive()
          if path ~= 'echo' then socket:receive() end
          user:get '/again'
        end";
    let report = run_at("websockets_http2_faults", &site.url("https"), text, &ca);
    for (row, error) in [
        ("WS refused", "expected status 101, got 403"),
        (
            "WS vanishes",
            "closed early: the server closed the connection of a socket without a close frame",
        ),
        (
            "WS reset",
            "connection reset: http/2: unexpected internal error encountered",
        ),
        (
            "WS late",
            "connection reset: http/2: refused stream before processing any application logic",
        ),
        (
            "WS away",
            "closed early: the server closed the socket: 1001 'later'",
        ),
    ] {
        assert_eq!(report.messages_of(row), [error], "{row}");
    }
    assert_eq!(report.errors().len(), 5, "{:?}", report.errors());
    assert_eq!((site.connections(), site.count("/again")), (1, 6));
    wait_until("all have ended", || site.socket_ends().len() == 6);
}

#[test]
fn a_run_that_is_aborted_resets_the_streams_of_its_sockets() {
    let (site, ca) = site("websockets_http2_aborted", |tls| Http2::start(Some(tls)));
    let text = "
        user:get '/first'
        local job = user:spawn(function()
          local socket = user:websocket('/echo', { name = 'echo' })
          while true do socket:receive() end
        end)
        user:wait(0.2)
        job:cancel()
        user:get '/second'";
    let report = run_at("websockets_http2_aborted", &site.url("https"), text, &ca);
    assert_eq!(report.errors(), Vec::<String>::new());
    wait_until("it has ended", || site.socket_ends().len() == 1);
    assert_eq!((site.connections(), site.count("/second")), (1, 1));
}

#[test]
fn sockets_that_are_opened_at_once_share_one_connection_even_after_one_was_cancelled() {
    let (site, ca) = site("websockets_http2_together", |tls| Http2::start(Some(tls)));
    let text = "
        local function talk()
          local socket = user:websocket('/echo', { name = 'echo' })
          socket:send 'hello'
          assert(socket:receive().data == 'hello')
          return socket
        end
        for _ = 1, 2 do
          local jobs = {}
          for n = 1, 5 do jobs[n] = user:spawn(talk) end
          for _, job in ipairs(jobs) do job:join() end
          -- What is given up puts its connection in doubt.
          user:get('/hold', { name = 'hold', timeout = 0.05 })
        end
        user:get '/last'";
    let options = [&ca[0], &ca[1], "--http", "2"];
    let url = site.url("https");
    let report = run_at("websockets_http2_together", &url, text, &options);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.failures("WS echo"), 0, "{:?}", report.errors());
    assert_eq!((site.connections(), site.count("/echo")), (1, 10));
}

#[test]
fn a_socket_takes_no_stream_that_requests_need() {
    let site = Http2::odd(Odd::Streams(1));
    let text = "
        user:get '/first'
        user:websocket('/echo', { name = 'echo' })
        user:get '/second'";
    let options = ["--http", "2"];
    let report = run_at("websockets_http2_one", &site.url("http"), text, &options);
    // The site speaks nothing but HTTP/2.
    assert_eq!(report.failures("WS echo"), 1, "{:?}", report.errors());
    assert_eq!((site.count("/echo"), site.count("/second")), (0, 1));
}
