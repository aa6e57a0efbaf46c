//! Tests of the series of names.

use super::*;

const WHOLE: fn(u64, u64) -> Duration = |from, to| Duration::from_nanos(to - from);

fn add(series: &mut ByName, second: u64, row: usize, latencies_ms: &[u64]) {
    let (mut exact, mut burst) = (ExactFigures::default(), Burst::default());
    for ms in latencies_ms {
        exact.record(ms * 1_000_000);
        burst.record(ms * 1_000_000);
    }
    let more = NameAddition {
        exact,
        failures: 1,
        latencies: &burst,
        failed: &Burst::default(),
    };
    series.add(row, second, more);
}

/// Requests of one row that end in the second `at`, which is then over.
fn second(series: &mut ByName, at: u64, row: usize, latencies_ms: &[u64]) {
    add(series, at, row, latencies_ms);
    series.close((at + 1) * SECOND, WHOLE);
}

fn columns(series: &mut ByName, row: usize, now_ms: u64) -> NameSeries {
    series.columns(row, now_ms * 1_000_000, WHOLE, false)
}

#[test]
fn a_name_has_a_point_for_each_second_with_requests_and_none_for_others() {
    let mut series = ByName::default();
    second(&mut series, 0, 2, &[3, 1, 2]);
    second(&mut series, 1, 0, &[7]);
    second(&mut series, 2, 2, &[5]);
    let shown = columns(&mut series, 2, 3_000);
    assert_eq!((shown.second, shown.count), (vec![0, 2], vec![3, 1]));
    assert_eq!(
        (shown.p50_ms, shown.p99_ms),
        (vec![2.0, 5.0], vec![3.0, 5.0])
    );
    assert_eq!(
        (shown.min_ms, shown.max_ms, shown.sum_ms),
        (vec![1.0, 5.0], vec![3.0, 5.0], vec![6.0, 5.0])
    );
    assert_eq!(
        (shown.failures, shown.seconds),
        (vec![1, 1], vec![1.0, 1.0])
    );
    assert!(columns(&mut series, 1, 3_000).is_empty());
    assert!(columns(&mut series, 9, 3_000).is_empty());
}

#[test]
fn the_open_point_is_the_last_one_and_goes_on() {
    let mut series = ByName::default();
    add(&mut series, 0, 0, &[4]);
    let early = columns(&mut series, 0, 250);
    assert_eq!((early.count, early.seconds), (vec![1], vec![0.25]));
    second(&mut series, 0, 0, &[8]);
    assert_eq!(columns(&mut series, 0, 1_000).count, [2]);
}

#[test]
fn what_comes_late_counts_in_its_own_second() {
    let mut series = ByName::default();
    second(&mut series, 0, 0, &[4]);
    second(&mut series, 1, 1, &[4]);
    second(&mut series, 2, 0, &[4]);
    add(&mut series, 0, 0, &[6]);
    add(&mut series, 1, 0, &[9]);
    let shown = columns(&mut series, 0, 3_000);
    assert_eq!((shown.second, shown.count), (vec![0, 1, 2], vec![2, 1, 1]));
    assert_eq!(shown.max_ms, [6.0, 9.0, 4.0]);
}

#[test]
fn a_long_run_has_a_bounded_number_of_points_and_every_request() {
    let mut series = ByName::default();
    for at in 0..5_000 {
        second(&mut series, at, 0, &[if at == 4_001 { 80 } else { 1 }; 50]);
    }
    let shown = columns(&mut series, 0, 5_000_000);
    assert!(shown.second.len() < MAX_POINTS, "{}", shown.second.len());
    assert_eq!(shown.count.iter().sum::<u64>(), 250_000);
    assert_eq!(shown.seconds.iter().sum::<f64>(), 5_000.0);
    assert_eq!(shown.max_ms.iter().filter(|max| **max == 80.0).count(), 1);
    assert!(shown.p50_ms.iter().all(|p50| (p50 - 1.0).abs() < 0.005));
    assert!(shown.second.is_sorted());
}

#[test]
fn joined_stretches_cover_also_the_time_in_which_a_name_was_silent() {
    let mut series = ByName::default();
    second(&mut series, 0, 0, &[1]);
    second(&mut series, 1, 1, &[1]);
    second(&mut series, 2, 0, &[1]);
    second(&mut series, 3, 0, &[1]);
    series.join();
    let shown = columns(&mut series, 0, 4_000);
    assert_eq!((shown.second, shown.count), (vec![0, 2], vec![1, 2]));
    assert_eq!(shown.seconds, [2.0, 2.0]);
    let shown = columns(&mut series, 1, 4_000);
    assert_eq!((shown.second, shown.seconds), (vec![0], vec![2.0]));
    second(&mut series, 4, 0, &[1]);
    second(&mut series, 5, 0, &[1]);
    let shown = columns(&mut series, 0, 6_000);
    assert_eq!((shown.second, shown.count), (vec![0, 2, 4], vec![1, 2, 2]));
}

#[test]
fn many_names_are_reported_in_less_detail_and_none_is_omitted() {
    let mut series = ByName {
        most_bytes: 200_000,
        ..ByName::default()
    };
    for at in 0..100 {
        for row in 0..100 {
            add(&mut series, at, row, &[1]);
        }
        series.close((at + 1) * SECOND, WHOLE);
        assert!(series.bytes < series.most_bytes);
    }
    assert!(series.width_s > 1, "it was too much");
    for row in [0, 49, 99] {
        let shown = columns(&mut series, row, 100_000);
        assert_eq!(shown.count.iter().sum::<u64>(), 100);
    }
}
