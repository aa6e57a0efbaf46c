//! Tests of percentiles of reports against the sorted samples, for latencies of many shapes, and of names without
//! end.

use crate::{
    Figures, Latency, Phases, Recorder, Report, RunIdentity, Sample, SampleFailure, SampleResponse,
    Store, Traffic,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;

/// Draws one latency in nanoseconds.
type Draw = fn(&mut Xoshiro256PlusPlus) -> u64;

/// Shapes of latencies, realistic and extreme.
const SHAPES: [(&str, Draw); 8] = [
    ("even", |rng| rng.random_range(1_000_000..900_000_000)),
    ("a few microseconds", |rng| rng.random_range(900..60_000)),
    ("exponential", |rng| exponential(rng, 20e6)),
    ("a long tail", |rng| {
        (300_000.0 * open(rng).powf(-1.2)).min(3.5e12) as u64
    }),
    ("cached or not", |rng| {
        if rng.random_bool(0.9) {
            exponential(rng, 800e3)
        } else {
            2_000_000_000 + exponential(rng, 500e6)
        }
    }),
    ("all the same", |_| 12_345_678),
    ("powers of two", |rng| 1_000 << rng.random_range(0..31)),
    ("up to an hour", |rng| {
        rng.random_range(1..3_600_000_000_000)
    }),
];

/// Draws a number above 0 and up to 1.
fn open(rng: &mut Xoshiro256PlusPlus) -> f64 {
    1.0 - rng.random::<f64>()
}

fn exponential(rng: &mut Xoshiro256PlusPlus, mean_ns: f64) -> u64 {
    (-open(rng).ln() * mean_ns) as u64 + 1
}

fn sample(recorder: &mut Recorder, name: &str, ns: u64, failed: bool) {
    let request = recorder.request("GET", name);
    recorder.record(&Sample {
        request,
        start: recorder.zero(),
        latency: Duration::from_nanos(ns),
        delay: None,
        phases: Phases::default(),
        response: SampleResponse::of_status(200),
        redirects: 0,
        retries: 0,
        traffic: Traffic::received(1),
        failure: failed.then_some(SampleFailure {
            message: "not what was expected",
            line: None,
        }),
        context: None,
    });
}

/// The report of that many shards on the samples, dealt in turn, with ticks in between. Every seventh failed.
fn report_of(shards: usize, samples: &[u64]) -> Report {
    let mut store = Store::new(RunIdentity::default());
    let mut recorders: Vec<_> = (0..shards).map(Recorder::new).collect();
    for (n, ns) in samples.iter().enumerate() {
        sample(&mut recorders[n % shards], "/", *ns, n % 7 == 6);
        if n % 1_501 == 1_500 {
            for recorder in &mut recorders {
                let empty = store.merge(recorder.take());
                recorder.recycle(empty);
            }
            store.tick(Duration::from_millis(n as u64));
        }
    }
    for recorder in &mut recorders {
        store.merge(recorder.take());
    }
    store.report(Duration::from_secs(100))
}

/// Asserts that every percentile is the sorted samples' own within a thousandth, or within the half
/// microsecond that a histogram rounds by, and none is outside the extremes.
fn assert_close(latency: &Latency, samples: impl Iterator<Item = u64>, what: &str) {
    let mut sorted: Vec<u64> = samples.collect();
    sorted.sort_unstable();
    let ms = |ns: u64| ns as f64 / 1e6;
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    assert_eq!((latency.min, latency.max), (ms(first), ms(last)), "{what}");
    let mean = sorted.iter().map(|ns| *ns as f64).sum::<f64>() / sorted.len() as f64 / 1e6;
    assert!((latency.avg - mean).abs() <= mean * 1e-9, "{what}");
    let mut before = latency.min;
    for (quantile, found) in [
        (0.5, latency.p50),
        (0.75, latency.p75),
        (0.9, latency.p90),
        (0.95, latency.p95),
        (0.98, latency.p98),
        (0.99, latency.p99),
        (0.999, latency.p99_9),
        (0.9999, latency.p99_99),
    ] {
        let rank = (quantile * sorted.len() as f64).ceil() as usize;
        let truth = ms(sorted[rank.max(1) - 1]);
        let off = (found - truth).abs();
        assert!(
            off <= (truth * 0.001).max(0.000_5) + 1e-9,
            "{what}: the {quantile} quantile is {found}, not {truth}"
        );
        assert!(before <= found && found <= latency.max, "{what}");
        before = found;
    }
}

fn histogram(figures: &Figures) -> Histogram<u64> {
    let bytes = BASE64.decode(&figures.histogram).expect("base64");
    let read = Deserializer::new().deserialize(&mut bytes.as_slice());
    read.expect("a histogram")
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn percentiles_agree_with_sorting_whatever_the_shape_the_number_and_the_shards() {
    for (seed, (shape, draw)) in (1..).zip(SHAPES) {
        for number in [1, 2, 3, 99, 100, 1_000, 6_007] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let samples: Vec<u64> = (0..number).map(|_| draw(&mut rng)).collect();
            let what = format!("{number} × {shape}, seed {seed}");
            let one = report_of(1, &samples);
            let all = one.aggregated.latency_ms.expect("there are samples");
            assert_close(&all, samples.iter().copied(), &what);
            let ok = one.aggregated.latency_ok_ms.expect("the first succeeded");
            let good = samples.iter().enumerate().filter(|(n, _)| n % 7 != 6);
            assert_close(&ok, good.map(|(_, ns)| *ns), &format!("{what}, successes"));
            let many = report_of(3, &samples);
            let all = &one.aggregated;
            assert_eq!(histogram(all), histogram(&many.aggregated), "{what}");
            // The bytes of a histogram also tell how far it has grown.
            let text = many.aggregated.histogram.clone();
            let all = Figures {
                histogram: text,
                ..all.clone()
            };
            assert_eq!(all, many.aggregated, "{what}");
        }
    }
}

#[test]
fn a_hundred_thousand_names_are_two_thousand_rows_and_one() {
    let mut store = Store::new(RunIdentity::default());
    let mut recorders = [Recorder::new(0), Recorder::new(1)];
    for n in 0..100_000_u64 {
        let failed = n.is_multiple_of(2);
        let recorder = &mut recorders[n as usize % 2];
        sample(recorder, &format!("/product/{n}"), n + 1, failed);
        if n % 10_000 == 9_999 {
            for recorder in &mut recorders {
                let empty = store.merge(recorder.take());
                recorder.recycle(empty);
            }
            store.tick(Duration::from_millis(n));
        }
    }
    let report = store.report(Duration::from_secs(100));
    assert_eq!(report.requests.len(), 2_001);
    let counts = report.requests.iter().map(|row| row.figures.count);
    assert_eq!(counts.sum::<u64>(), 100_000);
    let others = report.requests.iter().find(|row| row.name == "(other)");
    let others = &others.expect("what came later").figures;
    assert_eq!(others.count, 98_000);
    assert!(report.errors.len() <= 101, "{}", report.errors.len());
    let errors = report.errors.iter().map(|error| error.count);
    assert_eq!(errors.sum::<u64>(), 50_000);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("'(other)'"));
}
