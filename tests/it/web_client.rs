//! A client of the HTTP interface of a run, which sends what it is told, also what no browser would send.

use crate::program::{DEADLINE, Lgoose, Running, wait_until};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};

/// The token of all runs here.
pub(crate) const TOKEN: &str = "0123456789abcdef";

/// A run that is served over HTTP.
pub(crate) struct Served {
    pub(crate) running: Running,
    pub(crate) web: Web,
}

/// The server of a run.
#[derive(Clone, Copy)]
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    pub(crate) secure: bool,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Served {
    /// Starts a run with `--web` on a free port.
    pub(crate) fn start(arguments: &[&str]) -> Served {
        Served::start_in(arguments, &[])
    }

    /// Starts one with these variables in its environment.
    pub(crate) fn start_in(arguments: &[&str], variables: &[(&str, &str)]) -> Served {
        let own = ["--headless", "--web", "127.0.0.1:0", "--web-token", TOKEN];
        let lgoose = Lgoose::new(arguments.iter().chain(&own));
        let lgoose = variables
            .iter()
            .fold(lgoose, |lgoose, (name, value)| lgoose.env(name, value));
        let running = lgoose.start();
        wait_until("the address of the page", || {
            assert!(!running.has_ended(), "{}", running.stderr());
            running.stderr().contains("/?token=")
        });
        let web = Web::of(&running.stderr());
        Served { running, web }
    }

    /// Waits until requests were counted.
    pub(crate) fn wait_for_requests(&self) {
        wait_until("requests", || {
            self.web.get("/api/v1/status").json()["aggregated"]["count"].as_u64() > Some(0)
        });
    }
}

impl Web {
    /// A server without TLS.
    pub(crate) fn at(address: SocketAddr) -> Web {
        Web {
            address,
            secure: false,
        }
    }

    /// Finds the address in what the program has printed.
    pub(crate) fn of(printed: &str) -> Web {
        let (_, rest) = printed.split_once("page of ").expect("an address");
        let (before, rest) = rest.split_once("://").expect("an address");
        let (address, _) = rest.split_once('/').expect("a path");
        Web {
            address: address.parse().expect("an address with its port"),
            secure: before.ends_with("https"),
        }
    }

    /// Returns the address of its page, which a browser opens.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket");
        stream
    }

    /// Sends bytes as they are and reads the answer.
    pub(crate) fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        // It may answer and close before it has read everything.
        let _early = stream.write_all(request.as_bytes());
        read(stream)
    }

    /// Sends a request with these lines in its head beside the token.
    pub(crate) fn send(&self, request: &str, lines: &str, body: &str) -> Answer {
        let (host, length) = (self.address, body.len());
        self.raw(&format!(
            "{request} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{lines}\r\n{body}"
        ))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), "", "")
    }

    /// Sends a command; an empty body is none.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let kind = if body.is_empty() {
            ""
        } else {
            "Content-Type: application/json\r\n"
        };
        self.send(&format!("POST {path}"), kind, body)
    }

    /// Opens the stream of events.
    pub(crate) fn events(&self, last: Option<&str>) -> Events {
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let mut stream = self.connect();
        let host = self.address;
        let request = format!(
            "GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n{last}\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it is open");
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).expect("an answer"), 0, "{head}");
        }
        assert!(
            head.starts_with("HTTP/1.1 200 ") && head.contains("text/event-stream"),
            "{head}"
        );
        Events {
            stream,
            text: String::new(),
        }
    }
}

/// Reads an answer until the connection ends.
pub(crate) fn read(mut stream: impl Read) -> Answer {
    let mut all = Vec::new();
    // A connection that is reset has sent what it has sent.
    let _reset = stream.read_to_end(&mut all);
    let end = all
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap_or(all.len());
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        body: all.get(end + 4..).unwrap_or_default().to_vec(),
        head,
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the value of a header; empty without it.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value)
    }
}

/// A stream of events.
pub(crate) struct Events {
    stream: BufReader<TcpStream>,
    /// What has come and is no whole event yet.
    text: String,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
    /// Bytes of all of it.
    pub(crate) bytes: usize,
}

impl Iterator for Events {
    type Item = Event;

    /// The next event; `None` when the stream ends.
    fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| {
                    let mut lines = event.lines().filter_map(|line| line.split_once(": "));
                    lines
                        .find(|(known, _)| *known == name)
                        .map(|(_, value)| value.to_owned())
                };
                if let (Some(id), Some(name), Some(data)) =
                    (field("id"), field("event"), field("data"))
                {
                    let data = serde_json::from_str(&data).expect("JSON");
                    let bytes = event.len();
                    return Some(Event {
                        id,
                        name,
                        data,
                        bytes,
                    });
                }
            }
            // A chunk: its length in hexadecimal, and that many bytes.
            let mut length = String::new();
            if self.stream.read_line(&mut length).ok()? == 0 {
                return None;
            }
            let length = usize::from_str_radix(length.trim(), 16).expect("a length");
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk).ok()?;
            if length == 0 {
                return None;
            }
            self.text += std::str::from_utf8(&chunk[..length]).expect("UTF-8");
        }
    }
}
