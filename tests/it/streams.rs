//! Responses that a plan reads while they come: what it sees, and how they are counted.

use crate::http2_site::Http2;
use crate::nginx::Nginx;
use crate::program::{Lgoose, Running, plan, wait_until};
use crate::report::{iterate_at, iterate_with, read};
use crate::server::Server;
use serde_json::Value;

#[test]
fn events_lines_and_chunks_are_read_as_they_come_and_counted_as_messages() {
    for client in ["direct", "reqwest"] {
        let server = Server::start();
        let report = iterate_with(
            "tests/lua/streams.lua",
            &server,
            1,
            1,
            &["--client", client],
        );
        assert_eq!(report.task_failures(), 0, "{client}: {:?}", report.errors());
        assert_eq!(report.sent(), server.received(), "{client}");
        let failed = [
            "GET cut",
            "GET missing",
            "GET silent",
            "GET unexpected",
            "GET too few",
            "GET another last",
            "GET none taken",
            "GET no events",
            "GET long",
            "GET refused",
        ];
        for name in report.rows() {
            let expected = u64::from(failed.contains(&&*name));
            assert_eq!(report.failures(&name), expected, "{client}: {name}");
        }
        let lines = report.json["errors"].as_array().expect("errors");
        let is_placed = |error: &Value| {
            error["line"]
                .as_str()
                .is_some_and(|line| line.contains("streams.lua:"))
        };
        assert!(lines.iter().all(is_placed), "{client}: {lines:?}");
        let messages = |name: &str| report.row(name)["messages"]["received"].as_u64();
        assert_eq!(messages("GET beside"), Some(20), "{client}");
        assert_eq!(messages("POST lines"), Some(5), "{client}");
        assert_eq!(messages("GET cut"), Some(3), "{client}");
        assert_eq!(messages("GET page"), None, "{client}");
        assert_eq!(messages("GET counted"), Some(3), "{client}");
        assert_eq!(messages("GET none counts"), None, "{client}");
        assert_eq!(messages("GET lines that count"), Some(2), "{client}");
        assert!(report.row("GET none counts")["first_event_ms"].is_null());
        // To the last byte, whatever the user did meanwhile, and to the close.
        let latency = |name: &str| {
            report.row(name)["latency_ms"]["max"]
                .as_f64()
                .expect("a latency")
        };
        assert!(
            latency("GET beside") >= 38.0,
            "{client}: {}",
            latency("GET beside")
        );
        assert!(
            latency("GET closed") < 1_900.0,
            "{client}: {}",
            latency("GET closed")
        );
    }
}

#[test]
fn the_times_of_events_are_figures_and_limits_hold_or_break() {
    let server = Server::start();
    let limits = [
        "--threshold",
        "GET beside: event_gap p95 < 10s",
        "--threshold",
        "GET beside: first_event max < 1us",
        "--threshold",
        "GET page: first_event p95 < 10s",
    ];
    let report = iterate_with("tests/lua/streams.lua", &server, 1, 1, &limits);
    let of = |name: &str, figure: &str, key: &str| report.row(name)[figure][key].as_f64();
    let (first, gap) = ("first_event_ms", "event_gap_ms");
    let metrics = report.json["metrics"].as_array().expect("metrics");
    for name in ["beside", "counted"] {
        let metric = format!("gaps of {name}");
        let seen = metrics.iter().find(|one| one["name"] == *metric);
        let seen = seen.and_then(|one| one["value"].as_f64());
        let seen = seen.expect("what the plan saw");
        let counted = of(&format!("GET {name}"), gap, "avg").expect("gaps");
        assert!((counted - seen).abs() < 0.01, "{counted}, seen as {seen}");
    }
    assert!(of("GET beside", first, "avg").is_some_and(|first| first > 0.0));
    assert_eq!(of("GET page", first, "p50"), None);
    assert!(of("POST lines", gap, "p50").is_some());
    let verdicts = report.json["thresholds"].as_array().expect("thresholds");
    let verdicts: Vec<_> = verdicts.iter().map(|one| one["passed"].as_bool()).collect();
    assert_eq!(
        verdicts,
        [Some(true), Some(false), Some(false)],
        "{}",
        report.json["thresholds"]
    );
    let why = report.json["warnings"].to_string();
    assert!(why.contains("which only streams have"), "{why}");
}

#[test]
fn a_stream_that_is_open_is_no_silence_of_the_site() {
    let server = Server::start();
    let path = plan(
        "streams_silence.lua",
        "task { function(user)
           for _ = 1, 20 do user:get('/echo', { name = 'short' }) end
           for _ in user:get('/events/800', { stream = true, name = 'long' }):events() do end
           user:get('/echo', { name = 'short' })
         end }",
    );
    let report = iterate_at(&path, &server.url(), 2, 1, &[]);
    let json = &report.json;
    assert!(report.row("GET long")["latency_ms"]["min"].as_f64() > Some(1_500.0));
    let events = json["events"].as_array().expect("events");
    assert!(
        events.iter().all(|event| event["kind"] != "silence"),
        "{events:?}"
    );
}

/// Starts a run of three users that read streams without an end and then do `next`, and waits until all flow.
fn endless(name: &str, server: &Server, next: &str) -> Running {
    let source = format!(
        "task {{ function(user)
          for event in user:get('/events/100000', {{ stream = true, name = 'endless' }}):events() do
            if event.id == '5' then print 'it flows' {next} end
          end
        end }}"
    );
    let (path, url) = (plan(name, &source), server.url());
    let running = Lgoose::new([&*path, "-H", &url, "-u", "3", "-r", "100", "-o", "json=-"]).start();
    wait_until("all flow", || {
        running.stderr().matches("it flows").count() == 3
    });
    running
}

#[test]
fn a_stop_closes_streams_and_an_abort_cuts_them_off_with_all_that_came() {
    for aborts in [false, true] {
        let server = Server::start();
        // A stop does not end a wait that is short enough; an abort does.
        let next = if aborts { "user:wait(20)" } else { "" };
        let running = endless(&format!("streams_ended_{aborts}.lua"), &server, next);
        if aborts {
            running.interrupt();
            wait_until("it stops", || running.stderr().contains("stopping"));
            running.interrupt();
        } else {
            running.signal(rustix::process::Signal::TERM);
        }
        let report = read(running.end());
        // A stop ends the wait for more, and with it the task: the stream is closed with its user.
        let row = report.row("GET endless");
        let failures = u64::from(aborts) * 3;
        assert_eq!(
            (row["count"].as_u64(), row["failures"].as_u64()),
            (Some(3), Some(failures))
        );
        assert_eq!(report.sent(), server.received());
        let [messages, bytes] = [&row["messages"]["received"], &row["bytes"]];
        let (messages, bytes) = (
            messages.as_u64().expect("some"),
            bytes.as_u64().expect("some"),
        );
        // Each event has 49 bytes or more.
        assert!(
            messages >= 15 && bytes >= messages * 49,
            "{messages} in {bytes}"
        );
    }
}

#[test]
fn a_stream_that_is_read_to_its_end_outlives_a_stop() {
    let server = Server::start();
    let source = "task { function(user)
      local stream = user:get('/events/200', { stream = true, name = 'whole' })
      for event in stream:events { to_end = true } do
        if event.id == '5' then print 'it flows' end
      end
      assert(stream.ok, stream.error)
      check(true, 'the end is reached')
    end }";
    let (path, url) = (plan("streams_to_end.lua", source), server.url());
    let running = Lgoose::new([&*path, "-H", &url, "-u", "1", "-o", "json=-"]).start();
    wait_until("it flows", || running.stderr().contains("it flows"));
    running.signal(rustix::process::Signal::TERM);
    let report = read(running.end());
    let row = report.row("GET whole");
    let count = row["count"].as_u64().expect("a number");
    assert_eq!(row["failures"], 0);
    assert_eq!(row["messages"]["received"].as_u64(), Some(200 * count));
    assert_eq!(
        report.json["checks"][0]["passes"].as_u64(),
        Some(count),
        "{}",
        report.json["checks"]
    );
}

/// A plan that reads streams of a site of HTTP/2.
const HTTP2: &str = "task { 'read', function(user)
    local endless, bytes = user:get('/endless', { stream = true, name = 'closed' }), 0
    for chunk in endless:chunks() do
      bytes = bytes + #chunk
      if bytes > 500000 then break end
    end
    endless:close()
    assert(endless.ok, endless.error)
    local reset = user:get('/reset-in-body', { stream = true, name = 'reset' })
    for _ in reset:chunks() do end
    assert(not reset.ok and reset.error:find 'connection reset', reset.error)
    local large, bytes = user:get('/large', { stream = true, name = 'large' }), 0
    for chunk in large:chunks() do bytes = bytes + #chunk end
    assert(bytes == 12 * 1024 * 1024 and large.ok, large.error)
    local trailers = user:get('/trailers', { stream = true, name = 'trailers' })
    assert(trailers:lines()() == 'good' and trailers:lines()() == nil and trailers.ok, trailers.error)
    assert(user:get('/count', { name = 'page' }).ok, 'the connection goes on')
  end }";

#[test]
fn over_http_2_a_stream_is_closed_alone_and_the_connection_goes_on() {
    let site = Http2::start(None);
    let path = plan("streams_http2.lua", HTTP2);
    let report = iterate_at(&path, &site.url("http"), 1, 1, &["--http", "2"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    let failures = |name: &str| (report.count(name), report.failures(name));
    assert_eq!(failures("GET closed"), (1, 0));
    assert_eq!(failures("GET reset"), (1, 1));
    assert_eq!(failures("GET large"), (1, 0));
    assert_eq!(failures("GET trailers"), (1, 0));
    assert_eq!(site.connections(), 1);
}

/// Reads two streams side by side, one of which waits for its reader, which reads as slowly as its host would like.
const SLOW: &str = "task { 't', function(user)
    local slow = user:get('/huge.bin', { stream = true, name = 'slow' })
    local left = user:get('/huge.bin', { stream = true, name = 'left' })
    user:wait(1)
    local page = user:get('/page.html', { name = 'page' })
    assert(page.ok and #page.body == 3000, page.error)
    assert(user:get('/huge.bin', { discard = true, name = 'whole' }).ok)
    local bytes, pieces = 0, 0
    for chunk in slow:chunks() do
        bytes, pieces = bytes + #chunk, pieces + 1
        if pieces % 200 == 0 then user:wait(0.01) end
    end
    assert(bytes == 20000000 and slow.ok, slow.error)
    left:close()
end }";

#[test]
fn a_slow_reader_slows_the_server_down_and_gets_all_of_it() {
    let Some(nginx) = Nginx::start("slow_reader") else {
        return;
    };
    let huge = vec![b'z'; 20_000_000];
    std::fs::write(nginx.folder.join("www/huge.bin"), huge).expect("the folder takes a file");
    let path = plan("streams_slow.lua", SLOW);
    let hosts = [
        (nginx.url(), &["--http", "1.1"][..]),
        (nginx.http2_url(), &["--http", "2"]),
        (nginx.http2_url(), &["--http", "2", "--client", "reqwest"]),
    ];
    for (url, more) in hosts {
        let report = iterate_at(&path, &url, 2, 2, more);
        assert_eq!(report.task_failures(), 0, "{more:?}: {:?}", report.errors());
        for row in ["GET slow", "GET left", "GET page", "GET whole"] {
            assert_eq!((report.count(row), report.failures(row)), (4, 0), "{row}");
        }
    }
}
