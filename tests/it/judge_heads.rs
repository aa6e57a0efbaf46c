//! Heads of responses with odd lines, held against Chromium: `tests/judges/heads.jsonl` has a head a line, and what
//! Chromium made of it. `JUDGES=record` asks Chromium anew and writes the file; where there is a Chromium, the record is
//! compared with what it does today.

use crate::browser::Browser;
use crate::faulty::{Act, Site, answer};
use crate::program::{Lgoose, in_repository, plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const TABLE: &str = "tests/judges/heads.jsonl";

/// A head, and what was made of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Case {
    /// The head up to its last line; `$c` stands for a name that no other case has. The body is `ok`.
    head: String,
    /// `None` where Chromium refuses it.
    chromium: Option<Reading>,
    /// Why lgoose does something else on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
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

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(in_repository(TABLE)).expect("the table is there");
    let case = |line: &str| serde_json::from_str(line).expect("a case");
    text.lines().map(case).collect()
}

/// Starts a site whose `/case/7` responds with the head of the case at that place.
fn site(cases: &[Case]) -> Site {
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
fn chromium(browser: &Browser, cases: &[Case]) -> Vec<Option<Reading>> {
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
fn lgoose(cases: &[Case]) -> Vec<Option<Reading>> {
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

#[test]
fn odd_heads_are_read_as_chromium_reads_them() {
    let mut cases = cases();
    if std::env::var("JUDGES").is_ok_and(|what| what == "record") {
        let browser = Browser::start("judge-heads-record").expect("Chromium is installed");
        let readings = chromium(&browser, &cases);
        for (case, reading) in cases.iter_mut().zip(readings) {
            case.chromium = reading;
        }
        let lines = cases
            .iter()
            .map(|case| serde_json::to_string(case).expect("JSON") + "\n");
        std::fs::write(in_repository(TABLE), lines.collect::<String>()).expect("written");
    }
    let mut wrong = Vec::new();
    for (case, mut own) in cases.iter().zip(lgoose(&cases)) {
        if let (Some(own), Some(judge)) = (&mut own, &case.chromium) {
            // What a page may not see of a response.
            own.headers
                .retain(|name, _| judge.headers.contains_key(name) || name != "set-cookie");
            own.headers.remove("x-judge");
        }
        if (own == case.chromium) == case.differs.is_some() {
            wrong.push(format!(
                "{:?}\n  lgoose   {own:?}\n  Chromium {:?}",
                case.head, case.chromium
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_record_of_odd_heads_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-heads") else {
        return;
    };
    let cases = cases();
    for (case, today) in cases.iter().zip(chromium(&browser, &cases)) {
        assert_eq!(case.chromium, today, "{:?}", case.head);
    }
}
