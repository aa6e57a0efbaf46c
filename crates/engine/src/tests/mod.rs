//! Tests of whole runs in simulated time, against a site that is a script: when users and requests began and ended,
//! compared with the shape of the load. Time stands still while anything is to be done, so the figures are exact.

mod calls;
mod labels;
mod lost;
mod over_time;
mod own_loads;
mod pacing;
mod reload;
mod sharing;
mod stops;
mod takeover;
mod verdicts;
mod wishes;
mod workers;

use crate::fixture::{Arrived, TestRun};
use lgoose_metrics::control::Command;
use lgoose_plan::Shape;
use lgoose_plan::config::{Load, LoadStage, MitigationCadence, Settings};
use std::time::Duration;

/// Tolerance for tokio's timers, which tick in milliseconds and are never early.
const TICKS: Duration = Duration::from_millis(2);

/// A user that tells the site when it comes and when it goes, and does nothing in between.
const COMES_AND_GOES: &str = "scenario { \"s\",\n  \
     task { on_start = true, function(user) user:get(\"/in/\" .. user.id) end },\n  \
     task { on_stop = true, function(user) user:get(\"/out/\" .. user.id) end },\n}";

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn stages(text: &str) -> Option<Vec<LoadStage>> {
    let parsed = text.split(' ').map(LoadStage::parse);
    Some(parsed.collect::<Result<_, _>>().expect("stages"))
}

/// Counts these arrivals in each stretch of `stretch` milliseconds.
fn per_stretch(arrived: &[Arrived], stretch: u64, prefix: &str) -> Vec<u64> {
    let mut counts = Vec::new();
    for (at, _) in arrived.iter().filter(|(_, path)| path.starts_with(prefix)) {
        let slot = (at.as_millis() as u64 / stretch) as usize;
        counts.resize(counts.len().max(slot + 1), 0);
        counts[slot] += 1;
    }
    counts
}

fn numbers(arrived: &[Arrived], prefix: &str) -> Vec<u64> {
    let paths = arrived
        .iter()
        .filter_map(|(_, path)| path.strip_prefix(prefix));
    paths
        .map(|number| number.parse().expect("a number"))
        .collect()
}

/// Asserts that at every millisecond as many users are there as the shape says.
fn assert_follows(arrived: &[Arrived], shape: &Shape) {
    let end = shape.duration().expect("it ends");
    for at in 0..end.as_millis() as u64 {
        let (now, before) = (ms(at), ms(at).saturating_sub(TICKS));
        if shape.users_at(before) != shape.users_at(now) {
            continue;
        }
        let count = |prefix| {
            let past = arrived.iter().filter(|(when, _)| *when <= now);
            past.filter(|(_, path)| path.starts_with(prefix)).count() as u64
        };
        assert_eq!(
            count("/in/") - count("/out/"),
            shape.users_at(now),
            "at {now:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn users_follow_their_stages_at_every_instant() {
    let text = "2s:40 1s:40 0:55 500ms:20 700ms:31 0:31 1500ms:0";
    let mut rehearsal = TestRun::new(
        COMES_AND_GOES,
        Settings {
            stages: stages(text),
            ..Settings::default()
        },
    );
    for threads in [1, 3] {
        rehearsal.threads = threads;
        let Load::Stages(goals) = rehearsal.config().run.load else {
            panic!("stages are a load of stages");
        };
        let settings = rehearsal.settings.clone();
        let (arrived, outcome) = TestRun {
            threads,
            ..TestRun::new(COMES_AND_GOES, settings)
        }
        .play()
        .await;
        assert_follows(&arrived, &Shape::stages(&goals));
        assert_eq!(outcome.report.users, 55);
        assert_eq!(outcome.report.aggregated.failures, 0);
        let (mut came, mut went) = (numbers(&arrived, "/in/"), numbers(&arrived, "/out/"));
        came.sort_unstable();
        went.sort_unstable();
        assert_eq!(came, went, "whoever came has gone with its on_stop");
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_users_a_second_are_a_hundred_in_each_tenth() {
    let settings = Settings {
        users: Some(3_000),
        hatch_rate: Some(1_000.0),
        run_time: Some(ms(1_000)),
        ..Settings::default()
    };
    let (arrived, outcome) = TestRun::new(COMES_AND_GOES, settings).play().await;
    let starts = per_stretch(&arrived, 100, "/in/");
    assert_eq!(starts.iter().sum::<u64>(), 3_000);
    let even = starts[1..30].iter().all(|count| count.abs_diff(100) <= 2);
    assert!(even && starts.len() <= 31, "{starts:?}");
    assert_eq!(outcome.report.users, 3_000);
}

#[tokio::test(start_paused = true)]
async fn on_the_way_down_the_newest_finish_their_task_and_go_first() {
    let source = "scenario { \"s\",\n  \
         task { function(user) user:get(\"/task/\" .. user.id) end },\n  \
         task { on_stop = true, function(user) user:get(\"/out/\" .. user.id) end },\n}";
    let settings = Settings {
        stages: stages("0:20 2s:20 2s:0"),
        ..Settings::default()
    };
    let rehearsal = TestRun {
        response_time: |_, path| ms(if path.starts_with("/task/") { 30 } else { 0 }),
        ..TestRun::new(source, settings)
    };
    let (arrived, outcome) = rehearsal.play().await;
    assert_eq!(
        numbers(&arrived, "/out/"),
        (1..=20).rev().collect::<Vec<_>>()
    );
    for (at, path) in arrived.iter().filter(|(_, path)| path.starts_with("/out/")) {
        let number: u64 = path["/out/".len()..].parse().expect("a number");
        // The straight line from 20 users to none passes the n-th at this moment, and a task takes 30 ms.
        let stop_at = ms(2_000 + (20 - number) * 100);
        let late = at.saturating_sub(stop_at);
        assert!(late <= ms(100 + 30) + TICKS, "{number} went {late:?} late");
    }
    let work = outcome
        .report
        .tasks
        .iter()
        .map(|task| task.failures)
        .sum::<u64>();
    assert_eq!((work, outcome.report.aggregated.failures), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn iterations_start_on_schedule_however_long_responses_take() {
    let settings = Settings {
        rate: Some(200.0),
        max_users: Some(400),
        run_time: Some(ms(5_000)),
        ..Settings::default()
    };
    let rehearsal = TestRun {
        response_time: |_, _| ms(1_500),
        ..TestRun::new("task { function(user) user:get \"/\" end }", settings)
    };
    let (arrived, outcome) = rehearsal.play().await;
    assert_eq!(arrived.len(), 1_000);
    for (number, (at, _)) in arrived.iter().enumerate() {
        let late = at.saturating_sub(ms(5) * number as u32);
        assert!(late <= TICKS, "{number} started {late:?} late");
    }
    let arrivals = outcome.report.arrivals.expect("a run at a rate");
    assert_eq!((arrivals.started, arrivals.dropped), (1_000, 0));
}

/// Returns how long a site takes to answer that stands still for the first of every five seconds and otherwise
/// answers at once.
fn freezing(at: Duration, _: &str) -> Duration {
    let into = Duration::from_millis(at.as_millis() as u64 % 5_000);
    ms(1_000).saturating_sub(into)
}

#[tokio::test(start_paused = true)]
async fn a_site_that_freezes_shows_in_the_response_time_as_it_should() {
    let settings = |most| Settings {
        rate: Some(1_000.0),
        max_users: Some(most),
        run_time: Some(ms(5_000)),
        ..Settings::default()
    };
    let source = "task { function(user) user:get \"/\" end }";
    let play = async |most| {
        let rehearsal = TestRun {
            response_time: freezing,
            ..TestRun::new(source, settings(most))
        };
        rehearsal.play().await.1.report
    };
    let report = play(1_100).await;
    let arrivals = report.arrivals.expect("a run at a rate");
    assert_eq!((arrivals.started, arrivals.dropped), (5_000, 0));
    // One start in five falls into the freeze and waits for what is left of it: evenly from none to a second.
    let response = report.aggregated.latency_ms.expect("requests were made");
    for (name, reported, computed) in [
        ("p90", response.p90, 500.0),
        ("p95", response.p95, 750.0),
        ("p99", response.p99, 950.0),
    ] {
        let off: f64 = reported / computed - 1.0;
        assert!(
            off.abs() <= 0.05,
            "{name}: {reported} ms told, {computed} ms computed"
        );
    }
    assert!(report.aggregated.service_ms.is_some(), "shown beside");
    assert!(
        !report.warnings.concat().contains("too low"),
        "{:?}",
        report.warnings
    );

    let report = play(100).await;
    let arrivals = report.arrivals.expect("a run at a rate");
    assert_eq!(arrivals.started + arrivals.dropped, 5_000);
    // A hundred of the thousand starts of the freeze find a user.
    assert!(arrivals.dropped.abs_diff(900) <= 10, "{}", arrivals.dropped);
    assert!(
        report
            .warnings
            .concat()
            .contains("the percentiles are too low"),
        "{:?}",
        report.warnings
    );
}

#[tokio::test(start_paused = true)]
async fn arrivals_follow_the_line_across_the_borders_of_stages() {
    let settings = Settings {
        stages: stages("1s:100/s 1s:100/s 0:300/s 1s:300/s 1s:0/s"),
        ..Settings::default()
    };
    let source = "task { function(user) user:get \"/\" end }";
    let (arrived, _) = TestRun::new(source, settings).play().await;
    // The area under the line, up to each tenth of a second.
    let area = |t: f64| match t {
        t if t < 1.0 => 50.0 * t * t,
        t if t < 2.0 => 50.0 + 100.0 * (t - 1.0),
        t if t < 3.0 => 150.0 + 300.0 * (t - 2.0),
        t => 450.0 + 300.0 * (t - 3.0) - 150.0 * (t - 3.0) * (t - 3.0),
    };
    for tenth in 1..40 {
        let at = ms(tenth * 100);
        let count = arrived.iter().filter(|(when, _)| *when <= at).count();
        let expected = area(tenth as f64 / 10.0);
        // One for the start at the very border, and those of the timers' two milliseconds.
        assert!(
            (count as f64 - expected).abs() <= 2.0,
            "{count} of {expected} at {at:?}"
        );
    }
    assert_eq!(arrived.len(), 600);
}

#[tokio::test(start_paused = true)]
async fn a_ceiling_on_requests_holds_in_every_second() {
    for rate in [150, 700] {
        let settings = Settings {
            users: Some(20),
            hatch_rate: Some(1_000_000.0),
            run_time: Some(ms(10_000)),
            throttle_requests: Some(rate as f64),
            ..Settings::default()
        };
        let source = "task { function(user) user:get \"/\" end }";
        let (arrived, _) = TestRun::new(source, settings).play().await;
        let seconds = per_stretch(&arrived, 1_000, "/");
        let even = seconds[..10]
            .iter()
            .all(|count| count.abs_diff(rate) * 100 <= rate);
        assert!(even, "{rate}: {seconds:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_stops_the_clock_and_a_new_number_of_users_is_reached_at_the_hatch_rate() {
    let settings = Settings {
        users: Some(10),
        hatch_rate: Some(10.0),
        run_time: Some(ms(5_000)),
        ..Settings::default()
    };
    let rehearsal = TestRun {
        commands: vec![
            (ms(500), Command::Pause),
            (ms(1_500), Command::Resume),
            (ms(4_000), Command::SetUsers(30)),
        ],
        ..TestRun::new(COMES_AND_GOES, settings)
    };
    let (arrived, outcome) = rehearsal.play().await;
    let starts = per_stretch(&arrived, 1_000, "/in/");
    assert_eq!(starts.iter().sum::<u64>(), 30);
    // Five before the pause, five after it, ten in each of the two seconds after the fourth.
    let close = [5, 5, 0, 0, 10, 10].iter().zip(&starts);
    assert!(
        close
            .clone()
            .all(|(expected, count)| count.abs_diff(*expected) <= 1),
        "{starts:?}"
    );
    assert_eq!(outcome.report.users, 30);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_paused_has_no_late_users_for_that() {
    let settings = Settings {
        users: Some(4),
        hatch_rate: Some(100.0),
        run_time: Some(ms(4_000)),
        co_mitigation: Some(MitigationCadence::Average),
        ..Settings::default()
    };
    let rehearsal = TestRun {
        response_time: |_, _| ms(50),
        commands: vec![(ms(2_000), Command::Pause), (ms(3_500), Command::Resume)],
        ..TestRun::new(
            "task { wait = 0.05, function(user) user:get \"/\" end }",
            settings,
        )
    };
    let (_, outcome) = rehearsal.play().await;
    let omission = outcome.report.co_mitigation.expect("it was asked for");
    assert_eq!(omission.late_cycles, 0, "{omission:?}");
    assert!(outcome.report.aggregated.count > 100);
}
