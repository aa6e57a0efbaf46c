//! Tests of pacing and throughput in simulated time: they keep to an absolute schedule, however long the work took.

use super::{TICKS, ms};
use crate::fixture::{Arrived, TestRun};
use lgoose_metrics::control::Command;
use lgoose_plan::config::Settings;
use std::time::Duration;

fn one_user(run_time: u64) -> Settings {
    Settings {
        users: Some(1),
        run_time: Some(ms(run_time)),
        ..Settings::default()
    }
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Asserts that the n-th arrival is `every` after the one before, counted from the first.
fn assert_on_schedule(arrived: &[Arrived], every: Duration) {
    let first = arrived.first().expect("something arrived").0;
    for (number, (at, _)) in arrived.iter().enumerate() {
        let late = (*at - first).checked_sub(every * number as u32);
        assert!(
            late.is_some_and(|late| late <= TICKS),
            "{number} of {every:?} at {:?}",
            *at - first
        );
    }
}

/// Returns the times between successive arrivals.
fn gaps(arrived: &[Arrived]) -> Vec<Duration> {
    arrived.windows(2).map(|two| two[1].0 - two[0].0).collect()
}

#[tokio::test(start_paused = true)]
async fn pacing_is_met_exactly_from_5_ms_to_a_second() {
    for (source, every) in [
        (
            "task { wait = wait.pacing(0.005), function(user) user:get \"/\" end }",
            us(5_000),
        ),
        (
            "task { wait = wait.pacing(0.0073), function(user) user:get \"/\" end }",
            us(7_300),
        ),
        (
            "task { wait = wait.pacing(0.02), function(user) user:get \"/\" end }",
            us(20_000),
        ),
        (
            "task { wait = wait.pacing(0.1), function(user) user:get \"/\" end }",
            us(100_000),
        ),
        (
            "task { wait = wait.pacing(1), function(user) user:get \"/\" end }",
            us(1_000_000),
        ),
    ] {
        let rehearsal = TestRun {
            response_time: |at, _| us(500 + at.as_micros() as u64 % 3_000),
            ..TestRun::new(source, one_user(20_000))
        };
        let (arrived, _) = rehearsal.play().await;
        assert_on_schedule(&arrived, every);
        let expected = 20_000_000 / every.as_micros() as usize;
        assert!(arrived.len().abs_diff(expected) <= 1, "{}", arrived.len());
    }
}

#[tokio::test(start_paused = true)]
async fn throughput_is_met_exactly_over_tasks_and_iterations() {
    let source = "scenario { \"s\", wait = wait.throughput(30),\n  \
         task { function(user) user:get \"/a\" end },\n  \
         task { function(user) user:get \"/b\" end },\n}";
    let rehearsal = TestRun {
        response_time: |at, _| ms(at.as_millis() as u64 % 20),
        ..TestRun::new(source, one_user(10_000))
    };
    let (arrived, _) = rehearsal.play().await;
    assert_on_schedule(&arrived, Duration::from_secs(1) / 30);
    assert!(arrived.len().abs_diff(300) <= 1, "{}", arrived.len());
}

#[tokio::test(start_paused = true)]
async fn work_that_overran_moves_the_schedule_and_is_not_caught_up() {
    let source = "task { wait = wait.pacing(0.01), function(user) user:get \"/\" end }";
    let rehearsal = TestRun {
        // Slow for the second of three seconds.
        response_time: |at, _| ms(if at.as_secs() == 1 { 25 } else { 2 }),
        ..TestRun::new(source, one_user(3_000))
    };
    let (arrived, _) = rehearsal.play().await;
    for (number, gap) in gaps(&arrived).into_iter().enumerate() {
        let slow = arrived[number].0.as_secs() == 1;
        let every = ms(if slow { 25 } else { 10 });
        let off = gap.abs_diff(every);
        assert!(off <= TICKS, "{gap:?} after {:?}", arrived[number].0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_run_moves_the_schedule_and_is_not_caught_up() {
    let source = "task { wait = wait.pacing(0.1), function(user) user:get \"/\" end }";
    let rehearsal = TestRun {
        response_time: |_, _| ms(30),
        commands: vec![(ms(1_050), Command::Pause), (ms(2_000), Command::Resume)],
        ..TestRun::new(source, one_user(2_000))
    };
    let (arrived, _) = rehearsal.play().await;
    let gaps = gaps(&arrived);
    let long = gaps.iter().filter(|gap| **gap > ms(500)).count();
    assert_eq!(long, 1, "{gaps:?}");
    let short = gaps.iter().find(|gap| gap.saturating_sub(TICKS) < ms(96));
    assert_eq!(short, None, "{gaps:?}");
}
