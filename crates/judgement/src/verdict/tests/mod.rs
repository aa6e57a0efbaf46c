//! Tests of the verdict's reasons and remarks.

use super::*;
use crate::fixture;
use lgoose_metrics::{Check, TaskRow};

/// Returns the fixed report with nothing judged yet.
fn plain() -> Report {
    let mut report = fixture::report();
    report.thresholds.clear();
    report
}

#[test]
fn each_reason_is_shown_and_those_that_were_not_requested_are_not() {
    let mut report = fixture::report();
    assert_eq!(judge(&report, None).reasons.len(), 3);
    report.thresholds.clear();
    assert!(judge(&report, None).reasons.is_empty());
    let strict = fixture::strict(report.clone()).verdict.expect("judged");
    assert_eq!(
        strict.reasons,
        [
            "lgoose itself was the bottleneck ('--fail-on-saturation')",
            "failed requests: 135 ('--fail-on-error')",
            "failed tasks: 12 ('--fail-on-error')",
            "failed checks: 15 ('--fail-on-error')",
        ]
    );
    let failures = [ReasonKind::Failures; 3];
    assert_eq!(
        strict.reason_kinds,
        [&[ReasonKind::Saturation][..], &failures].concat()
    );
    report.aggregated.failures = report.aggregated.count;
    assert_eq!(judge(&report, None).reasons, ["no request succeeded"]);
}

#[test]
fn a_task_that_never_succeeds_and_a_check_that_never_holds_fail_the_run() {
    let mut report = plain();
    let plain = report.tasks[0].clone();
    let row = |name: &str, runs, failures| TaskRow {
        name: name.to_owned(),
        runs,
        failures,
        ..plain.clone()
    };
    report.tasks = vec![
        row("some", 5, 4),
        row("once", 1, 1),
        row("never", 1_200, 1_200),
    ];
    let check = report.checks[0].clone();
    report.checks = vec![
        Check {
            name: "title".to_owned(),
            passes: 0,
            failures: 12,
            ..check.clone()
        },
        Check {
            name: "price".to_owned(),
            passes: 1,
            failures: 12,
            ..check
        },
    ];
    let verdict = judge(&report, None);
    assert_eq!(
        verdict.reasons,
        [
            "the task 'once' failed in its only run",
            "the task 'never' failed in all of its 1,200 runs",
            "the check 'title' held in none of 12 times",
        ]
    );
    assert_eq!(verdict.exit_code, 1);
    // A limit on them states how many failures are accepted.
    let limit = |kind, name: Option<&str>, scenario: Option<&str>, threshold: &str| ThresholdRow {
        threshold: threshold.to_owned(),
        name: name.map(str::to_owned),
        passed: true,
        subject: Some(SubjectRow {
            kind,
            name: name.map(str::to_owned),
            scenarios: scenario.map(str::to_owned).into_iter().collect(),
        }),
        ..fixture::report().thresholds[0].clone()
    };
    let own = Some(&*plain.scenario);
    report.thresholds = vec![
        limit(SubjectKind::Task, Some("once"), None, "failures < 100%"),
        limit(SubjectKind::Task, Some("never"), own, "failures < 2000"),
        limit(SubjectKind::Check, None, None, "rate >= 0%"),
    ];
    assert_eq!(judge(&report, None).reasons, Vec::<String>::new());
    // A limit on something else of that name does not cover them.
    for limit in [
        limit(SubjectKind::Requests, Some("never"), None, "failures < 5%"),
        limit(SubjectKind::Metric, Some("never"), None, "rate > 0%"),
        limit(SubjectKind::Check, Some("never"), None, "checks > 0%"),
        limit(SubjectKind::Task, Some("never"), None, "p95 < 5s"),
        limit(SubjectKind::Task, Some("never"), None, "count > 1"),
        limit(
            SubjectKind::Task,
            Some("never"),
            Some("another"),
            "failures < 5%",
        ),
        limit(SubjectKind::Task, Some("some"), None, "failures < 5%"),
        limit(SubjectKind::Requests, Some("title"), None, "failures < 5%"),
        limit(SubjectKind::Task, Some("title"), None, "failures < 5%"),
        limit(SubjectKind::Check, Some("price"), None, "checks > 1%"),
        limit(
            SubjectKind::Check,
            Some("kind=a, title"),
            None,
            "checks > 1%",
        ),
    ] {
        report.thresholds = vec![limit];
        let reasons = judge(&report, None).reasons;
        assert!(
            reasons.contains(&verdict.reasons[1]),
            "{:?}",
            report.thresholds
        );
        assert!(
            reasons.contains(&verdict.reasons[2]),
            "{:?}",
            report.thresholds
        );
    }
    report.thresholds.clear();
    report.checks.clear();
    report.tasks = (0..9).map(|n| row(&n.to_string(), 2, 2)).collect();
    let reasons = judge(&report, None).reasons;
    assert_eq!(reasons.len(), MAX_REMARKS + 1);
    assert_eq!(reasons[MAX_REMARKS], "the same of 4 more tasks");
}

#[test]
fn failures_that_may_have_made_a_latency_pass_are_remarked() {
    let article = "article with a very long name that nobody would want to type twice";
    let full = format!("GET {article}");
    for (threshold, name, unit, passed, remarked) in [
        ("p95 < 300ms", Some(article), "ms", true, true),
        ("p95 <= 300ms during 10s", Some(&*full), "ms", true, true),
        ("ok p95 < 300ms", Some(article), "ms", true, false),
        ("p95 < 300ms", Some(article), "ms", false, false),
        ("p95 > 300ms", Some(article), "ms", true, false),
        ("failures < 5%", Some(article), "%", true, false),
        ("p95 < 300ms", Some("front page"), "ms", true, false),
        ("p95 < 300ms", None, "ms", true, false),
        ("p95 < 300ms", Some("nothing"), "ms", true, false),
    ] {
        let mut report = fixture::report();
        report.thresholds.truncate(1);
        let row = &mut report.thresholds[0];
        row.threshold = threshold.to_owned();
        row.name = name.map(str::to_owned);
        row.unit = unit.to_owned();
        row.passed = passed;
        let remarks = judge(&report, None).remarks;
        assert_eq!(!remarks.is_empty(), remarked, "{threshold} {name:?}");
    }
    let mut report = fixture::report();
    report.thresholds.truncate(1);
    report.aggregated.failures = 1_000;
    assert_eq!(
        judge(&report, None).remarks,
        [
            "4.19% failed: failed requests count towards the threshold 'p95 < 300ms', which may be why it holds"
        ]
    );
}

#[test]
fn a_run_that_goes_on_has_passed_only_so_far() {
    let mut report = fixture::report();
    report.thresholds.truncate(2);
    report.ending = None;
    let verdict = judge(&report, None);
    assert_eq!(verdict.text, "passed so far: 2 thresholds held");
}

#[test]
fn of_an_error_with_help_the_verdict_has_the_first_line() {
    let trouble = Error::trouble("cannot write 'log.csv'\n  give another place".to_owned());
    let verdict = judge(&plain(), Some(&trouble));
    assert_eq!(verdict.text, "failed: cannot write 'log.csv'");
    assert_eq!(verdict.exit_code, exit::TROUBLE);
}

#[test]
fn a_threshold_on_a_label_that_broke_fails_the_run_while_the_whole_passes() {
    let mut report = fixture::gaggle();
    report.thresholds.truncate(1);
    report.thresholds.push(lgoose_metrics::ThresholdRow {
        name: Some("region=us".to_owned()),
        passed: false,
        ..report.thresholds[0].clone()
    });
    assert!(report.thresholds[0].passed);
    let verdict = judge(&report, None);
    assert_eq!(verdict.result, VerdictResult::Failed);
    assert_eq!(verdict.exit_code, exit::VERDICT);
    assert!(verdict.reasons[0].contains("region=us: p95"), "{verdict:?}");
}
