//! A small site on 127.0.0.1 that does what its paths say, and records its requests. One thread a
//! connection, HTTP/1.1 read by hand, so that it can also misbehave.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A running site; it goes on until the test process ends, as connections of a test end with the program.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<String>>,
    side_by_side: AtomicUsize,
    most_side_by_side: AtomicUsize,
    /// How many requests for `/meet/…` have come.
    meeting: (Mutex<usize>, Condvar),
}

/// A request as read.
struct Asked {
    method: String,
    /// The path with its query.
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let seen = Arc::<Seen>::default();
        let shared = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let seen = shared.clone();
                // A client that goes away ends its connection, not the site.
                thread::spawn(move || serve(stream, &seen).ok());
            }
        });
        Server { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns `METHOD /path?query` of every request, in the order of their arrival.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the number of requests that have arrived.
    pub(crate) fn received(&self) -> u64 {
        self.requests().len() as u64
    }

    /// Returns how often `METHOD /path?query` was requested.
    pub(crate) fn count(&self, request: &str) -> usize {
        self.requests()
            .iter()
            .filter(|seen| *seen == request)
            .count()
    }

    /// Returns the most requests for `/delay/…` that were answered at the same time.
    pub(crate) fn most_side_by_side(&self) -> usize {
        self.seen.most_side_by_side.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, seen: &Seen) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        // Closing a socket that has unread bytes resets the connection, so this one request is not read.
        let mut head = [0; 64];
        let length = reader.get_ref().peek(&mut head)?;
        if head[..length].starts_with(b"GET /reset ") {
            seen.add("GET", "/reset");
            return Ok(());
        }
        let Some(asked) = read(&mut reader)? else {
            return Ok(());
        };
        seen.add(&asked.method, &asked.path);
        if !answer(&mut stream, &asked, seen)? {
            return Ok(());
        }
    }
}

impl Seen {
    fn add(&self, method: &str, path: &str) {
        let request = format!("{method} {path}");
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
    }
}

impl Seen {
    /// Returns the place of a request among those that meet, once as many as belong together are there.
    fn meet(&self, together: usize) -> usize {
        let (count, changed) = &self.meeting;
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        let place = *count;
        changed.notify_all();
        let all = place.next_multiple_of(together);
        drop(changed.wait_while(count, |count| *count < all));
        place
    }
}

/// Reads the next request of a connection; `None` at its end.
fn read(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()))
            }
            None => break,
        }
    }
    let length = header(&headers, "content-length").parse().unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked {
        method,
        path,
        headers,
        body,
    }))
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> &'a str {
    headers
        .iter()
        .find(|(known, _)| known == name)
        .map_or("", |(_, value)| value)
}

/// Answers as the path says; returns false if the connection is to be closed.
fn answer(stream: &mut TcpStream, asked: &Asked, seen: &Seen) -> std::io::Result<bool> {
    let path = asked.path.split('?').next().unwrap_or_default();
    let (name, argument) = match path[1..].rsplit_once('/') {
        Some((name, argument)) => (name, argument),
        None => (&path[1..], ""),
    };
    let number: usize = argument.parse().unwrap_or(0);
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    let moved = |to: &str| format!("Location: {to}\r\n");
    match name {
        "status" => reply(
            stream,
            asked,
            number,
            "",
            format!("status {number}").as_bytes(),
        ),
        "delay" => {
            let now = seen.side_by_side.fetch_add(1, Ordering::SeqCst) + 1;
            seen.most_side_by_side.fetch_max(now, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(number as u64));
            seen.side_by_side.fetch_sub(1, Ordering::SeqCst);
            reply(stream, asked, 200, "", b"at last")
        }
        // Waits for so many of its kind, and answers each with another ticket.
        "meet" => {
            let ticket = seen.meet(number.max(1));
            let text = format!("{{\"ticket\":\"ticket-{ticket}\"}}");
            let json = "Content-Type: application/json\r\n";
            reply(stream, asked, 200, json, text.as_bytes())
        }
        // Never answers; ends when the client does.
        "hold" => stream.read(&mut [0]).map(|_| false),
        "cookie" if argument == "show" => reply(
            stream,
            asked,
            200,
            "",
            header(&asked.headers, "cookie").as_bytes(),
        ),
        "cookie" => {
            let set = "Set-Cookie: flavour=oat; Path=/\r\nSet-Cookie: deep=yes; Path=/cookie\r\n";
            reply(stream, asked, 200, set, b"set")
        }
        "cookie-redirect" => {
            let set = "Set-Cookie: hop=1; Path=/\r\nLocation: /echo\r\n";
            reply(stream, asked, 302, set, b"")
        }
        "form" => reply(stream, asked, 200, html, FORM.as_bytes()),
        "named" => {
            let page = "<link rel=canonical href='https://www.shop.test/named'>\
                        <img src='https://www.shop.test/echo?own'><img src='https://cdn.shop.test/a.png'>\
                        <script src='https://cdn.shop.test/b.js'></script>";
            reply(stream, asked, 200, html, page.as_bytes())
        }
        "linking" => reply(stream, asked, 200, html, LINKING.as_bytes()),
        "echo" => reply(
            stream,
            asked,
            200,
            "Content-Type: application/json\r\n",
            echo(asked).as_bytes(),
        ),
        "redirect" if number > 0 => reply(
            stream,
            asked,
            302,
            &moved(&format!("/redirect/{}", number - 1)),
            b"",
        ),
        "redirect" => reply(stream, asked, 200, "", b"arrived"),
        "redirect-post" => reply(stream, asked, number, &moved("/echo"), b""),
        "redirect-nowhere" => reply(stream, asked, 302, &moved("http://"), b""),
        "loop" => reply(stream, asked, 302, &moved("/loop"), b""),
        "headers" => reply(
            stream,
            asked,
            200,
            "X-Cache: HIT\r\nX-Part: one\r\nX-Part: two\r\n",
            b"headers",
        ),
        "json" => reply(
            stream,
            asked,
            200,
            "",
            br#"{"name":"goose","list":[1,2,3],"none":null}"#,
        ),
        "size" => reply(
            stream,
            asked,
            200,
            "",
            "0123456789".repeat(number / 10).as_bytes(),
        ),
        "close" => reply(stream, asked, 200, "Connection: close\r\n", b"closed").map(|_| false),
        "chunks" => {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let body = format!(
                "{head}{number:x}\r\n{}\r\n0\r\n\r\n",
                "0123456789".repeat(number / 10)
            );
            stream.write_all(body.as_bytes()).map(|()| true)
        }
        "chunked" => {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            for part in ["first ", "second ", "third"] {
                stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes())?;
            }
            stream.write_all(b"0\r\n\r\n").map(|()| true)
        }
        // So many events, each a moment after the one before; of "events-cut", the last one is not the end.
        "events" | "events-cut" => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nSet-Cookie: stream=open; Path=/\r\nX-Part: one\r\nX-Part: two\r\n\
                        Transfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            for event in 1..=number {
                let text = format!(
                    "id: {event}\nevent: tick\ndata: {{\"n\":{event},\ndata: \"last\":{}}}\n\n",
                    event == number
                );
                stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
                thread::sleep(Duration::from_millis(2));
            }
            if name == "events-cut" {
                return Ok(false);
            }
            stream.write_all(b"0\r\n\r\n").map(|()| true)
        }
        // The response that 'respond' in the body describes; with 'cut', its end does not come.
        "respond" => {
            let body: serde_json::Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            let respond = &body["respond"];
            let status = respond["status"].as_u64().unwrap_or(200);
            let kind = respond["type"].as_str().unwrap_or("text/event-stream");
            let text = respond["text"].as_str().unwrap_or_default();
            let head = format!(
                "HTTP/1.1 {status} Whatever\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
            );
            stream.write_all(head.as_bytes())?;
            if !text.is_empty() {
                stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
            }
            if respond["cut"] == true {
                return Ok(false);
            }
            stream.write_all(b"0\r\n\r\n").map(|()| true)
        }
        "close-early" => stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
            .map(|()| false),
        "garbage" => stream
            .write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
            .map(|()| false),
        _ => reply(
            stream,
            asked,
            200,
            html,
            format!("<title>{path}</title>{path}").as_bytes(),
        ),
    }
}

fn reply(
    stream: &mut TcpStream,
    asked: &Asked,
    status: usize,
    headers: &str,
    body: &[u8],
) -> std::io::Result<bool> {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\n{headers}");
    if status != 204 && status != 304 {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    if asked.method != "HEAD" && status != 204 && status != 304 {
        bytes.extend_from_slice(body);
    }
    stream.write_all(&bytes).map(|()| true)
}

/// Formats a request as JSON; of several headers with one name, the last.
fn echo(asked: &Asked) -> String {
    let headers: serde_json::Map<_, _> = asked
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    let body = String::from_utf8_lossy(&asked.body);
    serde_json::json!({ "method": asked.method, "path": asked.path, "headers": headers, "body": body }).to_string()
}

/// A page that leads to what shows the requests for it.
const LINKING: &str = r#"<title>Linking</title><a href="/echo?link">echo</a><img src="/echo?asset">
<form action="/echo?get" id="get"></form><form action="/echo" method="post" id="post"></form>"#;

/// Returns a page with everything that a plan may look for.
const FORM: &str = r##"<!doctype html>
<html><head><title>A form &amp; more</title>
<link rel="stylesheet" href="/misc/style.css?v=1"><link rel="icon" href="/favicon.ico">
<script src="/misc/code.js"></script><script src="http://elsewhere.invalid/other.js"></script>
</head><body>
<h1 class="big">Sign <em>here</em></h1>
<ul id="list"><li data-n="1">one</li><li data-n="2">two</li></ul>
<img src="/images/goose.png" srcset="/images/goose.png 1x, /images/geese.png 2x"><img src="/images/goose.png">
<a href="/next">next</a> <a href="form?page=2">more</a>
<form id="search" action="/echo" method="get"><input name="q" value="goose"></form>
<form id="order" action="/echo" method="post">
<input type="hidden" name="token" value="a&amp;b">
<input type="text" name="who" value="nobody">
<input type="checkbox" name="gift" value="yes" checked><input type="checkbox" name="spam" value="yes">
<select name="size"><option value="s">small</option><option value="m" selected>medium</option></select>
<textarea name="note">as ever</textarea>
<input type="submit" name="op" value="Order">
</form></body></html>
"##;
