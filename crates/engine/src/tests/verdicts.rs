//! Tests of what thresholds are about, on whole runs in simulated time: names that several kinds of rows have, tags
//! beyond their bounds, and loads that end or are held up.

use super::ms;
use crate::fixture::{TestRun, play, thresholds};
use lgoose_metrics::control::Command;
use lgoose_metrics::{Cause, LogEntry, LogMessage, Report, RunLogs};
use lgoose_plan::config::Settings;
use std::sync::mpsc;
use std::time::Duration;

fn rows(report: &Report) -> Vec<(Option<f64>, bool)> {
    let rows = report.thresholds.iter();
    rows.map(|row| (row.value, row.passed)).collect()
}

/// Every second request of the task fails, but not the task; and the task takes longer than its requests.
const NAMESAKES: &str = "
  scenario { 'A', task { 'front', function(user)
    user:get('/', { expect = { status = user.iteration % 2 == 0 and 200 or 404 } })
    user:wait(0.6)
    check(user.iteration < 3, 'front')
  end } }
  scenario { 'B', task { 'other', function(user) user:get '/' user:wait(0.6) end } }";

#[tokio::test(start_paused = true)]
async fn a_bare_name_is_that_of_requests_and_a_kind_before_it_chooses() {
    let texts = [
        "front: failures < 5%",
        "front: failures < 5% after 2s",
        "front: failures < 5% during 3s",
        "scenario=A, front: failures < 5%",
        "GET front: failures < 5%",
        "task front: failures < 5%",
        "scenario=A, task front: failures < 5%",
        "front: max < 300ms",
        "front: max < 300ms after 1s",
        "task front: max < 300ms",
        "scenario=A, task front: max < 300ms",
        "front: checks > 50%",
        "check front: failures < 5%",
    ];
    let report = play(NAMESAKES, 2, 20, &texts).await;
    let rows = rows(&report);
    assert_eq!(rows[0], (Some(50.0), false));
    for at in [1, 2, 3, 4] {
        let (value, passed) = rows[at];
        let near_half = value.is_some_and(|value| (40.0..=60.0).contains(&value));
        assert!(near_half && !passed, "{}: {value:?}", texts[at]);
    }
    assert_eq!(rows[5..7], [(Some(0.0), true), (Some(0.0), true)]);
    for at in [7, 8] {
        assert!(
            rows[at].1 && rows[at].0 < Some(10.0),
            "{}: {rows:?}",
            texts[at]
        );
    }
    for at in [9, 10] {
        assert!(
            !rows[at].1 && rows[at].0 > Some(600.0),
            "{}: {rows:?}",
            texts[at]
        );
    }
    // Two of twenty held: requests and tasks have no figure 'checks'.
    assert_eq!(rows[11], (Some(10.0), false));
    assert_eq!(rows[12], (Some(90.0), false));
    let start = "the threshold 'front: failures < 5%' is about the requests of that name; a task and a check has it, too";
    assert!(
        report.warnings.iter().any(|one| one.starts_with(start)),
        "{:?}",
        report.warnings
    );
}

/// All requests have the tag that is a label of the first of two workers; those of its own users fail.
const TAGGED_AS_LABELLED: &str = "task { 'x', function(user)
  local status = user.id == 1 and 404 or 200
  user:get('/', { tags = { region = 'eu' }, expect = { status = status } })
  user:wait(1)
end }";

#[tokio::test(start_paused = true)]
async fn a_label_of_workers_comes_before_a_tag_of_that_name() {
    let texts = [
        "region=eu: failures < 60%",
        "region=us: failures < 1% abort",
        "region=us: count < 9",
    ];
    let settings = Settings {
        users: Some(2),
        startup_time: Some(Duration::ZERO),
        iterations: Some(5),
        thresholds: thresholds(&texts),
        ..Settings::default()
    };
    let run = TestRun {
        response_time: |_, _| ms(5),
        workers: vec![1, 1],
        ..TestRun::new(TAGGED_AS_LABELLED, settings)
    };
    let report = run.play().await.1.report;
    assert_eq!(
        rows(&report),
        [(Some(100.0), false), (Some(0.0), true), (Some(5.0), true)]
    );
    let about_both =
        "the threshold 'region=eu: failures < 60%' is about the workers with the label 'region=eu'";
    let warned = |start: &str| report.warnings.iter().any(|one| one.starts_with(start));
    assert!(warned(about_both), "{:?}", report.warnings);
    assert!(!warned("the threshold 'region=us"), "{:?}", report.warnings);
}

/// Each request has a tag of its own beside that of its region; the second half fails.
const TOO_MANY_TAGS: &str = "task { 'x', function(user)
  local status = user.iteration > 500 and 404 or 200
  user:get('/', { name = 'page', tags = { region = 'eu', order = user.iteration }, expect = { status = status } })
end }";

#[tokio::test(start_paused = true)]
async fn only_the_tag_that_overflows_is_left_out_and_what_it_selects_is_not_judged() {
    let texts = [
        "region=eu: failures < 1%",
        "region=eu, GET page: count > 900",
        "order=7: failures < 1%",
        "order=7, region=us: count < 5",
        "failures < 60%",
    ];
    let report = play(TOO_MANY_TAGS, 1, 1_000, &texts).await;
    let rows = rows(&report);
    assert_eq!(rows[..2], [(Some(50.0), false), (Some(1_000.0), true)]);
    // Some of what had the tag may be counted as '(other)'.
    assert_eq!(rows[2], (None, false));
    assert_eq!(rows[3], (None, false));
    assert_eq!(rows[4], (Some(50.0), true));
    let start = "the threshold 'order=7: failures < 1%' has no data: some of it may be counted as '(other)'";
    assert!(
        report.warnings.iter().any(|one| one.starts_with(start)),
        "{:?}",
        report.warnings
    );
    let eu = report.by_tag.iter().find(|row| row.tag == "region=eu");
    assert_eq!(eu.map(|row| row.aggregated.count), Some(1_000));
}

#[tokio::test(start_paused = true)]
async fn a_declared_counter_is_0_and_a_limit_on_it_holds() {
    let source = "local lost = metric.counter 'lost orders'
      task { function(user) user:get '/' if user.iteration > 99 then lost:add() end end }";
    let texts = [
        "lost orders: value < 1",
        "lost orders: value < 1 abort after 1s",
        "lost orders: rate < 1/s after 0.01s",
        "lost orders: rate < 1/s during 1s",
        "lost orders: value > 0",
        "never declared: value < 1",
    ];
    let report = play(source, 1, 5, &texts).await;
    let zero = (Some(0.0), true);
    assert_eq!(
        rows(&report),
        [zero, zero, zero, zero, (Some(0.0), false), (None, false)]
    );
    let row = report.metrics.iter().find(|row| row.name == "lost orders");
    assert_eq!(row.map(|row| row.value), Some(Some(0.0)));
}

#[tokio::test(start_paused = true)]
async fn dropped_iterations_have_a_figure() {
    let settings = Settings {
        rate: Some(50.0),
        max_users: Some(1),
        run_time: Some(ms(3_000)),
        thresholds: thresholds(&["dropped < 1%", "dropped < 200", "dropped < 90% during 1s"]),
        ..Settings::default()
    };
    let run = TestRun {
        response_time: |_, _| ms(99),
        ..TestRun::new("task { function(user) user:get '/' end }", settings)
    };
    let report = run.play().await.1.report;
    let arrivals = report.arrivals.expect("a run at a rate");
    let share = 100.0 * arrivals.dropped as f64 / (arrivals.started + arrivals.dropped) as f64;
    assert!(arrivals.dropped > 100, "{arrivals:?}");
    let rows = rows(&report);
    assert_eq!(
        rows[..2],
        [(Some(share), false), (Some(arrivals.dropped as f64), true)]
    );
    assert!(rows[2].1 && rows[2].0 > Some(70.0), "{rows:?}");
}

#[tokio::test(start_paused = true)]
async fn iterations_of_a_rate_that_never_had_their_turn_are_dropped() {
    let settings = Settings {
        rate: Some(50.0),
        run_time: Some(ms(4_000)),
        thresholds: thresholds(&["dropped < 1%"]),
        ..Settings::default()
    };
    let run = TestRun::new(
        "scenario { 's', throttle_requests = '10/s', task { function(user) user:get '/' end } }",
        settings,
    );
    let (arrived, outcome) = run.play().await;
    let arrivals = outcome.report.arrivals.expect("a run at a rate");
    assert_eq!(arrivals.started, arrived.len() as u64);
    assert_eq!(arrivals.started + arrivals.dropped, 200, "{arrivals:?}");
    assert!(!rows(&outcome.report)[0].1);
}

#[tokio::test(start_paused = true)]
async fn own_loads_that_have_done_their_iterations_end_the_run_before_its_time() {
    let source = "
      scenario { 'a', users = 3, hatch_rate = 100, iterations = 4, run_time = '6s', task { function(user) user:get '/' end } }
      scenario { 'b', users = 2, hatch_rate = 100, iterations = 4, run_time = '6s', task { function(user) user:get '/' end } }";
    let outcome = TestRun::new(source, Settings::default()).play().await.1;
    let ending = outcome.report.ending.expect("it has ended");
    assert_eq!(ending.cause, Cause::IterationsDone);
    assert!(ending.at_s < 1.0, "{ending:?}");
    assert_eq!(outcome.report.aggregated.count, 20);
}

#[tokio::test(start_paused = true)]
async fn a_number_to_be_reached_is_not_judged_in_a_stretch_with_a_pause() {
    let settings = Settings {
        users: Some(1),
        run_time: Some(ms(4_000)),
        thresholds: thresholds(&["count > 30 during 1s", "count < 30 during 1s"]),
        ..Settings::default()
    };
    let source = "task { wait = wait.pacing(0.02), function(user) user:get '/' end }";
    let run = TestRun {
        commands: vec![(ms(1_400), Command::Pause), (ms(2_000), Command::Resume)],
        ..TestRun::new(source, settings)
    };
    let rows = rows(&run.play().await.1.report);
    assert!(rows[0].1 && rows[0].0 > Some(45.0), "{rows:?}");
    assert!(!rows[1].1, "{rows:?}");
}

#[tokio::test(start_paused = true)]
async fn waits_for_a_turn_are_in_no_task_and_end_with_the_run() {
    let source = "scenario { 's',
      task { 'page', function(user) user:get '/page' end },
      task { 'leave', on_stop = true, function(user) user:get '/bye' end } }";
    let settings = Settings {
        users: Some(40),
        startup_time: Some(Duration::ZERO),
        run_time: Some(ms(3_000)),
        throttle_requests: Some(10.0),
        thresholds: thresholds(&["task page: max < 50ms", "iterations: max < 50ms"]),
        ..Settings::default()
    };
    let run = TestRun {
        response_time: |_, _| ms(5),
        ..TestRun::new(source, settings)
    };
    let (arrived, outcome) = run.play().await;
    let of = |path: &str| arrived.iter().filter(|(_, one)| one == path).count();
    assert!((29..=31).contains(&of("/page")), "{}", of("/page"));
    let last = arrived
        .iter()
        .filter(|(_, one)| one == "/page")
        .map(|(at, _)| *at)
        .max();
    assert!(last <= Some(ms(3_100)), "{last:?}");
    // The users that leave are let go one after another, too.
    assert_eq!(of("/bye"), 40);
    let (end, _) = arrived.last().expect("it ran");
    assert!((ms(6_700)..ms(7_300)).contains(end), "{end:?}");
    let report = outcome.report;
    let rows = rows(&report);
    assert!(rows.iter().all(|row| row.1), "{rows:?}");
    let runs = report
        .tasks
        .iter()
        .find(|row| row.name == "page")
        .map(|row| row.runs);
    assert_eq!(
        runs,
        Some(of("/page") as u64),
        "who gave up has run nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_waits_for_its_turns_ends_with_the_run() {
    let source = "task { 'page', function(user) user:fetch { '/a', '/b', '/c', '/d' } end }";
    let settings = Settings {
        users: Some(40),
        startup_time: Some(Duration::ZERO),
        run_time: Some(ms(3_000)),
        throttle_requests: Some(10.0),
        ..Settings::default()
    };
    let (log, logged) = mpsc::channel();
    let run = TestRun {
        response_time: |_, _| ms(5),
        run_logs: Some(RunLogs::new([true, false, false, false], log, 1 << 26)),
        ..TestRun::new(source, settings)
    };
    let (arrived, outcome) = run.play().await;
    let (end, _) = arrived.last().expect("it ran");
    assert!((ms(2_800)..ms(3_100)).contains(end), "{end:?}");
    assert!((29..=31).contains(&arrived.len()), "{}", arrived.len());
    let report = outcome.report;
    let sent = arrived.len() as u64;
    assert_eq!(report.aggregated.count, sent, "no other ones were sent");
    assert_eq!(report.aggregated.failures, 0);
    assert_eq!(lines_of(&logged), sent, "each has its line in the log");
    let runs: u64 = report.tasks.iter().map(|row| row.runs).sum();
    assert_eq!(runs, sent / 4, "the last one has not had all its turns");
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_of_a_fetch_that_is_cut_off_is_counted_and_logged() {
    let source = "task { 'page', function(user) user:fetch { '/slow', '/a', '/b' } end }";
    let settings = Settings {
        users: Some(2),
        startup_time: Some(Duration::ZERO),
        run_time: Some(ms(3_000)),
        ..Settings::default()
    };
    let (log, logged) = mpsc::channel();
    let run = TestRun {
        response_time: |_, path| if path == "/slow" { ms(60_000) } else { ms(5) },
        commands: vec![(ms(1_000), Command::Abort)],
        run_logs: Some(RunLogs::new([true, false, false, false], log, 1 << 26)),
        ..TestRun::new(source, settings)
    };
    let report = run.play().await.1.report;
    let aggregated = (report.aggregated.count, report.aggregated.failures);
    assert_eq!(aggregated, (6, 2), "two of three have ended for each user");
    assert_eq!(lines_of(&logged), 6);
}

/// Counts the requests in a log.
fn lines_of(log: &mpsc::Receiver<LogMessage>) -> u64 {
    let chunks = log.try_iter().filter_map(|message| match message {
        LogMessage::Chunk(chunk) => Some(chunk),
        _ => None,
    });
    let is_request = |entry: &LogEntry<'_>| matches!(entry, LogEntry::Request(_));
    let lines = chunks.map(|chunk| chunk.entries().filter(is_request).count() as u64);
    lines.sum()
}

/// Judges a run of ten seconds of ten users.
async fn over_ten_seconds(
    source: &'static str,
    response_time: fn(Duration, &str) -> Duration,
    texts: &[&str],
) -> Report {
    let settings = Settings {
        users: Some(10),
        startup_time: Some(Duration::ZERO),
        run_time: Some(Duration::from_secs(10)),
        stop_timeout: Some(Duration::from_secs(1)),
        thresholds: thresholds(texts),
        ..Settings::default()
    };
    let run = TestRun {
        response_time,
        ..TestRun::new(source, settings)
    };
    run.play().await.1.report
}

/// The site answers within 10 ms, but a path with 'hang' not from second 4 on.
fn hangs(at: Duration, path: &str) -> Duration {
    if path.contains("hang") && at > Duration::from_secs(4) {
        Duration::from_secs(600)
    } else {
        Duration::from_millis(10)
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_silent_breaks_its_limits_whoever_else_gets_responses() {
    let source = "task { 't', function(user)
        local x = user.id <= 5
        user:get(x and '/hang' or '/', { name = x and 'x' or 'y', tags = { area = x and 'eu' or 'us' } })
        user:wait(0.1)
    end }";
    for (text, holds) in [
        ("x: p95 < 300ms during 2s", false),
        ("GET x: p95 < 300ms during 2s", false),
        ("GET x: p95 < 300ms during 1s", false),
        ("GET x: max < 1s during 3s", false),
        ("GET x: avg < 200ms during 3s", false),
        ("GET x: ok p95 < 300ms during 2s", false),
        ("GET x: first_byte p95 < 300ms during 2s", false),
        ("area=eu: p95 < 300ms during 2s", false),
        ("area=eu, x: p95 < 300ms during 2s", false),
        ("area=eu, GET x: p95 < 300ms during 2s", false),
        ("x: p95 < 300ms during 2s abort", false),
        ("y: p95 < 300ms during 2s", true),
        ("area=us: p95 < 300ms during 2s", true),
        ("p50 < 300ms during 2s", true),
    ] {
        let report = over_ten_seconds(source, hangs, &[text]).await;
        assert_eq!(
            report.thresholds[0].passed, holds,
            "{text}: {:?}",
            report.thresholds
        );
    }
}

#[tokio::test(start_paused = true)]
async fn long_responses_are_no_silence_where_they_are_usual() {
    let source = "task { 't', function(user) user:get('/', { name = 'x' }) end }";
    let slow = |_: Duration, _: &str| Duration::from_secs(2);
    let texts = [
        "x: p50 > 1.9s during 3s",
        "x: p95 < 2.1s during 3s",
        "x: p95 < 2.1s during 1s",
    ];
    let report = over_ten_seconds(source, slow, &texts).await;
    assert!(
        report.thresholds.iter().all(|row| row.passed),
        "{:?}",
        report.thresholds
    );
    // Short waits beside long responses make no figure better.
    let report = over_ten_seconds(source, slow, &["x: p50 < 1.5s during 5s"]).await;
    assert!(!report.thresholds[0].passed, "{:?}", report.thresholds);
}

#[tokio::test(start_paused = true)]
async fn a_late_verdict_belongs_to_the_second_in_which_its_request_ended() {
    // By the time of the verdict, many windows have gone by.
    let fails = "task { 't', function(user)
        local response = user:get('/', { name = 'x' })
        user:wait(3)
        response:fail 'late'
        user:get('/', { name = 'y' })
    end }";
    let passes = "task { 't', function(user)
        local response = user:get('/', { name = 'x', expect = { status = 404 } })
        user:wait(3)
        response:pass()
        user:get('/', { name = 'y' })
    end }";
    for (text, of_failing, of_passing) in [
        ("x: failures < 5% during 2s", 100.0, 0.0),
        ("GET x: failures < 5% during 1s", 100.0, 0.0),
        ("x: failures < 5% abort", 100.0, 0.0),
        ("x: failures < 5% abort after 1s", 100.0, 0.0),
        ("x: failures < 5", 9.0, 0.0),
        ("x: failures < 5%", 100.0, 0.0),
        ("y: failures < 5% during 2s", 0.0, 0.0),
    ] {
        let report = play(fails, 3, 3, &[text]).await;
        let row = &report.thresholds[0];
        let stopped = row.broken_s.is_some() && text.contains("abort");
        assert_eq!(row.passed, of_failing == 0.0, "{text}: {row:?}");
        if !stopped {
            assert_eq!(row.value, Some(of_failing), "{text}");
        }
        let report = play(passes, 3, 3, &[text]).await;
        let row = &report.thresholds[0];
        assert_eq!((row.value, row.passed), (Some(of_passing), true), "{text}");
        assert_eq!(row.broken_s, None, "{text}");
    }
    let report = play(fails, 3, 3, &["x: ok p95 < 1s during 2s"]).await;
    assert_eq!(
        report.thresholds[0].value, None,
        "all have failed in the end"
    );
    // The series say so, too.
    let failed: u64 = report.series.iter().map(|point| point.failures).sum();
    let x = report
        .requests
        .iter()
        .find(|row| row.name == "x")
        .expect("a row");
    assert_eq!(
        (failed, x.figures.failures),
        (x.figures.count, x.figures.count)
    );
    let late = report
        .series
        .iter()
        .find(|point| point.failures > 0)
        .expect("some");
    assert!(late.latency.failed_p95_ms.is_some(), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_verdict_after_ten_seconds_counts_in_the_tables_with_a_warning() {
    let source = "task { 't', function(user)
        local response = user:get('/', { name = 'x' })
        user:wait(14)
        response:fail 'very late'
    end }";
    let settings = Settings {
        users: Some(2),
        startup_time: Some(Duration::ZERO),
        iterations: Some(1),
        thresholds: thresholds(&["x: failures < 5% during 2s", "x: failures < 5%"]),
        ..Settings::default()
    };
    let report = TestRun::new(source, settings).play().await.1.report;
    let passed: Vec<bool> = report.thresholds.iter().map(|row| row.passed).collect();
    assert_eq!(passed, [true, false], "{:?}", report.thresholds);
    let is_late = |warning: &String| warning.contains("more than 10 s after they had ended");
    assert!(report.warnings.iter().any(is_late), "{:?}", report.warnings);
}

#[tokio::test(start_paused = true)]
async fn of_a_counter_count_is_how_often_and_value_how_much() {
    let source = "local things = metric.counter 'things'
        task { 't', function(user) user:get '/' things:add(2) end }";
    let texts = [
        "things: count > 64",
        "things: count >= 40",
        "things: value >= 80",
        "things: rate > 0/s",
        "things: count > 64 abort after 60s",
    ];
    let report = play(source, 1, 40, &texts).await;
    let values: Vec<_> = report.thresholds.iter().map(|row| row.value).collect();
    assert_eq!(
        (values[0], values[1], values[2]),
        (Some(40.0), Some(40.0), Some(80.0))
    );
    let passed: Vec<bool> = report.thresholds.iter().map(|row| row.passed).collect();
    assert_eq!(passed[..4], [false, true, true, true]);
    assert_eq!(
        (report.metrics[0].count, report.metrics[0].value),
        (40, Some(80.0))
    );
}

#[tokio::test(start_paused = true)]
async fn several_limits_on_one_tagged_figure_count_it_once() {
    let source = "
        local things = metric.counter('things')
        local ok = metric.rate('ok')
        scenario { 'A', task { 'x', function(user)
          user:get '/'
          things:add(2)
          ok:add(true)
          check(true, 'ok')
        end } }";
    let texts = [
        "scenario=A, things: value < 100",
        "scenario=A, things: value > 1",
        "scenario=A, things: count < 9 abort",
        "scenario=A, things: rate < 1000/s",
        "scenario=A, metric things: value < 100",
        "scenario=A, check ok: count < 100",
        "scenario=A, check ok: checks > 50%",
        "scenario=A, ok: checks > 50%",
        "scenario=A, metric ok: count < 100",
        "scenario=A, checks: count < 100",
    ];
    let report = play(source, 1, 5, &texts).await;
    let values: Vec<_> = rows(&report).into_iter().map(|row| row.0).collect();
    let (value, count, all) = (Some(10.0), Some(5.0), Some(100.0));
    assert_eq!(values[..3], [value, value, count]);
    assert_eq!(values[4..], [value, count, all, all, count, count]);
}
