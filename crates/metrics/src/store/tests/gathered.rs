//! Tests of figures that a gather has added up: reports are those of the single deliveries.

use super::workers::worker;
use super::*;
use crate::generator::Effort;
use crate::{GatheredDelta, PortableDelta};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lgoose_base::threshold::Threshold;
use serde_json::Value;

const LABELS: [&[&str]; 5] = [
    &["region=eu"],
    &["region=eu", "size=xl"],
    &["region=us"],
    &["region=eu"],
    &["region=us"],
];

fn store() -> Store {
    let mut store = Store::new(RunIdentity {
        started: String::new(),
        ..RunIdentity::default()
    });
    let thresholds = [
        "p95 < 20ms during 2s",
        "region=eu: p95 < 70ms",
        "region=us: failures < 1%",
    ];
    let read = |text: &&str| Threshold::read(text).expect("a threshold");
    store.judge_by(thresholds.iter().map(read).collect());
    store.expect(LABELS.len());
    for (shard, labels) in LABELS.iter().enumerate() {
        store.add_worker(worker(shard, labels));
    }
    store
}

/// Returns what each of five workers delivers after each of so many seconds; a second measurement begins in the middle
/// of the third one.
fn deliveries(seconds: u32) -> Vec<[PortableDelta; 5]> {
    let start = std::time::Instant::now();
    let mut recorders =
        [0, 1, 2, 3, 4].map(|shard| Recorder::new(shard).of_run(start, start, None));
    for (shard, recorder) in recorders.iter_mut().enumerate() {
        (0..=shard).for_each(|_| recorder.user_started("visitor", start));
        recorder.schedule_measurement(1, start + SECOND * 5 / 2);
    }
    let second = |second: u32| {
        let mut shard = 0;
        recorders.each_mut().map(|recorder| {
            let number = shard;
            shard += 1;
            for n in 0..700 * (number + 1) {
                let end = start + SECOND * second + SECOND * n / 4_000;
                let spread =
                    u64::from((n + second + number).wrapping_mul(2_654_435_761) >> 8) % 90_000;
                let latency = Duration::from_micros(500 + spread);
                let failed = n % 97 == number;
                let request = recorder.request("GET", ["/", "/node", "/login"][n as usize % 3]);
                recorder.record(&Sample {
                    request,
                    start: end
                        .checked_sub(latency)
                        .filter(|at| *at >= start)
                        .unwrap_or(start),
                    latency: latency.min(end - start),
                    delay: None,
                    phases: Phases::default(),
                    response: SampleResponse::of_status(if failed { 503 } else { 200 }),
                    redirects: 0,
                    retries: 0,
                    traffic: Traffic::received(u64::from(n)),
                    failure: failed.then_some(SampleFailure {
                        message: "status 503",
                        line: None,
                    }),
                    context: None,
                });
                let iterations = recorder.iterations("visitor");
                recorder.iteration("visitor", iterations, SECOND, false);
            }
            recorder.effort(Effort {
                wall: SECOND,
                busy: SECOND / 10 * (1 + number),
                lag: Some(Duration::from_millis(u64::from(number))),
                ..Effort::default()
            });
            recorder.come_to(start + SECOND * (second + 1));
            let delta = recorder.take();
            let portable = PortableDelta::from(&delta);
            recorder.recycle(delta);
            portable
        })
    };
    (0..seconds).map(second).collect()
}

/// Merges the deliveries of some seconds as a gather of each set of labels sends them; returns how many bytes it sends.
fn merge_gathered(store: &mut Store, seconds: &[[PortableDelta; 5]]) -> usize {
    let (mut bytes, mut later) = (0, Vec::new());
    for set in [&LABELS[0], &LABELS[1], &LABELS[2]] {
        let mut gathered = GatheredDelta::default();
        for deliveries in seconds {
            for (worker, delta) in deliveries.iter().enumerate() {
                if LABELS[worker] == *set {
                    gathered.add(1_000 + worker as u64, delta);
                }
            }
        }
        let encoded = gathered.encode();
        bytes += encoded.len();
        let decoded = GatheredDelta::decode(&encoded).expect("it was encoded here");
        let mut now = decoded.numbered(|id| Some(id as usize - 1_000));
        later.extend(now.split_off(1));
        store.merge(now.into());
    }
    start_anew(store, !later.is_empty());
    for later in later {
        store.merge(later.into());
    }
    bytes
}

/// Merges the deliveries of a second one by one; returns how many bytes they have.
fn merge_single(store: &mut Store, deliveries: &[PortableDelta; 5]) -> usize {
    let (mut bytes, mut later) = (0, Vec::new());
    for (worker, delta) in deliveries.iter().enumerate() {
        bytes += delta.encode().len();
        let mut now = delta.clone();
        later.extend(now.split_off(1).map(|later| (worker, later)));
        store.merge(now.of_worker(worker));
    }
    start_anew(store, !later.is_empty());
    for (worker, later) in &later {
        store.merge(later.of_worker(*worker));
    }
    bytes
}

/// Begins the second measurement as a director does: when all have come to it.
fn start_anew(store: &mut Store, reached: bool) {
    if reached && store.run.time.epoch() == 0 {
        store.reset(SECOND * 5 / 2, 1);
    }
}

/// Returns the report of the first measurement, and of the second.
fn reports(mut merge: impl FnMut(&mut Store, usize) -> bool) -> [Report; 2] {
    let mut store = store();
    let mut first = None;
    for second in 0..6 {
        if second == 2 {
            first = Some(store.report(SECOND * 2));
        }
        // Deliveries come after the time that they cover.
        store.tick(SECOND * (second as u32 + 1));
        merge(&mut store, second);
        store.tick(SECOND * (second as u32 + 1));
    }
    store.worker_ended(0);
    store.worker_away(4, SECOND * 5);
    [first.expect("two seconds passed"), store.report(SECOND * 6)]
}

/// Returns the bytes of a text; those of a histogram without its bounds, which depend on how it has grown.
fn counts(text: &str) -> Vec<u8> {
    let mut bytes = if text.starts_with("HIST") {
        BASE64.decode(text).expect("a histogram")
    } else {
        text.as_bytes().to_vec()
    };
    if text.starts_with("HIST") {
        bytes[24..32].fill(0);
    }
    bytes
}

/// Lists where two reports differ.
fn compare(at: &str, expected: &Value, found: &Value, differences: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) if expected.len() == found.len() => {
            for (key, value) in expected {
                let theirs = found.get(key).unwrap_or(&Value::Null);
                compare(&format!("{at}.{key}"), value, theirs, differences);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (number, (value, theirs)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{at}[{number}]"), value, theirs, differences);
            }
        }
        (Value::String(expected), Value::String(found)) if counts(expected) == counts(found) => {}
        _ if expected == found => {}
        _ => {
            let mut difference = format!("{at}: {expected} is {found}");
            difference.truncate(200);
            differences.push(difference);
        }
    }
}

#[test]
fn reports_are_those_of_the_single_deliveries() {
    let all = deliveries(6);
    let (mut single, mut gathered) = (0, 0);
    let expected = reports(|store, second| {
        single += merge_single(store, &all[second]);
        true
    });
    let found = reports(|store, second| {
        // Two seconds at once in one record.
        match second {
            4 => return false,
            5 => gathered += merge_gathered(store, &all[4..]),
            second => gathered += merge_gathered(store, &all[second..=second]),
        }
        true
    });
    for (expected, found) in expected.iter().zip(&found) {
        let json = |report: &Report| serde_json::to_value(report).expect("it is plain");
        let mut differences = Vec::new();
        compare("", &json(expected), &json(found), &mut differences);
        assert!(differences.is_empty(), "{differences:#?}");
        assert_eq!(found.workers.len(), 5);
        assert!(found.by_label.len() == 3 && found.aggregated.count > 10_000);
    }
    // Of the third second, only requests after its middle count: a hundred in 25 ms.
    assert_eq!(found[1].workers[2].requests, 3 * 2_100 + 100);
    assert!(gathered < single, "{gathered} bytes in place of {single}");
}
