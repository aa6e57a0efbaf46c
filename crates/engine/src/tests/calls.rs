//! Calls of a protocol other than HTTP in simulated time: counted, timed, shown to the plan and cut off as requests are.

use super::ms;
use crate::fixture::TestRun;
use lgoose_metrics::control::{Command, Interrupt};
use lgoose_metrics::{Figures, Report};
use lgoose_plan::config::Settings;
use std::time::Duration;

/// Runs one user for an iteration; the commands come at their times.
async fn report_of(source: &'static str, commands: Vec<(Duration, Command)>) -> Report {
    let settings = Settings {
        users: Some(1),
        iterations: Some(1),
        ..Settings::default()
    };
    let run = TestRun {
        threads: 1,
        commands,
        ..TestRun::new(source, settings)
    };
    let report = run.play().await.1.report;
    let failed: Vec<_> = report
        .checks
        .iter()
        .filter(|row| row.failures > 0)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(
        report.errors.iter().all(|row| row.line.is_none()),
        "{:?}",
        report.errors
    );
    report
}

/// Returns the figures of the calls of that name.
fn calls<'a>(report: &'a Report, name: &str) -> &'a Figures {
    let mut rows = report.requests.iter();
    let row = rows.find(|row| row.method == "TEST" && row.name == name);
    &row.expect("they were counted").figures
}

/// Asserts that the median latency is that of the script, in milliseconds.
fn assert_took(figures: &Figures, expected: f64) {
    let latency = figures.latency_ms.as_ref().expect("there were some");
    assert!((latency.p50 - expected).abs() < 2.5, "{latency:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_a_row_with_its_latency_phases_bytes_and_messages() {
    let source = r#"task { "talk", function(user)
      check(test_call("5 send 20 receive", { name = "ask" }), "it has succeeded")
      user:get "/page"
      check(test_call "5", "it has succeeded, too")
    end }"#;
    let report = report_of(source, Vec::new()).await;
    let figures = calls(&report, "ask");
    assert_eq!((figures.count, figures.failures, figures.bytes), (1, 0, 7));
    assert_took(figures, 25.0);
    let messages = figures.messages.expect("there were some");
    assert_eq!((messages.sent, messages.received), (1, 1));
    assert_eq!(figures.bytes_sent, Some(7));
    let phases = &figures.phases_ms;
    assert!(phases.send.expect("it sent") < phases.receive.expect("it received"));
    // What has no status is under none.
    assert!(figures.status.is_empty(), "{:?}", figures.status);
    // Without a name, it is counted under its task's, and beside requests.
    assert_eq!(calls(&report, "talk").count, 1);
    assert_eq!(report.aggregated.count, 3);
    let page = report.requests.iter().find(|row| row.method == "GET");
    let page = &page.expect("it was counted").figures;
    assert_eq!(page.messages, None);
    assert!(page.bytes_sent > Some(0), "{page:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_or_takes_too_long_is_counted_and_raises_nothing() {
    let source = r#"task { function(user)
      local ok, why = test_call("3 send refuse", { name = "refused" })
      check(not ok and why == "connection refused: the script", "the reason comes back")
      ok, why = test_call("send 5000", { name = "late", timeout = 0.5 })
      check(not ok and why == "timeout", "so does a timeout")
    end }"#;
    let report = report_of(source, Vec::new()).await;
    for (name, took) in [("refused", 3.0), ("late", 500.0)] {
        let figures = calls(&report, name);
        assert_eq!((figures.count, figures.failures), (1, 1), "{name}");
        assert_took(figures, took);
        // What had flowed by then is counted.
        assert_eq!(figures.messages.expect("one was sent").sent, 1, "{name}");
        assert_eq!(figures.status.get("0"), Some(&1), "{name}");
    }
    let errors: Vec<_> = report.errors.iter().map(|row| &*row.message).collect();
    assert_eq!(errors, ["connection refused: the script", "timeout"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cut_off_is_counted_as_aborted_with_what_had_flowed() {
    let source =
        r#"task { "talk", function(user) test_call("send 600000", { timeout = 3600 }) end }"#;
    let interrupt = || Command::Interrupt(Interrupt::Signal);
    let commands = vec![(ms(1_000), interrupt()), (ms(2_000), interrupt())];
    let report = report_of(source, commands).await;
    let figures = calls(&report, "talk");
    assert_eq!((figures.count, figures.failures), (1, 1));
    assert_took(figures, 2_000.0);
    assert_eq!(figures.messages.expect("one was sent").sent, 1);
    assert_eq!(report.errors[0].message, "aborted");
}

#[tokio::test(start_paused = true)]
async fn the_plan_is_shown_calls_and_tags_divide_them() {
    let source = r#"local seen = {}
    on("request", function(one) seen[#seen + 1] = one.method .. " " .. one.name .. " " .. tostring(one.error) end)
    task { "talk", function(user)
      user.tags.room = "one"
      test_call("send", { name = "ask" })
      test_call("refuse", { name = "refused" })
      check(table.concat(seen, ", ") == "TEST ask nil, TEST refused connection refused: the script", "both were seen")
    end }"#;
    let report = report_of(source, Vec::new()).await;
    let tag = report.by_tag.iter().find(|row| row.tag == "room=one");
    assert_eq!(tag.expect("it has a row").aggregated.count, 2);
}

#[tokio::test(start_paused = true)]
async fn a_function_that_is_timed_is_a_request_with_its_time_and_reason() {
    let source = r#"task { "talk", function(user)
      local value = user:timed("work", function() test_call "20" user:wait(0.23) return "done" end)
      check(value == "done", "what it returns comes back")
      user:timed("refused", function() test_call "5" return nil, "not now" end, { kind = "LINE" })
      local ok = pcall(user.timed, user, "raised", function() user:wait(0.01) error "no" end)
      check(not ok, "an error goes on")
    end }"#;
    let report = report_of(source, Vec::new()).await;
    for (method, name, failures, took) in [
        ("TIMED", "work", 0, 250.0),
        ("LINE", "refused", 1, 5.0),
        ("TIMED", "raised", 1, 10.0),
    ] {
        let mut rows = report.requests.iter();
        let row = rows.find(|row| row.method == method && row.name == name);
        let figures = &row.expect("it was counted").figures;
        assert_eq!((figures.count, figures.failures), (1, failures), "{name}");
        assert_took(figures, took);
    }
    let errors: Vec<_> = report.errors.iter().map(|row| &*row.message).collect();
    assert_eq!(errors, ["not now", "the plan raised an error"]);
}

#[tokio::test(start_paused = true)]
async fn a_function_that_is_timed_and_does_not_end_is_aborted() {
    // The wait is too long for '--stop-timeout', so that the first interrupt ends the task.
    let source = r#"task { "talk", function(user) user:timed("work", function() user:wait(600000) end) end }"#;
    let commands = vec![(ms(1_000), Command::Interrupt(Interrupt::Signal))];
    let report = report_of(source, commands).await;
    let row = &report.requests[0];
    assert_eq!((row.method.as_str(), row.name.as_str()), ("TIMED", "work"));
    assert_eq!((row.figures.count, row.figures.failures), (1, 1));
    assert_took(&row.figures, 1_000.0);
    assert_eq!(report.errors[0].message, "aborted");
}
