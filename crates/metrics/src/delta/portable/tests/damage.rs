//! Tests that damaged figures are refused in words, or are figures that a store can merge: never a panic.

use super::*;
use crate::delta::{GatheredDelta, LatencyKind, MOST_COUNT, RequestDelta};
use crate::generator::Effort;
use crate::latencies::{Counted, nanoseconds};
use crate::{Context, ExchangeDetails};
use lgoose_base::phases::TimedPart;
use lgoose_base::tags::Tags;
use lgoose_base::trace::{HopSpan, Trace, TraceContext};
use std::num::{NonZeroU64, NonZeroU128};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SHARDS: u64 = 2;
const ENDED: Duration = Duration::from_secs(3);

#[derive(Debug)]
struct Page;

impl ExchangeDetails for Page {
    fn method(&self) -> &str {
        "GET"
    }

    fn url(&self, put: &mut dyn FnMut(&str, &str)) {
        put("http://site", "/page");
    }

    fn final_url(&self) -> String {
        String::new()
    }

    fn class(&self) -> &str {
        ""
    }

    fn request_headers(&self) -> Vec<(String, Vec<u8>)> {
        vec![("accept".to_owned(), b"*/*".to_vec())]
    }

    fn response_headers(&self) -> Vec<(String, Vec<u8>)> {
        vec![("server".to_owned(), b"nginx".to_vec())]
    }

    fn body(&self) -> &[u8] {
        b"sorry"
    }
}

/// Two shards that have measured one of everything.
fn everything() -> PortableDelta {
    let start = Instant::now();
    let mut sum = PortableDelta::default();
    for shard in 0..SHARDS {
        let mut recorder = Recorder::new(shard as usize).of_run(start, start, None);
        recorder.watch_phases(vec![Phase::FirstByte]);
        record_everything(&mut recorder, start);
        sum.merge(&PortableDelta::from(&recorder.take()));
    }
    sum.warn("a warning".to_owned());
    sum
}

fn record_everything(recorder: &mut Recorder, start: Instant) {
    let at = start + TICK;
    recorder.user_started("visitor", at);
    let trace = Trace {
        first: TraceContext {
            trace_id: NonZeroU128::MIN,
            span_id: NonZeroU64::MIN,
            sampled: true,
        },
        hops: vec![HopSpan {
            span_id: NonZeroU64::MIN,
            start: at,
        }],
        set_by_plan: false,
    };
    let failure = SampleFailure {
        message: "bad",
        line: Some("plan.lua:3"),
    };
    let mut tags = Tags::default();
    tags.put("region", "eu");
    let tags = recorder.tags(&tags);
    let request = recorder.tagged_request("GET", "page", tags);
    for failure in [None, Some(failure)] {
        let latency = Duration::from_millis(700);
        let flight = recorder.start_request(at, request);
        recorder.end_request(flight, at, latency, true);
        recorder.record(&Sample {
            request,
            start: at,
            latency,
            delay: Some(Duration::from_millis(1)),
            phases: Phases {
                first_byte: latency / 2,
                ..Phases::default()
            },
            response: SampleResponse::of_status(if failure.is_some() { 503 } else { 200 }),
            redirects: 1,
            retries: 1,
            traffic: Traffic::received(900),
            failure,
            context: Some(Context {
                user: 1,
                scenario: "visitor",
                task: "browse",
                connection: None,
                trace: Some(&trace),
                details: &Page,
            }),
        });
        let task = recorder.task("visitor", "browse");
        recorder.record_task(&TaskRun {
            task,
            start: at,
            latency,
            failure,
            context: None,
        });
    }
    let cadence = Duration::from_millis(100);
    recorder.late_cycle(cadence);
    recorder.fill_in(request, nanoseconds(cadence), 3);
    recorder.check("title", true);
    recorder.counter("items", 2.5);
    recorder.rate("lucky", false);
    recorder.trend("size", 17.0);
    recorder.gauge("level", 3.0, at);
    let iterations = recorder.iterations("visitor");
    recorder.iteration("visitor", iterations, cadence, false);
    recorder.arrival("visitor", cadence);
    recorder.dropped("visitor");
    let mut effort = Effort {
        wall: TICK,
        busy: TICK / 2,
        starved: TICK / 4,
        lag: Some(cadence),
        connections: 7,
        ..Effort::default()
    };
    effort.lateness.record(cadence);
    recorder.effort(effort);
    recorder.end(start + ENDED);
}

/// Does with figures of another process whatever is done with them.
fn use_everywhere(delta: &PortableDelta) {
    let mut twice = delta.clone();
    twice.merge(delta);
    assert!(!twice.clone().pieces(64).is_empty());
    let mut gathered = GatheredDelta::default();
    gathered.add(1, delta);
    gathered.add(2, &twice);
    if let Err(error) = GatheredDelta::decode(&gathered.encode()) {
        // Sums may be more than a run reaches.
        assert!(error.to_string().contains("that a gather sent"), "{error}");
    }
    if !twice.fits(SHARDS, nanoseconds(ENDED)) {
        return;
    }
    let mut store = store(SHARDS as usize);
    store.merge_event(delta.into());
    store.replay(twice.rebased(0, 1_000, 0), ENDED);
    let report = store.report(ENDED);
    serde_json::to_string(&report).expect("plain data");
}

/// The encoded figures before they are compressed.
fn plain(delta: &PortableDelta) -> Vec<u8> {
    postcard::to_stdvec(delta).expect("plain data")
}

/// Returns whether the bytes are figures, which are then used.
fn is_read(plain: &[u8]) -> bool {
    let read = postcard::from_bytes::<PortableDelta>(plain);
    if let Ok(delta) = &read {
        use_everywhere(delta);
    }
    read.is_ok()
}

/// Numbers as they are encoded: some that no run comes to, and some that it may.
fn numbers() -> Vec<Vec<u8>> {
    let numbers = [0, MOST_COUNT, MOST_COUNT + 1, u64::MAX];
    numbers
        .map(|number| postcard::to_stdvec(&number).expect("a number"))
        .into()
}

#[test]
fn one_of_everything_is_read_and_used() {
    let all = everything();
    let bytes = plain(&all);
    assert!(is_read(&bytes) && all.fits(SHARDS, nanoseconds(ENDED)));
    let slices = || all.slices.values();
    let requests = || slices().flat_map(|slice| slice.requests.values());
    assert!(requests().any(|row| row.filled.is_some() && row.traced.is_some()));
    assert!(
        requests().any(|row| !row.part_times.0.is_empty() && row[LatencyKind::Service].total() > 0)
    );
    assert!(slices().any(|slice| !slice.quiet.is_empty() && slice.late.count > 0));
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn whatever_is_put_in_the_place_of_any_byte_is_refused_or_can_be_used() {
    let bytes = plain(&everything());
    let mut refused = 0;
    for at in 0..bytes.len() {
        for number in numbers() {
            let damaged = [&bytes[..at], number.as_slice(), &bytes[at + 1..]].concat();
            let read = catch_unwind(AssertUnwindSafe(|| is_read(&damaged)));
            let read = read.unwrap_or_else(|_| panic!("{number:?} for byte {at} of {bytes:?}"));
            refused += usize::from(!read);
        }
    }
    assert!(refused > bytes.len(), "{refused}");
}

#[test]
fn bytes_cut_off_or_changed_at_random_are_refused_or_can_be_used() {
    let all = everything();
    let bytes = plain(&all);
    for length in 0..bytes.len() {
        assert!(!is_read(&bytes[..length]), "{length}");
    }
    let packed = all.encode();
    for seed in 0..300 {
        let mut random = StdRng::seed_from_u64(seed);
        let (mut plain, mut packed) = (bytes.clone(), packed.clone());
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..plain.len());
            plain[at] = random.random();
            let at = random.random_range(0..packed.len());
            packed[at] ^= 1 << random.random_range(0..8);
        }
        is_read(&plain);
        if let Ok(delta) = PortableDelta::decode(&packed) {
            use_everywhere(&delta);
        }
    }
}

#[test]
fn counts_that_no_run_reaches_are_refused_in_each_list_of_latencies() {
    type Row = RequestDelta<Counted>;
    let lists: [fn(&mut Row) -> &mut Counted; 8] = [
        |row| &mut row[LatencyKind::All],
        |row| &mut row[LatencyKind::Failed],
        |row| &mut row[LatencyKind::FailedAtOnce],
        |row| &mut row[LatencyKind::FailedLater],
        |row| &mut row[LatencyKind::PassedLater],
        |row| &mut row[LatencyKind::Service],
        |row| &mut row.filled.get_or_insert_default().latencies,
        |row| {
            &mut row
                .part_times
                .0
                .entry(TimedPart::Phase(Phase::Dns))
                .or_default()
                .latencies
        },
    ];
    for (number, list) in lists.iter().enumerate() {
        for (count, expected) in [(MOST_COUNT, true), (u64::MAX, false)] {
            let mut delta = PortableDelta::default();
            let mut row = Row::default();
            row.counts.all.record(1);
            list(&mut row).add(5, count);
            let name = ("GET".to_owned(), "page".to_owned(), Tags::default());
            let slice = delta.slices.entry((0, 0)).or_default();
            slice.requests.insert(name, row);
            let read = PortableDelta::decode(&delta.encode());
            assert_eq!(read.is_ok(), expected, "list {number}: {count}");
            if let Ok(delta) = read {
                use_everywhere(&delta);
            }
        }
    }
}

#[test]
fn a_length_that_nothing_justifies_is_refused() {
    for at in 0..3 {
        // No states, no slices, no warnings: instead of one of these, the number of something that is not there.
        let mut bytes = vec![0; at];
        bytes.extend(postcard::to_stdvec(&(u64::MAX >> 1)).expect("a number"));
        assert!(!is_read(&bytes), "{at}");
    }
}
