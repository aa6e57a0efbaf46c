//! Tests of runs of hours in simulated time: points over time that were joined again and again still tell what
//! happened.

use super::super::*;
use crate::{Phases, Recorder, Report, Sample, SampleResponse, Traffic};

const NAMES: u64 = 12;

/// The report of that many hours with one request of each of twelve names every `every` seconds, in turn, and the
/// bytes that its points took. `latency_us` gives the latency of a name in a second.
fn hours(hours: u64, every: u64, latency_us: impl Fn(u64, u64) -> u64) -> (Report, usize) {
    let mut store = Store::new(RunIdentity::default());
    store.expect(1);
    let mut recorder = Recorder::new(0);
    let zero = recorder.zero();
    let rows: Vec<_> = (0..NAMES)
        .map(|n| recorder.request("GET", &format!("/{n}")))
        .collect();
    for second in 0..hours * 3_600 {
        for (n, request) in (0..).zip(&rows) {
            if (second + n) % every > 0 {
                continue;
            }
            let latency = Duration::from_micros(latency_us(n, second));
            recorder.record(&Sample {
                request: *request,
                start: zero + Duration::from_secs(second) + Duration::from_millis(n),
                latency,
                delay: None,
                phases: Phases::default(),
                response: SampleResponse::of_status(200),
                redirects: 0,
                retries: 0,
                traffic: Traffic::received(1),
                failure: None,
                context: None,
            });
        }
        let now = Duration::from_secs(second + 1);
        recorder.come_to(zero + now);
        let empty = store.merge(recorder.take());
        recorder.recycle(empty);
        // A tick a minute closes as many seconds as sixty ticks do.
        if second % 60 == 59 {
            store.tick(now);
        }
    }
    let requests = &store.run.measured.requests;
    let bytes = requests.series.heap_bytes() + requests.series_by_name.heap_bytes();
    (store.report(Duration::from_secs(hours * 3_600)), bytes)
}

/// Percentiles of each point over time, of all requests and of each name.
fn percentiles(report: &Report) -> impl Iterator<Item = (u64, f64)> {
    let all = report.series.iter().flat_map(|point| {
        let values = [
            point.latency.p50_ms,
            point.latency.p95_ms,
            point.latency.p99_ms,
        ];
        values
            .into_iter()
            .flatten()
            .map(|value| (point.second, value))
    });
    let by_name = report.requests.iter().flat_map(|row| {
        let series = &row.series;
        let seconds = series.second.iter().copied();
        let of = |values: &[f64]| seconds.clone().zip(values.to_vec()).collect::<Vec<_>>();
        [of(&series.p50_ms), of(&series.p95_ms), of(&series.p99_ms)].concat()
    });
    all.chain(by_name)
}

fn assert_bounded(bytes: usize) {
    assert!(bytes < 64 << 20, "{bytes} bytes for {NAMES} names");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn eight_hours_of_constant_latency_are_drawn_as_constant() {
    let (report, bytes) = hours(8, 20, |_, _| 459_321);
    assert_bounded(bytes);
    for (second, value) in percentiles(&report) {
        assert!((value / 459.321 - 1.0).abs() < 0.01, "{value} at {second}");
    }
    let counts: u64 = report.series.iter().map(|point| point.count).sum();
    assert_eq!(counts, 8 * 180 * NAMES);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_day_that_grows_slower_by_a_fifth_is_drawn_so() {
    let day = 24.0 * 3_600.0;
    // Latencies are spread by a factor of three, the same way all the time.
    let spread = |second: u64| 1.0 + (second * 7_919 % 997) as f64 / 500.0;
    let at = |second: u64| 1.0 + 0.2 * second as f64 / day;
    let (report, bytes) = hours(24, 60, |_, second| {
        (100_000.0 * spread(second) * at(second)) as u64
    });
    assert_bounded(bytes);
    let medians: Vec<(u64, f64)> = report
        .series
        .iter()
        .filter_map(|point| Some((point.second, point.latency.p50_ms?)))
        .collect();
    // Joined points have many seconds each; their medians are near that of the spread, which is two.
    let mean =
        |part: &[(u64, f64)]| part.iter().map(|(_, p50)| p50).sum::<f64>() / part.len() as f64;
    let tenth = medians.len() / 10;
    let (first, last) = (
        mean(&medians[..tenth]),
        mean(&medians[medians.len() - tenth..]),
    );
    let expected = at(24 * 3_600 * 19 / 20) / at(24 * 3_600 / 20);
    assert!(
        (last / first / expected - 1.0).abs() < 0.01,
        "{first} to {last}, not {expected}"
    );
}
