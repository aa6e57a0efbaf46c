//! Tests that each second of a report is that second of the site: whole runs in simulated time, in which the site
//! notes to the nanosecond when it answered, and users when they came and went.

use crate::fixture::TestRun;
use lgoose_metrics::control::Command;
use lgoose_metrics::{EventKind, Report};
use lgoose_plan::config::{Settings, Value};
use std::time::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A visitor with a pace of its own that reports when it comes and goes.
const VISITOR: &str = "scenario { \"s\",\n  \
     task { on_start = true, function(user) user:get(\"/in\") end },\n  \
     task { wait = 0.0437, function(user) user:get \"/\" user:wait(0.3) user:get \"/next\" end },\n  \
     task { on_stop = true, function(user) user:get(\"/out\") end },\n}";

const REQUEST: &str = "task { function(user) user:get \"/\" end }";

/// Returns how long the site takes to answer: different for any two seconds, and across borders of seconds.
fn response_time(at: Duration, _: &str) -> Duration {
    Duration::from_millis(3 + (at.as_millis() as u64 * 7) % 260)
}

/// Counts the requests that the site had answered within each second since `origin`.
fn seconds(arrived: &[crate::fixture::Arrived], origin: Duration) -> Vec<u64> {
    let mut counts = Vec::new();
    for (at, path) in arrived {
        let Some(end) = (*at + response_time(*at, path)).checked_sub(origin) else {
            continue;
        };
        let second = end.as_secs() as usize;
        if counts.len() <= second {
            counts.resize(second + 1, 0);
        }
        counts[second] += 1;
    }
    counts
}

fn counts(report: &Report) -> Vec<u64> {
    let mut counts: Vec<u64> = report.series.iter().map(|point| point.count).collect();
    while counts.last() == Some(&0) {
        counts.pop();
    }
    counts
}

/// Plays a run and compares every second of its series, and of the series of its names, with the site.
async fn assert_agrees(what: &str, rehearsal: TestRun) -> (Vec<crate::fixture::Arrived>, Report) {
    let (arrived, outcome) = TestRun {
        response_time,
        ..rehearsal
    }
    .play()
    .await;
    let report = outcome.report;
    let origin = Duration::from_nanos(report.origin_ns);
    assert_eq!(counts(&report), seconds(&arrived, origin), "{what}");
    assert_eq!(
        counts(&report).iter().sum::<u64>(),
        report.aggregated.count,
        "{what}"
    );
    let mut by_name = vec![0; report.series.len()];
    for series in report.requests.iter().map(|row| &row.series) {
        for (second, count) in series.second.iter().zip(&series.count) {
            by_name[*second as usize] += count;
        }
    }
    let all: Vec<u64> = report.series.iter().map(|point| point.count).collect();
    assert_eq!(by_name, all, "{what}");
    (arrived, report)
}

fn closed(users: u64, seconds: u64) -> Settings {
    Settings {
        users: Some(users),
        hatch_rate: Some(7.0),
        run_time: Some(ms(seconds * 1_000)),
        ..Settings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn each_second_is_that_of_the_site_in_a_run_of_users_at_a_rate_and_in_stages() {
    assert_agrees("closed", TestRun::new(VISITOR, closed(20, 6))).await;
    let open = Settings {
        rate: Some(173.0),
        max_users: Some(200),
        run_time: Some(ms(5_300)),
        ..Settings::default()
    };
    let (_, report) = assert_agrees("open", TestRun::new(REQUEST, open)).await;
    let last = report.series.last().expect("a run of five seconds");
    assert!(last.seconds < 1.0 && last.second == 5, "{last:?}");
    let staged = Settings {
        stages: super::stages("2s:30 1500ms:30 2s:4 1s:0"),
        ..Settings::default()
    };
    let (_, report) = assert_agrees("staged", TestRun::new(VISITOR, staged)).await;
    let borders: Vec<f64> = report
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Stage)
        .map(|event| event.at_s)
        .collect();
    assert_eq!(borders, [2.0, 3.5, 5.5]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_no_part_of_rates_and_is_marked() {
    let rehearsal = TestRun {
        commands: vec![(ms(2_500), Command::Pause), (ms(4_750), Command::Resume)],
        ..TestRun::new(VISITOR, closed(20, 6))
    };
    let (_, report) = assert_agrees("paused", rehearsal).await;
    let lengths: Vec<f64> = report.series.iter().map(|point| point.seconds).collect();
    assert_eq!(lengths[..6], [1.0, 1.0, 0.5, 0.0, 0.25, 1.0]);
    assert_eq!(report.paused_s, 2.25);
    let pause = report
        .events
        .iter()
        .find(|event| event.kind == EventKind::Pause);
    let pause = pause.expect("it was paused");
    assert_eq!((pause.at_s, pause.lasted_s), (2.5, Some(2.25)));
    let rate = report.aggregated.count as f64 / report.elapsed_s;
    assert!((report.aggregated.rate - rate).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn what_ended_before_a_reset_counts_before_it_and_nothing_else_does() {
    for (what, settings, commands, origin) in [
        (
            "warm-up",
            Settings {
                warmup: Some(ms(2_000)),
                ..closed(20, 5)
            },
            vec![],
            ms(2_000),
        ),
        (
            "reset-stats",
            Settings {
                reset_stats: Some(true),
                ..closed(20, 5)
            },
            vec![],
            Duration::from_nanos(2_714_285_714),
        ),
        (
            "asked for",
            closed(20, 5),
            vec![(ms(1_730), Command::ResetStatistics)],
            ms(1_780),
        ),
        (
            "a warm-up put off by a pause",
            Settings {
                warmup: Some(ms(2_000)),
                ..closed(20, 5)
            },
            vec![(ms(1_500), Command::Pause), (ms(2_750), Command::Resume)],
            ms(3_250),
        ),
    ] {
        let rehearsal = TestRun {
            commands,
            ..TestRun::new(VISITOR, settings)
        };
        let (arrived, report) = assert_agrees(what, rehearsal).await;
        let at = Duration::from_nanos(report.origin_ns);
        assert!(at.abs_diff(origin) < ms(2), "{what}: {at:?}");
        if let Some(warmup) = &report.warmup {
            let before = seconds(&arrived, Duration::ZERO);
            assert_eq!(counts(warmup)[..2], before[..2], "{what}");
            assert_eq!(
                warmup.aggregated.count + report.aggregated.count,
                arrived.len() as u64,
                "{what}"
            );
        }
        assert_eq!(report.events[0].kind, EventKind::Reset, "{what}");
    }
}

/// Tasks that outlast both the stop and the end of the warm-up that it called off.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_in_its_warm_up_loses_no_request() {
    let settings = Settings {
        warmup: Some(ms(2_000)),
        ..closed(20, 5)
    };
    for stop in [1_400, 1_999, 2_000, 2_001] {
        let rehearsal = TestRun {
            commands: vec![(ms(stop), Command::Stop)],
            ..TestRun::new(
                "task { function(user) for i = 1, 12 do user:get \"/\" end end }",
                settings.clone(),
            )
        };
        let (arrived, report) = assert_agrees("stopped in the warm-up", rehearsal).await;
        let before = report.warmup.map_or(0, |warmup| warmup.aggregated.count);
        let all = before + report.aggregated.count;
        assert_eq!(all, arrived.len() as u64, "stopped after {stop} ms");
    }
}

/// What a threshold leaves out ends between two quarters of a second.
#[tokio::test(start_paused = true)]
async fn what_a_threshold_leaves_out_is_exact_to_the_request() {
    let slow_at_first: fn(Duration, &str) -> Duration =
        |at, _| ms(if at < ms(1_050) { 60 } else { 4 });
    // The last slow answers come within 1.05 s and 1.11 s, in the middle of a quarter of a second.
    for (after, passed) in [("1.111s", true), ("1.05s", false)] {
        let mut settings = Settings {
            hatch_rate: Some(1_000.0),
            ..closed(10, 3)
        };
        let list = Value::List(vec![format!("max < 50ms after {after}")]);
        settings.set("thresholds", &list).expect("a threshold");
        let rehearsal = TestRun {
            response_time: slow_at_first,
            ..TestRun::new(
                "task { wait = 0.0073, function(user) user:get \"/\" end }",
                settings,
            )
        };
        let (_, outcome) = rehearsal.play().await;
        let row = &outcome.report.thresholds[0];
        assert_eq!(row.passed, passed, "after {after}: {row:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_edited_plan_and_an_aborted_run_agree_too() {
    let rehearsal = TestRun {
        plan_versions: vec![(ms(2_100), REQUEST)],
        ..TestRun::new(VISITOR, closed(5, 4))
    };
    let (arrived, report) = assert_agrees("reloaded", rehearsal).await;
    assert_eq!(report.events[0].kind, EventKind::Reload);
    let before: u64 = report
        .earlier
        .iter()
        .map(|part| part.aggregated.count)
        .sum();
    assert_eq!(before + report.aggregated.count, arrived.len() as u64);

    let (arrived, outcome) = TestRun {
        response_time,
        commands: vec![(ms(2_345), Command::Stop), (ms(2_350), Command::Abort)],
        ..TestRun::new(VISITOR, closed(20, 9))
    }
    .play()
    .await;
    // What was under way was cut off at the moment of the abort.
    let mut expected = vec![0; 3];
    for (at, path) in &arrived {
        let end = (*at + response_time(*at, path)).min(ms(2_351));
        expected[end.as_secs() as usize] += 1;
    }
    assert_eq!(counts(&outcome.report), expected);
}

/// Users at a border: those whose `on_start` began minus those whose `on_stop` ended.
#[tokio::test(start_paused = true)]
async fn users_at_each_border_are_those_who_had_come_and_not_gone() {
    let staged = Settings {
        stages: super::stages("1500ms:30 1s:30 2s:4 1s:0"),
        ..Settings::default()
    };
    let (arrived, report) = assert_agrees("staged", TestRun::new(VISITOR, staged)).await;
    for point in report.series.iter().filter(|point| point.seconds == 1.0) {
        let border = Duration::from_secs(point.second + 1);
        let here = |target: &str, has_response: bool| {
            let of = arrived.iter().filter(|(_, path)| path == target);
            let past = of.filter(|(at, path)| {
                if has_response {
                    *at + response_time(*at, path) < border
                } else {
                    *at < border
                }
            });
            past.count() as u64
        };
        let users = here("/in", false) - here("/out", true);
        assert_eq!(point.users, users, "at {border:?}");
        let under_way = arrived
            .iter()
            .filter(|(at, path)| *at < border && *at + response_time(*at, path) >= border);
        assert_eq!(
            point.under_way,
            under_way.clone().count() as u64,
            "at {border:?}"
        );
        let oldest = under_way.map(|(at, _)| border - *at).max();
        let oldest = oldest.unwrap_or_default().as_secs_f64() * 1e3;
        assert!((point.oldest_ms - oldest).abs() < 1e-6, "at {border:?}");
    }
}

/// Returns how long a site takes to answer that stands still for three seconds, three times a minute.
fn freezing(at: Duration, _: &str) -> Duration {
    let into = Duration::from_nanos((at.as_nanos() % 20_000_000_000) as u64);
    match into.checked_sub(ms(10_000)) {
        Some(since) if since < ms(3_000) => ms(3_000) - since,
        _ => ms(5),
    }
}

#[tokio::test(start_paused = true)]
async fn outages_in_a_run_of_users_break_windows_are_events_and_are_corrected() {
    let thresholds = [
        "p99 < 200ms during 5s",
        "p99 < 200ms",
        "corrected p99 < 200ms",
        "oldest < 2s",
        "p50 < 200ms during 60s",
    ];
    let list = thresholds.map(str::to_owned);
    let mut settings = Settings {
        hatch_rate: Some(1_000.0),
        ..closed(12, 60)
    };
    let list = Value::List(list.into());
    settings.set("thresholds", &list).expect("thresholds");
    let rehearsal = TestRun {
        response_time: freezing,
        ..TestRun::new(
            "task { wait = 0.02, function(user) user:get \"/\" end }",
            settings,
        )
    };
    let (_, outcome) = rehearsal.play().await;
    let report = outcome.report;
    let passed: Vec<bool> = report.thresholds.iter().map(|row| row.passed).collect();
    assert_eq!(
        passed,
        [false, true, false, false, true],
        "{:?}",
        report.thresholds
    );
    let silences: Vec<_> = report
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Silence)
        .collect();
    assert_eq!(silences.len(), 3, "{silences:?}");
    for (silence, at) in silences.iter().zip([10.0, 30.0, 50.0]) {
        assert!((silence.at_s - at).abs() < 0.1, "{silence:?}");
        let lasted = silence.lasted_s.expect("it was over");
        assert!((2.9..3.1).contains(&lasted), "{silence:?}");
        assert!(
            silence.text.contains("while 12 users waited"),
            "{silence:?}"
        );
    }
    let omission = report.co_mitigation.expect("it makes a difference");
    let corrected = omission.aggregated.latency_ms.expect("there are requests");
    // Nine seconds of sixty: the longest percent of what should have been asked waited for nearly three seconds.
    assert!((2_600.0..3_000.0).contains(&corrected.p99), "{corrected:?}");
    let warnings = report.warnings.concat();
    assert!(
        warnings.contains("3 silences of up to 3.0 s (first at 10.0 s, while 12 users waited)")
            && warnings.contains("--rate"),
        "{warnings}"
    );
}
