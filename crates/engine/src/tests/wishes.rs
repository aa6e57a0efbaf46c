//! What plans ask of their run and know of it: stop, failure, time, users, and the moment when all users run; within a
//! process and on workers.

use super::ms;
use crate::fixture::{Arrived, TestRun};
use crate::run::Outcome;
use lgoose_metrics::Cause;
use lgoose_metrics::control::Command;
use lgoose_plan::config::Settings;
use std::time::Duration;

fn users(users: u64, rate: f64, seconds: u64) -> Settings {
    Settings {
        users: Some(users),
        hatch_rate: Some(rate),
        run_time: Some(Duration::from_secs(seconds)),
        ..Settings::default()
    }
}

/// Plays a run in this process and on two workers.
async fn both(source: &'static str, settings: Settings) -> [(Vec<Arrived>, Outcome); 2] {
    let here = TestRun::new(source, settings.clone()).play().await;
    let on_workers = TestRun {
        workers: vec![2, 1],
        ..TestRun::new(source, settings)
    };
    [here, on_workers.play().await]
}

#[tokio::test(start_paused = true)]
async fn a_plan_stops_its_run_with_a_reason() {
    let source = "task { function(user) user:get '/page' user:wait(1)\n\
        if run.elapsed() >= 2.9 then run.stop 'the stock is sold out' run.stop 'another reason' end end }\n\
        task { on_stop = true, function(user) user:get '/out' end }";
    for (arrived, outcome) in both(source, users(4, 1_000.0, 60)).await {
        let ending = outcome.report.ending.expect("it ended");
        assert_eq!(ending.cause, Cause::StoppedByPlan);
        assert_eq!(ending.reason.as_deref(), Some("the stock is sold out"));
        assert!((2.9..4.5).contains(&ending.at_s), "{}", ending.at_s);
        let text = &ending.text;
        assert!(text.starts_with("stopped by the plan at "), "{text}");
        assert!(text.ends_with(" of 60 s: the stock is sold out"), "{text}");
        let out = arrived.iter().filter(|(_, path)| path == "/out");
        assert_eq!(out.count(), 4, "on_stop ran");
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_lets_its_run_fail_and_the_run_goes_on() {
    let source = "task { function(user) user:get '/page' user:wait(1)\n\
        run.fail('prices differ') if user.id == 2 then run.fail 'no stock' end end }\n\
        on('test_start', function() run.fail 'the site is old' assert(run.elapsed() == 0 and run.users() == 0) end)\n\
        on('test_stop', function() run.fail 'rows are left' end)";
    for (_, outcome) in both(source, users(4, 1_000.0, 5)).await {
        let mut ending = outcome.report.ending.expect("it ended");
        assert_eq!(ending.cause, Cause::TimeUp);
        ending.failed.sort();
        let reasons = [
            "no stock",
            "prices differ",
            "rows are left",
            "the site is old",
        ];
        assert_eq!(ending.failed, reasons);
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_stops_its_run_in_test_start_starts_no_user() {
    let source = "task { function(user) user:get '/page' end }\n\
        on('test_start', function(user) user:get '/ready' run.stop 'not ready' end)\n\
        on('test_stop', function(user) user:get '/clean' end)";
    for (arrived, outcome) in both(source, users(4, 1_000.0, 5)).await {
        let ending = outcome.report.ending.expect("it ended");
        assert_eq!(
            (ending.cause, ending.in_test_start),
            (Cause::StoppedByPlan, true)
        );
        let text = "stopped by the plan in 'test_start', before any user was started: not ready";
        assert_eq!(ending.text, text);
        let paths: Vec<_> = arrived.iter().map(|(_, path)| path.as_str()).collect();
        assert_eq!(paths, ["/ready", "/clean"]);
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_until_all_users_run_goes_on_with_the_last() {
    let source = "task { on_start = true, function(user) user:get '/in' end }\n\
        task { function(user) run.ready() user:get '/go' user:wait(1) end }";
    let wave = Settings {
        stages: super::stages("3s:3 2s:3 4s:7 2s:1"),
        ..Settings::default()
    };
    for (settings, all, at) in [(users(6, 1.0, 10), 6, 5), (wave, 7, 8)] {
        for (arrived, outcome) in both(source, settings.clone()).await {
            let go = arrived.iter().filter(|(_, path)| path == "/go");
            let first: Vec<_> = go.take(all).map(|(at, _)| *at).collect();
            assert_eq!(first.len(), all);
            let start = first[0];
            // Orders tell the workers, and workers report when they are ready.
            assert!(first.iter().all(|at| *at - start < ms(600)), "{first:?}");
            let came = arrived
                .iter()
                .filter(|(when, path)| path == "/in" && *when <= start);
            assert_eq!(came.count(), all, "all are there");
            assert!((at..at + 3).contains(&start.as_secs()), "{start:?}");
            assert_eq!(
                outcome.report.errors.len(),
                0,
                "{:?}",
                outcome.report.errors
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_those_who_wait_until_all_users_run() {
    let source = "task { function(user) run.ready() user:get '/go' end }\n\
        task { on_stop = true, function(user) run.ready() user:get '/out' end }";
    let stopped = TestRun {
        commands: vec![(Duration::from_millis(4_500), Command::Stop)],
        ..TestRun::new(source, users(10, 1.0, 60))
    };
    let (arrived, outcome) = stopped.play().await;
    let paths: Vec<_> = arrived.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, ["/out"; 5]);
    let settings = Settings {
        rate: Some(5.0),
        max_users: Some(20),
        run_time: Some(Duration::from_secs(3)),
        ..Settings::default()
    };
    assert_eq!(
        outcome.report.errors.len(),
        0,
        "{:?}",
        outcome.report.errors
    );
    let (arrived, _) = TestRun::new(source, settings).play().await;
    let go = arrived.iter().filter(|(_, path)| path == "/go");
    assert_eq!(go.count(), 15, "at a rate nobody waits");
}

#[tokio::test(start_paused = true)]
async fn an_iteration_that_is_aborted_is_one_and_the_next_starts_anew() {
    let source = "scenario { 's', iterations = 3,\n\
        task { on_start = true, function(user) user:exit_iteration() user:get '/never' end },\n\
        task { 'a', sequence = 1, function(user) user:get('/a/' .. user.iteration) end },\n\
        task { 'b', sequence = 2, function(user) if user.iteration == 2 then user:exit_iteration() end\n\
          user:get('/b/' .. user.iteration) end },\n\
        task { 'c', sequence = 3, function(user) user:get('/c/' .. user.iteration) end } }";
    let mut settings = users(1, 1_000.0, 60);
    let (arrived, outcome) = TestRun::new(source, settings.clone()).play().await;
    let paths: Vec<_> = arrived.iter().map(|(_, path)| path.as_str()).collect();
    let expected = ["/a/1", "/b/1", "/c/1", "/a/2", "/a/3", "/b/3", "/c/3"];
    assert_eq!(paths, expected);
    assert_eq!(outcome.report.scenarios[0].iterations, 3);
    assert_eq!(outcome.report.errors.len(), 0);
    // At a rate, too: an arrival is an iteration.
    settings.users = None;
    settings.hatch_rate = None;
    settings.rate = Some(1.0);
    settings.max_users = Some(1);
    settings.run_time = Some(Duration::from_secs(3));
    let (arrived, _) = TestRun::new(source, settings).play().await;
    let paths: Vec<_> = arrived.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, expected);
}

#[tokio::test(start_paused = true)]
async fn users_that_all_end_in_on_start_are_lost_and_those_with_nothing_else_to_do_are_not() {
    let stops = "task { on_start = true, function(user) user:get '/in' user:stop() end }\n";
    let (_, outcome) = TestRun::new(stops, users(3, 1_000.0, 60)).play().await;
    let ending = outcome.report.ending.expect("it ended");
    assert_eq!((ending.cause, ending.all_lost), (Cause::Plan, false));
    let source = "task { on_start = true, function(user) user:get '/in' user:stop() end }\n\
        task { function(user) user:get '/page' end }";
    for (_, outcome) in both(source, users(3, 1_000.0, 60)).await {
        let ending = outcome.report.ending.expect("it ended");
        assert_eq!((ending.cause, ending.all_lost), (Cause::UsersLost, true));
        assert!(ending.text.ends_with("every user ended in 'on_start'"));
    }
    let some = "task { on_start = true, function(user) if user.id > 1 then user:stop() end end }\n\
        task { function(user) user:get '/page' user:wait(1) end }";
    let (_, outcome) = TestRun::new(some, users(3, 1_000.0, 5)).play().await;
    let ending = outcome.report.ending.expect("it ended");
    assert_eq!((ending.cause, ending.all_lost), (Cause::TimeUp, false));
}
