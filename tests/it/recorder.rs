//! Records visits of a real browser as Chromium's developer tools do: the events of its network, as a HAR file.

use crate::browser::{Browser, Tab};
use crate::program::{plan, wait_until};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;

/// How often in a row the browser is asked, and has no news, before it is taken at its word.
const SILENCE: usize = 100;

/// A tab whose requests are kept.
pub(crate) struct Recorder {
    tab: Tab,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    hops: Vec<Hop>,
    /// Headers as they were sent and received, with cookies, by request: one for each hop.
    sent: HashMap<String, Vec<Value>>,
    received: HashMap<String, Vec<Value>>,
    /// Seconds that a person would have thought so far.
    rested: f64,
}

/// A request and its answer, one of a chain of redirects.
struct Hop {
    id: String,
    kind: String,
    request: Value,
    response: Value,
    body: Option<(String, bool)>,
    wall: f64,
    begin: f64,
    end: Option<f64>,
    failed: bool,
    cached: bool,
}

impl Recorder {
    /// Begins to record in a new tab.
    pub(crate) fn new(browser: &Browser) -> Recorder {
        let tab = browser.open("about:blank", (1200, 900), "light");
        tab.ask("Network.enable", json!({ "maxPostDataSize": 1 << 20 }));
        tab.wait_for("document.readyState === 'complete'");
        tab.take_events();
        Recorder {
            tab,
            state: RefCell::default(),
        }
    }

    pub(crate) fn tab(&self) -> &Tab {
        &self.tab
    }

    /// Opens an address and waits for all that belongs to it.
    pub(crate) fn open(&self, url: &str) {
        self.leave(|tab| {
            tab.ask("Page.navigate", json!({ "url": url }));
        });
    }

    /// Does by a script what leads to another page.
    pub(crate) fn go(&self, script: &str) {
        self.leave(|tab| {
            tab.js(&format!("setTimeout(() => {{ {script} }}, 0); 0"));
        });
    }

    fn leave(&self, go: impl Fn(&Tab)) {
        self.tab.js("window.isLeft = true; 0");
        go(&self.tab);
        self.tab
            .wait_for("!window.isLeft && document.readyState === 'complete'");
        self.settle();
    }

    /// Waits until no request is on its way, and takes in what came.
    pub(crate) fn settle(&self) {
        // Of some the browser does not tell the end: what it asks for itself, what a page leaves behind.
        let mut silent = 0;
        wait_until("all requests are answered", || {
            let events = self.tab.take_events();
            let mut state = self.state.borrow_mut();
            let is_quiet = events.is_empty();
            for event in events {
                state.take(&event["method"], &event["params"]);
            }
            for hop in state.hops.iter_mut().filter(|hop| hop.wants_body()) {
                let found = self
                    .tab
                    .try_ask("Network.getResponseBody", json!({ "requestId": hop.id }));
                hop.body = Some(match found {
                    Some(found) => (
                        found["body"].as_str().unwrap_or_default().to_owned(),
                        found["base64Encoded"] == true,
                    ),
                    None => (String::new(), false),
                });
            }
            // What is sent in parts, files apart, is told when it is asked for.
            for hop in state.hops.iter_mut().filter(|hop| {
                hop.request["hasPostData"] == true && hop.request["postData"].is_null()
            }) {
                let found = self
                    .tab
                    .try_ask("Network.getRequestPostData", json!({ "requestId": hop.id }));
                let text = found.map_or(json!(""), |found| found["postData"].clone());
                hop.request["postData"] = text;
            }
            let all_ended = state.hops.iter().all(|hop| hop.end.is_some());
            silent = if is_quiet { silent + 1 } else { 0 };
            is_quiet && all_ended || silent > SILENCE
        });
    }

    /// Thinks for so long, without waiting.
    pub(crate) fn rest(&self, seconds: f64) {
        self.settle();
        self.state.borrow_mut().rested += seconds;
    }

    /// Writes the file and returns its path.
    pub(crate) fn save(&self, name: &str) -> String {
        self.settle();
        let state = self.state.borrow();
        let mut place: HashMap<&str, usize> = HashMap::new();
        let mut entries = Vec::new();
        for hop in &state.hops {
            let nth = place.entry(&hop.id).or_default();
            let extra = |all: &HashMap<String, Vec<Value>>| {
                all.get(&hop.id).and_then(|list| list.get(*nth)).cloned()
            };
            entries.push(hop.entry(extra(&state.sent), extra(&state.received)));
            *nth += 1;
        }
        let creator = json!({ "name": "WebInspector", "version": "537.36" });
        let har = json!({ "log": { "version": "1.2", "creator": creator, "pages": [], "entries": entries } });
        plan(name, &har.to_string())
    }
}

impl State {
    fn take(&mut self, method: &Value, event: &Value) {
        let id = event["requestId"].as_str().unwrap_or_default().to_owned();
        let at = event["timestamp"].as_f64().unwrap_or_default();
        let rested = self.rested;
        let mut last = self.hops.iter_mut().rfind(|hop| hop.id == id);
        match method.as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                if let (Some(last), false) = (&mut last, event["redirectResponse"].is_null()) {
                    last.response = event["redirectResponse"].clone();
                    last.end = Some(at + rested);
                    last.body = Some((String::new(), false));
                }
                self.hops.push(Hop {
                    id,
                    kind: event["type"].as_str().unwrap_or("Other").to_lowercase(),
                    request: event["request"].clone(),
                    response: Value::Null,
                    body: None,
                    wall: event["wallTime"].as_f64().unwrap_or_default() + rested,
                    begin: at + rested,
                    end: None,
                    failed: false,
                    cached: false,
                });
            }
            "Network.requestWillBeSentExtraInfo" => {
                let list = self.sent.entry(id).or_default();
                list.push(event["headers"].clone());
            }
            "Network.responseReceivedExtraInfo" => {
                let list = self.received.entry(id).or_default();
                list.push(event["headers"].clone());
            }
            "Network.requestServedFromCache" => {
                last.into_iter().for_each(|hop| hop.cached = true);
            }
            "Network.responseReceived" => {
                if let Some(hop) = last {
                    hop.response = event["response"].clone();
                    hop.cached |= event["response"]["fromDiskCache"] == true;
                }
            }
            "Network.loadingFinished" => {
                last.into_iter().for_each(|hop| hop.end = Some(at + rested));
            }
            "Network.loadingFailed" => {
                if let Some(hop) = last {
                    hop.end = Some(at + rested);
                    hop.failed = hop.response.is_null();
                }
            }
            _ => {}
        }
    }
}

impl Hop {
    fn wants_body(&self) -> bool {
        let is_text = matches!(
            self.kind.as_str(),
            "document" | "xhr" | "fetch" | "script" | "stylesheet"
        );
        is_text && self.end.is_some() && !self.failed && self.body.is_none()
    }

    fn entry(&self, sent: Option<Value>, received: Option<Value>) -> Value {
        let headers = |said: &Value, extra: &Option<Value>| -> Vec<Value> {
            let all = extra.as_ref().unwrap_or(said).as_object();
            // A header that came several times has its values on lines of their own.
            let all = all.into_iter().flatten().flat_map(|(name, value)| {
                let lines = value.as_str().unwrap_or_default().split('\n');
                lines.map(move |line| json!({ "name": name, "value": line }))
            });
            all.collect()
        };
        let begin = jiff::Timestamp::from_microsecond((self.wall * 1e6) as i64).expect("a time");
        let mut request = json!({
            "method": self.request["method"],
            "url": self.request["url"],
            "httpVersion": "http/1.1",
            "headers": headers(&self.request["headers"], &sent),
            "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0,
        });
        if let Some(text) = self.request["postData"].as_str() {
            let kind = request["headers"].as_array().into_iter().flatten();
            let mut kind = kind.filter(|header| {
                header["name"]
                    .as_str()
                    .is_some_and(|name| name.eq_ignore_ascii_case("content-type"))
            });
            let kind = kind
                .next()
                .map_or(Value::Null, |header| header["value"].clone());
            request["postData"] = json!({ "mimeType": kind, "text": text });
        }
        let (text, encoded) = self.body.clone().unwrap_or_default();
        let received = headers(&self.response["headers"], &received);
        let location = received.iter().find(|header| {
            header["name"]
                .as_str()
                .is_some_and(|name| name.eq_ignore_ascii_case("location"))
        });
        let redirect = location.map_or(json!(""), |header| header["value"].clone());
        let mut content =
            json!({ "size": text.len(), "mimeType": self.response["mimeType"], "text": text });
        if encoded {
            content["encoding"] = json!("base64");
        }
        let mut entry = json!({
            "startedDateTime": begin.to_string(),
            "time": (self.end.unwrap_or(self.begin) - self.begin) * 1e3,
            "_resourceType": self.kind,
            "request": request,
            "response": {
                "status": if self.failed { json!(0) } else { self.response["status"].clone() },
                "statusText": "", "httpVersion": "http/1.1", "cookies": [],
                "headers": received, "content": content, "redirectURL": redirect,
                "headersSize": -1, "bodySize": -1,
            },
            "cache": {}, "timings": {},
        });
        if self.cached {
            entry["_fromCache"] = json!("disk");
        }
        entry
    }
}
