//! Tests of verdicts, from samples through the store to the report.

mod stretches;

use crate::{
    Phases, Recorder, Report, RunIdentity, Sample, SampleFailure, SampleResponse, Store, TaskRun,
    ThresholdRow, Traffic,
};
use lgoose_base::threshold::Threshold;
use std::time::{Duration, Instant};

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn read(texts: &[&str]) -> Vec<Threshold> {
    let read =
        |text: &&str| Threshold::read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    texts.iter().map(read).collect()
}

/// A run driven by hand: events and ticks.
struct DrivenRun {
    store: Store,
    recorder: Recorder,
    /// The time of the last tick.
    now: Duration,
}

impl DrivenRun {
    fn judged_by(texts: &[&str]) -> DrivenRun {
        let mut store = Store::new(RunIdentity::default());
        let thresholds = read(texts);
        let mut recorder = Recorder::new(0);
        recorder.watch_phases(
            thresholds
                .iter()
                .filter_map(|one| one.part?.phase())
                .collect(),
        );
        store.judge_by(thresholds);
        DrivenRun {
            store,
            recorder,
            now: Duration::ZERO,
        }
    }

    fn request(&mut self, method: &str, name: &str, ms: u64, ok: bool) {
        let request = self.recorder.request(method, name);
        let latency = Duration::from_millis(ms);
        self.recorder.record(&Sample {
            request,
            start: self.recorder.zero() + self.now - latency,
            delay: None,
            latency,
            phases: Phases {
                connect: Duration::from_millis(if ms <= 10 { 2 } else { 0 }),
                first_byte: latency / 2,
                ..Phases::default()
            },
            response: SampleResponse::of_status(200),
            redirects: 0,
            retries: 0,
            traffic: Traffic::received(1_500),
            failure: (!ok).then_some(SampleFailure {
                message: "bad",
                line: None,
            }),
            context: None,
        });
    }

    /// Hands over what happened until then; all of it happened just after the last tick.
    fn tick(&mut self, at: f64) {
        self.now = seconds(at);
        self.recorder.come_to(self.recorder.zero() + self.now);
        let empty = self.store.merge(self.recorder.take());
        self.recorder.recycle(empty);
        self.store.tick(seconds(at));
    }

    fn report(&mut self, at: f64) -> Report {
        let empty = self.store.merge(self.recorder.take());
        self.recorder.recycle(empty);
        self.store.report(seconds(at))
    }
}

/// Ten seconds: 100 GET / of 1 to 100 ms of which ten fail, 20 POST / and 20 GET /x of 500 ms, and measures of
/// every kind.
fn run(texts: &[&str]) -> Report {
    let mut run = DrivenRun::judged_by(texts);
    for n in 1..=100 {
        run.request("GET", "/", n, n > 10);
    }
    for _ in 0..20 {
        run.request("POST", "/", 500, true);
        run.request("GET", "/x", 500, true);
    }
    let task = run.recorder.task("s", "log in");
    run.recorder.record_task(&TaskRun {
        task,
        start: run.recorder.zero(),
        latency: Duration::from_millis(40),
        failure: None,
        context: None,
    });
    let start = Instant::now();
    for n in 1..=10 {
        run.recorder.check("title", n > 1);
        run.recorder.check("body", n > 5);
        run.recorder.counter("orders", 2.5);
        run.recorder.rate("hits", n > 2);
        run.recorder.trend("size", f64::from(n));
        run.recorder
            .gauge("queue", f64::from(n % 10), start + seconds(f64::from(n)));
    }
    run.tick(10.0);
    run.report(10.0)
}

fn row(text: &str) -> ThresholdRow {
    run(&[text]).thresholds.remove(0)
}

#[test]
fn every_figure_is_that_of_the_report_in_the_unit_of_the_limit() {
    for (text, value, passed) in [
        ("GET /: p50 < 51ms", 50.0, true),
        ("GET /: p99.9 <= 100ms", 100.0, true),
        ("GET /: p90 < 90ms", 90.0, false),
        ("GET /: avg < 0.0506s", 0.0505, true),
        ("GET /: min >= 1000us", 1_000.0, true),
        ("GET /: max < 100ms", 100.0, false),
        ("GET /: failures < 10%", 10.0, false),
        ("GET /: failures < 11", 10.0, true),
        ("GET /: rate > 9/s", 10.0, true),
        ("GET /: count >= 100", 100.0, true),
        ("/: count > 119", 120.0, true),
        ("/: max > 499ms", 500.0, true),
        ("count > 0", 140.0, true),
        ("max < 1s", 0.5, true),
        ("failures < 8%", 100.0 * 10.0 / 140.0, true),
        ("GET /: first_byte p50 < 26ms", 25.0, true),
        ("first_byte max < 0.25s", 0.25, false),
        // Only those that opened a connection count.
        ("connect avg <= 2ms", 2.0, true),
        ("bytes < 1MB", 0.21, true),
        ("GET /: bytes >= 15KB/s", 15.0, true),
        ("POST /: bytes < 29.2KiB", 30_000.0 / 1_024.0, false),
        ("log in: avg < 50ms", 40.0, true),
        ("task log in: count > 0", 1.0, true),
        ("checks > 69%", 70.0, true),
        ("checks: rate > 70%", 70.0, false),
        ("title: checks > 89%", 90.0, true),
        ("body: failures < 6", 5.0, true),
        ("orders: value > 24", 25.0, true),
        ("orders: count > 9", 10.0, true),
        ("orders: count > 10", 10.0, false),
        ("orders: value > 25", 25.0, false),
        ("orders: rate > 2/s", 2.5, true),
        ("hits: rate >= 80%", 80.0, true),
        ("hits: failures < 20%", 20.0, false),
        ("size: max < 11", 10.0, true),
        ("size: avg < 5.6", 5.5, true),
        ("size: value < 5.6", 5.5, true),
        ("queue: value < 1", 0.0, true),
        ("queue: max < 9", 9.0, false),
    ] {
        let row = row(text);
        let found = row.value.unwrap_or_else(|| panic!("{text} has data"));
        assert!((found - value).abs() <= value / 1_000.0, "{text}: {found}");
        assert_eq!(row.passed, passed, "{text}: {row:?}");
    }
}

#[test]
fn where_everything_failed_the_successful_ones_have_no_data() {
    let mut run = DrivenRun::judged_by(&["ok p95 < 1s", "ok max < 1s during 1s", "failures < 1%"]);
    for _ in 0..8 {
        run.request("GET", "/", 5, false);
        run.tick(run.now.as_secs_f64() + 0.25);
    }
    let rows = run.report(2.0).thresholds;
    let seen: Vec<_> = rows.iter().map(|row| (row.value, row.passed)).collect();
    assert_eq!(seen, [(None, false), (None, false), (Some(100.0), false)]);
}

#[test]
fn what_never_occurred_fails_and_the_nearest_name_is_reported() {
    let report = run(&["GET /y: p95 < 1s", "checks > 1%"]);
    let row = &report.thresholds[0];
    assert_eq!((row.value, row.passed), (None, false));
    assert!(report.thresholds[1].passed);
    assert_eq!(
        report.warnings,
        [
            "the threshold 'GET /y: p95 < 1s' has no data: no request, task, check or metric of that name was seen; did you \
          mean 'GET /'?"
        ]
    );
    let mut silent =
        DrivenRun::judged_by(&["p95 < 1s", "failures < 1%", "checks > 1%", "count < 1"]);
    let rows = silent.report(1.0).thresholds;
    let passed: Vec<_> = rows.iter().map(|row| (row.value, row.passed)).collect();
    let none = (None, false);
    assert_eq!(passed, [none, none, none, (Some(0.0), true)]);
}

#[test]
fn a_figure_that_a_row_does_not_have_is_reported() {
    for (text, words) in [
        ("size: p95 < 3ms", "it is a trend"),
        ("size: failures < 1", "it is a trend"),
        ("queue: p50 < 1", "it is a gauge"),
        ("orders: max < 1", "it is a counter"),
        ("hits: avg < 1", "it is a rate"),
        ("title: p50 < 1s", "checks have"),
        ("GET /: p95 < 300", "requests and tasks have"),
        ("GET /: checks > 1%", "requests and tasks have"),
        ("log in: first_byte p95 < 1s", "requests also have bytes"),
        ("size: bytes < 1MB", "it is a trend"),
        ("GET /: tls p95 < 1s", "no request had a phase 'tls'"),
        (
            "GET /: event_gap p95 < 1s",
            "no request had 'event_gap', which only streams have",
        ),
    ] {
        let report = run(&[text]);
        assert_eq!(
            (report.thresholds[0].value, report.thresholds[0].passed),
            (None, false),
            "{text}"
        );
        assert!(
            report.warnings[0].contains(words),
            "{text}: {:?}",
            report.warnings
        );
    }
}

#[test]
fn what_is_broken_before_after_or_while_the_load_goes_down_stops_nothing() {
    let mut run = DrivenRun::judged_by(&[
        "failures < 50% abort after 2s",
        "rate > 3/s during 1s after 2s",
    ]);
    run.request("GET", "/", 1, false);
    run.tick(1.0);
    assert_eq!(run.store.stopping_threshold(), None, "not yet");
    for _ in 0..40 {
        run.request("GET", "/", 1, true);
    }
    run.tick(2.0);
    assert_eq!(run.store.stopping_threshold(), None, "it holds");
    run.store.load_ended(seconds(2.0));
    run.tick(5.0);
    for _ in 0..100 {
        run.request("GET", "/", 1, false);
    }
    run.tick(6.0);
    assert_eq!(run.store.stopping_threshold(), None, "the load has ended");
    let rows = run.report(6.0).thresholds;
    let seen: Vec<_> = rows.iter().map(|row| (row.passed, row.broken_s)).collect();
    assert_eq!(
        seen,
        [(false, None), (true, None)],
        "the whole run is judged all the same"
    );
}

#[test]
fn what_stopped_the_run_stays_broken_with_the_figure_that_broke_it() {
    let mut run = DrivenRun::judged_by(&["max < 9s", "failures < 10% abort"]);
    run.request("GET", "/", 1, false);
    run.tick(0.25);
    let stopping = run.store.stopping_threshold().expect("it is broken");
    assert_eq!(
        (stopping.value, stopping.broken_s),
        (Some(100.0), Some(0.25))
    );
    run.store.load_ended(seconds(0.25));
    for _ in 0..99 {
        run.request("GET", "/", 1, true);
    }
    run.tick(0.5);
    let snapshot = run.store.tick(seconds(0.75));
    assert_eq!(
        snapshot.thresholds[1].value,
        Some(100.0),
        "what broke it, not what it is now"
    );
    let rows = run.report(1.0).thresholds;
    assert_eq!((rows[1].value, rows[1].passed), (Some(100.0), false));
    assert!(rows[0].passed);
}

#[test]
fn a_reset_forgets_what_was_broken() {
    let mut run = DrivenRun::judged_by(&["max < 10ms during 1s", "failures < 1% abort"]);
    for _ in 0..2 {
        run.request("GET", "/", 50, false);
        run.tick(2.0);
    }
    run.recorder
        .schedule_measurement(1, run.recorder.zero() + run.now);
    run.store.reset(run.now, 1);
    assert_eq!(run.store.stopping_threshold(), None);
    run.request("GET", "/", 5, true);
    run.tick(4.0);
    let rows = run.report(4.0).thresholds;
    assert!(rows.iter().all(|row| row.passed), "{rows:?}");
}
