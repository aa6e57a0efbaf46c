//! Tests that adding up does not depend on order, and of the conversion into bytes and back.

mod damage;

use super::*;
use crate::generator::Effort;
use crate::{
    PartRow, Phases, Recorder, Report, RunIdentity, RunSettings, Sample, SampleFailure,
    SampleResponse, Store, TaskRun, Traffic, join,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::Deserializer;
use lgoose_base::phases::Phase;
use lgoose_base::threshold::Threshold;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(250);
const TICKS: u32 = 12;

/// The deltas of some shards within three seconds of a run of everything that can be measured, in the order in which
/// they are handed over. The numbers of the plan's own metrics are whole, so that sums do not depend on the order.
fn measured(seed: u64, shards: usize, names: usize) -> Vec<Delta> {
    measured_by(seed, 0..shards, names)
}

/// The same of shards with these numbers.
fn measured_by(seed: u64, shards: impl IntoIterator<Item = usize>, names: usize) -> Vec<Delta> {
    let mut random = StdRng::seed_from_u64(seed);
    let start = Instant::now();
    let recorder = |shard| {
        let mut recorder = Recorder::new(shard).of_run(start, start, None);
        recorder.watch_phases(vec![Phase::FirstByte]);
        recorder
    };
    let mut recorders: Vec<Recorder> = shards.into_iter().map(recorder).collect();
    let mut deltas = Vec::new();
    for tick in 0..TICKS {
        for recorder in &mut recorders {
            let mut at = start + TICK * tick;
            recorder.user_started("visitor", at);
            for _ in 0..random.random_range(0..120) {
                at += Duration::from_micros(random.random_range(0..2_000));
                record(recorder, &mut random, at, names);
            }
            if tick % 3 == 2 {
                recorder.user_stopped("visitor", at);
                recorder.user_stopped("visitor", at);
                recorder.user_started("editor", at);
            }
            recorder.effort(Effort {
                wall: TICK,
                busy: TICK * (1 + tick % 7) / 8,
                connections: 7,
                ..Effort::default()
            });
            let now = start + TICK * (tick + 1);
            if tick + 1 == TICKS {
                recorder.end(now)
            } else {
                recorder.come_to(now)
            }
            deltas.push(recorder.take());
        }
    }
    deltas
}

fn record(recorder: &mut Recorder, random: &mut StdRng, at: Instant, names: usize) {
    let name = format!("page {}", random.random_range(0..names));
    let message = format!("error {}", random.random_range(0..5));
    let failure = random.random_bool(0.1).then_some(SampleFailure {
        message: &message,
        line: Some("plan.lua:3"),
    });
    let latency = Duration::from_nanos(random.random_range(1_000..40_000_000));
    let request = recorder.request("GET", &name);
    let flight = recorder.start_request(at, request);
    recorder.end_request(flight, at, latency, failure.is_none());
    recorder.record(&Sample {
        request,
        start: at,
        latency,
        delay: None,
        phases: Phases {
            first_byte: latency / 2,
            ..Phases::default()
        },
        response: SampleResponse::of_status(if failure.is_some() { 503 } else { 200 }),
        redirects: random.random_range(0..2),
        retries: 0,
        traffic: Traffic::received(random.random_range(0..9_000)),
        failure,
        context: None,
    });
    let task = recorder.task("visitor", "browse");
    recorder.record_task(&TaskRun {
        task,
        start: at,
        latency,
        failure,
        context: None,
    });
    recorder.check("title", failure.is_none());
    recorder.counter("items", f64::from(random.random_range(0..9)));
    recorder.trend("size", f64::from(random.random_range(1..9_000)));
    recorder.gauge("level", f64::from(random.random_range(0..9)), at);
    let iterations = recorder.iterations("visitor");
    recorder.iteration("visitor", iterations, latency, false);
    recorder.arrival("visitor", latency / 100);
}

fn portable(deltas: &[Delta]) -> Vec<PortableDelta> {
    deltas.iter().map(PortableDelta::from).collect()
}

fn sum<'a>(deltas: impl IntoIterator<Item = &'a PortableDelta>) -> PortableDelta {
    let mut sum = PortableDelta::default();
    deltas.into_iter().for_each(|delta| sum.merge(delta));
    sum
}

fn store(shards: usize) -> Store {
    let mut store = Store::new(RunIdentity::default());
    store.expect(shards);
    let threshold = Threshold::read("first_byte p95 < 15ms").expect("a threshold");
    store.judge_by(vec![threshold]);
    store
}

/// The report, in an order of rows that does not depend on who came first.
fn report(mut store: Store) -> Report {
    let mut report = store.report(TICK * TICKS);
    report.requests.sort_by(|a, b| a.name.cmp(&b.name));
    report
        .errors
        .sort_by_key(|row| (row.name.clone(), row.message.clone()));
    report.metrics.sort_by(|a, b| a.name.cmp(&b.name));
    report
}

/// The report as JSON in which the counts of histograms stand for them: how far a histogram could go says nothing.
fn readable(report: &Report) -> serde_json::Value {
    let mut json = serde_json::to_value(report).expect("plain data");
    read_histograms(&mut json);
    json
}

fn read_histograms(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().filter(|_| key == "histogram") {
                    Some(text) => *value = counts(text).into(),
                    None => read_histograms(value),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(read_histograms),
        _ => {}
    }
}

fn counts(text: &str) -> Vec<u64> {
    let bytes = BASE64.decode(text).expect("base64");
    let histogram = Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]);
    let histogram = histogram.expect("a histogram");
    let recorded = histogram.iter_recorded();
    recorded
        .flat_map(|value| [value.value_iterated_to(), value.count_at_value()])
        .collect()
}

#[test]
fn adding_up_is_associative_and_commutative() {
    for seed in 0..20 {
        let deltas = portable(&measured(seed, 3, 5));
        let forward = sum(&deltas);
        assert_eq!(forward, sum(deltas.iter().rev()), "seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let cut = random.random_range(0..deltas.len());
        let (left, right) = (sum(&deltas[..cut]), sum(&deltas[cut..]));
        assert_eq!(sum([&left, &right]), forward, "seed {seed}, cut at {cut}");
        assert_eq!(sum([&right, &left]), forward, "seed {seed}, cut at {cut}");
    }
}

#[test]
fn a_store_shows_the_same_of_deltas_and_of_their_sums() {
    for seed in 0..10 {
        let mut deltas = measured(seed, 4, 7);
        let (mut each, mut two, mut once) = (store(4), store(4), store(4));
        for tick in 1..=TICKS {
            let later = deltas.split_off(4);
            let travelled = portable(&deltas);
            let (left, right) = travelled.split_at(1);
            two.merge((&sum(right)).into());
            two.merge((&sum(left)).into());
            once.merge((&sum(&travelled)).into());
            for delta in std::mem::replace(&mut deltas, later) {
                each.merge(delta);
            }
            for store in [&mut each, &mut two, &mut once] {
                store.tick(TICK * tick);
            }
        }
        let expected = report(each);
        assert!(expected.aggregated.count > 500 && expected.series.len() == 3);
        let half = expected.thresholds[0].value.expect("there are times");
        assert!((15.0..20.0).contains(&half), "{half} ms of at most 20");
        let expected = readable(&expected);
        for other in [report(two), report(once)] {
            let other = readable(&other);
            for (key, value) in other.as_object().expect("a report") {
                assert_eq!(*value, expected[key], "seed {seed}: {key}");
            }
        }
    }
}

#[test]
fn encoding_and_decoding_changes_nothing() {
    let all = sum(&portable(&measured(7, 3, 40)));
    let bytes = all.encode();
    assert_eq!(PortableDelta::decode(&bytes).expect("its own bytes"), all);
    for most in [200, 2_000, 20_000] {
        let pieces = all.clone().pieces(most);
        let decoded = pieces.iter().map(|piece| PortableDelta::decode(piece));
        let decoded: Vec<_> = decoded.collect::<Result<_, _>>().expect("its own bytes");
        assert_eq!(sum(&decoded), all, "{most}");
        let last = decoded.len() - 1;
        assert!(
            decoded[..last]
                .iter()
                .all(|piece| piece.handovers.is_empty())
        );
    }
}

#[test]
fn two_thousand_names_fit_into_pieces() {
    let most = 64 << 10;
    let mut deltas = measured(1, 1, 1);
    for seed in 0..10 {
        deltas.extend(measured(seed, 2, 2_000));
    }
    let all = sum(&portable(&deltas));
    let pieces = all.pieces(most);
    assert!(pieces.len() > 1);
    for piece in &pieces {
        assert!(piece.len() <= most, "{} bytes", piece.len());
    }
}

#[test]
fn a_second_of_twelve_names_takes_a_few_kibibytes_although_chance_is_hard_to_compress() {
    let deltas = measured(3, 4, 12);
    let second = sum(&portable(&deltas[4 * 4..8 * 4]));
    let requests: u64 = second
        .slices
        .values()
        .flat_map(|slice| slice.requests.values())
        .map(|row| row.counts.count())
        .sum();
    let bytes = second.encode().len();
    assert!(
        requests > 500 && bytes < 16 << 10,
        "{bytes} bytes of {requests} requests"
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn bytes_that_are_none_are_refused_in_words() {
    let good = sum(&portable(&measured(1, 1, 2))).encode();
    let refusal = |bytes: &[u8]| {
        PortableDelta::decode(bytes)
            .expect_err("no delta")
            .to_string()
    };
    assert!(refusal(&[]).contains("nothing is there"));
    assert!(refusal(&[9, 1, 2]).contains(&format!("version 9 and not {VERSION}")));
    refusal(&good[..good.len() / 2]);
    let mut random = StdRng::seed_from_u64(5);
    for _ in 0..2_000 {
        let mut bad = good.clone();
        let at = random.random_range(1..bad.len());
        bad[at] ^= 1 << random.random_range(0..8);
        // Some changes give another delta, but none a panic or a huge use of memory.
        let _either = PortableDelta::decode(&bad);
    }
}

#[test]
fn shards_of_several_processes_are_distinct() {
    let first = sum(&portable(&measured(1, 2, 3)));
    let second = sum(&portable(&measured(2, 2, 3))).shift_shards(2);
    let both = sum([&first, &second]);
    let handovers = first.handovers.len() + second.handovers.len();
    assert_eq!(both.handovers.len(), handovers);
    let mut store = store(4);
    store.merge(Delta::from(&both));
    let report = report(store);
    assert_eq!(report.generator.expect("it was told").threads, 4);
}

/// The report of a run of four shards; of part `number` of two if that is given.
fn report_of(seed: u64, number: Option<u64>) -> Report {
    let own = |at: usize| number.is_none_or(|number| at as u64 / 2 == number - 1);
    let shards = if number.is_some() { 2 } else { 4 };
    let mut deltas = measured_by(seed, (0..4).map(|at| at % shards), 6);
    let mut store = store(shards);
    store.judge_by(vec![
        Threshold::read("p95 < 1ms during 1s").expect("a threshold"),
        Threshold::read("rate > 1/s").expect("a threshold"),
    ]);
    if let Some(number) = number {
        store.record_part(number, 2);
    }
    for tick in 1..=TICKS {
        let later = deltas.split_off(4);
        let now = std::mem::replace(&mut deltas, later);
        for (_, delta) in now.into_iter().enumerate().filter(|(at, _)| own(*at)) {
            store.merge(delta);
        }
        store.tick(TICK * tick);
    }
    let settings = RunSettings {
        thresholds: vec!["p95 < 1ms during 1s".to_owned(), "rate > 1/s".to_owned()],
        ..RunSettings::default()
    };
    Report {
        settings: Some(settings),
        ..report(store)
    }
}

#[test]
fn joined_parts_are_the_report_of_all_shards_in_one_process() {
    for seed in 0..5 {
        let whole = Report {
            settings: None,
            ..report_of(seed, None)
        };
        let parts = [2, 1].map(|number| {
            let json = serde_json::to_string(&report_of(seed, Some(number))).expect("plain data");
            let report = serde_json::from_str(&json).expect("what was written");
            (format!("{number}.json"), report)
        });
        let mut joined = join(parts.into()).expect("they belong together");
        joined.settings = None;
        joined.requests.sort_by(|a, b| a.name.cmp(&b.name));
        joined.metrics.sort_by(|a, b| a.name.cmp(&b.name));
        joined
            .errors
            .sort_by_key(|row| (row.name.clone(), row.message.clone()));
        let (joined, whole) = (readable(&joined), readable(&whole));
        for (key, value) in joined.as_object().expect("a report") {
            assert_eq!(*value, whole[key], "seed {seed}: {key}");
        }
        assert_eq!(whole["thresholds"][0]["passed"], false);
    }
}

#[test]
fn a_damaged_part_is_refused_in_words() {
    let good = report_of(1, Some(1));
    let part = good.part.clone().expect("it is a part");
    let huge = u64::MAX;
    let damaged = [
        PartRow {
            number: 3,
            ..part.clone()
        },
        PartRow {
            shards: huge,
            ..part.clone()
        },
        PartRow {
            shards: 1,
            ..part.clone()
        },
        PartRow {
            ended_ns: huge,
            ..part.clone()
        },
        PartRow {
            origin_ns: part.ended_ns + 1,
            ..part.clone()
        },
        PartRow {
            measured: vec!["AQ==".to_owned()],
            ..part.clone()
        },
    ];
    let overflowing = ["measured", "start_stop"].map(|pieces| {
        let mut part = part.clone();
        let pieces = match pieces {
            "measured" => &mut part.measured,
            _ => &mut part.start_stop,
        };
        let mut piece = PortableDelta::default();
        let slice = piece.slices.entry((0, 0)).or_default();
        slice.late.record_many(1, u64::MAX);
        pieces.push(BASE64.encode(piece.encode()));
        part
    });
    for part in damaged.into_iter().chain(overflowing) {
        let report = Report {
            part: Some(part),
            ..good.clone()
        };
        let other = report_of(1, Some(2));
        let joined = join(vec![
            ("a.json".to_owned(), report),
            ("b.json".to_owned(), other),
        ]);
        let message = joined.expect_err("it is damaged");
        assert!(message.contains("'a.json'"), "{message}");
    }
    let mut odd = good;
    if let Some(settings) = &mut odd.settings {
        settings.thresholds = vec!["p95 !".to_owned()];
    }
    let message = join(vec![("a.json".to_owned(), odd)]).expect_err("it cannot be judged");
    assert!(message.contains("'p95 !' is no threshold"), "{message}");
}
