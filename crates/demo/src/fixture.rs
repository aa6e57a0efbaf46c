//! The client of the demo sites' tests: one connection a request, nothing interpreted.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::{Behaviour, Demo, Site};

/// The response of a site.
pub(super) struct FixtureResponse {
    pub(super) status: u16,
    /// The status line and header lines, as they came.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl FixtureResponse {
    /// The value of a header, by its lower-case name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("pages are UTF-8")
    }

    /// Returns whether the page contains `text`.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.text().contains(text)
    }

    /// The value of the first form field of that name, found as load tests find it.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let (_, rest) = self
            .text()
            .split_once(&format!("name=\"{name}\" value=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    }
}

/// A site for one test, and the cookie its user holds.
pub(super) struct Visitor {
    pub(super) demo: Demo,
    pub(super) cookie: String,
}

impl Visitor {
    pub(super) fn new(behaviour: Behaviour, threads: usize) -> Self {
        Visitor::of(Site::Drupal, behaviour, threads)
    }

    /// A visitor of any of the sites.
    pub(super) fn of(site: Site, behaviour: Behaviour, threads: usize) -> Self {
        let demo = Demo::start(site, 0, behaviour, threads);
        Visitor {
            demo: demo.expect("a free port is found"),
            cookie: String::new(),
        }
    }

    pub(super) fn host(&self) -> String {
        self.demo.url().replace("http://", "")
    }

    /// Sends a request; `more` are further header lines, each with its line break.
    pub(super) fn send(&self, method: &str, path: &str, more: &str, body: &str) -> FixtureResponse {
        let (host, cookie) = (self.host(), &self.cookie);
        let mut tcp = TcpStream::connect(&host).expect("the site accepts");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nCookie: {cookie}\r\n{more}"
        );
        let sent = tcp.write_all(format!("{head}\r\n{body}").as_bytes());
        sent.expect("the site reads");
        let mut response = Vec::new();
        tcp.read_to_end(&mut response).expect("the site answers");
        let end = response.windows(4).position(|four| four == b"\r\n\r\n");
        let body = response.split_off(end.expect("the answer has a head") + 4);
        let head = String::from_utf8(response).expect("headers are ASCII");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        FixtureResponse {
            status: status.expect("the answer has a status"),
            head,
            body,
        }
    }

    pub(super) fn get(&self, path: &str) -> FixtureResponse {
        self.send("GET", path, "", "")
    }

    /// Submits a form; names and values are encoded here.
    pub(super) fn post(&self, path: &str, fields: &[(&str, &str)]) -> FixtureResponse {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        let body = form.extend_pairs(fields).finish();
        let length = body.len();
        let more = format!(
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n"
        );
        self.send("POST", path, &more, &body)
    }

    /// Logs in and keeps the cookie.
    pub(super) fn log_in(&mut self, name: &str, pass: &str) -> FixtureResponse {
        let fields = [("name", name), ("pass", pass), ("form_id", "user_login")];
        let reply = self.post("/user", &fields);
        self.store_cookie(&reply);
        reply
    }

    /// Keeps the cookie that a reply sets.
    pub(super) fn store_cookie(&mut self, reply: &FixtureResponse) {
        if let Some(cookie) = reply.header("set-cookie") {
            self.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        }
    }
}
