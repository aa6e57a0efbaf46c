//! Tests of the measurements of a plan.

use super::*;
use crate::{Recorder, RunIdentity, Store};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

fn report_of(recorders: &mut [Recorder]) -> crate::Report {
    let mut store = Store::new(RunIdentity::default());
    for recorder in recorders {
        let empty = store.merge(recorder.take());
        recorder.recycle(empty);
    }
    store.report(SECOND)
}

#[test]
fn a_check_counts_passes_and_failures_of_all_shards() {
    let mut recorders = [Recorder::new(0), Recorder::new(1)];
    recorders[1].check("other", true);
    for n in 0..10 {
        recorders[n % 2].check("title", n != 4);
    }
    let mut checks = report_of(&mut recorders).checks;
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    let row = |row: &Check| (row.name.clone(), row.passes, row.failures);
    assert_eq!(
        checks.iter().map(row).collect::<Vec<_>>(),
        [("other".into(), 1, 0), ("title".into(), 9, 1)]
    );
}

#[test]
fn each_kind_shows_what_it_is_for() {
    let mut recorders = [Recorder::new(0), Recorder::new(1)];
    let start = Instant::now();
    for n in 1..=100_u32 {
        let recorder = &mut recorders[n as usize % 2];
        recorder.counter("n", 2.5);
        recorder.rate("n", n > 80);
        recorder.trend("n", f64::from(n));
    }
    // The latest by time, though its shard is merged first.
    recorders[0].gauge("n", 7.0, start + SECOND);
    recorders[1].gauge("n", -3.0, start);
    let metrics = report_of(&mut recorders).metrics;
    let row = |kind| {
        let mut rows = metrics.iter().filter(|row| row.kind == kind);
        rows.next().expect("every kind was used").clone()
    };
    assert_eq!(metrics.len(), 4);
    let counter = row(MetricKind::Counter);
    assert_eq!((counter.count, counter.value), (100, Some(250.0)));
    assert_eq!((counter.min, counter.p50), (None, None));
    let gauge = row(MetricKind::Gauge);
    assert_eq!(
        (gauge.value, gauge.min, gauge.max),
        (Some(7.0), Some(-3.0), Some(7.0))
    );
    assert_eq!(row(MetricKind::Rate).value, Some(0.2));
    let trend = row(MetricKind::Trend);
    assert_eq!(
        (trend.value, trend.min, trend.max),
        (Some(50.5), Some(1.0), Some(100.0))
    );
    for (found, truth) in [(trend.p50, 50.0), (trend.p90, 90.0), (trend.p99, 99.0)] {
        let found: f64 = found.expect("a trend has percentiles");
        assert!((found - truth).abs() < truth / 1_000.0, "{found}, {truth}");
    }
}

#[test]
fn a_sum_of_very_large_values_stays_a_number() {
    let mut recorders = [Recorder::new(0), Recorder::new(1)];
    for recorder in &mut recorders {
        recorder.counter("large", f64::MAX);
        recorder.counter("large", f64::MAX);
    }
    let row = report_of(&mut recorders).metrics.remove(0);
    assert_eq!(row.value, Some(f64::MAX));
}

#[test]
fn a_percentile_never_leaves_the_exact_extremes() {
    let mut recorder = Recorder::new(0);
    recorder.trend("one", 0.3);
    let row = report_of(&mut [recorder]).metrics.remove(0);
    assert_eq!((row.p50, row.p99), (Some(0.3), Some(0.3)));
}

#[test]
fn names_beyond_the_limit_share_one_of_their_kind_and_warn_once() {
    let mut recorder = Recorder::new(0);
    for n in 0..1_999 {
        recorder.check(&format!("check {n}"), true);
    }
    recorder.counter("kept", 1.0);
    for n in 0..5 {
        recorder.check(&format!("one more {n}"), false);
        recorder.counter(&format!("another {n}"), 2.0);
    }
    let report = report_of(&mut [recorder]);
    let others = report.checks.last().expect("2,000 rows");
    assert_eq!((others.name.as_str(), others.failures), ("(other)", 5));
    let metrics: Vec<_> = report.metrics.iter().map(|row| row.value).collect();
    assert_eq!(metrics, [Some(1.0), Some(10.0)]);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
}

#[test]
fn what_was_taken_or_reset_is_not_counted_again() {
    let mut store = Store::new(RunIdentity::default());
    let mut recorder = Recorder::new(0);
    recorder.check("title", true);
    recorder.trend("size", 3.0);
    for _ in 0..3 {
        let empty = store.merge(recorder.take());
        recorder.recycle(empty);
    }
    let snapshot = store.tick(SECOND);
    assert_eq!(
        (snapshot.checks[0].passes, snapshot.metrics[0].count),
        (1, 1)
    );
    store.reset(SECOND, 0);
    let snapshot = store.tick(2 * SECOND);
    assert!(snapshot.checks.is_empty() && snapshot.metrics.is_empty());
    recorder.check("title", false);
    store.merge(recorder.take());
    let report = store.report(3 * SECOND);
    assert_eq!((report.checks[0].passes, report.checks[0].failures), (0, 1));
    assert!(report.metrics.is_empty());
}
