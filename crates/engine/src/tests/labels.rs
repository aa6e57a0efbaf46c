//! Tests of runs whose workers have labels: two regions in which the site answers at very different speeds.

use super::ms;
use crate::Outcome;
use crate::fixture::TestRun;
use lgoose_metrics::control::Command;
use lgoose_metrics::{Cause, Figures, Report, RequestRow, WorkerState};
use lgoose_plan::config::{LoadPart, Settings, Value};
use std::time::Duration;

const SOURCE: &str = "task { wait = 0.05, function(user)\n\
    user:get(\"/first/\" .. user.id, { name = \"first\" })\n\
    user:get(\"/second/\" .. user.id, { name = \"second\" })\n\
    end }";

/// Answers users of the first half of the load within 10 ms, and others after 150 to 330 ms.
fn response_time(at: Duration, path: &str) -> Duration {
    let user: u64 = path
        .rsplit('/')
        .next()
        .and_then(|id| id.parse().ok())
        .expect("a user");
    let varied = (at.as_micros() as u64 * 37 + user * 7_919) % 9_000;
    if LoadPart::of_shares(0..1, 2).has(user - 1) {
        Duration::from_micros(700 + varied)
    } else {
        Duration::from_micros(150_000 + 20 * varied)
    }
}

fn settings(thresholds: &[&str]) -> Settings {
    let mut settings = Settings {
        users: Some(20),
        hatch_rate: Some(1e3),
        run_time: Some(ms(8_000)),
        ..Settings::default()
    };
    let list = thresholds.iter().map(|text| (*text).to_owned()).collect();
    settings
        .set("thresholds", &Value::List(list))
        .expect("thresholds");
    settings
}

async fn play(settings: &Settings, workers: &[usize], adapt: impl FnOnce(&mut TestRun)) -> Outcome {
    let mut rehearsal = TestRun {
        workers: workers.to_vec(),
        response_time,
        ..TestRun::new(SOURCE, settings.clone())
    };
    adapt(&mut rehearsal);
    rehearsal.play().await.1
}

/// Returns the figures of a row that do not depend on when the very last user ended.
fn counted(figures: &Figures) -> Figures {
    Figures {
        rate: 0.0,
        histogram: String::new(),
        ..figures.clone()
    }
}

fn rows(requests: &[RequestRow]) -> Vec<(String, Figures)> {
    let rows = requests.iter();
    rows.map(|row| (row.name.clone(), counted(&row.figures)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn percentiles_of_regions_of_very_different_latency_are_those_of_one_process() {
    let settings = settings(&[]);
    let one = play(&settings, &[], |_| {}).await.report;
    let both = play(&settings, &[1, 1], |_| {}).await.report;
    let [one, both] = [&one, &both].map(|report| report.aggregated.latency_ms.expect("requests"));
    assert!(one.p95 > 10.0 * one.p50, "the regions differ: {one:?}");
    for (one, both) in [
        (one.p50, both.p50),
        (one.p75, both.p75),
        (one.p90, both.p90),
        (one.p95, both.p95),
        (one.p99, both.p99),
        (one.p99_9, both.p99_9),
    ] {
        assert!((both / one - 1.0).abs() <= 0.001, "{both} is not {one}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_figures_of_a_label_are_those_of_a_run_of_its_part_alone() {
    let settings = settings(&[]);
    let report = play(&settings, &[1, 1], |_| {}).await.report;
    let labels: Vec<&str> = report.by_label.iter().map(|row| &*row.label).collect();
    assert_eq!(labels, ["region=eu", "region=us"]);
    for (at, label) in report.by_label.iter().enumerate() {
        let alone = play(&settings, &[], |rehearsal| {
            rehearsal.part = LoadPart::of_shares(at as u64..at as u64 + 1, 2);
            rehearsal.threads = 1;
        });
        let alone = alone.await.report;
        assert!(label.aggregated.count > 100, "{}", label.aggregated.count);
        assert_eq!(rows(&label.requests), rows(&alone.requests));
        assert_eq!(counted(&label.aggregated), counted(&alone.aggregated));
        let over_time = |report: &[lgoose_metrics::SeriesPoint]| -> Vec<_> {
            let whole = report.iter().filter(|point| point.seconds == 1.0);
            whole
                .map(|point| (point.second, point.users, point.count, point.latency.p95_ms))
                .collect()
        };
        assert_eq!(over_time(&label.series), over_time(&alone.series));
        assert_eq!(report.workers[at].requests, alone.aggregated.count);
        assert_eq!(report.workers[at].users, alone.users);
    }
}

fn passed(report: &Report) -> Vec<bool> {
    report.thresholds.iter().map(|row| row.passed).collect()
}

#[tokio::test(start_paused = true)]
async fn a_threshold_on_a_label_fails_while_the_whole_run_passes() {
    let settings = settings(&[
        "p50 < 100ms",
        "region=eu: p95 < 100ms",
        "region=us: p95 < 100ms",
    ]);
    let outcome = play(&settings, &[1, 1], |_| {}).await;
    assert_eq!(passed(&outcome.report), [true, true, false]);
    assert_eq!(
        outcome.report.thresholds[2].name.as_deref(),
        Some("region=us")
    );
    let states: Vec<_> = outcome.report.workers.iter().map(|row| row.state).collect();
    assert_eq!(states, [WorkerState::Done; 2]);
    let alone = play(&settings, &[], |_| {}).await.report;
    assert_eq!(
        passed(&alone),
        [true, false, false],
        "nobody has that label"
    );
    assert!(alone.workers.is_empty() && alone.by_label.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_threshold_on_a_label_stops_the_run() {
    let settings = settings(&["p95 < 10s abort", "region=us: p95 < 100ms abort"]);
    let outcome = play(&settings, &[1, 1], |_| {}).await;
    let ending = outcome.report.ending.expect("it ended");
    assert_eq!(ending.cause, Cause::Threshold);
    assert!(
        ending
            .threshold
            .is_some_and(|text| text.starts_with("region=us: p95"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_reset_and_an_edited_plan_restart_the_figures_of_labels() {
    let outcome = play(&settings(&["region=eu: count > 1"]), &[1, 1], |rehearsal| {
        rehearsal.commands = vec![(ms(2_000), Command::ResetStatistics)];
        rehearsal.plan_versions = vec![(ms(5_000), SOURCE)];
    })
    .await;
    let report = outcome.report;
    assert_eq!(report.earlier.len(), 2);
    for report in report.earlier.iter().chain([&report]) {
        let of_labels: u64 = report.by_label.iter().map(|row| row.aggregated.count).sum();
        let of_workers: u64 = report.workers.iter().map(|row| row.requests).sum();
        assert!(of_labels > 0);
        assert_eq!(
            (of_labels, of_workers),
            (report.aggregated.count, report.aggregated.count)
        );
        assert_eq!(passed(report), [true]);
    }
}
