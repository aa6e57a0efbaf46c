//! HTTP/2 against a server of the `h2` crate: by ALPN, by prior knowledge, and with each fault of the protocol.

use crate::faulty::{Site, answer};
use crate::http2_site::{Http2, Odd, SIDE_BY_SIDE};
use crate::program::plan;
use crate::report::{Report, run};
use crate::secure::{Authority, server};

/// Runs one user of the plan over HTTP/2 by prior knowledge.
fn known(name: &str, site: &Http2, body: &str, options: &[&str]) -> Report {
    let text = format!("task {{ function(user)\n{body}\nend }}");
    let (path, url) = (plan(name, &text), site.url("http"));
    let own = [
        path.as_str(),
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "--http",
        "2",
    ];
    run(own.iter().chain(options))
}

fn passes(report: &Report) -> u64 {
    let checks = report.json["checks"].as_array().into_iter().flatten();
    for check in checks.clone() {
        assert_eq!(check["failures"], 0, "{check} {:?}", report.errors());
    }
    checks.filter_map(|check| check["passes"].as_u64()).sum()
}

#[test]
fn requests_side_by_side_share_one_connection() {
    let site = Http2::start(None);
    let report = known("http2_together.lua", &site, "
        user:get('/', { name = 'first' })
        local paths = {}
        for n = 1, 6 do paths[n] = '/together/' .. n end
        for _, r in ipairs(user:fetch(paths)) do check(r.status == 200 and r.body == 'good', 'answered') end", &[]);
    assert_eq!(passes(&report), SIDE_BY_SIDE as u64);
    assert_eq!((site.requests().len(), site.connections()), (7, 1));
}

#[test]
fn bodies_flow_both_ways_with_trailers_interim_answers_and_none() {
    let site = Http2::start(None);
    let report = known("http2_bodies.lua", &site, "
        local large = user:get('/large', { name = 'large' })
        check(#large.body == 12 * 1024 * 1024 and large.size >= #large.body, 'large')
        local sent = user:post('/count', string.rep('x', 3000000), { name = 'sent' })
        check(sent.body == '3000000', 'sent')
        check(user:post('/to-count', string.rep('x', 300000), { name = 'kept' }).body == '300000', '307 keeps the body')
        check(user:get('/trailers', { name = 'trailers' }).body == 'good', 'trailers')
        check(user:get('/interim', { name = 'interim' }).body == 'good', 'interim')
        local none = user:get('/empty', { name = 'empty' })
        check(none.status == 204 and none.body == '', 'empty')
        check(user:head('/head', { name = 'head' }).body == '', 'head')
        check(user:get('/discarded', { name = 'discarded', discard = true }).body == '', 'discarded')", &[]);
    assert_eq!(passes(&report), 8);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(
        (report.sent(), site.connections()),
        (site.requests().len() as u64, 1)
    );
    assert_eq!(report.figure("POST kept", "redirects"), 1);
}

#[test]
fn requests_say_nothing_of_a_connection_and_what_the_plan_says() {
    let site = Http2::start(None);
    let report = known("http2_headers.lua", &site, "
        user.cookies:set('flavour', 'oat')
        user:post('/', 'body', { headers = { Connection = 'close', ['X-Own'] = 'yes', TE = 'trailers' } })", &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    let (_, headers) = &site.requests()[0];
    for (name, value) in [
        ("x-own", "yes"),
        ("cookie", "flavour=oat"),
        ("content-length", "4"),
        ("te", "trailers"),
    ] {
        assert_eq!(
            headers.get(name).map(|value| value.as_bytes()),
            Some(value.as_bytes()),
            "{name}"
        );
    }
    assert!(headers.get("connection").is_none() && headers.get("host").is_none());
}

#[test]
fn what_goes_wrong_on_a_stream_is_counted_and_others_go_on() {
    let site = Http2::start(None);
    let report = known("http2_faults.lua", &site, "
        local function bad(path, options) options = options or {}
          options.name = path; user:get(path, options); user:get('/', { name = 'good' }) end
        bad '/reset' bad '/reset-in-body' bad '/left-in-body' bad '/go-away' bad '/many-headers' bad '/wrong-length'
        bad '/endless'
        bad('/hold', { timeout = 0.2 }) bad('/interim-for-ever', { timeout = 2 })
        bad '/refused'", &["--max-body", "1MiB"]);
    // hyper counts none of them.
    let interim = match crate::CLIENT {
        None => "protocol: more than 100 interim responses",
        Some(_) => "timeout",
    };
    for (path, error) in [
        (
            "/reset",
            "connection reset: http/2: unexpected internal error encountered",
        ),
        (
            "/reset-in-body",
            "connection reset: http/2: unexpected internal error encountered",
        ),
        (
            "/left-in-body",
            "connection reset: http/2: not a result of an error",
        ),
        ("/go-away", "connection reset"),
        ("/many-headers", "too large: too many response headers"),
        (
            "/wrong-length",
            "protocol: http/2: unspecific protocol error detected",
        ),
        (
            "/endless",
            "too large: body of more than 1048576 bytes ('--max-body')",
        ),
        ("/hold", "timeout"),
        ("/interim-for-ever", interim),
        ("/refused", "closed early: http/2: refused stream"),
    ] {
        // A server that leaves may be heard to say why, or not.
        let messages = report.messages_of(&format!("GET {path}"));
        let told = messages.len() == 1 && messages[0].starts_with(error);
        assert!(told, "{path}: {messages:?}");
    }
    assert_eq!(
        (report.count("GET good"), report.failures("GET good")),
        (10, 0),
        "{:?}",
        report.errors()
    );
    assert_eq!(site.count("/refused"), 2, "once more, not again and again");
    assert_eq!(report.figure("GET /refused", "retries"), 1);
    assert_eq!(
        report.figure("GET /reset", "retries"),
        0,
        "it was looked at"
    );
    assert_eq!(report.sent(), site.requests().len() as u64);
    let mut new = site.count("/go-away");
    // reqwest's connections cannot be asked whether they live: each timeout ends one.
    new += if crate::CLIENT.is_some() { 2 } else { 0 };
    assert_eq!(site.connections(), 1 + new, "one each time the server went");
}

#[test]
fn a_connection_that_is_dead_is_left_after_one_timeout() {
    let site = Http2::start(None);
    let report = known(
        "http2_dead.lua",
        &site,
        "
        user:get('/', { name = 'before' })
        user:get('/freeze', { name = 'frozen', timeout = 0.2 })
        user:get('/', { name = 'after', timeout = 20 })
        local together = user:fetch { '/a', '/b', '/c' }
        for _, r in ipairs(together) do check(r.body == 'good', 'goes on') end",
        &[],
    );
    assert_eq!(report.messages_of("GET frozen"), ["timeout"]);
    assert_eq!(report.errors().len(), 1, "{:?}", report.errors());
    assert_eq!((passes(&report), site.connections()), (3, 2));
}

#[test]
fn requests_wait_for_a_server_that_allows_few_streams() {
    let site = Http2::odd(Odd::Streams(1));
    let report = known("http2_one_stream.lua", &site, "
        for _, r in ipairs(user:fetch { '/a', '/b', '/c', '/d', '/e', '/f' }) do check(r.body == 'good', 'answered') end
        check(user:get('/').body == 'good', 'answered')", &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((passes(&report), site.connections()), (7, 1));
}

#[test]
fn requests_to_a_server_that_allows_no_stream_end_with_their_timeout() {
    let site = Http2::odd(Odd::Streams(0));
    let report = known(
        "http2_no_stream.lua",
        &site,
        "for _ = 1, 2 do user:get('/', { name = 'page', timeout = 0.3 }) end",
        &[],
    );
    assert_eq!(report.messages_of("GET page"), ["timeout"]);
    assert_eq!(report.failures("GET page"), 2, "{:?}", report.errors());
    assert_eq!(site.requests().len(), 0);
}

#[test]
fn a_server_that_leaves_without_a_look_is_asked_again_whatever_its_reason() {
    let site = Http2::odd(Odd::Leaves);
    // hyper does not say that nothing was looked at: only what may be sent twice is.
    let method = match crate::CLIENT {
        None => "POST",
        Some(_) => "PUT",
    };
    let body = format!("user:request {{ method = '{method}', path = '/', body = 'body' }}");
    let report = known("http2_leaves.lua", &site, &body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    let sent = (report.total("retries"), site.requests().len());
    assert_eq!((sent, site.connections()), ((1, 1), 2));
}

#[test]
fn what_the_server_did_not_look_at_is_sent_once_more_whatever_the_method() {
    let site = Http2::start(None);
    let report = known(
        "http2_refused.lua",
        &site,
        "user:post('/refused-once', 'body', { name = 'page' })",
        &[],
    );
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(
        (site.count("/refused-once"), report.total("retries")),
        (2, 1)
    );
}

#[test]
fn after_a_goaway_the_next_request_opens_a_new_connection() {
    let site = Http2::start(None);
    let report = known("http2_bye.lua", &site, "
        for n = 1, 3 do user:get('/bye', { name = 'bye' }) user:post('/after', 'x', { name = 'after' }) end", &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((report.total("count"), site.connections()), (6, 4));
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let site = Http2::start(None);
    let report = known(
        "http2_no_keepalive.lua",
        &site,
        "for n = 1, 3 do user:get '/' end",
        &["--no-keepalive"],
    );
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(site.connections(), 3);
}

#[test]
fn the_server_chooses_the_version_unless_one_is_forced() {
    let authority = Authority::new();
    let ca = authority.file("alpn.pem");
    let identity = authority.sign(&["127.0.0.1"]);
    let offers = |protocols: &[&[u8]]| {
        let mut config = server(&identity, None);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        config
    };
    let path = plan(
        "alpn.lua",
        "task { function(user) for _ = 1, 2 do user:get('/', { name = 'page' }) end end }",
    );
    let ask = |url: &str, options: &[&str]| {
        let own = [path.as_str(), "-H", url, "--ca", &ca, "-u", "1", "-i", "1"];
        run(own.iter().chain(options))
    };
    let site = Http2::start(Some(offers(&[b"h2"])));
    let report = ask(&site.url("https"), &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((site.requests().len(), site.connections()), (2, 1));
    let report = ask(&site.url("https"), &["--http", "1.1"]);
    assert!(report.errors_with("tls: ") == 2, "{:?}", report.errors());
    let no_http2 = match crate::CLIENT {
        None => "protocol: the server does not speak HTTP/2 ('--http 2')",
        Some(_) => "protocol: http/2",
    };
    for (protocols, forced) in [(&[&b"http/1.1"[..]][..], "tls: "), (&[], no_http2)] {
        let site = Site::secure(offers(protocols), |_| answer(200, "", "good"));
        let report = ask(&site.url(), &[]);
        assert_eq!(report.errors(), Vec::<String>::new());
        assert_eq!((site.received(), site.connections()), (2, 1));
        let report = ask(&site.url(), &["--http", "2"]);
        assert_eq!(report.errors_with(forced), 2, "{:?}", report.errors());
        // The other client begins to speak before it knows whom to.
        assert!(crate::CLIENT.is_some() || site.received() == 2);
    }
}

#[test]
fn a_server_that_spoke_an_older_version_may_choose_http2_later() {
    let authority = Authority::new();
    let ca = authority.file("alpn_learns.pem");
    let mut config = server(&authority.sign(&["127.0.0.1"]), None);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let site = Http2::learning(config);
    let path = plan(
        "alpn_learns.lua",
        "task { function(user)
            user:get('/', { name = 'old' })
            user:fetch { '/a', '/b', '/c' }
            user:get('/', { name = 'new' })
        end }",
    );
    let url = site.url("https");
    let report = run([&path, "-H", &url, "--ca", &ca, "-u", "1", "-i", "1"]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(report.total("count"), 5);
    let new = site.requests();
    assert_eq!(new.len(), 4, "those after the first: {new:?}");
    // Those side by side may each have opened one, and only one is kept.
    assert!(
        (2..=4).contains(&site.connections()),
        "{}",
        site.connections()
    );
}

#[test]
fn a_server_that_misses_a_clients_certificate_is_counted_as_tls() {
    let authority = Authority::new();
    let ca = authority.file("alpn_clients.pem");
    let mut config = server(&authority.sign(&["127.0.0.1"]), Some(&authority));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let site = Http2::start(Some(config));
    let text = "task { function(user) for _ = 1, 3 do user:get('/', { name = 'page' }) end end }";
    let (path, url) = (plan("alpn_clients.lua", text), site.url("https"));
    let report = run([&path, "-H", &url, "--ca", &ca, "-u", "1", "-i", "1"]);
    assert_eq!(report.failures("GET page"), 3);
    // h2 keeps no more of it than the words of rustls.
    let told = report.errors_with(match crate::CLIENT {
        None => "tls: the server demands a client certificate",
        Some(_) => "tls: ",
    });
    // The other client may lose a connection before the request is on it, and with that the reason.
    let lost = match crate::CLIENT {
        None => 0,
        Some(_) => report.errors_with("closed early: before the request was sent"),
    };
    assert_eq!(told + lost, 3, "{:?}", report.errors());
}

/// A server of HTTP/2 by prior knowledge that answers each connection with settings, then with `first`, and then with these frames for ever.
fn flooding(first: &'static [u8], frames: &[u8]) -> std::net::SocketAddr {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let frames = frames.repeat(10_000);
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let frames = frames.clone();
            std::thread::spawn(move || {
                let (mut reads, mut writes) = (stream.try_clone()?, stream);
                let mut asked = [0; 16_384];
                let _preface = reads.read(&mut asked)?;
                std::thread::spawn(move || while matches!(reads.read(&mut asked), Ok(1..)) {});
                // SETTINGS, and their acknowledgement.
                writes.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0])?;
                writes.write_all(first)?;
                loop {
                    writes.write_all(&frames)?;
                }
                #[expect(unreachable_code, reason = "it ends with the connection")]
                std::io::Result::Ok(())
            });
        }
    });
    address
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_server_that_floods_with_frames_costs_its_user_a_request_and_nobody_else_anything() {
    let innocent = Http2::start(None);
    // The head of a response, which its data follow.
    const HEAD: [u8; 10] = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
    type Flood = (&'static str, &'static [u8], &'static [u8]);
    let floods: [Flood; 3] = [
        ("data", &HEAD, &[0, 0, 0, 0, 0, 0, 0, 0, 1]),
        (
            "ping",
            &[],
            &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
        ),
        (
            "settings",
            &[],
            &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0xff, 0xff],
        ),
    ];
    for (name, first, frames) in floods {
        let text = format!(
            "scenario {{ 'flooded', host = 'http://{}', task {{ function(user) user:get('/', {{ name = 'flood' }}) user:wait(0.05) end }} }}
             scenario {{ 'innocent', host = '{}', task {{ function(user) user:get('/', {{ name = 'other' }}) user:wait(0.01) end }} }}",
            flooding(first, frames),
            innocent.url("http")
        );
        let path = plan(&format!("flood_{name}.lua"), &text);
        let report = run([
            path.as_str(),
            "-u",
            "2",
            "-t",
            "2s",
            "--threads",
            "1",
            "--stop-timeout",
            "2s",
            "--http",
            "2",
        ]);
        let errors = report.errors().join("\n");
        // hyper has bounds of its own, of data alone: others go on until the run ends, and take the thread's time.
        let expected = match (crate::CLIENT, name) {
            (None, _) => "10,000 frames in a row",
            (Some(_), "data") => "excessive load",
            (Some(_), _) => continue,
        };
        assert!(errors.contains(expected), "{name}: {errors}");
        assert!(
            report.count("GET other") > 20,
            "{name}: {:?}",
            report.rows()
        );
    }
}
