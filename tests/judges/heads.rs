//! Heads of responses with odd lines, as Chromium reads them.

use crate::browser::Browser;
use crate::faulty::{Act, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A head up to its last line; `$c` stands for a name that no other case has. The body is `ok`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Head {
    head: String,
}

/// What a client has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Reading {
    status: u16,
    text: String,
    headers: BTreeMap<String, String>,
    /// Whether the cookie `$c` is kept.
    cookie: bool,
}

/// Starts a site whose `/case/7` responds with the head of the case at that place.
fn site(cases: &[Head]) -> Site {
    let heads: Arc<[String]> = cases.iter().map(|case| case.head.clone()).collect();
    Site::start(move |asked| match asked.path.strip_prefix("/case/") {
        Some(number) => {
            let head = heads[number.parse::<usize>().expect("a number")].clone();
            let head = head.replace("$c", &format!("c{number}"));
            // Latin-1, as HTTP has it, but for what is more than that.
            vec![Act::Send(format!("{head}\r\nok").into_bytes()), Act::Close]
        }
        None => answer(200, "content-type: text/html\r\n", "<title>judge</title>"),
    })
}

/// Returns what Chromium makes of each case.
fn chromium(browser: &Browser, cases: &[Head]) -> Vec<Option<Reading>> {
    let site = site(cases);
    let tab = browser.open(&site.url(), (800, 600), "light");
    tab.wait_for("document.title === 'judge'");
    let script = format!(
        "(async () => {{
          const all = [];
          for (let number = 0; number < {}; number++) {{
            try {{
              const response = await fetch('/case/' + number);
              const reading = {{ status: response.status, text: await response.text(), headers: Object.fromEntries(response.headers) }};
              reading.cookie = document.cookie.includes('c' + number + '=');
              all.push(reading);
            }} catch {{ all.push(null) }}
          }}
          return JSON.stringify(all);
        }})()",
        cases.len()
    );
    let text = tab.js(&script);
    serde_json::from_str(text.as_str().expect("text")).expect("readings")
}

/// Returns what lgoose makes of each case.
fn lgoose(cases: &[Head]) -> Vec<Option<Reading>> {
    let site = site(cases);
    let path = plan(
        "judge_heads.lua",
        "task { function(user)
           local number = user.iteration - 1
           local response = user:get('/case/' .. number, { allow_failure = true })
           local headers = { ['x-judge'] = '' }
           for name, value in pairs(response.headers) do headers[name] = value end
           -- The site may have closed the connection, which a GET survives.
           user:get '/ready'
           user:post('/read', nil, { json = { status = response.status, text = response.body, headers = headers } })
         end }",
    );
    let count = cases.len().to_string();
    let ended = Lgoose::new([&path, "-H", &site.url(), "-u", "1", "-i", &count, "-q"]).finish();
    let read = site.asked_for("/read");
    assert_eq!(read.len(), cases.len(), "{}", ended.stderr);
    let reading = |(number, asked): (usize, &crate::faulty::Asked)| {
        let mut value: serde_json::Value = serde_json::from_slice(&asked.body).expect("JSON");
        let cookie = asked.header("cookie").contains(&format!("c{number}="));
        value["cookie"] = cookie.into();
        let reading: Reading = serde_json::from_value(value).expect("a reading");
        // Where there was no response, there is no status.
        (reading.status > 0).then_some(reading)
    };
    read.iter().enumerate().map(reading).collect()
}

/// `None` where the response is refused.
type Heads = Table<Head, Option<Reading>>;

#[test]
fn odd_heads_are_read_as_chromium_reads_them() {
    let table = Heads::open("heads");
    let own = lgoose(&table.inputs());
    table.compare(own, |own, judge| {
        if let (Some(own), Some(judge)) = (own, judge) {
            // What a page may not see of a response.
            own.headers
                .retain(|name, _| judge.headers.contains_key(name) || name != "set-cookie");
            own.headers.remove("x-judge");
        }
    });
}

#[test]
fn the_record_of_odd_heads_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-heads") else {
        return;
    };
    let table = Heads::open("heads");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
