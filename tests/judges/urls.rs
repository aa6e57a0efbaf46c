//! Where redirects and links lead, as Chromium has it: the host and the path that a site sees for each.

use crate::browser::Browser;
use crate::faulty::{Act, Asked, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::{Table, latin1};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// A URL; `$p` stands for the port of the site, which has every host.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Lead {
    /// The `Location` lines of a 302 for `/case/7`; each character is a byte, as Latin-1 has them.
    Locations(Vec<String>),
    /// A URL that is asked for, relative to the root of the site.
    Url(String),
}

/// `HOST:$p PATH` of each request that followed.
type Seen = Vec<String>;

/// Starts a site whose `/case/7` redirects as the case at that place says when it is first asked.
fn site(cases: &[Lead]) -> Site {
    let cases: Arc<[Lead]> = cases.into();
    let redirected = Mutex::new(HashSet::new());
    Site::start(move |asked| {
        let number = asked.path.strip_prefix("/case/");
        let number = number.and_then(|number| number.parse::<usize>().ok());
        match number.map(|number| &cases[number]) {
            Some(Lead::Locations(lines))
                if redirected
                    .lock()
                    .expect("no script panics")
                    .insert(asked.path.clone()) =>
            {
                let mut head = b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n".to_vec();
                for line in lines {
                    head.extend(b"location: ");
                    head.extend(latin1(&line.replace("$p", port_of(asked))));
                    head.extend(b"\r\n");
                }
                head.extend(b"\r\n");
                vec![Act::Send(head)]
            }
            _ => answer(200, "content-type: text/html\r\n", "<title>judge</title>"),
        }
    })
}

fn port_of(asked: &Asked) -> &str {
    let host = asked.header("host");
    host.rsplit(':').next().unwrap_or_default()
}

/// Returns what followed each `/mark/7`.
fn followed(site: &Site, cases: &[Lead]) -> Vec<Seen> {
    let mut all: Vec<Seen> = vec![Vec::new(); cases.len()];
    let mut number = None;
    for asked in site.asked() {
        if let Some(mark) = asked.path.strip_prefix("/mark/") {
            number = mark.parse::<usize>().ok();
        } else if let Some(number) = number.filter(|_| asked.path != "/favicon.ico") {
            let host = asked.header("host").replace(&site.port().to_string(), "$p");
            all[number].push(format!("{host} {}", asked.path));
        }
    }
    for (number, (seen, case)) in all.iter_mut().zip(cases).enumerate() {
        if matches!(case, Lead::Locations(_)) {
            assert_eq!(seen.remove(0), format!("127.0.0.1:$p /case/{number}"));
            let own = format!("/case/{number}");
            seen.iter_mut()
                .for_each(|line| *line = line.replace(&own, "/case/$c"));
        }
    }
    all
}

/// Returns what the site sees of Chromium for each case.
fn chromium(browser: &Browser, cases: &[Lead]) -> Vec<Seen> {
    let site = site(cases);
    let tab = browser.open(&site.url(), (800, 600), "light");
    tab.wait_for("document.title === 'judge'");
    let urls = cases.iter().map(|case| match case {
        Lead::Locations(_) => None,
        Lead::Url(url) => Some(url.replace("$p", &site.port().to_string())),
    });
    let urls: Vec<Option<String>> = urls.collect();
    let script = format!(
        "(async () => {{
          for (const [number, url] of {}.entries()) {{
            await fetch('/mark/' + number);
            await fetch(url ?? '/case/' + number, {{ mode: 'no-cors' }}).catch(() => 0);
          }}
        }})()",
        serde_json::to_string(&urls).expect("JSON")
    );
    tab.js(&script);
    followed(&site, cases)
}

/// A string of Lua with these bytes.
fn lua(text: &str) -> String {
    let escaped = text.bytes().map(|byte| format!("\\x{byte:02x}"));
    format!("\"{}\"", escaped.collect::<String>())
}

/// Returns what the site sees of lgoose for each case.
fn lgoose(cases: &[Lead]) -> Vec<Seen> {
    let site = site(cases);
    let port = site.port().to_string();
    let urls = cases.iter().enumerate().map(|(number, case)| match case {
        Lead::Locations(_) => format!("'/case/{number}'"),
        Lead::Url(url) => lua(&url.replace("$p", &port)),
    });
    let urls: Vec<String> = urls.collect();
    let text = format!(
        "local urls = {{ {} }}
         task {{ function(user)
           for number, url in ipairs(urls) do
             user:get('/mark/' .. number - 1)
             pcall(user.get, user, url, {{ allow_failure = true, name = 'case' }})
           end
         end }}",
        urls.join(", ")
    );
    let path = plan("judge_urls.lua", &text);
    let pin = format!("*:{port}:127.0.0.1");
    let arguments = [&path, "-H", &site.url(), "--resolve", &pin];
    let ended = Lgoose::new(arguments.iter().chain(&["-u", "1", "-i", "1", "-q"])).finish();
    let marks = site.asked().into_iter();
    let marks = marks.filter(|asked| asked.path.starts_with("/mark/"));
    assert_eq!(marks.count(), cases.len(), "{}", ended.stderr);
    followed(&site, cases)
}

type Urls = Table<Lead, Seen>;

#[test]
fn urls_and_redirects_lead_where_chromium_goes() {
    let table = Urls::open("urls");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| ());
}

#[test]
fn the_record_of_urls_is_what_chromium_does_today() {
    let Some(browser) = Browser::of_this_machine("judge-urls") else {
        return;
    };
    let table = Urls::open("urls");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
