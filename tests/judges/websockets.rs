//! WebSockets whose server sends what it likes: which messages Chromium has of it, what it sends, and how it ends. The cases are
//! of the kinds of the Autobahn suite: lengths, pings, reserved bits and opcodes, fragments, UTF-8, closes, compression.

use crate::browser::Browser;
use crate::program::{Lgoose, plan, wait_until};
use crate::table::{Table, latin1};
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;

/// What a server sends after its handshake, before it waits for the close of the client.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Feed {
    /// What the case is about, for people.
    about: String,
    /// Frames; each character is a byte.
    sends: String,
    /// Whether `permessage-deflate` is agreed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deflate: Option<bool>,
    /// Whether the server closes the connection after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut: Option<bool>,
}

/// What a client has made of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Reading {
    /// Kind and data of each message; of bytes each character is one.
    messages: Vec<[String; 2]>,
    /// Opcode and payload of each frame that it has sent; of a close the code alone, whose reason each words in its way.
    sent: Vec<(u8, String)>,
    /// The code of the server's close, 1005 for one without a code; 1006 for an end without one.
    code: u16,
}

/// The frames that a client has sent on each connection.
type SentFrames = Arc<Mutex<Vec<Vec<(u8, String)>>>>;

/// A site whose `/case/7` is the feed at that place. Whatever else is asked for is a page; a POST to it is kept.
struct Site {
    url: String,
    sent: SentFrames,
    /// How many connections of the cases have ended.
    ended: Arc<AtomicUsize>,
    posted: Arc<Mutex<Vec<u8>>>,
}

impl Site {
    fn start(cases: &[Feed]) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let site = Site {
            url,
            sent: Arc::new(Mutex::new(vec![Vec::new(); cases.len()])),
            ended: Arc::default(),
            posted: Arc::default(),
        };
        let (sent, posted) = (site.sent.clone(), site.posted.clone());
        let ended = site.ended.clone();
        let cases: Arc<[Feed]> = cases.into();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (cases, sent, posted) = (cases.clone(), sent.clone(), posted.clone());
                let ended = ended.clone();
                thread::spawn(move || {
                    if serve(stream, &cases, &sent, &posted) == Some(Served::Case) {
                        ended.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        site
    }

    fn readings(&self, seen: Vec<(Vec<[String; 2]>, u16)>) -> Vec<Reading> {
        // A client may be done before the server has read what it sent.
        wait_until("all connections have ended", || {
            self.ended.load(Ordering::SeqCst) == seen.len()
        });
        let sent = self.sent.lock().expect("no test has panicked");
        assert_eq!(seen.len(), sent.len(), "a reading for each case");
        let both = seen.into_iter().zip(sent.iter().cloned());
        both.map(|((messages, code), sent)| Reading {
            messages,
            sent,
            code,
        })
        .collect()
    }
}

/// What a connection was for.
#[derive(PartialEq, Eq)]
enum Served {
    Page,
    Case,
}

fn serve(
    mut stream: TcpStream,
    cases: &[Feed],
    sent: &SentFrames,
    posted: &Mutex<Vec<u8>>,
) -> Option<Served> {
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .ok()?;
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break String::from_utf8_lossy(&bytes.drain(..end + 4).collect::<Vec<u8>>())
                .into_owned();
        }
        more(&mut stream, &mut bytes)?;
    };
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut own = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        own.next().map_or("", |(_, value)| value).to_owned()
    };
    let path = head.split(' ').nth(1)?;
    let Some(number) = path.strip_prefix("/case/") else {
        let length: usize = header("content-length").parse().unwrap_or(0);
        while bytes.len() < length {
            more(&mut stream, &mut bytes)?;
        }
        posted.lock().ok()?.append(&mut bytes);
        let page = "<title>judge</title>";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
        write!(
            stream,
            "{head}\r\ncontent-length: {}\r\n\r\n{page}",
            page.len()
        )
        .ok()?;
        return Some(Served::Page);
    };
    let number: usize = number.parse().ok()?;
    let case = &cases[number];
    let accept = derive_accept_key(header("sec-websocket-key").as_bytes());
    let extension = match case.deflate {
        Some(true) => "Sec-WebSocket-Extensions: permessage-deflate\r\n",
        _ => "",
    };
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{extension}\r\n"
    );
    // The client may have gone amid them.
    let _gone = stream.write_all(head.as_bytes());
    let _gone = stream.write_all(&latin1(&case.sends));
    if case.cut == Some(true) {
        stream.shutdown(std::net::Shutdown::Write).ok()?;
    }
    loop {
        let Some((opcode, payload)) = frame(&mut stream, &mut bytes) else {
            return Some(Served::Case);
        };
        let text = match (opcode, payload.first_chunk()) {
            (8, Some(code)) => u16::from_be_bytes(*code).to_string(),
            _ => payload.iter().map(|byte| char::from(*byte)).collect(),
        };
        sent.lock().ok()?[number].push((opcode, text));
        if opcode == 8 {
            return Some(Served::Case);
        }
    }
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 4096];
    let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
    bytes.extend_from_slice(&buffer[..count]);
    Some(())
}

/// Reads a short frame of the client, which masks it.
fn frame(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    while bytes.len() < 6 || bytes.len() < 6 + usize::from(bytes[1] & 127) {
        more(stream, bytes)?;
    }
    assert_eq!(bytes[1] & 128, 128, "clients mask their frames");
    let length = usize::from(bytes[1] & 127);
    assert!(length < 126, "an answer is short");
    let mask = bytes[2..6].to_vec();
    let opcode = bytes[0] & 15;
    let payload = bytes[6..6 + length].iter().zip(mask.iter().cycle());
    let payload = payload.map(|(byte, mask)| byte ^ mask).collect();
    bytes.drain(..6 + length);
    Some((opcode, payload))
}

fn chromium(browser: &Browser, cases: &[Feed]) -> Vec<Reading> {
    let site = Site::start(cases);
    let tab = browser.open(&site.url, (800, 600), "light");
    tab.wait_for("document.title === 'judge'");
    let script = format!(
        "(async () => {{
          const text = data => String.fromCharCode(...new Uint8Array(data));
          const read = number => new Promise(done => {{
            const socket = new WebSocket(location.origin.replace('http', 'ws') + '/case/' + number), messages = [];
            socket.binaryType = 'arraybuffer';
            socket.onmessage = ({{ data }}) => messages.push(typeof data === 'string' ? ['text', data] : ['bytes', text(data)]);
            socket.onclose = ({{ code }}) => done([messages, code]);
          }});
          const all = [];
          for (let number = 0; number < {}; number++) all.push(await read(number));
          return JSON.stringify(all);
        }})()",
        cases.len()
    );
    let text = tab.js(&script);
    let seen = serde_json::from_str(text.as_str().expect("text")).expect("readings");
    site.readings(seen)
}

fn lgoose(cases: &[Feed]) -> Vec<Reading> {
    let site = Site::start(cases);
    let path = plan(
        "judge_websockets.lua",
        &format!(
            "task {{ function(user)
               local all = {{}}
               for number = 0, {} do
                 local socket, messages = user:websocket('/case/' .. number), {{}}
                 for message in socket:messages() do
                   local data = message.data
                   if not message.is_text then
                     data = data:gsub('[\\x80-\\xff]', function(byte) return utf8.char(byte:byte()) end)
                   end
                   messages[#messages + 1] = {{ message.is_text and 'text' or 'bytes', data }}
                 end
                 local closed = socket.close_reason and (socket.close_code or 1005)
                 all[number + 1] = {{ json.array(messages), closed or 1006 }}
               end
               user:post('/read', nil, {{ json = all }})
             end }}",
            cases.len() - 1
        ),
    );
    let ended = Lgoose::new([&*path, "-H", &site.url, "-u", "1", "-i", "1", "-q"]).finish();
    let posted = site.posted.lock().expect("no test has panicked").clone();
    let seen = serde_json::from_slice(&posted);
    let seen = seen.unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr));
    site.readings(seen)
}

type Feeds = Table<Feed, Reading>;

#[test]
fn sockets_are_read_and_closed_as_chromium_does() {
    let table = Feeds::open("websockets");
    let own = lgoose(&table.inputs());
    table.compare(own, |own, judge| {
        // Chromium has one code for all mistakes; RFC 6455, section 7.4.1, has 1007 for what is no text.
        for ((_, own), (_, judge)) in own.sent.iter_mut().zip(&judge.sent) {
            if own == "1007" && judge == "1002" {
                own.clone_from(judge);
            }
        }
    });
}

#[test]
fn the_record_of_sockets_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-websockets") else {
        return;
    };
    let table = Feeds::open("websockets");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
