//! Streams of server-sent events over one connection after another, as Chromium's `EventSource` reads them.

use crate::browser::Browser;
use crate::faulty::{Act, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::{Table, latin1};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a site sends on each connection; 204, which ends it all, on those that follow.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Source {
    connections: Vec<Connection>,
}

/// A response. Each character of its body stands for a byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Connection {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The content type, that of events unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    body: String,
    /// Whether it breaks off before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut: Option<bool>,
}

/// What a client has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Reading {
    /// Type, data and identity of each event.
    events: Vec<[String; 3]>,
    /// `Last-Event-ID` of each connection, empty without one.
    sent: Vec<String>,
}

/// The types of events that the page listens to.
const TYPES: [&str; 6] = ["message", "add", " add", "remove", "Add", "a b"];

impl Connection {
    fn response(&self) -> Vec<Act> {
        let status = self.status.unwrap_or(200);
        let kind = self.kind.as_deref().unwrap_or("text/event-stream");
        let body = latin1(&self.body);
        let length = body.len() + usize::from(self.cut == Some(true));
        let mut bytes = format!(
            "HTTP/1.1 {status} Whatever\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        )
        .into_bytes();
        bytes.extend(body);
        vec![Act::Send(bytes), Act::Close]
    }
}

/// Starts a site whose `/case/7` responds as the case at that place says.
fn site(cases: &[Source]) -> Site {
    let counts: Arc<[AtomicUsize]> = cases.iter().map(|_| AtomicUsize::default()).collect();
    let cases: Arc<[Source]> = cases.into();
    Site::start(move |asked| match asked.path.strip_prefix("/case/") {
        Some(number) => {
            let number: usize = number.parse().expect("a number");
            let place = counts[number].fetch_add(1, Ordering::SeqCst);
            match cases[number].connections.get(place) {
                Some(connection) => connection.response(),
                None => vec![
                    Act::Send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
                    Act::Close,
                ],
            }
        }
        None => answer(200, "content-type: text/html\r\n", "<title>judge</title>"),
    })
}

fn readings(site: &Site, events: Vec<Vec<[String; 3]>>) -> Vec<Reading> {
    let reading = |(number, events)| Reading {
        events,
        sent: site
            .asked_for(&format!("/case/{number}"))
            .iter()
            .map(|asked| asked.header("last-event-id").to_owned())
            .collect(),
    };
    events.into_iter().enumerate().map(reading).collect()
}

fn chromium(browser: &Browser, cases: &[Source]) -> Vec<Reading> {
    let site = site(cases);
    let tab = browser.open(&site.url(), (800, 600), "light");
    tab.wait_for("document.title === 'judge'");
    let script = format!(
        "(async () => {{
          const read = number => new Promise(done => {{
            const source = new EventSource('/case/' + number), events = [];
            for (const type of {}) source.addEventListener(type, event => events.push([event.type, event.data, event.lastEventId]));
            source.onerror = () => {{ if (source.readyState === EventSource.CLOSED) done(events) }};
          }});
          const all = [];
          for (let number = 0; number < {}; number++) all.push(await read(number));
          return JSON.stringify(all);
        }})()",
        serde_json::json!(TYPES),
        cases.len()
    );
    let text = tab.js(&script);
    let events = serde_json::from_str(text.as_str().expect("text")).expect("readings");
    readings(&site, events)
}

fn lgoose(cases: &[Source]) -> Vec<Reading> {
    let site = site(cases);
    let path = plan(
        "judge_event_streams.lua",
        "task { function(user)
           local events = {}
           for event in user:events('/case/' .. user.iteration - 1, { reconnect = true }) do
             events[#events + 1] = { event.name, event.data, event.id }
           end
           user:post('/read', nil, { json = json.array(events) })
         end }",
    );
    let count = cases.len().to_string();
    let ended = Lgoose::new([&path, "-H", &site.url(), "-u", "1", "-i", &count, "-q"]).finish();
    let read = site.asked_for("/read");
    assert_eq!(read.len(), cases.len(), "{}{}", ended.stdout, ended.stderr);
    let events = read
        .iter()
        .map(|asked| serde_json::from_slice(&asked.body).expect("readings"));
    readings(&site, events.collect())
}

type Sources = Table<Source, Reading>;

#[test]
fn events_are_read_as_chromium_reads_them() {
    let table = Sources::open("event_streams");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| {});
}

#[test]
fn the_record_of_events_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-event-streams") else {
        return;
    };
    let table = Sources::open("event_streams");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
