//! Tests of runs whose users are spread over several workers: they make the requests of one process with as many
//! threads, at the same times, and their figures are the same.

use super::{COMES_AND_GOES, assert_follows, ms, stages};
use crate::Outcome;
use crate::fixture::{Arrived, TestRun};
use lgoose_metrics::control::Command;
use lgoose_metrics::{Cause, Report, WorkerState};
use lgoose_plan::Shape;
use lgoose_plan::config::{Load, Settings, Spacing};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::time::Duration;

async fn play(
    source: &'static str,
    settings: &Settings,
    workers: &[usize],
    adapt: impl FnOnce(&mut TestRun),
) -> (Vec<Arrived>, Outcome) {
    let mut rehearsal = TestRun {
        threads: 3,
        workers: workers.to_vec(),
        response_time: |at, _| Duration::from_micros(500 + (at.as_millis() as u64 * 37) % 9_000),
        ..TestRun::new(source, settings.clone())
    };
    adapt(&mut rehearsal);
    rehearsal.play().await
}

fn sorted(mut arrived: Vec<Arrived>) -> Vec<(u64, String)> {
    arrived.sort();
    let all = arrived.into_iter();
    let mut all: Vec<_> = all
        .map(|(at, path)| (at.as_millis() as u64, path))
        .collect();
    all.sort();
    all
}

/// Returns the figures that do not depend on which worker did how much.
fn figures(report: &Report) -> serde_json::Value {
    let mut figures = serde_json::to_value(report).expect("plain data");
    let object = figures.as_object_mut().expect("an object");
    object.retain(|key, _| {
        [
            "requests",
            "aggregated",
            "scenarios",
            "tasks",
            "checks",
            "metrics",
            "errors",
            "users",
            "arrivals",
            "thresholds",
            "start_stop",
            "warmup",
        ]
        .contains(&key.as_str())
    });
    // Its buckets are those of the figures above; how many it has room for depends on the order of merging.
    let total = object["aggregated"].as_object_mut();
    total.expect("an object").remove("histogram");
    for row in object["requests"].as_array_mut().expect("rows") {
        row.as_object_mut().expect("an object").remove("series");
    }
    figures
}

const MIXED: &str = "plan { seed = 5 }\n\
    scenario { \"a\", weight = 3,\n\
      task { \"one\", weight = 2, function(user) user:get(\"/one/\" .. random.int(1, 9)) metric.trend(\"t\"):add(user.id) end },\n\
      task { \"two\", function(user) user:get(\"/two\", { expect = { status = 404 } }) end },\n\
      wait = { 0.05, 0.2 } }\n\
    scenario { \"b\", task { \"three\", function(user) user:get \"/three\" check(true, \"ok\") end }, wait = 0.1 }";

#[tokio::test(start_paused = true)]
async fn workers_together_make_the_requests_of_one_process_at_the_same_times() {
    let settings = Settings {
        users: Some(25),
        hatch_rate: Some(50.0),
        iterations: Some(8),
        ..Settings::default()
    };
    let (alone, one) = play(MIXED, &settings, &[], |_| {}).await;
    assert!(alone.len() > 200);
    for workers in [&[3][..], &[1, 2], &[1, 1, 1]] {
        let (together, all) = play(MIXED, &settings, workers, |_| {}).await;
        assert_eq!(sorted(together), sorted(alone.clone()), "{workers:?}");
        assert_eq!(figures(&all.report), figures(&one.report), "{workers:?}");
        assert_eq!(
            all.report.ending.map(|ending| ending.cause),
            one.report.ending.as_ref().map(|ending| ending.cause)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn users_on_workers_follow_their_stages_at_every_instant() {
    let settings = Settings {
        stages: stages("2s:40 1s:40 0:55 500ms:20 700ms:31 0:31 1500ms:0"),
        ..Settings::default()
    };
    let rehearsal = TestRun::new(COMES_AND_GOES, settings.clone());
    let Load::Stages(goals) = rehearsal.config().run.load else {
        panic!("stages are a load of stages");
    };
    let (arrived, outcome) = play(COMES_AND_GOES, &settings, &[2, 1, 2], |rehearsal| {
        rehearsal.response_time = |_, _| Duration::ZERO;
    })
    .await;
    assert_follows(&arrived, &Shape::stages(&goals));
    assert_eq!(outcome.report.users, 55);
}

#[tokio::test(start_paused = true)]
async fn arrivals_on_workers_are_those_of_one_process() {
    for spacing in [Spacing::Even, Spacing::Poisson] {
        let settings = Settings {
            rate: Some(200.0),
            max_users: Some(60),
            run_time: Some(ms(4_000)),
            arrivals: Some(spacing),
            ..Settings::default()
        };
        let source = "task { function(user) user:get \"/a\" end }";
        let (alone, one) = play(source, &settings, &[], |_| {}).await;
        let (together, all) = play(source, &settings, &[1, 2], |_| {}).await;
        assert_eq!(sorted(together), sorted(alone));
        let of = |outcome: &Outcome| {
            outcome
                .report
                .arrivals
                .as_ref()
                .map(|row| (row.started, row.dropped))
        };
        assert_eq!(of(&all), of(&one));
    }
}

#[tokio::test(start_paused = true)]
async fn a_ceiling_on_requests_holds_over_all_workers() {
    let settings = Settings {
        users: Some(30),
        hatch_rate: Some(1e3),
        throttle_requests: Some(300.0),
        run_time: Some(ms(10_000)),
        ..Settings::default()
    };
    let source = "task { function(user) user:get \"/a\" end }";
    let (arrived, _) = play(source, &settings, &[2, 1], |_| {}).await;
    let all = arrived.len() as f64;
    assert!((all / 3_000.0 - 1.0).abs() < 0.02, "{all}");
}

#[tokio::test(start_paused = true)]
async fn commands_reach_all_workers() {
    let settings = Settings {
        users: Some(6),
        hatch_rate: Some(1e3),
        ..Settings::default()
    };
    let (arrived, outcome) = play(COMES_AND_GOES, &settings, &[1, 1], |rehearsal| {
        rehearsal.commands = vec![
            (ms(2_000), Command::SetUsers(20)),
            (ms(4_000), Command::Pause),
            (ms(5_000), Command::Resume),
            (ms(6_000), Command::ResetStatistics),
            (ms(8_000), Command::Stop),
        ];
    })
    .await;
    let came = arrived
        .iter()
        .filter(|(_, path)| path.starts_with("/in/"))
        .count();
    assert_eq!(came, 20);
    let report = outcome.report;
    assert_eq!(report.earlier.len(), 1, "what was before the reset");
    assert_eq!(report.earlier[0].aggregated.count, 20);
    assert_eq!(report.aggregated.count, 20, "all went");
    assert!(
        (1.9..2.2).contains(&report.elapsed_s),
        "{}",
        report.elapsed_s
    );
}

#[tokio::test(start_paused = true)]
async fn all_workers_take_an_edited_plan_over() {
    let settings = Settings {
        users: Some(4),
        hatch_rate: Some(1e3),
        run_time: Some(ms(4_000)),
        ..Settings::default()
    };
    let source = "task { wait = 0.1, function(user) user:get \"/old\" end }";
    let (arrived, outcome) = play(source, &settings, &[1, 2], |rehearsal| {
        rehearsal.plan_versions = vec![(
            ms(2_000),
            "task { wait = 0.1, function(user) user:get \"/new\" end }",
        )];
    })
    .await;
    let new = arrived.iter().filter(|(_, path)| path == "/new").count() as u64;
    let report = outcome.report;
    assert!(new > 60, "{new}");
    assert_eq!(report.aggregated.count, new);
    assert_eq!(
        report.earlier[0].aggregated.count,
        arrived.len() as u64 - new
    );
}

#[tokio::test(start_paused = true)]
async fn what_test_start_returns_is_there_on_all_workers() {
    let source = "on(\"test_start\", function(user) user:get \"/setup\" return { token = \"x\" } end)\n\
        on(\"test_stop\", function(user) user:get(\"/teardown/\" .. shared.token) end)\n\
        task { function(user) user:get(\"/\" .. shared.token .. user.id) end }";
    let settings = Settings {
        users: Some(6),
        hatch_rate: Some(1e3),
        iterations: Some(1),
        ..Settings::default()
    };
    let (arrived, outcome) = play(source, &settings, &[1, 1, 1], |_| {}).await;
    let count = |prefix: &str| {
        arrived
            .iter()
            .filter(|(_, path)| path.starts_with(prefix))
            .count()
    };
    assert_eq!(
        (count("/setup"), count("/x"), count("/teardown/x")),
        (1, 6, 1)
    );
    let report = outcome.report;
    assert_eq!((report.aggregated.count, report.start_stop.len()), (6, 2));
    assert!(outcome.trouble.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_run_without_any_worker_ends_at_the_last_signal() {
    let source = "task { wait = 0.1, function(user) user:get \"/a\" end }";
    // Noticed before the end, after it, long before it, and in a run without one; and after another director has
    // taken the run over.
    for (run_time, silent, taken) in [
        (Some(10_000), 4_200, None),
        (Some(10_000), 7_200, None),
        (Some(60_000), 4_200, None),
        (None, 4_200, None),
        (Some(10_000), 4_200, Some((6_000, 9_000))),
        (Some(60_000), 4_200, Some((11_000, 12_000))),
    ] {
        let settings = Settings {
            users: Some(6),
            hatch_rate: Some(1e3),
            run_time: run_time.map(ms),
            ..Settings::default()
        };
        let (_, outcome) = play(source, &settings, &[1, 2], |rehearsal| {
            rehearsal.silent = Some((ms(silent), 2));
            rehearsal.lost = taken.map(|(lost, taken)| (ms(lost), ms(taken)));
        })
        .await;
        assert!(outcome.trouble.is_none(), "{:?}", outcome.trouble);
        let ending = outcome.report.ending.expect("it ended");
        let case = format!("{run_time:?} {silent} {taken:?}: {ending:?}");
        assert_eq!(ending.cause, Cause::WorkersLost, "{case}");
        assert!(ending.cut_short, "{case}");
        let silent_s = silent as f64 / 1e3;
        assert!((silent_s - 1.1..=silent_s).contains(&ending.at_s), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_workers_are_lost_after_its_end_has_come_to_its_end() {
    let settings = Settings {
        users: Some(6),
        hatch_rate: Some(1e3),
        run_time: Some(ms(10_000)),
        ..Settings::default()
    };
    let source = "task { function(user) user:get \"/a\" user:wait(5) end }";
    let (_, outcome) = play(source, &settings, &[1, 2], |rehearsal| {
        rehearsal.silent = Some((ms(10_100), 2));
    })
    .await;
    let ending = outcome.report.ending.expect("it ended");
    assert_eq!(ending.cause, Cause::TimeUp, "{ending:?}");
    assert!(!ending.cut_short, "{ending:?}");
}

/// Plays a run of ten seconds on three workers, whose first is lost, and which somebody may stop.
async fn play_with_a_loss(
    random: &mut StdRng,
    source: &'static str,
    settings: Settings,
) -> (Vec<Arrived>, Report, String) {
    let workers = [0; 3].map(|_| random.random_range(1..=3));
    let silent_ms = random.random_range(1_200..9_000);
    let stopped = random
        .random_bool(0.3)
        .then(|| random.random_range(2_000..12_000));
    let settings = Settings {
        run_time: Some(ms(10_000)),
        ..settings
    };
    let (arrived, outcome) = play(source, &settings, &workers, |run| {
        run.silent = Some((ms(silent_ms), 1));
        run.commands = stopped
            .map(|at| (ms(at), Command::Stop))
            .into_iter()
            .collect();
    })
    .await;
    let shown = format!("{workers:?}, silent at {silent_ms} ms, stopped at {stopped:?}");
    let report = outcome.report;
    let ending = report.ending.as_ref().expect("it ended");
    // A stop that the lost worker may not have heard of.
    let is_lost = report.workers[0].state == WorkerState::Lost;
    let is_unheard = is_lost && ending.cause == Cause::StoppedByUser;
    let trouble = outcome.trouble.map(|trouble| trouble.text());
    assert_eq!(trouble.is_some(), is_unheard, "{trouble:?}: {shown}");
    if let Some(text) = trouble {
        let named =
            "worker 'w0' has not confirmed that users stopped, and may go on sending until ";
        assert!(text.starts_with(named), "{text}");
    }
    let (end, silent) = (ending.at_s, silent_ms as f64 / 1e3);
    let share = workers[0] as f64 / workers.iter().sum::<usize>() as f64;
    let missing_s = ending.missing_load.expect("users are on workers") * end / share;
    // Seconds are delivered as a whole, a little after their end. Who has handed everything over is not lost.
    let least = if end > silent + 5.0 {
        end - silent
    } else {
        0.0
    };
    let most = (end - silent).max(0.0) + 1.1;
    assert!(
        (least - 0.01..=most).contains(&missing_s),
        "{missing_s} s: {shown}"
    );
    (arrived, report, shown)
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_worker_leaves_undone_is_in_the_report() {
    let source = "task { function(user) user:get \"/\" user:wait(0.1) end }";
    for seed in 0..8 {
        let random = &mut StdRng::seed_from_u64(seed);
        let rate = random.random_range(5..200);
        let settings = Settings {
            rate: Some(f64::from(rate)),
            max_users: Some(500),
            ..Settings::default()
        };
        let (arrived, report, shown) = play_with_a_loss(random, source, settings).await;
        let end = report.ending.expect("it ended").at_s;
        let counts = report.arrivals.expect("a run at a rate");
        let due = (end * f64::from(rate)).ceil() as u64;
        let counted = counts.started + counts.dropped + counts.missing;
        assert!(
            counted.abs_diff(due) <= 1,
            "{seed}: {counted} of {due}: {shown}"
        );
        assert!(counts.started <= arrived.len() as u64, "{seed}: {shown}");
        // What nothing is known of was not dropped for lack of a user.
        assert_eq!(counts.dropped, 0, "{seed}: {shown}");

        let all = random.random_range(100..2_000);
        let settings = Settings {
            users: Some(12),
            startup_time: Some(Duration::ZERO),
            shared_iterations: Some(all),
            ..Settings::default()
        };
        let (arrived, report, shown) = play_with_a_loss(random, source, settings).await;
        let ending = report.ending.expect("it ended");
        let done: u64 = report.scenarios.iter().map(|row| row.iterations).sum();
        assert!(
            done <= arrived.len() as u64 && arrived.len() as u64 <= all,
            "{seed}: {shown}"
        );
        let counts = (ending.iterations_done, ending.iterations_due);
        let is_undone = done < all && ending.cause == Cause::IterationsDone;
        let expected = if is_undone { (done, all) } else { (0, 0) };
        assert_eq!(
            counts, expected,
            "{seed}: {done} of {all}: {shown}: {}",
            ending.text
        );
        assert!(!is_undone || ending.cut_short, "{seed}: {shown}");
    }
}
