//! Responses that arrive in pieces: each is sent in two writes, split at every byte, with a pause between them, some after
//! interim responses. The site notes the times of its writes, which the figures of the request log have to enclose.

use crate::faulty::{Act, Asked, Site};
use crate::log_lines::objects;
use crate::program::{plan, scratch};
use crate::report::run;
use crate::secure::{Authority, server};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two pieces of a response: far longer than a write takes.
const PAUSE: Duration = Duration::from_millis(3);
/// The users that share the requests of a run.
const USERS: usize = 6;
/// The number of places at which a longer response is split.
const MOST_SPLITS: usize = 120;

/// A kind of response.
struct Kind {
    /// The method; `large` is a POST with a body of several writes, and `expect` one that waits for '100 Continue'.
    method: &'static str,
    /// The interim responses, and the final one.
    interim: &'static str,
    response: String,
    /// The end of the connection after it, if that is the end of the response.
    closes: bool,
}

fn kinds() -> Vec<Kind> {
    const EARLY: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    const PROCESSING: &str = "HTTP/1.1 102 Processing\r\n\r\n";
    const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long_header = format!(
        "HTTP/1.1 200 OK\r\nX-Long: {}\r\nContent-Length: 2\r\n\r\nok",
        "a".repeat(3000)
    );
    let long_body = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n{}",
        "b".repeat(40_000)
    );
    let chunked = |chunks: &str| format!("{CHUNKED}{chunks}");
    let mut kinds = Vec::new();
    let mut add = |method, interim, response: &str, closes| {
        kinds.push(Kind {
            method,
            interim,
            response: response.to_owned(),
            closes,
        });
    };
    add("get", "", HELLO, false);
    add("post", "", HELLO, false);
    add("large", "", HELLO, false);
    add("large", EARLY, HELLO, false);
    add("expect", "", HELLO, false);
    add("expect", PROCESSING, HELLO, false);
    add(
        "get",
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        false,
    );
    add("get", "", "HTTP/1.1 204 No Content\r\n\r\n", false);
    add("get", "", "HTTP/1.1 304 Not Modified\r\n\r\n", false);
    add(
        "head",
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        false,
    );
    add("get", "", &chunked("5\r\nhello\r\n0\r\n\r\n"), false);
    add(
        "get",
        "",
        &chunked("2\r\nhe\r\n3\r\nllo\r\n0\r\nX-End: 1\r\n\r\n"),
        false,
    );
    add("get", "", &chunked("5;a=b\r\nhello\r\n0\r\n\r\n"), false);
    add("get", "", "HTTP/1.1 200 OK\r\n\r\nuntil the end", true);
    add(
        "get",
        "",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        true,
    );
    add(
        "get",
        "",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        true,
    );
    add(
        "get",
        "",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        false,
    );
    add(
        "get",
        "",
        "HTTP/1.1 500 Broken\r\nContent-Length: 2\r\n\r\nno",
        false,
    );
    add(
        "get",
        "",
        "HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n",
        false,
    );
    add(
        "get",
        "",
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok",
        false,
    );
    add("get", "", &long_header, false);
    add("get", "", &long_body, false);
    add("get", "HTTP/1.1 100 Continue\r\n\r\n", HELLO, false);
    add("get", PROCESSING, HELLO, false);
    add("get", EARLY, HELLO, false);
    add(
        "get",
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
        HELLO,
        false,
    );
    add(
        "get",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
        HELLO,
        false,
    );
    add("get", EARLY, &chunked("5\r\nhello\r\n0\r\n\r\n"), false);
    add("get", EARLY, "HTTP/1.1 204 No Content\r\n\r\n", false);
    add("get", EARLY, "HTTP/1.1 304 Not Modified\r\n\r\n", false);
    add(
        "head",
        EARLY,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        false,
    );
    add("get", EARLY, "HTTP/1.1 200 OK\r\n\r\nuntil the end", true);
    add(
        "get",
        EARLY,
        "HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n",
        false,
    );
    add(
        "get",
        PROCESSING,
        "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno",
        false,
    );
    add(
        "post",
        EARLY,
        "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok",
        false,
    );
    add("get", EARLY, &long_body, false);
    kinds
}

/// When the site had the request, wrote the first byte of the final response, and wrote its last one.
#[derive(Clone, Copy)]
struct Times {
    arrived: Instant,
    first: Instant,
    last: Instant,
}

impl Times {
    fn starting() -> Times {
        let now = Instant::now();
        Times {
            arrived: now,
            first: now,
            last: now,
        }
    }
}

/// A response that is split at one place.
struct Split {
    method: &'static str,
    bytes: Vec<u8>,
    /// The place of the second write.
    at: usize,
    /// The place at which the final response begins.
    begins: usize,
    closes: bool,
}

type Log = Arc<Mutex<Vec<Option<Times>>>>;

fn note(log: &Log, number: usize, change: impl FnOnce(&mut Times)) {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    change(log[number].get_or_insert_with(Times::starting));
}

/// Every response, split at every byte, or at every so many of a longer one.
fn splits() -> Vec<Split> {
    let split = |kind: Kind| {
        let bytes = [kind.interim.as_bytes(), kind.response.as_bytes()].concat();
        let step = bytes.len().div_ceil(MOST_SPLITS);
        // What has no body ends with its last byte; the end of the connection is a write, too.
        let most = bytes.len() + usize::from(kind.closes && !kind.response.contains("Length"));
        (1..most).step_by(step).map(move |at| Split {
            method: kind.method,
            bytes: bytes.clone(),
            at,
            begins: kind.interim.len(),
            closes: kind.closes,
        })
    };
    kinds().into_iter().flat_map(split).collect()
}

fn script(splits: Arc<Vec<Split>>, log: Log) -> impl Fn(&Asked) -> Vec<Act> + Send + Sync {
    move |asked| {
        let Ok(number) = asked.path[1..].parse::<usize>() else {
            return vec![Act::Send(
                b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
            )];
        };
        note(&log, number, |_| {});
        let split = &splits[number];
        let (begins, at) = (split.begins, split.at);
        let stamp = |is_second: bool| {
            let log = log.clone();
            Act::Run(Box::new(move || {
                if is_second {
                    thread::sleep(PAUSE);
                }
                note(&log, number, |times| {
                    times.last = Instant::now();
                    if is_second == (begins >= at) {
                        times.first = times.last;
                    }
                });
            }))
        };
        let (first, second) = split.bytes.split_at(split.at);
        let mut acts = Vec::new();
        if split.method == "expect" {
            acts.push(Act::Send(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()));
            acts.push(Act::ReadBody);
        }
        acts.extend([stamp(false), Act::Send(first.to_vec()), stamp(true)]);
        acts.push(Act::Send(second.to_vec()));
        acts.extend(split.closes.then_some(Act::Finish));
        acts
    }
}

/// Holds the lines of a request log against the times of the site.
fn compare(
    log: &Log,
    lines: &[serde_json::Value],
    count: usize,
    number: impl Fn(usize, &str) -> usize,
) {
    let times = log.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut seen, mut received) = (0, 0);
    for (place, line) in lines
        .iter()
        .filter(|line| line["url"].is_string())
        .enumerate()
    {
        let path = line["url"].as_str().and_then(|url| url.rsplit('/').next());
        let number = number(place, path.unwrap_or_default());
        let Some(Some(site)) = times.get(number) else {
            panic!("{line}");
        };
        assert_eq!(
            line["error_class"].as_str().unwrap_or_default(),
            "",
            "{line}"
        );
        let ns = |name: &str| line[name].as_u64().unwrap_or_default();
        let latency = Duration::from_nanos(ns("end_ns") - ns("start_ns"));
        let before = ["dns_ns", "connect_ns", "tls_ns", "send_ns", "first_byte_ns"];
        let first = Duration::from_nanos(before.into_iter().map(ns).sum());
        let receive = Duration::from_nanos(ns("receive_ns"));
        assert!(
            latency >= site.last - site.arrived,
            "{latency:?} of {:?}: {line}",
            site.last - site.arrived
        );
        assert!(
            first >= site.first - site.arrived,
            "first byte after {first:?} instead of {:?}: {line}",
            site.first - site.arrived
        );
        assert!(
            first + receive <= latency + Duration::from_micros(1),
            "{line}"
        );
        seen += 1;
        received += usize::from(site.last > site.first && receive >= PAUSE / 2);
    }
    assert_eq!(seen, count);
    // The rest of a response comes after its first byte, unless the machine was too busy to see them apart.
    assert!(received > 0, "no response came in two parts");
}

/// Runs the splits of HTTP/1.1 over one transport.
fn over_http1(name: &str, options: &str, arguments: &[&str], tls: Option<rustls::ServerConfig>) {
    let splits = Arc::new(splits());
    let log: Log = Arc::new(Mutex::new(vec![None; splits.len()]));
    let script = script(splits.clone(), log.clone());
    let site = match tls {
        Some(tls) => Site::secure(tls, script),
        None => Site::start(script),
    };
    let methods: Vec<String> = splits
        .iter()
        .map(|split| format!("'{}'", split.method))
        .collect();
    let text = format!(
        "local methods = {{ {} }}
        local bodies = {{ post = 'x', large = string.rep('x', 100000), expect = string.rep('x', 100000) }}
        task {{ 'split', function(user)
          for n = user.id, #methods, {USERS} do
            local method = methods[n]
            local path = '/' .. (n - 1)
            local expect = {{ status = {{ 200, 201, 204, 302, 304, 404, 500, 503 }} }}
            local options = {{ name = 'split', expect = expect, {options} }}
            local response
            if method == 'expect' then options.headers = {{ Expect = '100-continue' }} end
            if bodies[method] then response = user:post(path, bodies[method], options)
            else response = user[method](user, path, options) end
            if options.stream then for _ in response:chunks() do end end
          end
        end }}",
        methods.join(", ")
    );
    let requests = scratch(&format!("{name}.jsonl")).display().to_string();
    let (path, url, users) = (
        plan(&format!("{name}.lua"), &text),
        site.url(),
        USERS.to_string(),
    );
    let own = [
        path.as_str(),
        "-H",
        &url,
        "-u",
        &users,
        "-r",
        "1000",
        "-i",
        "1",
        "--request-log",
        &requests,
    ];
    let report = run(own.iter().chain(arguments));
    assert_eq!(report.errors(), Vec::<String>::new());
    compare(&log, &objects(&requests), splits.len(), |_, path| {
        path.parse().expect("a number")
    });
}

#[test]
fn a_response_ends_with_the_read_that_completes_it() {
    over_http1("split_plain", "", &[], None);
}

#[test]
fn a_response_whose_body_is_not_kept_ends_so_too() {
    over_http1("split_discarded", "discard = true", &[], None);
}

#[test]
fn a_stream_ends_with_the_read_that_completes_it() {
    over_http1("split_stream", "stream = true", &[], None);
}

#[test]
fn a_response_over_tls_ends_with_the_read_that_completes_it() {
    let authority = Authority::new();
    let ca = authority.file("split_ca.pem");
    let tls = server(&authority.sign(&["127.0.0.1"]), None);
    over_http1("split_tls", "", &["--ca", &ca], Some(tls));
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("a short frame")
        .to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The responses of HTTP/2 to a request on a stream, and the place of the final one.
fn http2_kinds(stream: u32) -> Vec<(Vec<u8>, usize)> {
    const OK: &[u8] = &[0x88];
    const NO_CONTENT: &[u8] = &[0x89];
    const EARLY_HINTS: &[u8] = &[0x08, 3, b'1', b'0', b'3'];
    /// `x: y`, without indexing.
    const TRAILER: &[u8] = &[0x00, 1, b'x', 1, b'y'];
    const CONTINUATION: u8 = 9;
    let head = |flags, block: &[u8]| frame(HEADERS, flags, stream, block);
    let data = |flags, bytes: &[u8]| frame(DATA, flags, stream, bytes);
    let early = head(END_HEADERS, EARLY_HINTS);
    let hello = [head(END_HEADERS, OK), data(END_STREAM, b"hello")].concat();
    let empty = head(END_HEADERS | END_STREAM, NO_CONTENT);
    let continued = [
        head(0, OK),
        frame(CONTINUATION, END_HEADERS, stream, TRAILER),
        data(END_STREAM, b"x"),
    ]
    .concat();
    let trailers = [
        head(END_HEADERS, OK),
        data(0, b"x"),
        head(END_HEADERS | END_STREAM, TRAILER),
    ]
    .concat();
    let bare_end = [head(END_HEADERS, OK), data(0, b"x"), data(END_STREAM, b"")].concat();
    let mut kinds = Vec::new();
    for response in [hello, empty, continued, trailers, bare_end] {
        let interim: &[&[u8]] = &[&[], &early, &[&early[..], &early[..]].concat()];
        for before in interim {
            kinds.push(([before, &response[..]].concat(), before.len()));
        }
    }
    kinds
}

/// Serves the kinds of HTTP/2, split at every byte, one after another.
fn serve_http2(mut stream: TcpStream, log: &Log) -> std::io::Result<()> {
    const SETTINGS: u8 = 4;
    const ACK: u8 = 1;
    stream.set_nodelay(true)?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    let (mut kind, mut at) = (0, 1);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload)?;
        match head[3] {
            SETTINGS if head[4] & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?,
            HEADERS => {
                let mut times = Times::starting();
                let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                let (bytes, begins) = http2_kinds(id).swap_remove(kind);
                stream.write_all(&bytes[..at])?;
                thread::sleep(PAUSE);
                times.last = Instant::now();
                if begins >= at {
                    times.first = times.last;
                }
                log.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(Some(times));
                stream.write_all(&bytes[at..])?;
                at += 1;
                if at == bytes.len() {
                    (kind, at) = (kind + 1, 1);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn a_response_over_http2_ends_with_the_read_that_completes_it() {
    let log = Log::default();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let shared = log.clone();
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            // A client that goes away ends its connection, not the site.
            serve_http2(stream, &shared).ok();
        }
    });
    let count: usize = http2_kinds(1)
        .iter()
        .map(|(bytes, _)| bytes.len() - 1)
        .sum();
    let text = format!(
        "task {{ 'split', function(user) for n = 1, {count} do user:get('/' .. n, {{ name = 'split' }}) end end }}"
    );
    let requests = scratch("split_http2.jsonl").display().to_string();
    let path = plan("split_http2.lua", &text);
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "--http",
        "2",
        "--request-log",
        &requests,
    ]);
    assert_eq!(report.errors(), Vec::<String>::new());
    compare(&log, &objects(&requests), count, |place, _| place);
}
