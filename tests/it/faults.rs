//! Responses that are wrong in every way known of servers, proxies and attackers: each is counted under its class with
//! a message that says what was wrong, the user goes on, nothing hangs, and memory stays bounded.

use crate::faulty::{Act, Asked, Site, answer, say, send};
use crate::program::{Lgoose, plan, wait_until};
use crate::report::{read, run};
use std::time::Duration;

/// A request that fails: its path, its options, what the site does, and the error that is reported.
pub(crate) struct Fault {
    path: &'static str,
    options: &'static str,
    acts: fn() -> Vec<Act>,
    error: &'static str,
}

pub(crate) const fn fault(
    path: &'static str,
    options: &'static str,
    acts: fn() -> Vec<Act>,
    error: &'static str,
) -> Fault {
    Fault {
        path,
        options,
        acts,
        error,
    }
}

pub(crate) const HEAD: &str = "HTTP/1.1 200 OK\r\n";
const SOON: &str = "timeout = 0.2";

/// Runs one user that asks for each of them in turn, and for a good page after each. Returns its peak memory.
pub(crate) fn suffer(name: &str, faults: &'static [Fault], options: &[&str]) -> u64 {
    let site = Site::start(|asked: &Asked| match asked.path.as_str() {
        "/good" => answer(200, "", "fine"),
        "/last" => [vec![Act::Gate], answer(200, "", "bye")]
            .into_iter()
            .flatten()
            .collect(),
        path => {
            let known = faults.iter().find(|fault| fault.path == path);
            known.map_or_else(|| answer(404, "", ""), |fault| (fault.acts)())
        }
    });
    let mut text = "task { function(user)\n".to_owned();
    for Fault { path, options, .. } in faults {
        text += &format!("user:get(\"{path}\", {{ name = \"{path}\", {options} }})\n");
        text += "user:get(\"/good\", { name = \"good\" })\n";
    }
    text += "user:get(\"/last\", { name = \"good\" })\nend }";
    let (path, url) = (plan(name, &text), site.url());
    let own = [
        path.as_str(),
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "-o",
        "json=-",
    ];
    let program = Lgoose::new(own.iter().chain(options)).start();
    wait_until("the last page is asked for", || {
        !site.asked_for("/last").is_empty()
    });
    let peak = program.peak_memory();
    site.open_gate();
    let report = read(program.end());
    assert_eq!(
        report.ended.code, 0,
        "something succeeded: {}",
        report.ended.stderr
    );
    for Fault { path, error, .. } in faults {
        let row = format!("GET {path}");
        let messages = report.messages_of(&row);
        let told: Vec<&str> = messages.iter().map(|text| comparable(text)).collect();
        assert_eq!(told, [comparable(error)], "{path}: {:?}", report.errors());
        assert_eq!(report.failures(&row), 1, "{path}");
    }
    assert_eq!(report.count("GET good"), faults.len() as u64 + 1);
    assert_eq!(report.failures("GET good"), 0, "{:?}", report.errors());
    // What is sent again went to a connection that was being closed, which the site may or may not have read.
    let (sent, again) = (report.sent(), report.retries());
    let received = site.received();
    assert!(
        (sent - again..=sent).contains(&received),
        "what was sent has arrived: {sent} sent, {again} of them again, {received} received"
    );
    peak
}

/// Cuts a message to the part that is the same with both clients: the words after these classes are those of the
/// library under reqwest.
fn comparable(message: &str) -> &str {
    let class = message.split(": ").next().unwrap_or_default();
    if crate::CLIENT.is_some() && ["protocol", "too large"].contains(&class) {
        class
    } else {
        message
    }
}

#[test]
fn connections_that_break_are_counted_under_their_class() {
    const FAULTS: &[Fault] = &[
        fault(
            "/reset-at-once",
            "",
            || vec![Act::Reset],
            "connection reset",
        ),
        fault(
            "/reset-in-head",
            "",
            || send("HTTP/1.1 200 OK\r\nserver: x", Act::Reset),
            "connection reset",
        ),
        fault(
            "/reset-in-body",
            "",
            || send(format!("{HEAD}content-length: 99\r\n\r\npart"), Act::Reset),
            "connection reset",
        ),
        fault("/close-at-once", "", || vec![Act::Close], "closed early"),
        fault(
            "/close-in-head",
            "",
            || send("HTTP/1.1 200 OK\r\nserver: x", Act::Close),
            "closed early",
        ),
        fault(
            "/close-in-body",
            "",
            || send(format!("{HEAD}content-length: 99\r\n\r\npart"), Act::Close),
            "closed early",
        ),
        fault(
            "/close-in-chunk",
            "",
            || {
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n9\r\npart"),
                    Act::Close,
                )
            },
            "closed early",
        ),
        fault(
            "/close-before-last-chunk",
            "",
            || {
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n4\r\npart\r\n"),
                    Act::Close,
                )
            },
            "closed early",
        ),
        fault("/half-close", "", || vec![Act::HalfClose], "closed early"),
        fault(
            "/half-close-in-body",
            "",
            || {
                send(
                    format!("{HEAD}content-length: 99\r\n\r\npart"),
                    Act::HalfClose,
                )
            },
            "closed early",
        ),
    ];
    suffer("breaks.lua", FAULTS, &[]);
}

#[test]
fn answers_that_do_not_come_to_an_end_are_ended_by_the_timeout() {
    const FAULTS: &[Fault] = &[
        fault("/hold", SOON, || vec![Act::Hold], "timeout"),
        fault("/hold-in-head", SOON, || send(HEAD, Act::Hold), "timeout"),
        fault(
            "/hold-in-body",
            SOON,
            || send(format!("{HEAD}content-length: 99\r\n\r\npart"), Act::Hold),
            "timeout",
        ),
        fault(
            "/hold-in-chunk",
            SOON,
            || {
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n9\r\npart"),
                    Act::Hold,
                )
            },
            "timeout",
        ),
        fault(
            "/drip-head",
            SOON,
            || drip(format!("{HEAD}server: goose\r\ncontent-length: 0\r\n\r\n")),
            "timeout",
        ),
        fault(
            "/drip-body",
            SOON,
            || drip(format!("{HEAD}content-length: 10\r\n\r\n0123456789")),
            "timeout",
        ),
        fault(
            "/interim-for-ever",
            SOON,
            || {
                vec![Act::Forever(
                    b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n".to_vec(),
                )]
            },
            // hyper counts none of them.
            match crate::CLIENT {
                None => "protocol: more than 100 interim responses",
                Some(_) => "timeout",
            },
        ),
        fault(
            "/body-for-ever",
            "timeout = 0.2, discard = true",
            || send(format!("{HEAD}\r\n"), Act::Forever(vec![b'x'; 1 << 16])),
            "timeout",
        ),
        fault(
            "/chunks-for-ever",
            "timeout = 0.2, discard = true",
            || {
                let chunk = [b"8000\r\n", &[b'x'; 1 << 15][..], b"\r\n"].concat();
                send(
                    format!("{HEAD}transfer-encoding: chunked\r\n\r\n"),
                    Act::Forever(chunk),
                )
            },
            "timeout",
        ),
        fault(
            "/redirects-for-ever",
            "timeout = 0.2, redirects = 100",
            || {
                let head = "HTTP/1.1 302 Found\r\nlocation: /hold\r\ncontent-length: 0\r\n\r\n";
                say(head)
            },
            "timeout",
        ),
    ];
    let peak = suffer("without_end.lua", FAULTS, &["--max-body", "1000GiB"]);
    assert!(peak < 300 << 20, "{peak}");
}

#[test]
fn a_run_in_which_everything_is_wrong_ends_with_exit_code_one() {
    let site = Site::start(|_| send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", Act::Reset));
    let text = "task { function(user) user:get(\"/\", { name = \"page\" }) end }";
    let path = plan("all_wrong.lua", text);
    let report = run([&path, "-H", &site.url(), "-u", "2", "-r", "1000", "-i", "5"]);
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
    assert_eq!(
        report.errors_with("connection reset"),
        10,
        "{:?}",
        report.errors()
    );
}

#[test]
fn a_redirect_to_a_host_that_is_not_there_is_counted_under_its_class() {
    let nowhere = crate::failing::nowhere();
    let to = nowhere.clone();
    let site = Site::start(move |asked| match asked.path.as_str() {
        "/unknown" => answer(302, "location: http://nothing.invalid/\r\n", ""),
        "/down" => answer(302, &format!("location: {to}/\r\n"), ""),
        _ => answer(200, "", "good"),
    });
    let text = "task { function(user)
        for _, path in ipairs { '/unknown', '/down', '/good' } do user:get(path, { name = path }) end
      end }";
    let path = plan("to_nobody.lua", text);
    let report = run([&path, "-H", &site.url(), "-u", "1", "-i", "1"]);
    let unknown = report.messages_of("GET /unknown");
    assert_eq!(unknown, ["dns: cannot look up 'nothing.invalid'"]);
    let address = nowhere.replace("http://", "");
    let down = report.messages_of("GET /down");
    assert_eq!(down, [format!("connection refused: {address}")]);
    assert_eq!(report.failures("GET /good"), 0, "{:?}", report.errors());
}

#[test]
fn what_looks_wrong_and_is_not_is_taken() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/folded" => say(format!(
            "{HEAD}x-folded: one\r\n\t two\r\n three\r\ncontent-length:\r\n 4\r\n\r\ngood"
        )),
        "/bare-line-feeds" => say("HTTP/1.1 200 OK\ncontent-length: 4\n\ngood"),
        "/no-reason" => say("HTTP/1.1 200\r\ncontent-length: 4\r\n\r\ngood"),
        "/until-closed" => send("HTTP/1.0 200 OK\r\n\r\ngood", Act::Close),
        "/half-closed" => send(
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood",
            Act::HalfClose,
        ),
        "/same-length-twice" => say(format!(
            "{HEAD}content-length: 4\r\ncontent-length: 4\r\n\r\ngood"
        )),
        "/both-framings" => say(format!(
            "{HEAD}content-length: 99\r\ntransfer-encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n"
        )),
        "/more-than-its-length" => say(format!("{HEAD}content-length: 4\r\n\r\ngoods")),
        "/two-answers" => {
            let one = format!("{HEAD}content-length: 4\r\n\r\ngood");
            say(format!("{one}{one}"))
        }
        "/switches" => say("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"),
        "/interim" => say(
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood",
        ),
        "/trailers" => say(format!(
            "{HEAD}transfer-encoding: chunked\r\n\r\n4;a=b\r\ngood\r\n0\r\nchecksum: 1\r\n\r\n"
        )),
        "/nothing/204" => say("HTTP/1.1 204 No Content\r\ncontent-length: 9\r\n\r\n"),
        "/nothing/304" => say("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n"),
        "/measured" => say(format!("{HEAD}content-length: 99\r\n\r\n")),
        _ => answer(200, "", "good"),
    });
    let text = "task { function(user)
        local function good(path) user:get(path, { name = path, expect = { status = 200, text = 'good' }, timeout = 5 }) end
        for _, path in ipairs { '/folded', '/bare-line-feeds', '/no-reason', '/until-closed', '/half-closed', '/same-length-twice',
          '/both-framings', '/more-than-its-length', '/two-answers', '/interim', '/trailers' } do good(path) good '/' end
        for _, status in ipairs { 204, 304 } do
          local r = user:get('/nothing/' .. status, { expect = { status = status } })
          check(r.body == '', 'nothing in ' .. status)
        end
        check(user:get('/switches').status == 101, 'switched')
        check(user:get('/folded').headers['x-folded']:find('^one +\\t? *two +three$'), 'unfolded')
        user:head('/measured')
        good '/'
        user:head('/with-a-body')
        good '/'
      end }";
    let path = plan("taken.lua", text);
    let report = run([&path, "-H", &site.url(), "-u", "1", "-i", "1"]);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(report.json["checks"].as_array().map(Vec::len), Some(4));
    for check in report.json["checks"].as_array().into_iter().flatten() {
        assert_eq!(check["failures"], 0, "{check}");
    }
    // Who frames a body in two ways may mean another one by what follows; hyper keeps such a connection.
    let both = &site.asked_for("/both-framings")[0];
    assert!(crate::CLIENT.is_some() || site.has_closed(both));
    // What was sent to a half-closed connection before its end was seen has not arrived.
    let missed = report.sent() - site.received();
    assert!(missed <= report.total("retries"), "{missed}");
}

#[test]
fn what_has_come_until_a_timeout_counts_as_received() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/chunks" => send(
            format!(
                "{HEAD}transfer-encoding: chunked\r\n\r\n2710\r\n{}",
                "x".repeat(9_000)
            ),
            Act::Hold,
        ),
        _ => send(
            format!("{HEAD}content-length: 10000\r\n\r\n{}", "x".repeat(9_000)),
            Act::Hold,
        ),
    });
    let text = "task { function(user)
        for _, path in ipairs { '/length', '/chunks' } do user:get(path, { name = path, timeout = 0.5 }) end
      end }";
    let path = plan("bytes_until_timeout.lua", text);
    let report = run([&path, "-H", &site.url(), "-u", "1", "-i", "1"]);
    for row in ["GET /length", "GET /chunks"] {
        assert_eq!(report.messages_of(row), ["timeout"]);
        assert!(
            report.figure(row, "bytes") > 9_000,
            "{row}: {}",
            report.json
        );
    }
}

fn drip(text: String) -> Vec<Act> {
    vec![
        Act::Drip(text.into_bytes(), Duration::from_millis(25)),
        Act::Hold,
    ]
}
