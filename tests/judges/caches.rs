//! What Chromium's cache keeps, and what it asks for again (RFC 9111).

use crate::browser::Browser;
use crate::faulty::{Act, Asked, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::Table;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One address that is requested several times: a response for each request that reaches the site (the last for all that
/// follow), as its status and its headers. `{+60}` is the date of sixty seconds from now, `{-60 %c}` one of another form.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cached {
    responses: Vec<Vec<String>>,
    /// The headers of each request, for two of them without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requests: Option<Vec<BTreeMap<String, String>>>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fetched {
    /// What the site was asked: `None` if it was not, else the conditions, none for the whole.
    asked: Option<Vec<String>>,
    status: u16,
    /// The number of the response whose body came.
    body: String,
}

impl Cached {
    fn requests(&self) -> Vec<BTreeMap<String, String>> {
        self.requests
            .clone()
            .unwrap_or_else(|| vec![BTreeMap::new(); 2])
    }
}

/// Puts dates into a header.
fn dated(line: &str) -> String {
    let Some((before, rest)) = line.split_once('{') else {
        return line.to_owned();
    };
    let (date, after) = rest.split_once('}').expect("a date ends");
    let (seconds, form) = date
        .split_once(' ')
        .unwrap_or((date, "%a, %d %b %Y %H:%M:%S GMT"));
    let seconds = SignedDuration::from_secs(seconds.parse().expect("seconds"));
    let moment = Timestamp::now() + seconds;
    format!("{before}{}{after}", moment.strftime(form))
}

/// Starts a site whose `/case/7` responds as the case at that place says.
fn site(cases: &[Cached]) -> Site {
    let cases: Arc<[Cached]> = cases.into();
    let counts: Arc<[std::sync::atomic::AtomicUsize]> =
        cases.iter().map(|_| Default::default()).collect();
    Site::start(move |asked| match asked.path.strip_prefix("/case/") {
        Some(number) => {
            let number: usize = number.parse().expect("a number");
            let time = counts[number].fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let responses = &cases[number].responses;
            let response = &responses[time.min(responses.len() - 1)];
            let (status, headers) = response.split_first().expect("a status");
            let headers: String = headers.iter().map(|line| dated(line) + "\r\n").collect();
            let body = match status.as_str() {
                "204" | "304" => String::new(),
                _ => (time + 1).to_string(),
            };
            let head = format!("HTTP/1.1 {status} Whatever\r\n{headers}");
            let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            vec![Act::Send(text.into_bytes())]
        }
        None if asked.path == "/target" => answer(200, "cache-control: no-store\r\n", "target"),
        None => answer(200, "content-type: text/html\r\n", "<title>judge</title>"),
    })
}

/// Returns what the site saw of a fetch of a case.
fn asked_for(site: &Site, case: usize, fetch: usize) -> Option<Vec<String>> {
    let all = site.asked_for(&format!("/case/{case}"));
    let of_fetch = |asked: &&Asked| asked.header("x-fetch") == fetch.to_string();
    let asked = all.iter().find(of_fetch)?;
    let mut conditions = Vec::new();
    if !asked.header("if-none-match").is_empty() {
        conditions.push(format!("if-none-match {}", asked.header("if-none-match")));
    }
    // A date that changes.
    if !asked.header("if-modified-since").is_empty() {
        conditions.push("if-modified-since".to_owned());
    }
    Some(conditions)
}

/// Completes what a client has read of each fetch of each case.
fn with_requests(site: &Site, read: Vec<Vec<(u16, String)>>) -> Vec<Vec<Fetched>> {
    let case = |(case, fetches): (usize, Vec<(u16, String)>)| {
        let fetched = |(fetch, (status, body))| Fetched {
            asked: asked_for(site, case, fetch),
            status,
            body,
        };
        fetches.into_iter().enumerate().map(fetched).collect()
    };
    read.into_iter().enumerate().map(case).collect()
}

fn chromium(browser: &Browser, cases: &[Cached]) -> Vec<Vec<Fetched>> {
    let site = site(cases);
    let tab = browser.open(&site.url(), (800, 600), "light");
    tab.wait_for("document.title === 'judge'");
    let requests: Vec<_> = cases.iter().map(Cached::requests).collect();
    let script = format!(
        "(async () => {{
          const all = [];
          for (const [number, requests] of {}.entries()) {{
            const read = [];
            for (const [fetched, headers] of requests.entries()) {{
              headers['x-fetch'] = String(fetched);
              try {{
                const response = await fetch('/case/' + number, {{ headers }});
                read.push([response.status, await response.text()]);
              }} catch (error) {{ read.push([0, '']) }}
            }}
            all.push(read);
          }}
          return JSON.stringify(all);
        }})()",
        json!(requests)
    );
    let text = tab.js(&script);
    let read = serde_json::from_str(text.as_str().expect("text")).expect("readings");
    with_requests(&site, read)
}

fn lgoose(cases: &[Cached]) -> Vec<Vec<Fetched>> {
    let site = site(cases);
    let requests: Vec<_> = cases.iter().map(Cached::requests).collect();
    let text = format!(
        "plan {{ cache = true }}
         local cases = json.decode {:?}
         task {{ function(user)
           local all = {{}}
           for number, requests in ipairs(cases) do
             local read = {{}}
             for fetch, headers in ipairs(requests) do
               headers['x-fetch'] = tostring(fetch - 1)
               local response = user:get('/case/' .. number - 1, {{ headers = headers, allow_failure = true }})
               read[fetch] = {{ response.status, response.body }}
             end
             all[number] = read
           end
           user:post('/read', nil, {{ json = all }})
         end }}",
        json!(requests).to_string()
    );
    let path = plan("judge_caches.lua", &text);
    let ended = Lgoose::new([&path, "-H", &site.url(), "-u", "1", "-i", "1", "-q"]).finish();
    let read = site.asked_for("/read");
    assert_eq!(read.len(), 1, "{}{}", ended.stdout, ended.stderr);
    let read = serde_json::from_slice(&read[0].body).expect("readings");
    with_requests(&site, read)
}

type Caches = Table<Cached, Vec<Fetched>>;

#[test]
fn a_cache_keeps_what_chromium_keeps() {
    let table = Caches::open("caches");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| {});
}

#[test]
fn the_record_of_caches_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-caches") else {
        return;
    };
    let table = Caches::open("caches");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
