//! Tests of thresholds that look at stretches of a run.

use super::*;

#[test]
fn stretches_of_phases_and_bytes_are_judged_too() {
    let texts = [
        "first_byte p90 < 100ms during 2s",
        "connect p90 < 100ms during 2s",
        "bytes < 5KB/s during 2s",
        "bytes < 1MB abort",
    ];
    let mut run = DrivenRun::judged_by(&texts);
    for tick in 1..=80_u32 {
        let at = f64::from(tick) / 4.0;
        // Two slow seconds out of twenty, and more bytes in them: 1.5 kB a request.
        let slow = (10.0..12.0).contains(&at);
        run.request("GET", "/", if slow { 300 } else { 8 }, true);
        if slow {
            run.request("GET", "/", 300, true);
        }
        run.tick(at);
    }
    let report = run.report(20.0);
    let rows = report.thresholds.iter();
    let seen: Vec<_> = rows
        .map(|row| (row.passed, row.value.unwrap_or(0.0).round()))
        .collect();
    assert_eq!(
        seen,
        [(false, 150.0), (true, 2.0), (false, 12.0), (true, 0.0)]
    );
}

#[test]
fn one_bad_stretch_breaks_a_threshold_that_the_whole_run_meets() {
    let texts = [
        "p90 < 100ms during 2s",
        "p90 < 100ms",
        "rate > 5/s during 2s",
        "GET /: max < 1s during 2s",
    ];
    let mut run = DrivenRun::judged_by(&texts);
    for tick in 1..=40 {
        let slow = (13..=20).contains(&tick);
        for _ in 0..if slow { 2 } else { 10 } {
            run.request("GET", "/", if slow { 400 } else { 10 }, true);
        }
        run.tick(f64::from(tick) / 4.0);
    }
    let rows = run.report(10.0).thresholds;
    let seen: Vec<_> = rows.iter().map(|row| (row.passed, row.broken_s)).collect();
    // Up to 3.5 s, four of 64 requests were slow; up to 3.75 s, six of 56.
    assert_eq!(seen[0], (false, Some(3.75)));
    assert_eq!(seen[1..], [(true, None), (true, None), (true, None)]);
    let near = |value: Option<f64>, expected: f64| {
        value.is_some_and(|value| (value / expected - 1.0).abs() < 0.001)
    };
    assert!(near(rows[0].value, 400.0), "the worst: {:?}", rows[0]);
    assert!(near(rows[2].value, 8.0), "the lowest rate: {:?}", rows[2]);
    assert!(near(rows[3].value, 0.4), "{:?}", rows[3]);
}

#[test]
fn stretches_before_the_first_request_count_even_if_one_of_them_was_a_pause() {
    let mut run = DrivenRun::judged_by(&["GET /: rate > 0.5/s during 1s"]);
    run.store.pause(seconds(0.25));
    run.store.resume(seconds(1.0));
    run.tick(3.0);
    for tick in 13..=24_u32 {
        run.request("GET", "/", 8, true);
        run.tick(f64::from(tick) / 4.0);
    }
    let row = &run.report(6.0).thresholds[0];
    assert_eq!((row.passed, row.value), (false, Some(0.0)));
}

#[test]
fn stretches_of_checks_and_metrics_are_judged_too() {
    let texts = [
        "title: checks > 50% during 1s",
        "size: max < 50 during 1s",
        "orders: rate < 9/s during 1s",
    ];
    let mut run = DrivenRun::judged_by(&texts);
    for tick in 1..=20 {
        run.recorder.check("title", !(9..=12).contains(&tick));
        run.recorder.trend("size", f64::from(tick));
        run.recorder
            .counter("orders", if tick == 20 { 6.5 } else { 2.0 });
        run.tick(f64::from(tick) / 4.0);
    }
    let rows = run.report(5.0).thresholds;
    let seen: Vec<_> = rows.iter().map(|row| (row.value, row.broken_s)).collect();
    assert_eq!(
        seen[0],
        (Some(0.0), Some(2.5)),
        "half of them is not more than half"
    );
    assert_eq!(seen[1], (Some(20.0), None));
    assert_eq!(seen[2], (Some(12.5), Some(5.0)));
}

#[test]
fn a_name_that_comes_to_stand_for_requests_is_judged_by_them_from_the_start() {
    let mut run = DrivenRun::judged_by(&[
        "x: max < 0.1s during 1s",
        "x: count < 9 during 1s",
        "task x: max < 0.1s during 1s",
    ]);
    let task = run.recorder.task("s", "x");
    for tick in 1..=4 {
        run.recorder.record_task(&TaskRun {
            task,
            start: run.recorder.zero() + run.now - seconds(0.5),
            latency: seconds(0.5),
            failure: None,
            context: None,
        });
        run.tick(f64::from(tick) / 2.0);
    }
    for tick in 5..=8 {
        run.request("GET", "x", 20, true);
        run.tick(f64::from(tick) / 2.0);
    }
    let report = run.report(4.0);
    let rows = &report.thresholds;
    assert_eq!(
        (rows[0].value, rows[0].passed),
        (Some(0.02), true),
        "of the requests"
    );
    assert!(rows[1].passed, "{rows:?}");
    assert_eq!((rows[2].value, rows[2].broken_s), (Some(0.5), Some(1.0)));
    let warning = "the threshold 'x: max < 0.1s during 1s' is about the requests of that name; a task has it, too";
    assert!(
        report.warnings[0].starts_with(warning),
        "{:?}",
        report.warnings
    );
    assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
}

#[test]
fn what_comes_before_after_belongs_to_no_stretch() {
    let texts = ["max < 100ms during 1s after 2s", "max < 100ms during 1s"];
    let mut run = DrivenRun::judged_by(&texts);
    for tick in 1..=16 {
        run.request("GET", "/", if tick < 8 { 400 } else { 10 }, true);
        run.tick(f64::from(tick) / 4.0);
    }
    let rows = run.report(4.0).thresholds;
    assert!(rows[0].passed && rows[0].value < Some(11.0), "{rows:?}");
    assert!(!rows[1].passed && rows[1].value > Some(399.0), "{rows:?}");
}

#[test]
fn a_run_shorter_than_the_stretch_is_judged_as_a_whole() {
    let mut run = DrivenRun::judged_by(&["max < 1ms during 1h", "max < 1000ms during 1h"]);
    run.request("GET", "/", 5, true);
    run.tick(1.0);
    let rows = run.report(1.0).thresholds;
    let seen: Vec<_> = rows.iter().map(|row| (row.value, row.passed)).collect();
    assert_eq!(seen, [(Some(5.0), false), (Some(5.0), true)]);
}
