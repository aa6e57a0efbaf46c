//! What a request becomes at the second hop, and what is sent again over a new connection, as Chromium does it.

use crate::browser::Browser;
use crate::faulty::{Act, Asked, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

/// A request, and what the site does with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Asking {
    method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    then: Then,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Then {
    /// It redirects with this status to itself, or to another host.
    Same(u16),
    Other(u16),
    /// It closes the connection, which has carried a request before; a new one it answers.
    Closes,
    /// Likewise with a reset.
    Resets,
    /// It sends a piece of a head, and closes.
    Breaks,
}

/// What the site got after the first request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Sent {
    method: String,
    host: String,
    body: String,
    headers: BTreeMap<String, String>,
}

/// What browsers want to know of a site before they follow from another.
const CORS: &str = "access-control-allow-origin: *\r\naccess-control-allow-methods: *\r\n\
    access-control-allow-headers: *, authorization\r\n";

/// Starts a site whose `/case/7` does what the case at that place says.
fn site(cases: &[Asking]) -> Site {
    let cases: Arc<[Asking]> = cases.into();
    let used = Mutex::new(HashSet::new());
    Site::start(move |asked| {
        let is_new = used
            .lock()
            .expect("no script panics")
            .insert(asked.connection);
        let case = asked.path.strip_prefix("/case/");
        let Some(number) = case.filter(|_| asked.method != "OPTIONS") else {
            let html = format!("content-type: text/html\r\n{CORS}");
            return answer(200, &html, "<title>judge</title>");
        };
        let case = &cases[number.parse::<usize>().expect("a number")];
        let port = asked.header("host").rsplit(':').next();
        let port = port.unwrap_or_default().to_owned();
        let redirect = |status: u16, host: &str| {
            let to = format!("{CORS}location: http://{host}:{port}/next/{number}\r\n");
            answer(status, &to, "")
        };
        match case.then {
            Then::Same(status) => redirect(status, "127.0.0.1"),
            Then::Other(status) => redirect(status, "b.test"),
            _ if is_new => answer(200, CORS, "good"),
            Then::Closes => vec![Act::Close],
            Then::Resets => vec![Act::Reset],
            Then::Breaks => vec![Act::Send(b"HTTP/1.1 200 OK\r\nconte".to_vec()), Act::Close],
        }
    })
}

/// Returns what came for each case after its first request.
fn came(site: &Site, cases: &[Asking]) -> Vec<Option<Sent>> {
    let of = |number: usize| {
        let paths = [format!("/case/{number}"), format!("/next/{number}")];
        let asked = site.asked().into_iter();
        let mut asked =
            asked.filter(|asked| asked.method != "OPTIONS" && paths.contains(&asked.path));
        let first = asked.next().expect("it was asked");
        assert_eq!(first.method, cases[number].method);
        let second = asked.next().map(|asked| sent(&asked, site.port()));
        assert!(
            asked.next().is_none(),
            "more than two requests: {:?}",
            cases[number]
        );
        second
    };
    (0..cases.len()).map(of).collect()
}

fn sent(asked: &Asked, port: u16) -> Sent {
    let lines = asked
        .head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'));
    let lines = lines.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let shown = |name: &str| {
        let begins = ["content-", "transfer-", "authorization", "x-", "if-"];
        begins.iter().any(|begin| name.starts_with(begin))
    };
    Sent {
        method: asked.method.clone(),
        host: asked.header("host").replace(&port.to_string(), "$p"),
        body: String::from_utf8_lossy(&asked.body).into_owned(),
        headers: lines.filter(|(name, _)| shown(name)).collect(),
    }
}

/// Returns what Chromium sends for each case after the first request.
fn chromium(browser: &Browser, cases: &[Asking]) -> Vec<Option<Sent>> {
    let site = site(cases);
    let tab = browser.open(&site.url(), (800, 600), "light");
    tab.wait_for("document.title === 'judge'");
    let options = |case: &Asking| json!({ "method": case.method, "headers": case.headers, "body": case.body });
    let options: Vec<_> = cases.iter().map(options).collect();
    let script = format!(
        "(async () => {{
          for (const [number, options] of {}.entries()) {{
            await (await fetch('/ready')).text();
            await fetch('/case/' + number, {{ ...options, body: options.body ?? undefined }})
              .then(response => response.text()).catch(() => 0);
          }}
        }})()",
        serde_json::to_string(&options).expect("JSON")
    );
    tab.js(&script);
    came(&site, cases)
}

/// Returns what lgoose sends for each case after the first request.
fn lgoose(cases: &[Asking]) -> Vec<Option<Sent>> {
    let site = site(cases);
    let options = cases.iter().enumerate().map(|(number, case)| {
        let headers = case.headers.iter();
        let headers: String = headers
            .map(|(name, value)| format!("[{name:?}] = {value:?}, "))
            .collect();
        let body = case.body.as_ref();
        let body = body.map_or_else(String::new, |body| format!("body = {body:?}, "));
        format!(
            "{{ method = {:?}, path = '/case/{number}', {body}headers = {{ {headers}}}, allow_failure = true }}",
            case.method
        )
    });
    let options: Vec<String> = options.collect();
    let text = format!(
        "local all = {{ {} }}
         task {{ function(user)
           for _, options in ipairs(all) do
             user:get '/ready'
             user:request(options)
           end
         end }}",
        options.join(",\n")
    );
    let path = plan("judge_redirects.lua", &text);
    let pin = format!("b.test:{}:127.0.0.1", site.port());
    let arguments = [&path, "-H", &site.url(), "--resolve", &pin];
    let ended = Lgoose::new(arguments.iter().chain(&["-u", "1", "-i", "1", "-q"])).finish();
    let ready = site.asked_for("/ready").len();
    assert!(ready >= cases.len(), "{}", ended.stderr);
    came(&site, cases)
}

type Redirects = Table<Asking, Option<Sent>>;

#[test]
fn redirects_and_closed_connections_change_requests_as_in_chromium() {
    let table = Redirects::open("redirects");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| ());
}

#[test]
fn the_record_of_redirects_is_what_chromium_does_today() {
    let Some(browser) = Browser::of_this_machine("judge-redirects") else {
        return;
    };
    let table = Redirects::open("redirects");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
