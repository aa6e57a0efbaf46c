//! Proxies: requests pass through them unchanged; a proxy that refuses is counted under its class.

use crate::failing::nowhere;
use crate::faulty::{Site, answer};
use crate::forward::Forward;
use crate::program::{Lgoose, plan};
use crate::report::{Report, read, run};
use crate::secure::{Authority, server};
use crate::server::Server;

/// Runs one user that asks for `/echo`, named `page`, a number of times.
fn asks(times: u32, name: &str) -> String {
    let text = format!(
        "task {{ function(user)\n  for _ = 1, {times} do\n    user:get(\"/echo\", {{ name = \"page\" }})\n  end\nend }}"
    );
    plan(name, &text)
}

fn through(proxy: &str, host: &str, path: &str) -> Report {
    run([path, "-H", host, "-u", "1", "-i", "1", "--proxy", proxy])
}

#[test]
fn a_proxy_passes_all_that_a_plan_asks_for() {
    let (server, proxy) = (Server::start(), Forward::start());
    let url = proxy.url("http", "");
    let report = through(&url, &server.url(), "tests/lua/responses.lua");
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.sent(), server.received());
    let asked = proxy.asked();
    assert_eq!(asked.len() as u64, server.received());
    let absolute = |asked: &&String| asked.contains(&format!(" {}/", server.url()));
    assert_eq!(asked.iter().filter(absolute).count(), asked.len());
}

#[test]
fn a_proxy_is_told_who_asks_and_the_site_is_not() {
    let (server, proxy) = (Server::start(), Forward::guarded());
    let text = "task { function(user)\n  local seen = user:get(\"/echo\"):json().headers\n  \
                assert(seen[\"proxy-authorization\"] == nil)\n  assert(seen.authorization == nil)\nend }";
    let path = plan("proxy_credentials.lua", text);
    let report = through(&proxy.url("http", "me:secret@"), &server.url(), &path);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(server.received(), 1);
}

#[test]
fn a_proxy_that_refuses_a_request_answers_407() {
    let (server, proxy) = (Server::start(), Forward::guarded());
    let path = asks(3, "proxy_refuses.lua");
    let report = through(&proxy.url("http", "me:wrong@"), &server.url(), &path);
    assert_eq!(report.failures("GET page"), 3);
    assert_eq!(report.errors_with("status 407"), 3, "{:?}", report.errors());
    assert_eq!(server.received(), 0);
}

#[test]
fn https_goes_through_a_tunnel() {
    // The site speaks no TLS: that is found out behind the tunnel.
    let (server, proxy) = (Server::start(), Forward::guarded());
    let host = server.url().replace("http:", "https:");
    let path = asks(2, "proxy_tunnel.lua");
    let report = through(&proxy.url("http", "me:secret@"), &host, &path);
    assert_eq!(report.errors_with("tls"), 2, "{:?}", report.errors());
    let tunnel = format!("CONNECT {}", host.trim_start_matches("https://"));
    assert_eq!(proxy.asked(), [tunnel.clone(), tunnel]);
}

#[test]
fn https_to_an_ipv6_address_goes_through_every_kind_of_proxy() {
    let authority = Authority::new();
    let ca = authority.file("proxy_six.pem");
    let config = server(&authority.sign(&["::1"]), None);
    // The proxy connects to this machine for every host.
    let site = Site::secure(config, |_| answer(200, "", "good"));
    let host = format!("https://[::1]:{}", site.port());
    let path = asks(2, "proxy_six.lua");
    for (scheme, tunnel) in [
        ("http", "CONNECT"),
        ("socks5", "SOCKS"),
        ("socks5h", "SOCKS"),
    ] {
        let proxy = Forward::guarded();
        let url = proxy.url(scheme, "me:secret@");
        let arguments = [
            path.as_str(),
            "-H",
            &host,
            "-u",
            "1",
            "-i",
            "1",
            "--ca",
            &ca,
        ];
        let report = run(arguments.iter().chain(&["--proxy", url.as_str()]));
        assert_eq!(report.errors(), Vec::<String>::new(), "{scheme}");
        assert_eq!(proxy.asked(), [format!("{tunnel} [::1]:{}", site.port())]);
        let refusing = proxy.url(scheme, "me:wrong@");
        let report = run(arguments.iter().chain(&["--proxy", refusing.as_str()]));
        assert_eq!(
            report.errors_with("connect failed: through the proxy"),
            2,
            "{scheme}"
        );
    }
}

#[test]
fn a_pin_that_no_client_or_proxy_obeys_fails_before_a_request_is_sent() {
    let (server, proxy) = (Server::start(), Forward::start());
    let path = asks(1, "proxy_pin_lost.lua");
    let port = server.url().rsplit(':').next().expect("a port").to_owned();
    let [http, socks5h] = ["http", "socks5h"].map(|scheme| proxy.url(scheme, ""));
    for (host, pin, more) in [
        ("a.test", "a.test", ["--proxy", http.as_str()]),
        ("a.test", "*", ["--proxy", socks5h.as_str()]),
        ("127.0.0.1", "*", ["--client", "reqwest"]),
    ] {
        let (url, pin) = (
            format!("http://{host}:{port}"),
            format!("{pin}:{port}:127.0.0.9"),
        );
        let arguments = [
            path.as_str(),
            "-H",
            &url,
            "-u",
            "1",
            "-i",
            "1",
            "--resolve",
            &pin,
        ];
        let report = run(arguments.iter().chain(&more));
        assert_eq!(
            report.errors_with("connect failed: '--resolve'"),
            1,
            "{pin} {more:?}"
        );
    }
    assert_eq!((server.received(), proxy.asked().len()), (0, 0));
}

#[test]
fn a_tunnel_that_is_refused_is_a_failed_connection() {
    let (server, proxy) = (Server::start(), Forward::guarded());
    let host = server.url().replace("http:", "https:");
    let path = asks(2, "proxy_no_tunnel.lua");
    let report = through(&proxy.url("http", ""), &host, &path);
    let refused = format!(
        "connect failed: the proxy {}: tunnel error: proxy authorization required",
        proxy.url("http", "").trim_start_matches("http://")
    );
    assert_eq!(report.errors_with(&refused), 2, "{:?}", report.errors());
    assert_eq!(server.received(), 0);
}

#[test]
fn a_proxy_that_answers_connect_with_anything_else_refuses_the_tunnel() {
    let path = asks(2, "proxy_no_connect.lua");
    for status in [302, 403, 500] {
        let proxy = Site::start(move |_| answer(status, "", "no"));
        let report = through(&proxy.url(), "https://goose.invalid", &path);
        let place = proxy.url().replace("http://", "");
        let told = format!("connect failed: the proxy {place} refused the tunnel (CONNECT)");
        assert_eq!(report.messages_of("GET page"), [told]);
        assert_eq!(report.failures("GET page"), 2);
    }
}

#[test]
fn a_certificate_that_is_wrong_is_that_of_the_proxy_or_of_the_site() {
    let authority = Authority::new();
    let ca = authority.file("proxy_tls.pem");
    let wrong = authority.sign(&["goose.invalid"]);
    let path = asks(1, "proxy_tls.lua");
    let told = |host: &str, proxy: &str| {
        let own = [&*path, "-H", host, "-u", "1", "-i", "1", "--ca", &ca];
        let report = run(own.iter().chain(&["--proxy", proxy]));
        report.messages_of("GET page")
    };
    let proxy = Site::secure(server(&wrong, None), |_| answer(200, "", "good"));
    for host in ["http://site.test", "https://site.test"] {
        let of_proxy = "tls: the certificate is not for the proxy '127.0.0.1'";
        assert_eq!(told(host, &proxy.url()), [of_proxy], "{host}");
    }
    let right = authority.sign(&["127.0.0.1"]);
    let proxy = Site::secure(server(&right, None), |_| answer(200, "", "good"));
    assert_eq!(told("http://site.test", &proxy.url()), [""; 0]);
    let site = Site::secure(server(&wrong, None), |_| answer(200, "", "good"));
    let of_site = "tls: the certificate is not for '127.0.0.1'";
    let proxy = Forward::start().url("http", "");
    assert_eq!(told(&site.url(), &proxy), [of_site]);
}

#[test]
fn socks_passes_what_a_plan_asks_for() {
    for (scheme, guarded, credentials) in [
        ("socks5", false, ""),
        ("socks5", true, "me:secret@"),
        ("socks5h", false, ""),
    ] {
        let server = Server::start();
        let proxy = if guarded {
            Forward::guarded()
        } else {
            Forward::start()
        };
        let path = asks(3, &format!("proxy_{scheme}_{guarded}.lua"));
        let report = through(&proxy.url(scheme, credentials), &server.url(), &path);
        assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
        assert_eq!(report.count("GET page"), server.received());
        let site = server.url().replace("http://", "SOCKS ");
        assert_eq!(proxy.asked(), [site], "one connection for all");
    }
}

#[test]
fn socks5h_leaves_names_to_the_proxy_and_socks5_does_not() {
    let server = Server::start();
    let host = server.url().replace("127.0.0.1", "goose.invalid");
    let path = asks(1, "proxy_names.lua");
    let proxy = Forward::start();
    let report = through(&proxy.url("socks5h", ""), &host, &path);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(proxy.asked(), [host.replace("http://", "SOCKS ")]);
    let report = through(&proxy.url("socks5", ""), &host, &path);
    assert_eq!(report.errors_with("dns"), 1, "{:?}", report.errors());
    assert_eq!(server.received(), 1);
}

#[test]
fn pinned_names_are_known_behind_a_proxy_too() {
    let server = Server::start();
    let host = server.url().replace("127.0.0.1", "goose.invalid");
    let pin = format!("{}:127.0.0.1", host.trim_start_matches("http://"));
    let proxy = Forward::start();
    let path = asks(1, "proxy_pins.lua");
    let url = proxy.url("socks5", "");
    let arguments = [
        path.as_str(),
        "-H",
        &host,
        "-u",
        "1",
        "-i",
        "1",
        "--resolve",
        &pin,
    ];
    let report = run(arguments.iter().chain(&["--proxy", url.as_str()]));
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(proxy.asked(), [server.url().replace("http://", "SOCKS ")]);
}

#[test]
fn socks_tells_that_a_site_is_down_and_who_may_not_pass() {
    let proxy = Forward::start();
    let path = asks(2, "proxy_socks_down.lua");
    let report = through(&proxy.url("socks5", ""), &nowhere(), &path);
    assert_eq!(
        report.errors_with("connection refused"),
        2,
        "{:?}",
        report.errors()
    );
    let proxy = Forward::guarded();
    let report = through(&proxy.url("socks5", "me:wrong@"), &nowhere(), &path);
    assert_eq!(
        report.errors_with("connect failed"),
        2,
        "{:?}",
        report.errors()
    );
    assert_eq!(proxy.asked(), [""; 0]);
}

#[test]
fn a_proxy_that_is_down_is_named() {
    let (server, down) = (Server::start(), nowhere());
    let path = asks(2, "proxy_down.lua");
    for scheme in ["http", "socks5"] {
        let report = through(&down.replace("http", scheme), &server.url(), &path);
        let named = down.replace("http://", "connection refused: the proxy ");
        assert_eq!(report.errors_with(&named), 2, "{:?}", report.errors());
    }
    assert_eq!(server.received(), 0);
}

#[test]
fn proxies_of_the_environment_are_used_when_asked_for() {
    let path = asks(1, "proxy_environment.lua");
    for (arguments, no_proxy, passes) in [
        (&["--proxy", "env"][..], "", true),
        (&["--proxy", "env"][..], "127.0.0.1", false),
        (&["--client", "reqwest"][..], "", false),
        (&[][..], "", false),
    ] {
        let (server, proxy) = (Server::start(), Forward::start());
        let host = server.url();
        let fixed = [
            path.as_str(),
            "-H",
            &host,
            "-u",
            "1",
            "-i",
            "1",
            "-o",
            "json=-",
        ];
        let url = proxy.url("http", "");
        let ended = Lgoose::new(fixed.iter().chain(arguments))
            .env("HTTP_PROXY", &url)
            .env("ALL_PROXY", &url)
            .env("NO_PROXY", no_proxy)
            .finish();
        let report = read(ended);
        assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
        assert_eq!(server.received(), 1);
        assert_eq!(
            proxy.asked().len(),
            usize::from(passes),
            "{arguments:?} {no_proxy}"
        );
    }
}

#[test]
fn a_proxy_of_the_environment_that_cannot_be_used_is_a_mistake() {
    let server = Server::start();
    let host = server.url();
    let path = asks(1, "proxy_unusable.lua");
    let text = "plan { proxy = 'env' }\ntask { function(user) user:get '/' end }";
    let of_plan = plan("proxy_unusable_plan.lua", text);
    for (variable, value) in [
        ("HTTPS_PROXY", "ftp://me:secret@127.0.0.1:1"),
        ("HTTP_PROXY", "not a url"),
        ("all_proxy", "http://me:secret@127.0.0.1:99999"),
    ] {
        for arguments in [&[&*path, "--proxy", "env"][..], &[&*of_plan]] {
            let own = ["-H", &host, "-u", "1", "-i", "1"];
            let ended = Lgoose::new(arguments.iter().chain(&own))
                .env(variable, value)
                .finish();
            assert_eq!(ended.code, 2, "{variable}: {}", ended.stderr);
            let told = &ended.stderr;
            assert!(
                told.contains(&format!("cannot use {variable} of")),
                "{told}"
            );
            assert!(
                told.contains("unset it") && !told.contains("secret"),
                "{told}"
            );
        }
    }
    assert_eq!(server.received(), 0);
}

#[test]
fn an_environment_without_a_proxy_is_told() {
    let server = Server::start();
    let path = asks(1, "proxy_unset.lua");
    let host = server.url();
    let arguments = [&*path, "-H", &host, "-u", "1", "-i", "1", "-o", "json=-"];
    let mut lgoose = Lgoose::new(arguments.iter().chain(&["--proxy", "env"]));
    for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        lgoose = lgoose.env(variable, "");
    }
    let report = read(lgoose.finish());
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("'--proxy env' found neither HTTP_PROXY"),
        "{warnings}"
    );
    assert_eq!(server.received(), 1);
    let warned = &through("none", &host, &path).json["warnings"];
    assert!(!warned.to_string().contains("PROXY"), "{warned}");
}

#[test]
fn the_command_line_can_set_a_plans_proxy_aside() {
    let (server, proxy) = (Server::start(), Forward::start());
    let text = format!(
        "plan {{ proxy = \"{}\" }}\ntask {{ function(user) user:get \"/\" end }}",
        proxy.url("http", "")
    );
    let path = plan("proxy_of_plan.lua", &text);
    let host = server.url();
    let arguments = [path.as_str(), "-H", &host, "-u", "1", "-i", "1"];
    run(arguments);
    assert_eq!((proxy.asked().len(), server.received()), (1, 1));
    run(arguments
        .iter()
        .chain(&["--proxy", "none", "--client", "direct"]));
    assert_eq!((proxy.asked().len(), server.received()), (1, 2));
}

#[test]
fn the_environment_chooses_the_client_as_it_does_in_the_tests_of_reqwest() {
    let arguments = ["plans/drupal.lua", "-u", "1", "-i", "1"];
    let ended = Lgoose::new(arguments)
        .env("LGOOSE_CLIENT", "other")
        .finish();
    assert_eq!(ended.code, 2);
    let told = "'other' is not a client: write direct or reqwest";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[test]
fn a_client_that_cannot_use_the_proxy_is_a_mistake() {
    let ended = Lgoose::new(["plans/drupal.lua", "--client", "direct", "--proxy", "env"]).finish();
    assert_eq!(ended.code, 2);
    for part in [
        "'--client direct'",
        "'--proxy'",
        "help: leave '--client' out",
    ] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
}
