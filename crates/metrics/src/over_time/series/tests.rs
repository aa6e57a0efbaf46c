//! Tests of points over time.

use super::*;

const WHOLE: fn(u64, u64) -> Duration = |from, to| Duration::from_nanos(to - from);

/// Adds requests of these latencies in microseconds that end in a second.
fn add(series: &mut Series, second: u64, latencies_us: &[u64]) {
    let (mut exact, mut latencies) = (ExactFigures::default(), histogram::empty());
    for us in latencies_us {
        exact.record(us * 1_000);
        histogram::record(&mut latencies, *us as u32);
    }
    let more = SecondAddition {
        exact,
        failures: 0,
        bytes: 10,
        latencies: &latencies,
        failed: &histogram::empty(),
        finally_failed: &histogram::empty(),
    };
    series.add(second, more);
}

fn close(series: &mut Series, until: u64) {
    series.close(until * SECOND, WHOLE, &mut GeneratorLog::default());
}

fn points(series: &mut Series, now_ms: u64) -> Vec<SeriesPoint> {
    let now = now_ms * 1_000_000;
    series.points(now, 5, WHOLE, &GeneratorLog::default(), false)
}

#[test]
fn a_point_holds_its_own_second_only_and_a_fragment_has_its_length() {
    let mut series = Series::default();
    add(&mut series, 0, &[4_000]);
    add(&mut series, 1, &[9_000, 9_000]);
    add(&mut series, 2, &[1_000]);
    close(&mut series, 1);
    let points = points(&mut series, 2_100);
    let shown: Vec<_> = points
        .iter()
        .map(|point| {
            (
                point.second,
                point.seconds,
                point.count,
                point.latency.p50_ms,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (0, 1.0, 1, Some(4.0)),
            (1, 1.0, 2, Some(9.0)),
            (2, 0.1, 1, Some(1.0))
        ]
    );
    assert_eq!(points[2].rate(), None, "nobody knows from a tenth");
    assert_eq!(
        (points[1].rate(), points[1].latency.sum_ms),
        (Some(2.0), 18.0)
    );
}

#[test]
fn the_generator_is_judged_by_requests_that_did_not_fail() {
    let histogram = |latencies_us: &[u32]| {
        let mut histogram = histogram::empty();
        latencies_us
            .iter()
            .for_each(|us| histogram::record(&mut histogram, *us));
        histogram
    };
    let ms = Duration::from_millis;
    // Latencies in microseconds of all requests and of the failed ones, and the count and the median that are judged.
    for (all, failed, judged) in [
        (&[][..], &[][..], None),
        (&[20_000; 9], &[], Some((9, ms(20)))),
        (&[300; 9], &[300; 9], None),
        (&[300, 20_000, 20_000], &[300], Some((2, ms(20)))),
        (
            &[20_000, 20_000, 90_000, 90_000, 90_000],
            &[90_000, 90_000, 90_000],
            Some((2, ms(20))),
        ),
    ] {
        let mut exact = ExactFigures::default();
        all.iter()
            .for_each(|us| exact.record(u64::from(*us) * 1_000));
        let mut series = Series::default();
        let failures = failed.len() as i64;
        let (all_latencies, failed) = (histogram(all), histogram(failed));
        series.add(
            0,
            SecondAddition {
                exact,
                failures,
                bytes: 0,
                latencies: &all_latencies,
                failed: &failed,
                finally_failed: &failed,
            },
        );
        let found = series.open_latencies(0, 0);
        let found = found.map(|found| {
            (
                found.count,
                Duration::from_millis(found.p50.as_millis() as u64),
            )
        });
        assert_eq!(found, judged, "{all:?}");
    }
}

#[test]
fn a_point_separates_the_latency_of_failures_from_that_of_successes() {
    let mut series = Series::default();
    add(&mut series, 0, &[30_000; 20]);
    let (mut exact, mut failed) = (ExactFigures::default(), histogram::empty());
    for _ in 0..80 {
        exact.record(200_000);
        histogram::record(&mut failed, 200);
    }
    let more = SecondAddition {
        exact,
        failures: 80,
        bytes: 0,
        latencies: &failed,
        failed: &failed,
        finally_failed: &failed,
    };
    series.add(0, more);
    series.add(1, more);
    close(&mut series, 2);
    let points = points(&mut series, 2_000);
    let shown: Vec<_> = points
        .iter()
        .map(|point| {
            (
                point.latency.p50_ms,
                point.latency.ok_p95_ms,
                point.latency.failed_p95_ms,
            )
        })
        .collect();
    // A site that refuses at once does not look faster.
    assert_eq!(
        shown,
        [
            (Some(0.2), Some(30.0), Some(0.2)),
            (Some(0.2), None, Some(0.2))
        ]
    );
}

#[test]
fn what_comes_after_its_second_was_closed_still_counts_there() {
    let mut series = Series::default();
    add(&mut series, 0, &[4_000; 10]);
    close(&mut series, 3);
    add(&mut series, 0, &[80_000; 10]);
    let points = points(&mut series, 3_000);
    assert_eq!(
        (points[0].count, points[0].latency.max_ms),
        (20, Some(80.0))
    );
    let p95 = points[0].latency.p95_ms.expect("there are requests");
    assert!((p95 / 80.0 - 1.0).abs() < 0.005, "{p95}");
    assert_eq!((points[1].count, points[2].count), (0, 0));
}

#[test]
fn a_silent_second_is_a_point_without_percentiles() {
    let mut series = Series::default();
    close(&mut series, 1);
    let points = points(&mut series, 1_000);
    assert_eq!(
        (points.len(), points[0].count, points[0].latency.p50_ms),
        (1, 0, None)
    );
}

#[test]
fn joined_points_are_true_to_all_their_requests() {
    let mut series = Series::default();
    for second in 0..5_000 {
        let latency = if second == 4_001 { 80_000 } else { 1_000 };
        add(&mut series, second, &[latency; 50]);
        close(&mut series, second + 1);
    }
    let points = points(&mut series, 5_000_000);
    assert!(points.len() <= MAX_POINTS, "{}", points.len());
    assert_eq!(points.iter().map(|point| point.count).sum::<u64>(), 250_000);
    assert!(points.is_sorted_by(|a, b| a.second < b.second));
    for point in points {
        let tail = point.second <= 4_001 && 4_001 < point.second + 2;
        let p50 = point.latency.p50_ms.expect("there are requests");
        assert!(
            (p50 - 1.0).abs() < 0.005,
            "half of them is not more than half"
        );
        assert_eq!(point.latency.p99_ms.is_some_and(|p99| p99 > 79.0), tail);
        assert_eq!(point.latency.max_ms, Some(if tail { 80.0 } else { 1.0 }));
    }
}
