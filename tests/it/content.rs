//! Bodies: in every coding that a browser knows, in chunks both ways, announced with '100-continue', or discarded.

use crate::faulty::{Act, Asked, Site, answer, say, send};
use crate::program::plan;
use crate::report::{Report, run};
use crate::secure::{Authority, server};
use std::io::Write as _;
use std::time::Duration;

const PAGE: &str = "<title>Bienvenidos</title><p>a goose, a goose, a goose</p>";

/// The page as encoded by brotli's reference encoder.
const BROTLI: &[u8] =
    b"\x1b\x39\x00\xf8\x45\x6f\x78\xbd\xfa\x1d\xb7\xc3\xf5\x29\x4b\x1e\x53\x4a\x0b\x52\x08\x50\
    \x42\x69\x06\x36\x58\xa6\x21\x5a\xbc\x31\x8f\xe9\xe4\xad\xff\x5c\x0b\x29\xf2\xa0\x02\x1d";

fn gzip(text: &str) -> Vec<u8> {
    gzip_bytes(text.as_bytes())
}

fn gzip_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zlib(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Runs one user whose task is `body` at `site`; all its checks must pass.
fn visit(name: &str, site: &Site, body: &str, options: &[&str]) -> Report {
    let path = plan(name, &format!("task {{ function(user)\n{body}\nend }}"));
    let (url, own) = (site.url(), [path.as_str(), "-u", "1", "-i", "1"]);
    let report = run(own.iter().chain(&["-H", &url]).chain(options));
    for check in report.json["checks"].as_array().into_iter().flatten() {
        assert_eq!(
            check["failures"],
            0,
            "{name}: {check} {:?}",
            report.errors()
        );
    }
    report
}

#[test]
fn every_coding_is_read_by_expectations_and_by_the_plan() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/gzip" => answer(200, "content-encoding: gzip\r\n", gzip(PAGE)),
        "/deflate" => answer(200, "content-encoding: deflate\r\n", zlib(PAGE)),
        "/br" => answer(200, "content-encoding: br\r\n", BROTLI),
        "/zstd" => answer(
            200,
            "content-encoding: zstd\r\n",
            zstd::encode_all(PAGE.as_bytes(), 1).expect("memory takes it"),
        ),
        "/chunked-gzip" => {
            let body = gzip(PAGE);
            let (first, second) = body.split_at(10);
            let head =
                "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n";
            let chunk =
                |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
            vec![Act::Send(
                [head.as_bytes(), &chunk(first), &chunk(second), b"0\r\n\r\n"].concat(),
            )]
        }
        path if path.starts_with("/transfer-") => {
            let (body, more) = match path {
                "/transfer-gzip" => (gzip(PAGE), "transfer-encoding: gzip, chunked\r\n"),
                "/transfer-fields" => (
                    gzip(PAGE),
                    "transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n",
                ),
                _ => (
                    gzip_bytes(&zlib(PAGE)),
                    "content-encoding: deflate\r\ntransfer-encoding: gzip, chunked\r\n",
                ),
            };
            let head = format!("HTTP/1.1 200 OK\r\n{more}\r\n{:x}\r\n", body.len());
            vec![Act::Send(
                [head.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat(),
            )]
        }
        "/empty" => answer(200, "content-encoding: gzip\r\n", ""),
        _ => answer(200, "", PAGE),
    });
    let body = format!("
        for _, path in ipairs {{ '/gzip', '/deflate', '/br', '/zstd', '/chunked-gzip', '/plain', '/transfer-gzip', '/transfer-fields', '/transfer-both' }} do
          local r = user:get(path, {{ name = path, expect = {{ title = 'Bienvenidos', text = 'a goose' }} }})
          check(r.ok and r.body == '{PAGE}' and r:title() == 'Bienvenidos' and r:text 'p' == 'a goose, a goose, a goose', path)
        end
        check(user:get('/empty', {{ name = '/empty' }}).body == '', 'empty')
        check(user:get('/gzip', {{ name = 'discarded', discard = true }}).ok, 'discarded')");
    let report = visit("codings.lua", &site, &body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(report.json["checks"].as_array().map(Vec::len), Some(11));
    assert_eq!(
        site.asked()[0].header("accept-encoding"),
        "gzip, deflate, br, zstd"
    );
}

#[test]
fn a_body_that_nobody_looks_at_is_not_decoded_and_no_failure() {
    let site = Site::start(|_| answer(200, "content-encoding: gzip\r\n", "this is no gzip"));
    let report = visit("unread.lua", &site, "user:get('/', { name = 'page' })", &[]);
    assert_eq!(
        (report.count("GET page"), report.failures("GET page")),
        (1, 0)
    );
    let report = visit(
        "read.lua",
        &site,
        "check(user:get('/', { name = 'page' }).body == '', 'nothing')",
        &[],
    );
    assert_eq!(
        report.messages_of("GET page"),
        ["decoding: gzip: invalid gzip header"]
    );
}

#[test]
fn bodies_are_sent_compressed_and_in_chunks() {
    let site = Site::start(|_| answer(200, "", "taken"));
    let text = "goose ".repeat(5_000);
    let body = "
        local text = string.rep('goose ', 5000)
        user:post('/compressed', text, { compress = 'gzip' })
        user:post('/chunked', text, { headers = { ['Transfer-Encoding'] = 'chunked' } })
        user:post('/none', nil, {})
        user:get '/'";
    let report = visit("sent.lua", &site, body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
    let compressed = &site.asked_for("/compressed")[0];
    assert_eq!(compressed.header("content-encoding"), "gzip");
    let mut read = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&compressed.body[..]);
    std::io::Read::read_to_string(&mut decoder, &mut read).expect("what was sent is gzip");
    assert!(read == text && compressed.body.len() < text.len() / 10);
    let chunked = &site.asked_for("/chunked")[0];
    assert_eq!(chunked.header("content-length"), "");
    let sent = String::from_utf8_lossy(&chunked.body).into_owned();
    let joined: String = sent
        .split("\r\n")
        .filter(|line| line.starts_with("goose") || line.contains("goose"))
        .collect();
    assert_eq!(joined, text);
    assert!(sent.ends_with("\r\n0\r\n\r\n"));
    assert!(crate::CLIENT.is_some() || sent.starts_with("4000\r\n"));
    assert_eq!(site.asked_for("/none")[0].header("content-length"), "0");
    assert_eq!(site.asked_for("/")[0].header("content-length"), "");
}

#[test]
fn a_server_that_is_asked_first_may_agree_refuse_or_say_nothing() {
    let site = Site::start(|asked: &Asked| match asked.path.as_str() {
        "/agrees" => {
            let go_on = Act::Send(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec());
            [vec![go_on, Act::ReadBody], answer(200, "", "taken")]
                .into_iter()
                .flatten()
                .collect()
        }
        "/refuses" => answer(417, "connection: close\r\n", "no")
            .into_iter()
            .chain([Act::Close])
            .collect(),
        "/answers" => answer(413, "", "too large")
            .into_iter()
            .chain([Act::Close])
            .collect(),
        "/ignores" => [vec![Act::ReadBody], answer(200, "", "taken")]
            .into_iter()
            .flatten()
            .collect(),
        "/leaves" => vec![Act::Close],
        _ => answer(200, "", "good"),
    });
    let body = "
        local function ask(path, status)
          local r = user:post(path, 'the body', { name = path, headers = { Expect = '100-continue' }, expect = { status = status } })
          check(r.status == status, path)
          check(user:get('/good', { name = 'good' }).body == 'good', 'the next one after ' .. path)
        end
        ask('/agrees', 200) ask('/refuses', 417) ask('/answers', 413) ask('/ignores', 200)
        check(user:post('/leaves', 'x', { name = '/leaves', headers = { Expect = '100-continue' } }).error == 'closed early', 'left')";
    let report = visit("continue.lua", &site, body, &[]);
    assert_eq!(
        report.errors_with("closed early"),
        1,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.errors().len(), 1, "{:?}", report.errors());
    for (path, sent) in [
        ("/agrees", "the body"),
        ("/refuses", ""),
        ("/answers", ""),
        ("/ignores", "the body"),
    ] {
        let asked = &site.asked_for(path)[0];
        assert_eq!(String::from_utf8_lossy(&asked.body), sent, "{path}");
    }
}

#[test]
fn what_is_discarded_is_counted_and_not_kept() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/length" => answer(200, "", "x".repeat(300_000)),
        "/chunks" => {
            let chunk = format!("249f0\r\n{}\r\n", "x".repeat(150_000));
            say(format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"
            ))
        }
        "/closed" => send(
            format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(300_000)),
            Act::Close,
        ),
        "/lost" => answer(404, "", "lost"),
        "/lost/closed" => send("HTTP/1.1 404 Gone\r\n\r\nlost", Act::Close),
        _ => send("HTTP/1.1 200 OK\r\n\r\nxxx", Act::Close),
    });
    let body = "
        for _, path in ipairs { '/length', '/chunks', '/closed' } do
          local r = user:get(path, { name = path, discard = true })
          check(r.ok and r.body == '' and r.size >= 300000, path)
        end
        check(user:get('/short', { discard = true }).body == '', 'short')
        local found = { discard = 'successful', name = 'found' }
        check(user:get('/length', found).body == '', 'successful')
        local lost = { discard = 'successful', name = 'lost', allow_failure = true }
        for _, path in ipairs { '/lost', '/lost/closed' } do
          check(user:get(path, lost).body == 'lost', path)
        end
        check(user:get('/lost', { discard = true, allow_failure = true }).body == '', 'all')";
    let report = visit("discarded.lua", &site, body, &[]);
    assert_eq!(report.errors(), Vec::<String>::new());
}

/// What sites do with bodies that nobody wants: the head, or the body, comes in pieces; bytes follow that were not
/// asked for; the rest never comes.
fn bodies_in_pieces(asked: &Asked) -> Vec<Act> {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n";
    let (begin, end) = ("x".repeat(10), "x".repeat(20));
    match asked.path.as_str() {
        "/pieces" => vec![
            Act::Send(format!("{head}\r\n{begin}").into_bytes()),
            Act::Drip(end.clone().into_bytes(), Duration::from_millis(2)),
            Act::Send("x".repeat(99_950).into_bytes()),
            Act::Drip(end.into_bytes(), Duration::from_millis(2)),
        ],
        "/head" => vec![
            Act::Drip(format!("{head}\r").into_bytes(), Duration::from_millis(1)),
            Act::Send(format!("\n{}", "x".repeat(100_000)).into_bytes()),
        ],
        "/long-head" => say(format!(
            "{head}x: {}\r\n\r\n{}",
            "y".repeat(20_000),
            "x".repeat(100_000)
        )),
        "/more" => say(format!(
            "{head}\r\n{}HTTP/1.1 200 OK\r\n",
            "x".repeat(100_000)
        )),
        "/short" => send(format!("{head}\r\n{}", "x".repeat(50_000)), Act::Close),
        "/reset" => send(format!("{head}\r\n{}", "x".repeat(50_000)), Act::Reset),
        "/failed" => answer(503, "", "x".repeat(100_000)),
        _ => answer(200, "", ""),
    }
}

#[test]
fn a_discarded_body_may_come_in_pieces_and_must_be_whole() {
    let identity = Authority::new().sign(&["127.0.0.1"]);
    for site in [
        Site::start(bodies_in_pieces),
        Site::secure(server(&identity, None), bodies_in_pieces),
    ] {
        let body = "
            local function discarded(path)
              return user:get(path, { discard = 'successful', allow_failure = true })
            end
            for _, path in ipairs { '/pieces', '/head', '/long-head', '/more' } do
              local r = discarded(path)
              check(r.ok and r.body == '' and r.size >= 100000, path)
            end
            check(discarded('/failed').body == ('x'):rep(100000), 'failed')
            check(discarded('/short').error == 'closed early', 'short')
            check(discarded('/reset').error ~= nil, 'reset')
            check(discarded('/').ok, 'after')";
        let report = visit("discarded_pieces.lua", &site, body, &["--insecure"]);
        // What came unasked, a body that is not whole and a reset each cost a connection.
        let connections: Vec<_> = site.asked().iter().map(|asked| asked.connection).collect();
        assert_eq!(connections, [0, 0, 0, 0, 1, 1, 2, 3]);
        assert_eq!(
            report.failures("GET /long-head"),
            0,
            "{:?}",
            report.errors()
        );
    }
}

#[test]
fn the_largest_body_that_is_allowed_is_taken_and_one_byte_more_is_not() {
    let site = Site::start(|asked| {
        let length: usize = asked.path[2..].parse().expect("a length");
        let body = "x".repeat(length);
        match &asked.path[..2] {
            "/l" => answer(200, "", body),
            "/c" => say(format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
            )),
            _ => send(format!("HTTP/1.1 200 OK\r\n\r\n{body}"), Act::Close),
        }
    });
    let body = "for _, kind in ipairs { '/l', '/c', '/e' } do
          for _, length in ipairs { 1000, 1001 } do user:get(kind .. length, { name = kind .. length }) end
        end";
    let report = visit("max_body.lua", &site, body, &["--max-body", "1000"]);
    for kind in ["l", "c", "e"] {
        assert_eq!(
            report.failures(&format!("GET /{kind}1000")),
            0,
            "{:?}",
            report.errors()
        );
        let messages = report.messages_of(&format!("GET /{kind}1001"));
        assert_eq!(
            messages,
            ["too large: body of more than 1000 bytes ('--max-body')"],
            "{kind}"
        );
    }
}
