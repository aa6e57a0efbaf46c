//! What a stop does to waits inside tasks: nothing comes faster after it than before.

use super::{ms, numbers, per_stretch, stages};
use crate::fixture::TestRun;
use lgoose_metrics::control::{Command, Interrupt};
use lgoose_plan::config::Settings;
use std::time::Duration;

/// A task that goes on and on, with a second to think.
const LOOPS: &str = "scenario { \"s\",\n  \
     task { function(user) while true do user:get \"/page\" user:wait(1) end end },\n  \
     task { on_stop = true, function(user) user:get(\"/out/\" .. user.id) end },\n}";

fn ten_users(seconds: u64) -> Settings {
    Settings {
        users: Some(10),
        hatch_rate: Some(1_000.0),
        run_time: Some(Duration::from_secs(seconds)),
        stop_timeout: Some(Duration::from_secs(5)),
        ..Settings::default()
    }
}

/// Plays a run and asserts that no second from `stop` on has more pages than the busiest before.
async fn assert_no_burst(source: &'static str, settings: Settings, stop: usize, users: u64) {
    let (arrived, outcome) = TestRun::new(source, settings).play().await;
    let pages = per_stretch(&arrived, 1_000, "/page");
    let (before, after) = pages.split_at(stop);
    let most = before.iter().max().expect("it ran");
    assert!(after.iter().all(|count| count <= most), "{pages:?}");
    let mut gone = numbers(&arrived, "/out/");
    gone.sort_unstable();
    assert_eq!(gone, (1..=users).collect::<Vec<_>>(), "'on_stop' ran");
    let warnings = &outcome.report.warnings;
    assert!(
        warnings.iter().all(|text| !text.contains("cut off")),
        "{warnings:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn users_who_loop_with_a_wait_go_no_faster_after_a_stop() {
    assert_no_burst(LOOPS, ten_users(4), 4, 10).await;
}

#[tokio::test(start_paused = true)]
async fn users_who_go_down_in_the_middle_of_a_run_go_no_faster_either() {
    let settings = Settings {
        stages: stages("0:10 4s:10 2s:0 10s:1 1s:1"),
        stop_timeout: Some(Duration::from_secs(3)),
        ..Settings::default()
    };
    let (arrived, _) = TestRun::new(LOOPS, settings).play().await;
    let pages = per_stretch(&arrived, 1_000, "/page");
    let (before, after) = pages.split_at(4);
    let most = before.iter().max().expect("it ran");
    assert!(after.iter().all(|count| count <= most), "{pages:?}");
}

#[tokio::test(start_paused = true)]
async fn iterations_of_a_rate_go_no_faster_after_a_stop() {
    let source = "scenario { \"s\",\n  \
         task { function(user) for n = 1, 4 do user:get \"/page\" user:wait(1) end end },\n  \
         task { on_stop = true, function(user) user:get \"/bye\" end },\n}";
    let settings = Settings {
        rate: Some(5.0),
        run_time: Some(Duration::from_secs(6)),
        ..Settings::default()
    };
    let (arrived, outcome) = TestRun::new(source, settings).play().await;
    let pages = per_stretch(&arrived, 1_000, "/page");
    let (before, after) = pages.split_at(6);
    let most = before.iter().max().expect("it ran");
    assert!(after.iter().all(|count| count <= most), "{pages:?}");
    assert_eq!(pages.iter().sum::<u64>(), 120, "none is left out");
    assert_eq!(outcome.report.tasks[0].runs, 30);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_fits_is_waited_out_and_one_that_does_not_ends_its_task_whatever_catches_it() {
    let source = "scenario { \"s\",\n  task { function(user)\n    user:get \"/begin\"\n    user:wait(3)\n    \
         user:get \"/fits\"\n    pcall(function() user:wait(3600) end)\n    user:get \"/never\"\n  end },\n  \
         task { on_stop = true, function(user) user:get \"/bye\" user:wait(3600) user:get \"/never\" end },\n  \
         task { on_stop = true, function(user) user:get \"/last\" end },\n}";
    let (arrived, outcome) = TestRun::new(source, ten_users(1)).play().await;
    let count = |path: &str| {
        arrived
            .iter()
            .filter(|(_, requested)| requested == path)
            .count()
    };
    let paths = ["/begin", "/fits", "/never", "/bye", "/last"];
    assert_eq!(paths.map(count), [10, 10, 0, 10, 10]);
    let (last, _) = arrived.last().expect("it ran");
    assert!((ms(3_000)..ms(3_100)).contains(last), "{last:?}");
    assert_eq!(outcome.report.aggregated.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_a_wait_of_test_start_waits_no_longer_than_it_may() {
    let source = "on(\"test_start\", function(user) user:get \"/first\" user:wait(3600) user:get \"/never\" end)\n\
         task { function(user) user:get \"/page\" end }";
    let rehearsal = TestRun {
        commands: vec![(ms(500), lgoose_metrics::control::Command::Stop)],
        ..TestRun::new(source, ten_users(1))
    };
    let (arrived, _) = rehearsal.play().await;
    let paths: Vec<&str> = arrived.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, ["/first"]);
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_redirects_that_is_cut_off_keeps_its_hops_and_their_bytes() {
    let one = "task { function(user)\n  \
         user:get(\"/redirect/redirect/slow\", { name = \"chain\", timeout = 3600 })\nend }";
    let side_by_side = "task { function(user)\n  \
         user:fetch({ \"/redirect/redirect/slow\" }, { name = \"chain\", timeout = 3600 })\nend }";
    for source in [one, side_by_side] {
        let settings = Settings {
            users: Some(1),
            iterations: Some(1),
            ..Settings::default()
        };
        let interrupt = || Command::Interrupt(Interrupt::Signal);
        let run = TestRun {
            threads: 1,
            response_time: |_, path| {
                if path == "/slow" {
                    Duration::from_secs(600)
                } else {
                    Duration::ZERO
                }
            },
            commands: vec![(ms(1_000), interrupt()), (ms(2_000), interrupt())],
            ..TestRun::new(source, settings)
        };
        let (arrived, outcome) = run.play().await;
        let all = &outcome.report.aggregated;
        assert_eq!((all.count, all.failures, all.redirects), (1, 1, 2));
        assert_eq!(arrived.len() as u64, all.count + all.redirects);
        let hop = |to| format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        let hops = ["/redirect/slow", "/slow"].map(hop).concat();
        assert_eq!(all.bytes, hops.len() as u64);
        assert_eq!(outcome.report.errors[0].message, "aborted");
    }
}
