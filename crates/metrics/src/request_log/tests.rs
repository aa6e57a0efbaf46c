//! Tests of logs without a writer: entries arrive as they were entered, and those that do not fit are counted.

use super::*;
use crate::{Phases, Recorder, SampleFailure};
use crate::{SampleResponse, Traffic};
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, channel};

/// A request as the engine knows it.
#[derive(Debug)]
struct TestRequest<'a> {
    origin: &'a str,
    path: &'a str,
    body: &'a [u8],
}

impl crate::ExchangeDetails for TestRequest<'_> {
    fn method(&self) -> &str {
        "GET"
    }
    fn url(&self, put: &mut dyn FnMut(&str, &str)) {
        put(self.origin, self.path);
    }
    fn final_url(&self) -> String {
        "http://a/final".to_owned()
    }
    fn class(&self) -> &str {
        ""
    }
    fn request_headers(&self) -> Vec<(String, Vec<u8>)> {
        vec![("cookie".to_owned(), b"a=secret; b=secret".to_vec())]
    }
    fn response_headers(&self) -> Vec<(String, Vec<u8>)> {
        vec![("x-odd".to_owned(), b"\xff\r\nx: y".to_vec())]
    }
    fn body(&self) -> &[u8] {
        self.body
    }
}

/// Records requests of that URL, the n-th n milliseconds after the start of the run.
fn record(
    recorder: &mut Recorder,
    origin: Instant,
    count: u64,
    request: &TestRequest<'_>,
    failed: bool,
) {
    let row = recorder.request("GET", "page");
    for n in 0..count {
        recorder.record(&Sample {
            request: row,
            start: origin + Duration::from_millis(n),
            latency: Duration::from_millis(2),
            delay: None,
            phases: Phases::default(),
            response: SampleResponse::of_status(200),
            redirects: 0,
            retries: 0,
            traffic: Traffic::received(7),
            failure: failed.then_some(SampleFailure {
                message: "bad",
                line: Some("p.lua:3"),
            }),
            context: Some(Context {
                trace: None,
                user: 3,
                scenario: "s",
                task: "t",
                connection: NonZeroU64::new(9),
                details: request,
            }),
        });
    }
}

fn received(parcels: &Receiver<LogMessage>) -> Vec<Chunk> {
    parcels
        .try_iter()
        .filter_map(|parcel| match parcel {
            LogMessage::Chunk(chunk) => Some(chunk),
            LogMessage::End => None,
        })
        .collect()
}

const PLAIN: TestRequest<'_> = TestRequest {
    origin: "http://a",
    path: "/p?q",
    body: b"oops",
};

#[test]
fn what_was_entered_comes_out_as_it_was() {
    let (out, parcels) = channel();
    let run_logs = RunLogs::new([true, true, true, true], out, usize::MAX);
    let origin = Instant::now();
    let mut recorder = Recorder::new(0).of_run(origin, origin, Some(&run_logs));
    record(&mut recorder, origin, 2, &PLAIN, false);
    record(&mut recorder, origin, 1, &PLAIN, true);
    let task = recorder.task("s", "t");
    recorder.record_task(&TaskRun {
        task,
        start: origin,
        latency: Duration::from_nanos(5),
        failure: None,
        context: Some(crate::TaskContext {
            user: 3,
            scenario: "s",
            name: "t",
            transaction: true,
            stack: None,
        }),
    });
    recorder.take();
    let chunks = received(&parcels);
    let entries: Vec<LogEntry<'_>> = chunks.iter().flat_map(Chunk::entries).collect();
    let second = RequestEntry {
        user: 3,
        scenario: "s",
        task: "t",
        name: "page",
        method: "GET",
        url: "http://a/p?q",
        status: 200,
        start_ns: 1_000_000,
        end_ns: 3_000_000,
        connection: NonZeroU64::new(9),
        bytes: 7,
        ..RequestEntry::default()
    };
    assert_eq!(entries[1], LogEntry::Request(second.clone()));
    let failed = RequestEntry {
        start_ns: 0,
        end_ns: 2_000_000,
        error: Some("bad"),
        line: Some("p.lua:3"),
        messages: Some(ExchangeMessages {
            request_headers: "cookie: a=***; b=***\n",
            response_headers: "x-odd: \u{fffd}  x: y\n",
            body: "oops",
            body_bytes: 4,
        }),
        ..second
    };
    assert_eq!(entries[2], LogEntry::Request(failed));
    let run = TaskEntry {
        user: 3,
        scenario: "s",
        name: "t",
        transaction: true,
        end_ns: 5,
        ..TaskEntry::default()
    };
    assert_eq!(entries[3..], [LogEntry::Task(run)]);
    assert_eq!(LogKind::ALL.map(|log| run_logs.made(log)), [3, 1, 1, 1]);
}

#[test]
fn what_does_not_fit_is_dropped_and_counted_until_there_is_room_again() {
    let (out, parcels) = channel();
    let run_logs = RunLogs::new([true, false, false, false], out, 2 * CHUNK);
    let origin = Instant::now();
    let mut recorder = Recorder::new(0).of_run(origin, origin, Some(&run_logs));
    record(&mut recorder, origin, 10_000, &PLAIN, false);
    recorder.take();
    let lines = |chunks: &[Chunk]| chunks.iter().flat_map(Chunk::entries).count() as u64;
    let first = received(&parcels);
    assert_eq!(run_logs.made(LogKind::Requests), 10_000);
    assert!((1..10_000).contains(&lines(&first)), "{}", lines(&first));
    record(&mut recorder, origin, 1, &PLAIN, false);
    let full = first.iter().map(|chunk| chunk.bytes.len()).sum::<usize>() > CHUNK;
    assert!(full, "the first chunks take up most of the room");
    drop(first);
    recorder.take();
    assert_eq!(lines(&received(&parcels)), 1);
    assert_eq!(run_logs.made(LogKind::Requests), 10_001);
}

#[test]
fn endless_texts_are_cut() {
    let (out, parcels) = channel();
    let run_logs = RunLogs::new([true, false, false, true], out, usize::MAX);
    let origin = Instant::now();
    let mut recorder = Recorder::new(0).of_run(origin, origin, Some(&run_logs));
    let endless = "\u{e4}".repeat(1 << 20);
    let request = TestRequest {
        origin: "http://a",
        path: &endless,
        body: endless.as_bytes(),
    };
    record(&mut recorder, origin, 1, &request, true);
    recorder.take();
    let chunks = received(&parcels);
    let Some(LogEntry::Request(entry)) = chunks[0].entries().next() else {
        panic!("a request was entered");
    };
    assert_eq!(entry.url.len(), MOST_TEXT);
    let messages = entry.messages.expect("of a failed one");
    assert_eq!(messages.body.len(), MOST_BODY);
    assert_eq!(messages.body_bytes, 2 << 20);
}

#[test]
fn a_log_recorder_that_goes_away_hands_over_what_it_has() {
    let (out, parcels) = channel();
    let run_logs = RunLogs::new([true, false, false, false], out, usize::MAX);
    let origin = Instant::now();
    let mut recorder = Recorder::new(0).of_run(origin, origin, Some(&run_logs));
    record(&mut recorder, origin, 1, &PLAIN, false);
    drop(recorder);
    assert_eq!(received(&parcels).len(), 1);
}

#[test]
fn entries_travel_in_pieces_of_a_bounded_size_and_arrive_as_they_were() {
    let (out, chunks) = channel();
    let run_logs = RunLogs::new([true; 4], out, 64 << 20);
    let origin = Instant::now();
    let mut recorder = Recorder::new(0).of_run(origin, origin, Some(&run_logs));
    let request = TestRequest {
        origin: "http://a",
        path: "/path",
        body: b"body",
    };
    record(&mut recorder, origin, 50, &request, true);
    drop(recorder);
    run_logs.end();
    let (other_out, other_chunks) = channel();
    let other = RunLogs::new([true; 4], other_out, 64 << 20);
    let worker = LogWorker {
        number: 3,
        name: "w".into(),
    };
    let (mut sent, mut count) = (Vec::new(), 0);
    for message in &chunks {
        let LogMessage::Chunk(chunk) = message else {
            break;
        };
        for piece in pieces(chunk.bytes(), 2_000) {
            assert!(piece.len() <= 2_000);
            let packed = pack_entries(piece);
            other.admit(&packed, worker.clone()).expect("it is packed");
            count += 1;
        }
        sent.extend(chunk.entries().map(|entry| format!("{entry:?}")));
    }
    assert!(count > 5 && sent.len() == 50, "{count} pieces");
    other.add_made(&run_logs.all_made());
    assert_eq!(other.made(LogKind::Requests), 50);
    assert!(other.on_the_way() > 0);
    other.end();
    let mut came = Vec::new();
    for message in &other_chunks {
        let LogMessage::Chunk(chunk) = message else {
            break;
        };
        assert_eq!(chunk.worker().map(|worker| worker.number), Some(3));
        came.extend(chunk.entries().map(|entry| format!("{entry:?}")));
    }
    assert_eq!(came, sent);
    assert_eq!(other.on_the_way(), 0, "what was dropped takes nothing");
    assert!(other.admit(b"no entries", worker).is_err());
    assert_eq!(pieces(&[1, 2, 3], 1).count(), 0, "they are none");
}
