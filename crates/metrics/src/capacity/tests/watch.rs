//! Tests of when a step is judged, second by second.

use super::slo;
use crate::capacity::{
    Decision, IterationCounts, Judgement, Recovery, StepIterations, StepLengths, StepWatch,
    StepWindow,
};
use crate::{CapacityStep, PointLatency, SeriesPoint, StepResult, ThresholdRow};

const LENGTHS: StepLengths = StepLengths {
    least_s: 10.0,
    most_s: 90.0,
    longest_s: 300.0,
    settles_s: None,
};

/// Requests a second of every step here.
const RATE: u64 = 100;

fn point(second: usize, avg_ms: f64) -> SeriesPoint {
    SeriesPoint {
        second: second as u64,
        seconds: 1.0,
        count: RATE,
        latency: PointLatency {
            sum_ms: avg_ms * RATE as f64,
            ..PointLatency::default()
        },
        ..SeriesPoint::default()
    }
}

/// Returns the limits with a 95th percentile of twice the mean, and the share of failures.
fn limits(points: &[SeriesPoint]) -> Vec<ThresholdRow> {
    let sum: f64 = points.iter().map(|point| point.latency.sum_ms).sum();
    let p95 = 2.0 * sum / (RATE * points.len() as u64) as f64;
    let row = |(limit, value): (&lgoose_base::threshold::Threshold, f64)| ThresholdRow {
        threshold: limit.to_string(),
        name: None,
        value: Some(value),
        limit: limit.limit,
        unit: limit.unit.text().to_owned(),
        passed: limit.holds(value),
        broken_s: None,
        subject: None,
    };
    let (failures, count) = points.iter().fold((0, 0), |(failures, count), point| {
        (failures + point.failures, count + point.count)
    });
    let failures = 100.0 * failures as f64 / count as f64;
    slo().iter().zip([p95, failures]).map(row).collect()
}

/// Watches a step whose mean latency is that of each second, and returns the judgement, how long it took, and when it began
/// anew.
fn watched(
    avg_ms: impl Fn(f64) -> f64,
    change: impl Fn(&mut SeriesPoint),
    dropped: u64,
) -> (Judgement, f64, Vec<f64>) {
    watched_with(LENGTHS, Some(0.0), avg_ms, change, dropped)
}

/// The same for iterations that take so many seconds; none ends if that is `None`.
fn watched_with(
    lengths: StepLengths,
    iteration_s: Option<f64>,
    avg_ms: impl Fn(f64) -> f64,
    change: impl Fn(&mut SeriesPoint),
    dropped: u64,
) -> (Judgement, f64, Vec<f64>) {
    let slo = slo();
    let mut watch = StepWatch::new(lengths, &slo, Some(RATE as f64));
    let (mut points, mut anew) = (Vec::new(), Vec::new());
    let ends = |at: f64| iteration_s.map_or(0.0, |takes_s| (at - takes_s).max(0.0) * RATE as f64);
    let mut began = 3.0;
    for second in 3.. {
        let at = f64::from(second);
        // Some noise, the same each time.
        let noise = f64::from(second * 7 % 11) / 11.0 - 0.5;
        let mut next = point(points.len(), avg_ms(at) * (1.0 + noise / 50.0));
        change(&mut next);
        points.push(next);
        let limits = limits(&points);
        let look = StepWindow {
            elapsed_s: at + 1.0,
            points: &points,
            limits: &limits,
            dropped,
            iterations: StepIterations {
                scenarios: &[IterationCounts {
                    due: (at + 1.0 - began) * RATE as f64,
                    ended: (ends(at + 1.0) - ends(began)) as u64,
                }],
                under_way: (at + 1.0) * RATE as f64 - ends(at + 1.0),
                failed: 0,
            },
        };
        match watch.look(&look) {
            Decision::GoOn => {}
            Decision::Anew => {
                anew.push(look.elapsed_s);
                began = look.elapsed_s;
                points.clear();
            }
            Decision::Over(judgement) => return (judgement, look.elapsed_s, anew),
        }
    }
    unreachable!("a step ends")
}

#[test]
fn a_steady_step_is_judged_as_soon_as_there_is_enough_of_it() {
    let (judgement, took, anew) = watched(|_| 40.0, |_| (), 0);
    assert_eq!((judgement.result, took), (StepResult::Held, 13.0));
    assert!(anew.is_empty());
    let (judgement, took, _) = watched(|_| 400.0, |_| (), 0);
    assert_eq!((judgement.result, took), (StepResult::Failed, 8.0));
    assert_eq!(judgement.limited_by.as_deref(), Some("p95 < 300ms"));
}

#[test]
fn a_figure_near_its_limit_is_looked_at_for_longer() {
    for (avg_ms, result) in [(140.0, StepResult::Held), (165.0, StepResult::Failed)] {
        let (judgement, took, _) = watched(|_| avg_ms, |_| (), 0);
        assert_eq!(judgement.result, result);
        assert!(took >= 33.0, "{took}");
    }
}

#[test]
fn a_slow_start_is_no_part_of_what_is_judged() {
    let (judgement, took, anew) = watched(|at| 40.0 + 400.0 * (-at / 6.0).exp(), |_| (), 0);
    assert_eq!(judgement.result, StepResult::Held);
    assert!(!anew.is_empty() && took < 90.0, "{anew:?} {took}");
}

#[test]
fn latency_that_goes_on_rising_fails_before_it_reaches_the_limit() {
    let (judgement, took, _) = watched(|at| 20.0 + at, |_| (), 0);
    assert_eq!(judgement.result, StepResult::Failed);
    assert_eq!(judgement.limited_by.as_deref(), Some("drift"));
    assert_eq!(took, 90.0, "it had all of its time");
}

#[test]
fn a_step_is_judged_once_as_many_iterations_end_as_start() {
    let long = |lengths, iteration_s| watched_with(lengths, iteration_s, |_| 40.0, |_| (), 0);
    let (judgement, took, anew) = long(LENGTHS, Some(60.0));
    assert_eq!(judgement.result, StepResult::Held);
    assert!(
        anew.len() == 1 && (70.0..80.0).contains(&anew[0]),
        "{anew:?}"
    );
    assert_eq!(took, anew[0] + 10.0);
    // Where earlier steps have shown when that is, nothing is tried before.
    let known = StepLengths {
        settles_s: Some(62.0),
        ..LENGTHS
    };
    let (judgement, took, anew) = long(known, Some(60.0));
    assert_eq!(
        (judgement.result, took, anew),
        (StepResult::Held, 72.0, vec![62.0])
    );
}

#[test]
fn a_step_whose_iterations_do_not_end_is_too_short_or_piles_them_up() {
    let long = |lengths| watched_with(lengths, None, |_| 40.0, |_| (), 0);
    let (judgement, took, _) = long(LENGTHS);
    assert_eq!((judgement.result, took), (StepResult::TooShort, 300.0));
    let reason = judgement.reason.expect("it has a reason");
    assert_eq!(reason, "29,700 iterations started and 0 ended");
    // They did end at a lower load.
    let known = StepLengths {
        settles_s: Some(3.0),
        ..LENGTHS
    };
    let (judgement, took, _) = long(known);
    assert_eq!((judgement.result, took), (StepResult::Failed, 90.0));
    assert_eq!(judgement.limited_by.as_deref(), Some("drift"));
}

#[test]
fn first_requests_that_are_slow_do_not_fail_a_step_before_iterations_end() {
    // Those after a minute are quick, and so is the mix of both.
    let mix = |at: f64| if at < 62.0 { 400.0 } else { 100.0 };
    let (judgement, _, anew) = watched_with(LENGTHS, Some(60.0), mix, |_| (), 0);
    assert_eq!(judgement.result, StepResult::Held, "{judgement:?}");
    assert!(!anew.is_empty());
}

#[test]
fn more_and_more_iterations_under_way_are_a_drift_even_if_latencies_are_steady() {
    // Those that start later take longer, though each request is as quick as ever.
    let known = StepLengths {
        settles_s: Some(3.0),
        ..LENGTHS
    };
    let slo = slo();
    let mut watch = StepWatch::new(known, &slo, Some(10.0));
    let mut points = Vec::new();
    for second in 0..90_u32 {
        points.push(point(points.len(), 40.0));
        let limits = limits(&points);
        let seconds = f64::from(second + 1);
        let counts = [IterationCounts {
            due: seconds * 10.0,
            ended: (seconds * 9.0) as u64,
        }];
        let look = StepWindow {
            elapsed_s: seconds + 3.0,
            points: &points,
            limits: &limits,
            dropped: 0,
            iterations: StepIterations {
                scenarios: &counts,
                under_way: 20.0 + seconds,
                failed: 0,
            },
        };
        match watch.look(&look) {
            Decision::GoOn => {}
            Decision::Anew => points.clear(),
            Decision::Over(judgement) => {
                assert_eq!(judgement.limited_by.as_deref(), Some("drift"));
                return;
            }
        }
    }
    unreachable!("a step ends");
}

#[test]
fn what_lgoose_was_too_slow_for_is_not_put_down_to_the_site() {
    let (judgement, ..) = watched(|_| 400.0, |point| point.generator.saturated = true, 0);
    assert_eq!(judgement.result, StepResult::Generator);
    assert_eq!(judgement.limited_by.as_deref(), Some("lgoose"));
    // Nor is the site excused by what is little of it.
    for (own, result) in [(250.0, StepResult::Failed), (650.0, StepResult::Generator)] {
        let strained = |point: &mut SeriesPoint| {
            point.generator.saturated = true;
            point.generator.own_p99_ms = Some(own);
        };
        let (judgement, ..) = watched(|_| 400.0, strained, 0);
        assert_eq!(judgement.result, result, "{own} of 800 ms");
    }
    // What failed outright has not failed for that.
    let failing = |point: &mut SeriesPoint| {
        (point.generator.saturated, point.failures) = (true, point.count);
    };
    let (judgement, ..) = watched(|_| 1.0, failing, 0);
    assert_eq!(judgement.result, StepResult::Failed);
    assert_eq!(judgement.limited_by.as_deref(), Some("failures"));
}

#[test]
fn failures_of_a_burst_are_put_down_to_lgoose_and_others_to_the_site() {
    // Every fourth second lgoose is late, which three in a hundred requests do not survive.
    let burst = |own_ms: f64, calm_failures: u64| {
        move |point: &mut SeriesPoint| {
            let late = point.second % 4 == 2;
            point.generator.own_p99_ms = Some(if late { own_ms } else { 0.2 });
            point.failures = if late { 12 } else { calm_failures };
        }
    };
    for (own_ms, calm_failures, result) in [
        (30.0, 0, StepResult::Generator),
        (30.0, 2, StepResult::Failed),
        (4.0, 0, StepResult::Failed),
    ] {
        let (judgement, ..) = watched(|_| 100.0, burst(own_ms, calm_failures), 0);
        assert_eq!(
            judgement.result, result,
            "{own_ms} ms, {calm_failures}: {judgement:?}"
        );
    }
    // Where it was late all the time, only what no burst explains is the site's.
    for (failures, result) in [(12, StepResult::Generator), (40, StepResult::Failed)] {
        let always = |point: &mut SeriesPoint| {
            (point.generator.own_p99_ms, point.failures) = (Some(30.0), failures);
        };
        let (judgement, ..) = watched(|_| 100.0, always, 0);
        assert_eq!(
            judgement.result, result,
            "{failures} of a hundred: {judgement:?}"
        );
    }
}

#[test]
fn starts_without_a_user_are_the_sites_fault_only_if_it_is_slow() {
    let (judgement, ..) = watched(|_| 40.0, |_| (), 50);
    assert_eq!(judgement.result, StepResult::Generator);
    assert!(
        judgement
            .reason
            .is_some_and(|reason| reason.contains("--max-users"))
    );
    let (judgement, ..) = watched(|_| 400.0, |_| (), 50);
    assert_eq!(judgement.result, StepResult::Failed);
    assert_eq!(judgement.limited_by.as_deref(), Some("p95 < 300ms"));
}

#[test]
fn a_site_has_recovered_when_it_is_as_quick_as_at_first() {
    let first = CapacityStep {
        avg_ms: Some(40.0),
        count: 100,
        ..CapacityStep::default()
    };
    let recovery = Recovery::like(&first, Some(35.0));
    let points = |all: &[f64]| -> Vec<SeriesPoint> {
        let points = all.iter().enumerate();
        points.map(|(second, avg)| point(second, *avg)).collect()
    };
    for (seconds, over) in [
        (&[][..], false),
        (&[40.0][..], false),
        (&[900.0, 300.0][..], false),
        (&[900.0, 300.0, 50.0][..], false),
        (&[900.0, 300.0, 50.0, 42.0][..], true),
    ] {
        assert_eq!(recovery.is_over(&points(seconds)), over, "{seconds:?}");
    }
    // Iterations have only begun, and their first requests are the slowest.
    let slow_first = Recovery::like(&first, Some(400.0));
    assert!(slow_first.is_over(&points(&[410.0, 390.0])));
    assert!(!recovery.is_over(&points(&[410.0, 390.0])));
    let mut down = points(&[1.0, 1.0]);
    for point in &mut down {
        point.failures = point.count;
    }
    assert!(!recovery.is_over(&down) && Recovery::is_down(&down));
    assert!(!Recovery::is_down(&points(&[900.0, 900.0])));
}
