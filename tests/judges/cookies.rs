//! Which cookies are kept and sent, as Chromium does it (RFC 6265bis).

use crate::browser::Browser;
use crate::faulty::{Act, Asked, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::{Table, latin1};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use url::Url;

/// Visits of a browser without cookies. Hosts are this machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Visits {
    set: Vec<Visit>,
    /// The URL that is visited at the end.
    ask: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Visit {
    from: String,
    /// The values of `Set-Cookie` in the response, in Latin-1.
    lines: Vec<String>,
}

/// The `Cookie` header of the last visit, empty without it.
type Cookies = Table<Visits, String>;

/// One site without TLS and one with it. The header `x-visit` of a request names the case and the visit.
struct Sites {
    plain: Site,
    secure: Site,
}

impl Sites {
    fn start(cases: &[Visits]) -> Sites {
        let cases: Arc<[Visits]> = cases.into();
        let script = move |asked: &Asked| {
            let mut head =
                b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n".to_vec();
            let visit = asked.header("x-visit").split_once('.');
            let visit = visit.filter(|_| asked.path != "/favicon.ico");
            let visit = visit.and_then(|(case, visit)| {
                let case: usize = case.parse().expect("a number");
                cases[case].set.get(visit.parse::<usize>().ok()?)
            });
            for line in visit.iter().flat_map(|visit| &visit.lines) {
                head.extend_from_slice(b"set-cookie: ");
                head.extend(latin1(line));
                head.extend_from_slice(b"\r\n");
            }
            head.extend_from_slice(b"\r\nok");
            vec![Act::Send(head)]
        };
        let signed =
            rcgen::generate_simple_self_signed(["judge.test".to_owned()]).expect("a certificate");
        let key =
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![signed.cert.der().clone()], key)
            .expect("a certificate with its key");
        Sites {
            plain: Site::start(script.clone()),
            secure: Site::secure(tls, script),
        }
    }

    /// Returns the URL with the port where the site is.
    fn url(&self, url: &str) -> Url {
        let mut url = Url::parse(url).expect("a URL");
        let site = if url.scheme() == "https" {
            &self.secure
        } else {
            &self.plain
        };
        url.set_port(Some(site.port())).expect("it has a host");
        url
    }

    /// Returns the cookies that the last visit of each case had.
    fn readings(&self, cases: usize) -> Vec<String> {
        let asked = [self.plain.asked(), self.secure.asked()].concat();
        let last = |case: usize| {
            let visit = format!("{case}.ask");
            // A browser asks for the icon of a page at any time.
            let visited = asked
                .iter()
                .find(|asked| asked.header("x-visit") == visit && asked.path != "/favicon.ico");
            visited.map(|asked| asked.header("cookie").to_owned())
        };
        (0..cases)
            .map(|case| last(case).unwrap_or_else(|| panic!("case {case} was not visited")))
            .collect()
    }
}

impl Visits {
    /// Returns the visits as they are made, each with its value of `x-visit`.
    fn made(&self, case: usize) -> impl Iterator<Item = (String, &str)> {
        let set = self.set.iter().enumerate();
        let set = set.map(move |(visit, set)| (format!("{case}.{visit}"), &*set.from));
        set.chain([(format!("{case}.ask"), &*self.ask)])
    }
}

fn chromium(browser: &Browser, cases: &[Visits]) -> Vec<String> {
    let sites = Sites::start(cases);
    let tab = browser.open("about:blank", (800, 600), "light");
    tab.ask("Network.enable", json!({}));
    for (number, case) in cases.iter().enumerate() {
        tab.ask("Network.clearBrowserCookies", json!({}));
        for (visit, url) in case.made(number) {
            tab.ask(
                "Network.setExtraHTTPHeaders",
                json!({ "headers": { "x-visit": visit } }),
            );
            let went = tab.ask("Page.navigate", json!({ "url": sites.url(url).as_str() }));
            assert!(went["errorText"].is_null(), "{url}: {went}");
        }
    }
    sites.readings(cases.len())
}

fn lgoose(cases: &[Visits]) -> Vec<String> {
    let sites = Sites::start(cases);
    let mut hosts = BTreeSet::new();
    let mut text = "task { function(user)\n".to_owned();
    for (number, case) in cases.iter().enumerate() {
        text += "user.cookies:clear()\n";
        for (visit, url) in case.made(number) {
            let url = sites.url(url);
            if let Some(host) = url.domain() {
                hosts.insert(format!("{host}:{}:127.0.0.1", url.port().expect("a port")));
            }
            text += &format!("user:get('{url}', {{ headers = {{ ['x-visit'] = '{visit}' }} }})\n");
        }
    }
    text += "end }\n";
    let path = plan("judge_cookies.lua", &text);
    let mut arguments = vec![
        path,
        "--insecure".into(),
        "-Hhttp://127.0.0.1".into(),
        "-u1".into(),
        "-i1".into(),
        "-q".into(),
    ];
    for host in hosts {
        arguments.extend(["--resolve".to_owned(), host]);
    }
    let ended = Lgoose::new(&arguments).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    sites.readings(cases.len())
}

#[test]
fn cookies_are_kept_and_sent_as_chromium_does_it() {
    let table = Cookies::open("cookies");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| ());
}

#[test]
fn the_record_of_cookies_is_what_chromium_does_today() {
    let Some(browser) = Browser::of_this_machine("judge-cookies") else {
        return;
    };
    let table = Cookies::open("cookies");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}

#[test]
fn a_request_has_one_line_of_cookies_whatever_its_headers_say() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/set" => answer(
            200,
            "set-cookie: a=1; Path=/\r\nset-cookie: b=1; Path=/\r\n",
            "",
        ),
        _ => answer(200, "", ""),
    });
    let path = plan(
        "judge_cookie_lines.lua",
        "task { function(user)
           user:get '/set'
           user:get '/run'
           user:get('/request', { headers = { Cookie = 'b=2; c=3' } })
           user:get('/both', { headers = { Cookie = 'b=2' }, cookies = { b = '4', run = '5' } })
           user:set_header('cookie', 'user=1')
           user:get '/user'
           user.cookies:clear()
           user:get '/alone'
         end }",
    );
    let url = site.url();
    let header = ["--header", "Cookie: run=1"];
    let arguments = [&[&path, "-H", &url, "-u1", "-i1", "-q"][..], &header].concat();
    let ended = Lgoose::new(arguments).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for (path, cookies) in [
        ("/set", "run=1"),
        ("/run", "a=1; b=1; run=1"),
        ("/request", "a=1; b=2; c=3"),
        ("/both", "a=1; b=4; run=5"),
        ("/user", "a=1; b=1; user=1"),
        ("/alone", "user=1"),
    ] {
        let asked = &site.asked_for(path)[0];
        let lines = asked.head.lines().map(str::to_ascii_lowercase);
        let lines: Vec<String> = lines.filter(|line| line.starts_with("cookie:")).collect();
        assert_eq!(lines, [format!("cookie: {cookies}")], "{path}");
    }
}
