//! Tests of runs on workers whose director is lost, so that another takes over: their report is the one that the
//! first would have made.

use super::{COMES_AND_GOES, ms};
use crate::Outcome;
use crate::fixture::TestRun;
use lgoose_metrics::Report;
use lgoose_metrics::control::Command;
use lgoose_plan::config::Settings;
use serde_json::Value;
use std::time::Duration;

const PLAN: &str = "plan { seed = 5, thresholds = { 'p95 < 30ms', 'failures < 1%' } }\n\
    on('test_start', function(user) user:get '/setup' end)\n\
    task { 'one', weight = 2, wait = { 0.05, 0.2 }, function(user) user:get('/one/' .. random.int(1, 9)) metric.trend('t'):add(user.id) end }\n\
    task { 'two', wait = 0.1, function(user) user:get('/two', { expect = { status = 404 } }) check(true, 'ok') end }";

/// Plays a run whose director is lost at one time and taken over at the other, if any.
async fn play(
    source: &'static str,
    settings: &Settings,
    lost: Option<(u64, u64)>,
    adapt: impl FnOnce(&mut TestRun),
) -> Outcome {
    let mut rehearsal = TestRun {
        workers: vec![2, 1],
        lost: lost.map(|(lost, taken)| (ms(lost), ms(taken))),
        response_time: |at, _| Duration::from_micros(500 + (at.as_millis() as u64 * 37) % 9_000),
        ..TestRun::new(source, settings.clone())
    };
    adapt(&mut rehearsal);
    rehearsal.play().await.1
}

/// Asserts that both reports are the same, except for what differs between any two runs and that one was taken over.
fn assert_same(taken: &Outcome, whole: &Outcome) {
    let [taken, whole] = [taken, whole].map(|outcome| {
        let mut report = outcome.report.clone();
        forget_takeover(&mut report);
        serde_json::to_value(&report).expect("plain data")
    });
    assert_same_at("report", &taken, &whole);
}

fn forget_takeover(report: &mut Report) {
    let is_takeover = |text: &str| text.starts_with("another manager took the run over");
    report.events.retain(|event| !is_takeover(&event.text));
    report.warnings.retain(|text| !is_takeover(text));
    report.earlier.iter_mut().for_each(forget_takeover);
}

/// What differs from one run to the next on the same machine.
const OTHER: [&str; 5] = ["started", "settings", "generator", "busy", "lag_ms"];

fn assert_same_at(place: &str, taken: &Value, whole: &Value) {
    match (taken, whole) {
        (Value::Object(taken), Value::Object(whole)) => {
            assert!(taken.keys().eq(whole.keys()), "{place}");
            for key in whole.keys().filter(|key| !OTHER.contains(&key.as_str())) {
                assert_same_at(&format!("{place}.{key}"), &taken[key], &whole[key]);
            }
        }
        (Value::Array(taken), Value::Array(whole)) => {
            assert_eq!(taken.len(), whole.len(), "{place}: {taken:?} {whole:?}");
            for (at, (taken, whole)) in taken.iter().zip(whole).enumerate() {
                assert_same_at(&format!("{place}[{at}]"), taken, whole);
            }
        }
        // A timer is late by up to a millisecond; what is played is not.
        (Value::Number(taken), Value::Number(whole)) if place.ends_with("_s") => {
            let late = taken.as_f64().unwrap_or(0.0) - whole.as_f64().unwrap_or(0.0);
            assert!(late.abs() < 0.002, "{place}: {taken} and {whole}");
        }
        _ => assert_eq!(taken, whole, "{place}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_taken_over_has_the_report_of_one_that_was_not() {
    let settings = Settings {
        users: Some(12),
        hatch_rate: Some(6.0),
        run_time: Some(ms(8_000)),
        warmup: Some(ms(1_500)),
        ..Settings::default()
    };
    let commands = vec![
        (ms(2_500), Command::AddUsers(5)),
        (ms(3_100), Command::Pause),
        (ms(3_700), Command::Resume),
    ];
    let whole = play(PLAN, &settings, None, |run| run.commands = commands.clone()).await;
    assert!(whole.report.aggregated.count > 300);
    for lost in [(4_321, 4_321), (4_321, 6_789), (5_000, 60_000)] {
        let taken = play(PLAN, &settings, Some(lost), |run| {
            run.commands = commands.clone();
        })
        .await;
        assert!(taken.trouble.is_none(), "{:?}", taken.trouble);
        let warned = taken.report.warnings.iter();
        assert!(
            warned
                .clone()
                .any(|text| text.contains("took the run over"))
        );
        assert_same(&taken, &whole);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_taken_over_is_steered_and_stopped() {
    let settings = Settings {
        users: Some(6),
        hatch_rate: Some(1e3),
        ..Settings::default()
    };
    let commands = vec![
        (ms(2_000), Command::SetUsers(20)),
        (ms(7_000), Command::SetUsers(4)),
        (ms(8_000), Command::ResetStatistics),
        (ms(9_000), Command::Stop),
    ];
    let play = async |lost| {
        play(COMES_AND_GOES, &settings, lost, |run| {
            run.commands = commands.clone();
        })
        .await
    };
    let (whole, taken) = (play(None).await, play(Some((3_000, 5_000))).await);
    assert_eq!(taken.report.users, whole.report.users);
    assert_eq!(taken.report.earlier.len(), 1);
    assert_same(&taken, &whole);
}

#[tokio::test(start_paused = true)]
async fn an_edited_plan_stays_the_plan_of_a_run_that_is_taken_over() {
    let settings = Settings {
        users: Some(4),
        hatch_rate: Some(1e3),
        run_time: Some(ms(6_000)),
        ..Settings::default()
    };
    let source = "task { 'old', wait = 0.1, function(user) user:get '/old' end }";
    let play = async |lost| {
        play(source, &settings, lost, |run| {
            let new = "task { 'new', wait = 0.1, function(user) user:get '/new' end }";
            run.plan_versions = vec![(ms(2_000), new)];
        })
        .await
    };
    let (whole, taken) = (play(None).await, play(Some((3_000, 4_000))).await);
    assert_eq!(taken.report.earlier.len(), 1);
    assert_same(&taken, &whole);
}
