//! Redirects and cookies: where redirects lead, and which headers and cookies each host receives.

use crate::faulty::{Asked, Site, answer};
use crate::program::{Lgoose, plan, scratch};
use crate::report::{Report, run};
use md5::{Digest as _, Md5};

/// Runs one user whose task is `body` at `site`.
fn visit(name: &str, site: &Site, body: &str, options: &[&str]) -> Report {
    let path = plan(name, &format!("task {{ function(user)\n{body}\nend }}"));
    let (url, own) = (site.url(), [path.as_str(), "-u", "1", "-i", "1"]);
    let report = run(own.iter().chain(&["-H", &url]).chain(options));
    assert_eq!(report.errors(), Vec::<String>::new(), "{name}");
    report
}

fn moved(status: u16, to: &str) -> Vec<crate::faulty::Act> {
    answer(status, &format!("location: {to}\r\n"), "")
}

/// Returns `METHOD path body` of each request.
fn told(asked: &[Asked]) -> Vec<String> {
    let shown = |asked: &Asked| {
        let body = String::from_utf8_lossy(&asked.body);
        format!("{} {} {body}", asked.method, asked.path)
            .trim_end()
            .to_owned()
    };
    asked.iter().map(shown).collect()
}

#[test]
fn methods_and_bodies_are_kept_or_dropped_as_browsers_do() {
    let site = Site::start(|asked| match asked.path.strip_prefix("/from/") {
        Some(status) => moved(status.parse().expect("a status"), "/to"),
        None => answer(200, "", "here"),
    });
    let cases = [
        (301, "POST", "GET /to"),
        (302, "POST", "GET /to"),
        (303, "POST", "GET /to"),
        (307, "POST", "POST /to x=1"),
        (308, "POST", "POST /to x=1"),
        (301, "PUT", "PUT /to x=1"),
        (302, "PUT", "PUT /to x=1"),
        (303, "PUT", "GET /to"),
        (307, "PUT", "PUT /to x=1"),
        (302, "GET", "GET /to"),
        (303, "HEAD", "HEAD /to"),
        (302, "DELETE", "DELETE /to"),
        (303, "DELETE", "GET /to"),
    ];
    let mut body = String::new();
    for (status, method, _) in cases {
        let with_body = matches!(method, "POST" | "PUT");
        let argument = if with_body { ", 'x=1'" } else { "" };
        let method = method.to_lowercase();
        body += &format!(
            "user:{method}('/from/{status}'{argument}, {{ name = 'hop', headers = {{ ['Content-Type'] = 'a/b' }} }})\n"
        );
    }
    let report = visit("hop_methods.lua", &site, &body, &[]);
    let asked = site.asked();
    assert_eq!(asked.len(), 2 * cases.len());
    for (pair, (status, method, expected)) in asked.chunks(2).zip(cases) {
        assert_eq!(told(pair)[1], expected, "{status} {method}");
        let body_kept = expected.ends_with("x=1");
        assert_eq!(
            pair[1].header("content-length") == "3",
            body_kept,
            "{status} {method}"
        );
        let becomes_get = !expected.starts_with(method);
        assert_eq!(
            pair[1].header("content-type").is_empty(),
            becomes_get,
            "{status} {method}"
        );
    }
    assert_eq!(report.sent(), site.received());
}

#[test]
fn a_run_may_take_the_redirect_itself_as_the_answer() {
    let site = Site::start(|_| answer(302, "location: /again\r\n", ""));
    let body = "local last = user:get '/'\n\
                assert(last.status == 302 and last.redirects == 2, last.redirects)\n\
                local limited = user:get('/', { redirects = 3, name = 'limited' })\n\
                assert(limited.error:find 'too many redirects: more than 3')\n\
                limited:pass()";
    let report = visit("redirects_max.lua", &site, body, &["--max-redirects", "2"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.json["settings"]["max_redirects"], 2);
    assert_eq!(site.received(), 3 + 4);
}

#[test]
fn relative_redirects_are_resolved_as_urls_are() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/a/b/start" => moved(302, "next?x=1"),
        "/a/b/next?x=1" => moved(302, "?x=2"),
        "/a/b/next?x=2" => moved(302, "../up"),
        "/a/up" => moved(302, "/caf\u{e9} au lait#part"),
        "/caf%C3%A9%20au%20lait" => moved(302, "."),
        "/" => moved(302, "#top"),
        _ => answer(200, "", "here"),
    });
    let body = "user:get('/a/b/start', { redirects = 5 }):pass()";
    visit("hop_relative.lua", &site, body, &[]);
    let paths: Vec<String> = site.asked().into_iter().map(|asked| asked.path).collect();
    let chain = [
        "/a/b/start",
        "/a/b/next?x=1",
        "/a/b/next?x=2",
        "/a/up",
        "/caf%C3%A9%20au%20lait",
        "/",
    ];
    assert_eq!(paths, chain);
}

#[test]
fn another_host_is_not_told_who_the_user_is() {
    let elsewhere = Site::start(|asked| match asked.path.as_str() {
        "/back" => moved(307, &format!("http://{}/own", asked.header("x-home"))),
        _ => answer(
            200,
            "set-cookie: theirs=1\r\nset-cookie: forged=1; Domain=127.0.0.1\r\n",
            "elsewhere",
        ),
    });
    let to = elsewhere.url();
    let home = Site::start(move |asked| match asked.path.as_str() {
        "/out" => moved(307, &format!("{to}/there")),
        "/out-and-back" => moved(307, &format!("{to}/back")),
        _ => answer(200, "", "home"),
    });
    let host = home.url().replace("http://", "");
    let body = format!("
        user.cookies:set('session', 'secret')
        user:basic_auth('goose', 'secret')
        local headers = {{ Authorization = 'Bearer secret', ['Proxy-Authorization'] = 'Basic secret', ['X-Home'] = '{host}', Host = 'virtual.test' }}
        user:get('/own', {{ headers = headers }})
        user:get('/out', {{ headers = headers }})
        user:get('/out')
        user:post('/out', 'body', {{ headers = headers }})
        user:get('/out-and-back', {{ headers = headers }})");
    visit("hop_foreign.lua", &home, &body, &[]);
    assert_eq!(
        home.asked_for("/own")[0].header("authorization"),
        "Bearer secret"
    );
    assert_eq!(home.asked_for("/own")[0].header("host"), "virtual.test");
    assert_eq!(elsewhere.received(), 4);
    for asked in elsewhere.asked() {
        for secret in ["authorization", "proxy-authorization"] {
            assert_eq!(asked.header(secret), "", "{}", asked.head);
        }
        assert_eq!(asked.header("host"), elsewhere.url().replace("http://", ""));
    }
    assert_eq!(
        told(&elsewhere.asked())[2],
        "POST /there body",
        "the body is no secret"
    );
    let back = &home.asked_for("/own")[1];
    assert_eq!(
        back.header("authorization"),
        "",
        "once it has left, it stays away"
    );
}

#[test]
fn bytes_sent_are_those_that_the_site_received_over_all_hops() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/kept" => moved(307, "/to"),
        _ => answer(200, "", "here"),
    });
    let body = "user:post('/kept', string.rep('x', 200000), { name = 'kept' })
        user:get('/', { name = 'front' })";
    let report = visit("hop_bytes_sent.lua", &site, body, &[]);
    let received = |asked: &Asked| (asked.head.len() + asked.body.len()) as u64;
    let received: u64 = site.asked().iter().map(received).sum();
    let sent = report.total("bytes_sent");
    match crate::CLIENT {
        None => assert_eq!(sent, received),
        // What hyper adds to heads is not known.
        Some(_) => assert!(
            (received - 500..=received).contains(&sent),
            "{sent} of {received}"
        ),
    }
}

#[test]
fn a_redirect_to_another_scheme_keeps_secrets_and_cookies_to_themselves() {
    let authority = crate::secure::Authority::new();
    let ca = authority.file("hops.pem");
    let tls = crate::secure::server(&authority.sign(&["shop.test"]), None);
    let secure = Site::secure(tls, |_| {
        answer(200, "set-cookie: safe=1; Secure\r\n", "secure")
    });
    let to = format!("https://shop.test:{}/in", secure.port());
    let plain = Site::start(move |asked| match asked.path.as_str() {
        "/up" => moved(302, &to),
        _ => answer(200, "", "plain"),
    });
    // Names, since browsers take this machine's own addresses for safe without TLS.
    let pins = [secure.port(), plain.port()].map(|port| format!("shop.test:{port}:127.0.0.1"));
    let body = format!(
        "user:set_host 'http://shop.test:{}' user:bearer 'secret' user:get '/up' user:get '/up' user:get '/'",
        plain.port()
    );
    let options = ["--ca", &ca, "--resolve", &pins[0], "--resolve", &pins[1]];
    let report = visit("hop_scheme.lua", &plain, &body, &options);
    assert_eq!(report.total("redirects"), 2);
    let asked = secure.asked();
    assert_eq!(asked[0].header("authorization"), "");
    assert_eq!(asked[1].header("cookie"), "safe=1");
    assert_eq!(plain.received(), 3);
    for asked in plain.asked() {
        assert_eq!(asked.header("authorization"), "Bearer secret");
        assert_eq!(asked.header("cookie"), "");
    }
}

#[test]
fn a_user_follows_to_another_host_for_good_only_if_told_so() {
    let elsewhere = Site::start(|_| answer(200, "", "elsewhere"));
    for (name, options, expected) in [
        ("stays.lua", &[][..], 1),
        ("sticks.lua", &["--sticky-follow"][..], 2),
    ] {
        let to = elsewhere.url();
        let home = Site::start(move |asked| match asked.path.as_str() {
            "/" => moved(302, &format!("{to}/")),
            _ => answer(200, "", "home"),
        });
        let before = elsewhere.received();
        visit(name, &home, "user:get '/' user:get '/next'", options);
        assert_eq!(elsewhere.received() - before, expected, "{name}");
        assert_eq!(home.received(), 3 - expected, "{name}");
    }
}

#[test]
fn cookies_go_where_the_site_may_send_them() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/set" => answer(
            200,
            "set-cookie: host=1\r\nset-cookie: shop=1; Domain=shop.co.uk\r\nset-cookie: all=1; Domain=co.uk\r\n\
             set-cookie: other=1; Domain=other.co.uk\r\nset-cookie: deep=1; Path=/deep\r\nset-cookie: gone=1; Max-Age=0\r\n",
            "",
        ),
        _ => answer(200, "", "here"),
    });
    let port = site.port();
    let mut pins = Vec::new();
    for host in ["www.shop.co.uk", "img.shop.co.uk", "other.co.uk"] {
        pins.extend(["--resolve".to_owned(), format!("{host}:{port}:127.0.0.1")]);
    }
    let pins: Vec<&str> = pins.iter().map(String::as_str).collect();
    let body = format!("user:get 'http://www.shop.co.uk:{port}/set'
        for _, url in ipairs {{ 'www.shop.co.uk:{port}/a', 'img.shop.co.uk:{port}/b', 'other.co.uk:{port}/c', 'www.shop.co.uk:{port}/deep/d' }} do
          user:get('http://' .. url)
        end");
    visit("cookie_hosts.lua", &site, &body, &pins);
    let cookies = |path: &str| {
        let asked = site.asked_for(path);
        let mut names: Vec<String> = asked[0]
            .header("cookie")
            .split("; ")
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    };
    assert_eq!(cookies("/a"), ["host=1", "shop=1"]);
    assert_eq!(cookies("/b"), ["shop=1"]);
    assert_eq!(cookies("/c"), [""]);
    assert_eq!(cookies("/deep/d"), ["deep=1", "host=1", "shop=1"]);
    let body = "user:get '/set' user:get '/a'";
    let before = site.asked_for("/a").len();
    visit("cookie_none.lua", &site, body, &["--no-cookies"]);
    assert_eq!(site.asked_for("/a")[before].header("cookie"), "");
}

#[test]
fn another_site_learns_the_origin_of_a_page_and_none_learns_it_where_that_is_switched_off() {
    let other = Site::start(|_| answer(200, "", "there"));
    let there = other.url();
    let site = Site::start(move |asked| match asked.path.as_str() {
        "/page" => {
            let form = "<form method=post action=";
            answer(
                200,
                "content-type: text/html\r\n",
                format!(
                    "<a href='{there}/link'>x</a>{form}'{there}/form'></form>{form}'/away' id=away></form>"
                ),
            )
        }
        _ => moved(307, &format!("{there}/moved")),
    });
    let body = "local page = user:get '/page'\n\
                user:get(page:links()[1])\n\
                user:submit(page:form())\n\
                user:submit(page:form '#away')";
    visit("referer_elsewhere.lua", &site, body, &[]);
    visit("referer_off.lua", &site, body, &["--referer=false"]);
    let (home, page) = (site.url(), format!("{}/page", site.url()));
    let seen = |site: &Site| {
        let asked = site.asked().into_iter();
        let told = |asked: Asked| {
            let headers = [asked.header("referer"), asked.header("origin")];
            format!("{} {}", asked.path, headers.join(" "))
                .trim_end()
                .to_owned()
        };
        asked.map(told).collect::<Vec<_>>()
    };
    assert_eq!(
        seen(&other),
        [
            format!("/link {home}/"),
            format!("/form {home}/ {home}"),
            format!("/moved {home}/ {home}"),
            "/link".to_owned(),
            "/form".to_owned(),
            "/moved".to_owned(),
        ]
    );
    assert_eq!(
        seen(&site),
        [
            "/page".to_owned(),
            format!("/away {page} {home}"),
            "/page".to_owned(),
            "/away".to_owned(),
        ]
    );
}

#[test]
fn credentials_in_urls_are_sent_and_shown_nowhere() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/fails" => answer(500, "", "no"),
        _ => answer(200, "", "here"),
    });
    let with = |credentials: &str| site.url().replace("//", &format!("//{credentials}@"));
    let body = format!(
        "user:get '/'\n\
         user:get '/fails'\n\
         user:get('{}/other', {{ name = 'other' }})\n\
         user:get('/own', {{ auth = 'eve:x' }})\n\
         user:get('http://bob:hidden@/x')\n\
         user:set_host(user.host)\n\
         user:get '/after'\n\
         user:log(user.host)",
        with("bob:hidden")
    );
    let path = plan(
        "credentials.lua",
        &format!("task {{ function(user)\n{body}\nend }}"),
    );
    let (url, log) = (
        with("ada:se%63ret"),
        scratch("credentials.jsonl").display().to_string(),
    );
    let arguments = [&path, "-H", &url, "--once", "--http-debug", "-o", "json=-"];
    let ended = Lgoose::new(arguments.iter().chain(&["--request-log", &log])).finish();
    let sent: Vec<String> = site
        .asked()
        .iter()
        .map(|asked| format!("{} {}", asked.path, asked.header("authorization")))
        .collect();
    let (ada, bob, eve) = (
        "Basic YWRhOnNlY3JldA==",
        "Basic Ym9iOmhpZGRlbg==",
        "Basic ZXZlOng=",
    );
    let expected = [
        format!("/ {ada}"),
        format!("/fails {ada}"),
        format!("/other {bob}"),
        format!("/own {eve}"),
        format!("/after {ada}"),
    ];
    assert_eq!(sent, expected);
    let log = std::fs::read_to_string(&log).expect("a log");
    for (what, text) in [
        ("stdout", &ended.stdout),
        ("stderr", &ended.stderr),
        ("log", &log),
    ] {
        for secret in ["se%63ret", "secret", "hidden", "ada:", "bob:"] {
            assert!(!text.contains(secret), "{what} has '{secret}':\n{text}");
        }
    }
    assert!(
        ended.stdout.contains("http://***@127.0.0.1"),
        "{}",
        ended.stdout
    );
    let page = format!("{url}/page");
    let ended = Lgoose::new([page.as_str(), "-u", "1", "-i", "1"]).finish();
    let shown = [ended.stdout, ended.stderr].concat();
    assert!(
        shown.contains("***@") && !shown.contains("se%63ret"),
        "{shown}"
    );
    let ended = Lgoose::new([&path, "-H", "http://ada:secret@"]).finish();
    assert_eq!(ended.code, 2);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
}

#[test]
fn credentials_of_an_address_that_is_refused_are_shown_nowhere() {
    let site = Site::start(|_| answer(200, "", "here"));
    let outputs = [
        "requests.jsonl",
        "tasks.jsonl",
        "errors.jsonl",
        "debug.jsonl",
        "html",
        "xml",
        "md",
    ];
    let outputs = outputs.map(|end| {
        scratch(&format!("refused_credentials.{end}"))
            .display()
            .to_string()
    });
    let [requests, tasks, errors, debug, html, junit, md] = &outputs;
    let reports = [("html", html), ("junit", junit), ("md", md)]
        .map(|(format, path)| format!("{format}={path}"));
    for code in [
        "user:tcp 'me:S3CRET@127.0.0.1:1'",
        "user:tcp 'tcp://me:S3CRET@127.0.0.1:1'",
        "user:tcp '//me:S3CRET@127.0.0.1:1'",
        "user:tcp 'me:S3CRET@127.0.0.1'",
        "user:tcp 'me:S3/CRET@127.0.0.1:1'",
        "user:tcp 'me:S3@CRET@127.0.0.1:1'",
        "user:tcp 'S3CRET@127.0.0.1:1'",
        "user:tcp 'me:S3CRET@'",
        "user:tcp 'redis://:S3CRET@127.0.0.1:1/0'",
        "user:tcp('me:S3CRET@127.0.0.1:1', { tls = true, server_name = 'x' })",
        "user:tls 'me:S3CRET@127.0.0.1:1'",
        "user:udp 'me:S3CRET@127.0.0.1:1'",
        "user:tcp(('x'):rep(150) .. ':S3CRET@127.0.0.1:1')",
        "user:set_host 'me:S3CRET@127.0.0.1:1'",
        "user:set_host 'http://me:S3CRET@127.0.0.1:99999'",
        "user:set_host 'http:\\\\\\\\me:S3CRET@127.0.0.1:99999'",
        "user:set_host 'ftp://me:S3CRET@127.0.0.1'",
        "user:get 'http:\\\\\\\\me:S3CRET@127.0.0.1:1/'",
        "user:get 'http:///me:S3CRET@127.0.0.1:1/'",
        "user:get 'http://me:S3CRET@127.0.0.1:99999/'",
        "user:get 'http://me:S3CRET@[::1/'",
        "url.parse 'http://me:S3CRET@h:99999/'",
        "html.parse('<p>', 'http://me:S3CRET@[::1')",
        "url.join('http://h/', 'http://me:S3CRET@h:99999/')",
    ] {
        let path = plan(
            "refused_credentials.lua",
            &format!("task {{ 't', function(user)\n{code}\nend }}"),
        );
        let own = [
            &*path,
            "-H",
            &site.url(),
            "--once",
            "--http-debug",
            "-o",
            "json=-",
        ];
        let logs = [
            "--request-log",
            requests,
            "--task-log",
            tasks,
            "--error-log",
            errors,
            "--debug-log",
            debug,
        ];
        let reports = reports.iter().flat_map(|report| ["-o", report]);
        let ended = Lgoose::new(own.into_iter().chain(logs).chain(reports)).finish();
        let mut shown = vec![ended.stdout, ended.stderr];
        for output in &outputs {
            shown.push(std::fs::read_to_string(output).expect("it was written"));
        }
        assert!(shown.concat().contains("***@"), "{code}: {}", shown[1]);
        for text in shown {
            assert!(!text.contains("CRET"), "{code}:\n{text}");
        }
    }
    for (setting, arguments) in [
        ("", ["-H", "me:S3CRET@h:99999"]),
        ("", ["-H", "me:S3CRET@"]),
        ("", ["-H", "me:S3CRET@bad host"]),
        ("", ["-H", "demo:S3CRET@x"]),
        ("plan { host = 'me:S3CRET@h:99999' }", ["-u", "1"]),
        ("plan { proxy = 'http://me:S3CRET@h:99999' }", ["-u", "1"]),
        ("plan { hots = 'http://me:S3CRET@h' }", ["-u", "1"]),
        ("url.parse 'http://me:S3CRET@h:99999/'", ["-u", "1"]),
    ] {
        let source = format!("{setting}\ntask {{ function(user) user:get '/' end }}");
        let path = plan("refused_credentials.lua", &source);
        for command in [&["check", &path][..], &[&path, "-i", "1"]] {
            let ended = Lgoose::new(command.iter().chain(&arguments)).finish();
            let text = ended.stdout + &ended.stderr;
            assert!(!text.contains("S3CRET"), "{setting} {arguments:?}: {text}");
        }
    }
    for path in ["me:S3CRET@h:1", "ftp://me:S3CRET@h/"] {
        let ended = Lgoose::new([path, "-u", "1"]).finish();
        assert_eq!(ended.code, 2);
        assert!(!ended.stderr.contains("S3CRET"), "{}", ended.stderr);
    }
    assert_eq!(site.received(), 0);
}

/// Whether a request answers the challenge with the nonce, by MD5 as RFC 7616, section 3.4.1 has it.
fn answers(asked: &Asked, nonce: &str) -> bool {
    let md5 = |text: String| {
        let digest = Md5::digest(text.as_bytes());
        digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let line = asked.header("authorization").to_owned();
    let field = |name: &str| {
        let parts = line.trim_start_matches("Digest ").split(", ");
        let found = parts
            .filter_map(|part| part.split_once('='))
            .find(|(known, _)| *known == name);
        found.map_or(String::new(), |(_, value)| {
            value.trim_matches('"').to_owned()
        })
    };
    let secret = md5("ada:shop:secret".to_owned());
    let request = md5(format!("{}:{}", asked.method, asked.path));
    let count = (field("nc"), field("cnonce"));
    let expected = md5(format!(
        "{secret}:{nonce}:{}:{}:auth:{request}",
        count.0, count.1
    ));
    line.starts_with("Digest ") && field("nonce") == nonce && field("response") == expected
}

#[test]
fn a_site_that_asks_for_a_digest_gets_it_once_and_from_then_on_at_once() {
    let site = Site::start(|asked| {
        // A new nonce after some requests.
        let nonce = if asked.path.starts_with("/late") {
            "n2"
        } else {
            "n1"
        };
        if answers(asked, nonce) {
            answer(200, "", "welcome")
        } else {
            answer(
                401,
                &format!(
                    "www-authenticate: Basic realm=\"x\"\r\nwww-authenticate: Digest realm=\"shop\", nonce=\"{nonce}\", qop=\"auth\"\r\n"
                ),
                "who?",
            )
        }
    });
    let body = "local auth = { 'ada', 'secret', digest = true }\n\
                assert(user:get('/a?b=c', { auth = auth }).ok)\n\
                assert(user:post('/a', 'body', { auth = auth }).ok)\n\
                assert(user:get('/none').status == 401)\n\
                user:digest_auth('ada', 'secret')\n\
                assert(user:get('/b').ok)\n\
                assert(user:get('/late').ok)\n\
                user:digest_auth('ada', 'wrong')\n\
                assert(user:get('/late2').status == 401)\n\
                user:basic_auth('ada', 'secret')\n\
                assert(user:get('/c').status == 401)";
    let body = body.replace(
        "user:get('/none')",
        "user:get('/none', { allow_failure = true })",
    );
    let body = body.replace("'/late2')", "'/late2', { allow_failure = true })");
    let body = body.replace("'/c')", "'/c', { allow_failure = true })");
    let report = visit("digest.lua", &site, &body, &[]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let seen = told(&site.asked());
    assert_eq!(
        seen,
        [
            "GET /a?b=c",
            "GET /a?b=c",
            "POST /a body",
            "GET /none",
            "GET /b",
            "GET /late",
            "GET /late",
            "GET /late2",
            "GET /late2",
            "GET /c"
        ]
    );
    assert_eq!(report.total("count"), 7);
    assert_eq!(report.sent(), site.received());
    let last = site.asked().pop().expect("a request");
    assert_eq!(last.header("authorization"), "Basic YWRhOnNlY3JldA==");
}

#[test]
fn a_redirect_to_a_path_leads_to_that_path_of_the_same_host() {
    let other = Site::start(|_| answer(200, "", "there"));
    let elsewhere = format!("{}/thanks", other.url());
    let to = elsewhere.clone();
    let site = Site::start(move |asked| match asked.path.as_str() {
        "/own" => moved(302, "/thanks?x=1"),
        "/other" => moved(302, &to),
        _ => answer(200, "", "here"),
    });
    let body = format!(
        "assert(user:get('/own', {{ expect = {{ redirect = '/thanks' }} }}).ok)\n\
         assert(user:get('/other', {{ expect = {{ redirect = '{elsewhere}' }} }}).ok)\n\
         local response = user:get('/other', {{ expect = {{ redirect = '/thanks' }} }})\n\
         assert(response.error:find(\"got one to '{elsewhere}'\", 1, true), response.error)\n\
         response:pass()"
    );
    visit("redirect_to_path.lua", &site, &body, &[]);
}

#[test]
fn paths_are_below_the_path_of_the_host_with_a_slash_or_without() {
    let site = Site::start(|_| answer(200, "", "here"));
    let text = "task { function(user)\n\
        for _, path in ipairs { '/page', 'page', 'page/x?q=1', '?q=1', '../up', 'a:b/c', user.host .. '/whole' } do\n\
        pcall(user.get, user, path, { allow_failure = true })\nend\nend }";
    let path = plan("host_with_path.lua", text);
    let host = format!("{}/one", site.url());
    let ended = Lgoose::new([&path, "-H", &host, "-u", "1", "-i", "1", "-q"]).finish();
    let asked = site.asked();
    let paths: Vec<&str> = asked.iter().map(|asked| asked.path.as_str()).collect();
    let expected = [
        "/one/page",
        "/one/page",
        "/one/page/x?q=1",
        "/one?q=1",
        "/up",
        "/one/whole",
    ];
    assert_eq!(paths, expected, "{}", ended.stderr);
    let checked = Lgoose::new(["check", &path, "-H", &host]).finish();
    let told = format!("the host has the path '/one': \"/page\" and \"page\" are both {host}/page");
    assert!(checked.stdout.contains(&told), "{}", checked.stdout);
}

/// Calls of a plan whose address has no scheme, from a list of paths, with what the client makes of each below `/`.
const UNSCHEMED: &str = "for _, path in ipairs { '/', '', 'y', '/y', '?q', '//', '//y', '///y', '/\\\\y', '\\\\\\\\y', '/./ /y', '/%2F%2Fy', \
    OTHER, OTHER .. '/y', '/' .. OTHER, ' ' .. OTHER, '/.' .. OTHER, '/a/..' .. OTHER, '..' .. OTHER, '\t' .. OTHER } do\n\
    pcall(user.get, user, path, { name = 'x', allow_failure = true, redirects = 0 })\nend\n";

#[test]
fn what_has_no_scheme_stays_on_the_host_of_the_report() {
    let other = Site::start(|_| answer(200, "", "elsewhere"));
    let elsewhere = format!("//127.0.0.1:{}", other.port());
    let calls = format!("local OTHER = '{elsewhere}'\n{UNSCHEMED}");
    let bases = [
        "".to_owned(),
        "/".to_owned(),
        "//".to_owned(),
        "/x/".to_owned(),
        "/x//".to_owned(),
        elsewhere.clone(),
        format!("{elsewhere}/"),
        format!("{elsewhere}/x"),
        format!("/{elsewhere}"),
        format!("/.{elsewhere}"),
        format!("/x/..{elsewhere}"),
        format!("/\\127.0.0.1:{}", other.port()),
        format!("{elsewhere}?q={elsewhere}#{elsewhere}"),
        format!("//ada:secret@127.0.0.1:{}", other.port()),
        format!("/%2F{elsewhere}"),
    ];
    // Ways to say the host, with what stands before and in the task.
    type Way = fn(&str) -> (String, String, Vec<String>, Option<String>);
    let quoted = |host: &str| host.replace('\\', "\\\\");
    let ways: [(&str, Way); 5] = [
        ("flag", |host| {
            ("".into(), "".into(), vec!["-H".into(), host.into()], None)
        }),
        ("environment", |host| {
            ("".into(), "".into(), Vec::new(), Some(host.into()))
        }),
        ("plan", |host| {
            (
                format!("plan {{ host = '{host}' }}\n"),
                "".into(),
                Vec::new(),
                None,
            )
        }),
        ("scenario", |host| {
            (
                format!("local HOST = '{host}'\n"),
                "".into(),
                Vec::new(),
                None,
            )
        }),
        ("user", |host| {
            (
                "".into(),
                format!("user:set_host('{host}')\n"),
                vec!["-H".into(), "http://127.0.0.1:1".into()],
                None,
            )
        }),
    ];
    for (at, base) in bases.iter().enumerate() {
        for (way, said) in ways {
            let site = Site::start(|_| answer(200, "", "here"));
            let host = format!("{}{base}", site.url());
            let in_lua = matches!(way, "plan" | "scenario" | "user");
            let (before, first, options, variable) =
                said(&if in_lua { quoted(&host) } else { host.clone() });
            let task = format!("task {{ function(user)\n{first}{calls}end }}");
            let text = match way {
                "scenario" => format!("{before}scenario {{ 'a', host = HOST, {task} }}"),
                _ => format!("{before}{task}"),
            };
            let path = plan(&format!("unschemed_{way}_{at}.lua"), &text);
            let own = [path.as_str(), "-u", "1", "-i", "1", "-o", "json=-"].map(str::to_owned);
            let mut lgoose = Lgoose::new(own.iter().chain(&options));
            if let Some(variable) = variable {
                lgoose = lgoose.env("LGOOSE_HOST", &variable);
            }
            let report = crate::report::read(lgoose.finish());
            let case = format!("{host} by {way}");
            assert_eq!(report.ended.code, 0, "{case}: {}", report.ended.stderr);
            assert_eq!(other.asked().len(), 0, "{case}");
            assert_eq!((site.received(), report.total("count")), (20, 20), "{case}");
        }
    }
}

#[test]
fn a_url_in_the_place_of_a_plan_is_requested_where_it_says() {
    let other = Site::start(|_| answer(200, "", "elsewhere"));
    let elsewhere = format!("//127.0.0.1:{}", other.port());
    for path in [
        elsewhere.clone(),
        format!("{elsewhere}/y"),
        format!("/{elsewhere}"),
        format!("{elsewhere}?q=1"),
        "//".to_owned(),
        "//y".to_owned(),
    ] {
        let site = Site::start(|_| answer(200, "", "here"));
        let url = format!("{}{path}", site.url());
        run([&*url, "-u", "1", "-i", "1"]);
        let list = scratch("unschemed.txt");
        std::fs::write(&list, format!("{url}\nGET {path}\n"))
            .expect("the scratch folder takes a file");
        run([
            &*list.display().to_string(),
            "-H",
            &site.url(),
            "-u",
            "1",
            "-i",
            "1",
        ]);
        let paths: Vec<String> = site.asked().into_iter().map(|asked| asked.path).collect();
        assert_eq!(paths, [&*path, &*path, &*path], "{url}");
        assert_eq!(other.asked().len(), 0, "{url}");
    }
}

#[test]
fn sockets_and_calls_stay_on_the_host_of_the_report() {
    let other = Site::start(|_| answer(200, "", "elsewhere"));
    let elsewhere = format!("//127.0.0.1:{}", other.port());
    let body = format!(
        "for _, path in ipairs {{ '/y', 'y', '//y', '{elsewhere}', '/{elsewhere}', '/\\\\127.0.0.1:{}' }} do\n\
         pcall(user.websocket, user, path)\nend\n\
         pcall(user.grpc, user, 'a.B/C', {{}})\npcall(user.grpc, user, '{elsewhere}/a.B/C', {{}})\n\
         local socket = pcall(user.tcp, user)\n",
        other.port()
    );
    for base in [
        "",
        &*elsewhere,
        &format!("/{elsewhere}"),
        &format!("{elsewhere}/x"),
        "/x",
    ] {
        for more in [&[][..], &["--http", "2"]] {
            let site = Site::start(|_| answer(200, "", "here"));
            let text = format!("grpc.reflect()\ntask {{ function(user)\n{body}end }}");
            let path = plan("unschemed_sockets.lua", &text);
            let host = format!("{}{base}", site.url());
            let own = [
                path.as_str(),
                "-H",
                &host,
                "-u",
                "1",
                "-i",
                "1",
                "-q",
                "--timeout",
                "2s",
            ];
            Lgoose::new(own.iter().chain(more)).finish();
            assert_eq!(other.connections(), 0, "{host} {more:?}");
            assert!(site.connections() > 0, "{host} {more:?}");
        }
    }
}

#[test]
fn links_and_redirects_with_two_slashes_lead_to_their_host_as_in_browsers() {
    let other = Site::start(|_| answer(200, "", "elsewhere"));
    let elsewhere = format!("//127.0.0.1:{}", other.port());
    let to = elsewhere.clone();
    let site = Site::start(move |asked| match asked.path.as_str() {
        "/moved" | "//x/moved" => moved(302, &format!("{to}/moved")),
        _ => {
            let page = format!(
                "<a href='{to}/link'>a</a><form action='{to}/form' method=post><input name=a></form>"
            );
            answer(200, "content-type: text/html\r\n", page)
        }
    });
    let body = "local page = user:get '/page'\n\
        user:get(page:links()[1])\nuser:submit(page:form(), { a = 'b' })\nuser:get '/moved'";
    for base in ["", "//x"] {
        let before = other.received();
        let path = plan(
            "two_slashes.lua",
            &format!("task {{ function(user)\n{body}\nend }}"),
        );
        let host = format!("{}{base}", site.url());
        let report = run([&*path, "-H", &host, "-u", "1", "-i", "1"]);
        assert_eq!(report.errors(), Vec::<String>::new(), "{host}");
        let seen = told(&other.asked()[before as usize..]);
        assert_eq!(
            seen,
            ["GET /link", "POST /form a=b", "GET /moved"],
            "{host}"
        );
    }
}

#[test]
fn assets_of_another_port_are_told_with_the_port() {
    let site = Site::start(|_| {
        let page = "<img src='http://127.0.0.1/a.png'><img src='https://127.0.0.1:8443/b.png'><img src=/own.png>";
        answer(200, "content-type: text/html\r\n", page)
    });
    let body = "assert(#user:get('/'):assets() == 1)";
    let report = visit("ports_of_assets.lua", &site, body, &[]);
    let warnings = report.json["warnings"].to_string();
    let told = "left out: 1 of 'http://127.0.0.1:80', 1 of 'https://127.0.0.1:8443' on /";
    assert!(warnings.contains(told), "{warnings}");
}
