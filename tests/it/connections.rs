//! Connections of requests: kept, closed, replaced, bound to an address.

use crate::faulty::{Act, Site, answer};
use crate::program::{plan, wait_until};
use crate::report::{Report, run};
use crate::skipping::skip;
use std::collections::HashSet;
use std::sync::{Arc, Barrier, Mutex};

/// Runs one user whose task is `body` at `url`.
fn visit(name: &str, url: &str, body: &str, options: &[&str]) -> Report {
    let path = plan(name, &format!("task {{ function(user)\n{body}\nend }}"));
    let own = [path.as_str(), "-H", url, "-u", "1", "-i", "1"];
    run(own.iter().chain(options))
}

/// Answers the first request of each connection, and closes it at the second.
fn forgetful() -> Site {
    let known = Mutex::new(HashSet::new());
    Site::start(move |asked| {
        let is_new = known
            .lock()
            .expect("no script panics")
            .insert(asked.connection);
        if is_new {
            answer(200, "", "good")
        } else {
            vec![Act::Close]
        }
    })
}

#[test]
fn a_connection_is_kept_and_closed_as_both_sides_say() {
    for (name, headers, options, connections) in [
        ("kept.lua", "", &[][..], 1),
        ("closed_by_site.lua", "connection: close\r\n", &[], 4),
        ("closed_by_client.lua", "", &["--no-keepalive"], 4),
    ] {
        let site = Site::start(move |_| answer(200, headers, "good"));
        let report = visit(
            name,
            &site.url(),
            "for _ = 1, 4 do user:get '/' end",
            options,
        );
        assert_eq!(report.errors(), Vec::<String>::new(), "{name}");
        assert_eq!(
            (site.received(), site.connections()),
            (4, connections),
            "{name}"
        );
        let told = site.asked()[0].header("connection").to_owned();
        assert_eq!(told == "close", !options.is_empty(), "{name}: {told}");
    }
}

#[test]
fn each_iteration_may_open_connections_of_its_own() {
    for (word, connections) in [("user", 1), ("iteration", 3)] {
        let site = Site::start(|_| answer(200, "", "good"));
        let text = "task { function(user) user:get '/1' user:get '/2' end }\n\
                    task { on_start = true, function(user) user:get '/start' end }";
        let path = plan(&format!("connections_{word}.lua"), text);
        let url = site.url();
        let option = format!("--connections={word}");
        let report = run([&path, "-H", &url, "-u", "1", "-i", "2", &option]);
        assert_eq!(report.errors(), Vec::<String>::new(), "{word}");
        assert_eq!(
            (site.received(), site.connections()),
            (5, connections),
            "{word}"
        );
        assert_eq!(report.json["settings"]["connections"], word);
    }
    let site = Site::start(|_| answer(200, "", "good"));
    let text = "plan { connections = 'iteration' }\ntask { function(user) user:get '/' end }";
    let path = plan("connections_of_arrivals.lua", text);
    let url = site.url();
    let arguments = [
        &path,
        "-H",
        &url,
        "--rate",
        "20",
        "-t",
        "200ms",
        "--max-users",
        "1",
    ];
    run(arguments);
    assert_eq!(site.connections() as u64, site.received());
}

#[test]
fn a_kept_connection_that_was_closed_is_replaced_once_for_what_may_be_sent_again() {
    let site = forgetful();
    let body = "user:get('/1', { name = 'get' })
        user:put('/2', 'body', { name = 'put' })
        user:delete('/3', { name = 'delete' })";
    let report = visit("retried.lua", &site.url(), body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((report.total("count"), report.total("retries")), (3, 2));
    assert_eq!(
        (
            report.figure("PUT put", "retries"),
            report.figure("GET get", "retries")
        ),
        (1, 0)
    );
    assert_eq!(
        report.sent(),
        site.received(),
        "requests and what was sent once more"
    );
    assert_eq!(site.asked_for("/2")[1].body, b"body");
}

#[test]
fn each_hop_of_a_request_may_be_sent_again() {
    let known = Mutex::new(HashSet::new());
    let site = Site::start(move |asked| {
        let is_new = known
            .lock()
            .expect("no script panics")
            .insert(asked.connection);
        match (is_new, asked.path.as_str()) {
            (false, _) => vec![Act::Close],
            (true, "/last") => answer(200, "", "good"),
            (true, "/digest") if asked.header("authorization").is_empty() => {
                let asks = "www-authenticate: Digest realm=\"a\", nonce=\"b\", qop=\"auth\"\r\n";
                answer(401, asks, "")
            }
            (true, "/digest") => answer(302, "location: /a\r\n", ""),
            (true, "/a") => answer(302, "location: /b\r\n", ""),
            (true, _) => answer(302, "location: /last\r\n", ""),
        }
    });
    let body = "user:digest_auth('Aladdin', 'open sesame')
        user:get('/digest', { name = 'get' })";
    let report = visit("retried_hops.lua", &site.url(), body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    // One more is the answer to the challenge.
    let again = report.figure("GET get", "retries");
    assert_eq!((report.figure("GET get", "redirects"), again), (3, 5));
    assert_eq!(report.sent(), site.received());
    assert_eq!(site.asked_for("/last").len(), 2);
}

#[test]
fn what_is_sent_again_takes_none_of_the_other_idle_connections() {
    // Six are answered together, so that each has a connection of its own.
    let (together, known) = (Barrier::new(6), Mutex::new(HashSet::new()));
    let site = Site::start(move |asked| {
        let is_new = known
            .lock()
            .expect("no script panics")
            .insert(asked.connection);
        if asked.path != "/again" {
            together.wait();
        }
        if is_new {
            answer(200, "", "good")
        } else {
            vec![Act::Close]
        }
    });
    let body = "local paths = {} for n = 1, 6 do paths[n] = '/wait/' .. n end
        user:fetch(paths) user:get('/again', { name = 'again' })";
    let report = visit("idle_all_closed.lua", &site.url(), body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(
        (report.figure("GET again", "retries"), site.connections()),
        (1, 7)
    );
}

#[test]
fn no_method_is_lost_with_a_kept_connection_that_the_site_has_closed() {
    let site = forgetful();
    let body = "user:get('/1', { name = 'get' }) user:post('/2', 'body', { name = 'post' })
        user:request { method = 'PATCH', path = '/3', body = 'body', name = 'patch' }";
    let report = visit("retried_post.lua", &site.url(), body, &[]);
    if crate::CLIENT.is_some() {
        // reqwest does not tell whether a response has begun.
        assert_eq!(report.messages_of("POST post"), ["closed early"]);
        assert_eq!(
            (report.failures("PATCH patch"), report.total("retries")),
            (0, 0)
        );
        assert_eq!((report.sent(), site.received()), (3, 3));
        return;
    }
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(
        (report.total("retries"), report.sent()),
        (2, site.received())
    );
    for path in ["/2", "/3"] {
        let bodies: Vec<_> = site
            .asked_for(path)
            .into_iter()
            .map(|asked| asked.body)
            .collect();
        assert_eq!(bodies, [b"body", b"body"], "{path}");
    }
}

#[test]
fn what_a_site_has_begun_to_answer_is_not_sent_again() {
    let known = Mutex::new(HashSet::new());
    let site = Site::start(move |asked| {
        let is_new = known
            .lock()
            .expect("no script panics")
            .insert(asked.connection);
        if is_new {
            answer(200, "", "good")
        } else {
            vec![Act::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Act::Close]
        }
    });
    let body = "user:get('/1', { name = 'get' }) user:post('/2', 'body', { name = 'post' })";
    let report = visit("not_retried.lua", &site.url(), body, &[]);
    assert_eq!(report.messages_of("POST post"), ["closed early"]);
    assert_eq!((report.total("retries"), site.received()), (0, 2));
}

#[test]
fn a_site_that_closes_every_connection_is_asked_twice_and_not_for_ever() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/good" => answer(200, "", "good"),
        _ => vec![Act::Close],
    });
    let body = "user:get('/good', { name = 'good' }) user:get('/bad', { name = 'bad' }) user:get('/bad', { name = 'fresh' })";
    let report = visit("closes_all.lua", &site.url(), body, &[]);
    assert_eq!(report.messages_of("GET bad"), ["closed early"]);
    assert_eq!(
        (
            report.figure("GET bad", "retries"),
            report.figure("GET fresh", "retries")
        ),
        (1, 0)
    );
    assert_eq!(
        (site.asked_for("/bad").len(), report.sent()),
        (3, site.received())
    );
}

#[test]
fn retries_are_shown_beside_the_redirects() {
    let site = forgetful();
    let path = plan(
        "retries_shown.lua",
        "task { function(user) user:get '/' user:get '/' end }",
    );
    let ended =
        crate::program::Lgoose::new([&path, "-H", &site.url(), "-u", "1", "-i", "1"]).finish();
    let line = ended
        .stdout
        .lines()
        .find(|line| line.starts_with(" retries "));
    let line = line.unwrap_or_else(|| panic!("{}", ended.stdout));
    assert!(
        line.contains("1, on connections that the site had closed"),
        "{line}"
    );
}

#[test]
fn an_idle_connection_that_the_site_has_closed_is_not_used() {
    let site = Arc::new(Site::start(|asked| match asked.path.as_str() {
        "/once" => answer(200, "", "good")
            .into_iter()
            .chain([Act::Close])
            .collect(),
        _ => answer(200, "", "good"),
    }));
    // The other site answers once the first one has closed.
    let first = site.clone();
    let other = Site::start(move |_| {
        let once = &first.asked_for("/once")[0];
        wait_until("the connection is closed", || first.has_closed(once));
        answer(200, "", "good")
    });
    let body = format!(
        "user:get '/once' user:get '{}/while' user:post('/next', 'x')",
        other.url()
    );
    let report = visit("idle_closed.lua", &site.url(), &body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((report.total("count"), report.total("retries")), (3, 0));
    let (once, next) = (site.asked_for("/once"), site.asked_for("/next"));
    assert_ne!(once[0].connection, next[0].connection);
}

#[test]
fn six_connections_at_most_carry_what_is_fetched_at_once() {
    let site = Site::start(|_| answer(200, "", "good"));
    let body = "local paths = {} for n = 1, 30 do paths[n] = '/' .. n end user:fetch(paths) user:fetch(paths)";
    let report = visit("six.lua", &site.url(), body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(site.received(), 60);
    assert!(site.connections() <= 6, "{}", site.connections());
}

#[test]
fn what_is_fetched_from_many_hosts_goes_to_some_of_them_at_once() {
    const AT_ONCE: usize = 64;
    // As many are answered together, so that all of them have come by then.
    let together = Arc::new(Barrier::new(AT_ONCE));
    let counts = Arc::new(Mutex::new((0, 0)));
    let site = || {
        let (together, counts) = (together.clone(), counts.clone());
        Site::start(move |_| {
            let count = |change: isize| {
                let mut counts = counts.lock().expect("no script panics");
                counts.0 += change;
                counts.1 = counts.0.max(counts.1);
            };
            count(1);
            together.wait();
            count(-1);
            answer(200, "", "good")
        })
    };
    let sites: Vec<_> = (0..2 * AT_ONCE).map(|_| site()).collect();
    let urls: Vec<_> = sites
        .iter()
        .map(|site| format!("'{}'", site.url()))
        .collect();
    let body = format!("user:fetch({{ {} }}, {{ name = 'all' }})", urls.join(", "));
    let report = visit("many_hosts.lua", &sites[0].url(), &body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(report.total("count"), 2 * AT_ONCE as u64);
    assert_eq!(
        *counts.lock().expect("no script panics"),
        (0, AT_ONCE as isize)
    );
}

#[test]
fn addresses_of_ip_version_six_work_as_hosts_and_pins() {
    let site = match Site::at("[::1]:0", None, |_| answer(200, "", "good")) {
        Ok(site) => site,
        Err(error) => return skip("IPv6", &format!("the address ::1: {error}")),
    };
    let (port, body) = (site.port(), "user:get('/', { name = 'page' })");
    let report = visit("ipv6.lua", &site.url(), body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(site.asked()[0].header("host"), format!("[::1]:{port}"));
    let pin = format!("six.test:{port}:[::1]");
    let report = visit(
        "ipv6_pinned.lua",
        &format!("http://six.test:{port}"),
        body,
        &["--resolve", &pin],
    );
    assert_eq!(report.errors(), Vec::<String>::new());
}

#[test]
fn connections_come_from_the_address_that_was_asked_for() {
    let site = Site::start(|asked| answer(200, "", &asked.from));
    let body = "check(user:get('/', { name = 'page' }).body == '127.0.0.2', 'from there')";
    let report = visit(
        "local_address.lua",
        &site.url(),
        body,
        &["--local-address", "127.0.0.2"],
    );
    assert_eq!(
        (report.errors(), report.json["checks"][0]["passes"].as_u64()),
        (vec![], Some(1))
    );
    let body = "for _ = 1, 3 do for from = 2, 4 do\n\
                check(user:get('/', { name = 'page' }).body == '127.0.0.' .. from, 'in turns') end end";
    for client in ["direct", "reqwest"] {
        // A client of reqwest belongs to a user and keeps to one address.
        let body = if client == "direct" {
            body
        } else {
            "check(user:get('/', { name = 'page' }).body == '127.0.0.' .. user.id + 1, 'in turns')"
        };
        let report = visit(
            "local_addresses.lua",
            &site.url(),
            body,
            &[
                "--local-address",
                "127.0.0.2,127.0.0.3",
                "--local-address",
                "127.0.0.4",
                "--no-keepalive",
                "--threads=1",
                "--client",
                client,
            ],
        );
        assert_eq!(report.errors(), Vec::<String>::new(), "{client}");
        let settings = &report.json["settings"]["local_address"];
        assert_eq!(settings, "127.0.0.2,127.0.0.3,127.0.0.4");
    }
    let report = visit(
        "foreign_address.lua",
        &site.url(),
        "user:get('/', { name = 'page' })",
        &["--local-address", "192.0.2.1"],
    );
    let expected = "connect failed: '--local-address 192.0.2.1' is not an address of this machine";
    assert_eq!(report.messages_of("GET page"), [expected]);
}

#[test]
fn a_name_is_looked_up_once_and_again_after_its_time() {
    let site = Site::start(|_| answer(200, "", "good"));
    let url = format!("http://localhost:{}", site.port());
    let body = "for _ = 1, 4 do user:get('/', { name = 'page' }) end";
    for (name, ttl) in [("dns_kept.lua", "1h"), ("dns_forgotten.lua", "0.000001s")] {
        let options = ["--no-keepalive", "--dns-ttl", ttl];
        let report = visit(name, &url, body, &options);
        assert_eq!(report.errors(), Vec::<String>::new(), "{name}");
        assert_eq!(report.count("GET page"), 4, "{name}");
        assert!(
            report.json["aggregated"]["phases_ms"]["dns"]
                .as_f64()
                .is_some(),
            "{name}"
        );
    }
}

#[test]
fn an_answer_that_comes_before_the_body_is_sent_is_heard() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/refused" => {
            let head = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
            vec![Act::Send(head.into()), Act::Hold]
        }
        "/echoed" => vec![
            Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234".to_vec()),
            Act::ReadBody,
            Act::Send(b"56789".to_vec()),
        ],
        "/answered" => vec![
            Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n".to_vec()),
            Act::Drip(b"0123456789".to_vec(), std::time::Duration::from_millis(1)),
            Act::HalfClose,
        ],
        _ => answer(200, "", "good"),
    });
    let body = "local large = string.rep('x', 8000000)
        local unread = { ['X-Unread'] = 'yes' }
        local r = user:post('/echoed', large, { name = 'echoed', headers = unread })
        check(r.status == 200 and r.body == '0123456789', 'echoed')
        user:get('/good', { name = 'good' })
        r = user:post('/answered', large, { name = 'answered', headers = unread })
        check(r.status == 200 and r.body == '0123456789', 'answered')
        r = user:post('/refused', large, { name = 'refused', headers = unread, expect = { status = 413 } })
        check(r.status == 413 and r.body == 'no', 'refused')";
    let report = visit("early.lua", &site.url(), body, &["--timeout", "20s"]);
    assert_eq!(report.errors(), Vec::<String>::new());
    let checks = report.json["checks"].as_array().expect("checks");
    let failures = checks.iter().map(|check| check["failures"].as_u64());
    assert_eq!(failures.collect::<Vec<_>>(), [Some(0); 3], "{checks:?}");
    let body_of = |path: &str| {
        let asked = site.asked();
        let asked = asked.iter().find(|asked| asked.path == path);
        asked.map_or(0, |asked| asked.body.len())
    };
    assert_eq!((body_of("/refused"), site.connections()), (0, 2));
}
