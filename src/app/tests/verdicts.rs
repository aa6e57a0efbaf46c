//! Verdicts of whole runs in simulated time: load that is missing in one scenario, and verdicts that a threshold does not waive.

use lgoose_engine::fixture::{TestRun, play, thresholds};
use lgoose_plan::config::Settings;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn what_is_dropped_is_judged_by_scenario() {
    let source = "
        scenario { 'A', rate = '100/s', max_users = 50, task { 'a', function(user) user:get('/', { name = 'a' }) end } }
        scenario { 'B', rate = '2/s', max_users = 1, task { 'b', function(user) user:get('/slow', { name = 'b' }) user:get('/slow', { name = 'both' }) end } }
        scenario { 'C', rate = '2/s', max_users = 5, task { 'c', function(user) user:get('/', { name = 'both' }) end } }";
    let time = |_: Duration, path: &str| match path {
        "/slow" => Duration::from_millis(1_490),
        _ => Duration::from_millis(2),
    };
    for (text, judged) in [
        ("p95 < 5s", false),
        ("count > 1", false),
        ("scenario=B: p95 < 5s", false),
        ("scenario=A: p95 < 5s", true),
        ("scenario=C: p95 < 5s", true),
        ("a: p95 < 5s", true),
        ("GET a: p95 < 5s", true),
        ("task a: p95 < 5s", true),
        ("b: p95 < 5s", false),
        ("task b: p95 < 5s", false),
        ("both: p95 < 5s", false),
        ("scenario=C, both: p95 < 5s", true),
        ("iterations: p95 < 5s", false),
        ("scenario=A, iterations: p95 < 5s", true),
        ("dropped < 5%", false),
        ("dropped < 90%", true),
        ("dropped < 12", false),
        ("dropped < 100", true),
        ("scenario=B: dropped < 90%", true),
        ("scenario=C: dropped < 1%", true),
    ] {
        let settings = Settings {
            run_time: Some(Duration::from_secs(10)),
            thresholds: thresholds(&[text]),
            ..Settings::default()
        };
        let run = TestRun {
            response_time: time,
            ..TestRun::new(source, settings)
        };
        let report = run.play().await.1.report;
        let dropped: Vec<u64> = report
            .scenarios
            .iter()
            .map(|row| row.arrivals.expect("a rate").dropped)
            .collect();
        assert!(
            dropped[0] == 0 && dropped[1] > 12 && dropped[2] == 0,
            "{dropped:?}"
        );
        let verdict = lgoose_judgement::judge(&report, None);
        let says = |line: &String| line.contains("of 'B' were dropped");
        assert_eq!(verdict.exit_code == 0, judged, "{text}: {verdict:?}");
        assert_eq!(
            verdict.reasons.iter().any(says),
            !judged,
            "{text}: {verdict:?}"
        );
        let allowed =
            text.contains("dropped") && judged && text.contains("90") || text.contains("100");
        assert_eq!(
            verdict.remarks.iter().any(says),
            judged && !allowed,
            "{text}: {verdict:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn users_lost_in_on_start_are_missing_load_of_their_scenario() {
    let source = "
        scenario { 'A', users = 5, task { 'a', function(user) user:get('/', { name = 'a' }) end } }
        scenario { 'B', users = 5,
          task { 'log in', on_start = true, function(user) user:get('/', { name = 'login' }) if user.id % 5 > 0 then error 'no' end end },
          task { 'b', function(user) user:get('/', { name = 'b' }) end } }";
    for (texts, judged) in [
        (&["p95 < 5s", "failures < 1%"][..], false),
        (&["scenario=B: p95 < 5s"], false),
        (&["b: p95 < 5s"], false),
        (&["task b: p95 < 5s"], false),
        (&["login: p95 < 5s"], false),
        (&["task log in: failures < 90%"], false),
        (
            &["scenario=A: p95 < 5s", "a: p95 < 5s", "task a: p95 < 5s"],
            true,
        ),
    ] {
        let report = play(source, 10, 3, texts).await;
        let lost: Vec<u64> = report.scenarios.iter().map(|row| row.users_lost).collect();
        assert_eq!(lost, [0, 4]);
        let verdict = lgoose_judgement::judge(&report, None);
        assert_eq!(verdict.exit_code == 0, judged, "{texts:?}: {verdict:?}");
        let says = |line: &String| line.contains("4 of 5 users of 'B' ended in 'on_start'");
        assert_eq!(
            verdict.reasons.iter().any(says),
            !judged,
            "{texts:?}: {verdict:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_waives_the_verdicts_of_its_own_subject_alone() {
    // The task fails in all of its runs, its requests succeed, and a check and a transaction never do.
    let source = "task { 'x', function(user)
        user:get '/'
        check(false, 'x')
        pcall(function() user:transaction('x', function() user:get '/' error 'broken' end) end)
        pcall(function() user:transaction('inner', function() error 'broken' end) end)
        check(false, 'title')
        error 'broken'
    end }";
    let expected = [
        "the task 'x'",
        "the task 'inner'",
        "the check 'x'",
        "the check 'title'",
    ];
    for (texts, waived) in [
        (&["x: failures < 5%"][..], &[][..]),
        (&["GET x: failures < 5%"], &[]),
        (&["failures < 5%"], &[]),
        (&["scenario=default: failures < 5%"], &[]),
        (&["task x: failures <= 100%"], &["the task 'x'"]),
        (&["task inner: failures <= 100%"], &["the task 'inner'"]),
        (&["inner: failures <= 100%"], &["the task 'inner'"]),
        (
            &["scenario=default, task x: failures <= 100%"],
            &["the task 'x'"],
        ),
        (&["task x: p95 < 5s"], &[]),
        (&["check x: failures <= 100%"], &["the check 'x'"]),
        (&["check x: checks >= 0%"], &["the check 'x'"]),
        (&["title: checks >= 0%"], &["the check 'title'"]),
        (&["checks >= 0%"], &["the check 'x'", "the check 'title'"]),
        (
            &["checks: rate >= 0%"],
            &["the check 'x'", "the check 'title'"],
        ),
        (&["check title: count > 1"], &[]),
    ] {
        let verdict = lgoose_judgement::judge(&play(source, 1, 5, texts).await, None);
        let missing: Vec<&str> = expected
            .into_iter()
            .filter(|start| !verdict.reasons.iter().any(|line| line.starts_with(start)))
            .collect();
        assert_eq!(missing, waived, "{texts:?}: {verdict:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_mostly_is_remarked_on_whatever_holds() {
    let source =
        "task { 'x', function(user) user:get '/' if user.iteration > 1 then error 'no' end end }
        task { 'y', function(user) user:get '/' if user.iteration > 60 then error 'no' end end }";
    for texts in [
        &["p95 < 5s"][..],
        &["task x: failures <= 100%"],
        &["x: failures < 5%"],
        &[],
    ] {
        let verdict = lgoose_judgement::judge(&play(source, 1, 100, texts).await, None);
        assert_eq!(
            (verdict.exit_code, verdict.remarks.len()),
            (0, 1),
            "{verdict:?}"
        );
        let of_x = "the task 'x' failed in";
        assert!(verdict.remarks[0].starts_with(of_x), "{verdict:?}");
        assert!(verdict.remarks[0].contains("no (p.lua:1)"), "{verdict:?}");
    }
}
