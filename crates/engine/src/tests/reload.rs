//! Tests of runs whose plan is replaced on the way.

use super::{COMES_AND_GOES, TICKS, ms, numbers};
use crate::fixture::{TestRun, plan_version};
use crate::messages::offer::PlanVersions;
use lgoose_metrics::control::Refusal;
use lgoose_plan::config::{Config, Settings};
use std::sync::Arc;

/// Makes a plan whose users report under a letter when they come, work and go.
macro_rules! lettered {
    ($letter:literal) => {
        concat!(
            "task { \"come\", on_start = true, function(user) user:get(\"/in/",
            $letter,
            "/\" .. user.id) end }\n",
            "task { \"work\", wait = 0.3, function(user) user:get(\"/",
            $letter,
            "/\" .. user.id) end }\n",
            "task { \"go\", on_stop = true, function(user) user:get(\"/out/",
            $letter,
            "/\" .. user.id) end }",
        )
    };
}

#[tokio::test(start_paused = true)]
async fn each_user_takes_a_new_plan_at_its_next_iteration_and_the_figures_restart() {
    let settings = Settings {
        users: Some(10),
        hatch_rate: Some(100.0),
        run_time: Some(ms(4_000)),
        ..Settings::default()
    };
    let rehearsal = TestRun {
        plan_versions: vec![(ms(2_000), lettered!("b"))],
        ..TestRun::new(lettered!("a"), settings)
    };
    let (arrived, outcome) = rehearsal.play().await;
    for user in 1..=10 {
        let own = |path: &&str| path.rsplit('/').next() == Some(&user.to_string());
        let mut steps: Vec<&str> = arrived.iter().map(|(_, path)| path.as_str()).collect();
        steps.retain(|path| own(path));
        steps.dedup();
        let expected = ["/in/a/", "/a/", "/out/a/", "/in/b/", "/b/", "/out/b/"];
        assert_eq!(steps, expected.map(|step| format!("{step}{user}")));
    }
    let taken = arrived
        .iter()
        .filter(|(_, path)| path.starts_with("/in/b/"));
    for (at, path) in taken {
        let waited = *at - ms(2_000);
        assert!(waited <= ms(300) + TICKS, "{path} came {waited:?} late");
    }
    let report = outcome.report;
    assert_eq!(report.earlier.len(), 1);
    let counts = [&report.earlier[0], &report].map(|report| report.aggregated.count as usize);
    assert_eq!(counts.iter().sum::<usize>(), arrived.len());
    let before = arrived.iter().filter(|(at, _)| *at < ms(2_000)).count();
    assert!(counts[0].abs_diff(before) <= 10, "{counts:?} {before}");
    assert_eq!(report.aggregated.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn users_that_a_mistake_has_ended_come_back_with_the_plan_that_mends_it() {
    let settings = Settings {
        users: Some(10),
        hatch_rate: Some(100.0),
        run_time: Some(ms(3_000)),
        ..Settings::default()
    };
    let broken = "task { on_start = true, function(user) if user.id > 1 then error \"broken\" end end }\n\
                  task { wait = 0.3, function(user) user:get(\"/old/\" .. user.id) end }";
    let rehearsal = TestRun {
        plan_versions: vec![(ms(1_000), COMES_AND_GOES)],
        ..TestRun::new(broken, settings)
    };
    let (arrived, outcome) = rehearsal.play().await;
    let mut back = numbers(&arrived, "/in/");
    back.sort_unstable();
    assert_eq!(back, (1..=10).collect::<Vec<_>>());
    assert_eq!(numbers(&arrived, "/out/").len(), 10);
    assert_eq!(outcome.report.errors, []);
    assert_eq!(outcome.report.earlier[0].errors[0].count, 9);
}

#[tokio::test(start_paused = true)]
async fn a_rate_goes_on_without_a_gap_when_the_plan_is_another() {
    let settings = Settings {
        rate: Some(100.0),
        max_users: Some(50),
        run_time: Some(ms(4_000)),
        ..Settings::default()
    };
    let two = "scenario { \"b\", weight = 3, task { function(user) user:get \"/b\" end } }\n\
               scenario { \"c\", task { function(user) user:get \"/c\" end } }";
    for (first, second) in [
        ("task { function(user) user:get \"/a\" end }", two),
        (two, "task { function(user) user:get \"/a\" end }"),
    ] {
        let rehearsal = TestRun {
            response_time: |_, _| ms(200),
            plan_versions: vec![(ms(2_000), second)],
            ..TestRun::new(first, settings.clone())
        };
        let (arrived, outcome) = rehearsal.play().await;
        assert_eq!(arrived.len(), 400);
        for (number, (at, path)) in arrived.iter().enumerate() {
            let late = at.saturating_sub(ms(10) * number as u32);
            assert!(late <= TICKS, "{number} started {late:?} late");
            let of_new = (path != "/a") == (second == two);
            // A version is taken over 50 ms after it was offered, together with its own measurement. The arrival that
            // is due at that moment may belong to either.
            assert!(number == 205 || of_new == (number > 205), "{number} {path}");
        }
        let report = outcome.report;
        let arrivals = [&report.earlier[0], &report].map(|report| {
            let row = report.arrivals.as_ref().expect("a run at a rate");
            (row.started, row.dropped)
        });
        assert_eq!(arrivals[0].0 + arrivals[1].0, 400);
        assert_eq!((arrivals[0].1, arrivals[1].1), (0, 0));
        let under_way = arrivals[0].0 - report.earlier[0].aggregated.count;
        assert!(under_way.abs_diff(20) <= 1, "{under_way}");
    }
}

#[tokio::test]
async fn a_plan_that_comes_after_the_run_is_refused_at_once() {
    let (versions, offers) = PlanVersions::open();
    drop(offers);
    let config = Config::new(Settings::default(), 1, 0).expect("a configuration");
    let late = plan_version("task { function() end }", Arc::new(config.run));
    let refused = versions.offer(Arc::new(late)).await;
    assert!(matches!(refused, Err(Refusal::Over)), "{refused:?}");
}
