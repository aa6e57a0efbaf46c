//! Runs that are not judged yet, put together by the tests of endings.

use super::super::judge;
use crate::fixture;
use lgoose_base::error::Error;
use lgoose_metrics::{Cause, Ending, Report, ThresholdRow};
use std::time::Duration;

/// A run that is not judged yet.
pub(super) struct UnjudgedRun {
    pub(super) name: &'static str,
    report: Report,
    pub(super) ending: Ending,
    trouble: Option<Error>,
}

/// Returns a run that ended at `at` of `planned` seconds, with a hundred successful requests.
pub(super) fn run(name: &'static str, cause: Cause, at: f64, planned: Option<u64>) -> UnjudgedRun {
    let mut report = fixture::report();
    report.thresholds.clear();
    report.warnings.clear();
    report.checks.clear();
    report.errors.clear();
    report.requests.truncate(1);
    report.tasks.truncate(1);
    let figures = &mut report.requests[0].figures;
    (figures.count, figures.failures) = (100, 0);
    report.aggregated = figures.clone();
    report.generator = report.generator.map(|row| lgoose_metrics::GeneratorRow {
        saturated_s: 0.0,
        ..row
    });
    let at = Duration::from_secs_f64(at);
    UnjudgedRun {
        name,
        report,
        ending: Ending::new(cause, at, planned.map(Duration::from_secs)),
        trouble: None,
    }
}

impl UnjudgedRun {
    /// Changes the ending.
    pub(super) fn but(mut self, change: impl FnOnce(&mut Ending)) -> UnjudgedRun {
        change(&mut self.ending);
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Report)) -> UnjudgedRun {
        change(&mut self.report);
        self
    }

    pub(super) fn threshold(
        self,
        text: &str,
        value: f64,
        passed: bool,
        broken_s: Option<f64>,
    ) -> UnjudgedRun {
        let (threshold, unit) = (text.to_owned(), "ms".to_owned());
        self.with(|report| {
            report.thresholds.push(ThresholdRow {
                threshold,
                name: None,
                value: Some(value),
                limit: 300.0,
                unit,
                passed,
                broken_s,
                subject: Some(lgoose_metrics::SubjectRow {
                    kind: if text.starts_with("dropped") {
                        lgoose_metrics::SubjectKind::Arrivals
                    } else {
                        lgoose_metrics::SubjectKind::Requests
                    },
                    name: None,
                    scenarios: Vec::new(),
                }),
            });
        })
    }

    pub(super) fn held(self) -> UnjudgedRun {
        self.threshold("p95 < 300ms", 18.9, true, None)
    }

    pub(super) fn broken(self) -> UnjudgedRun {
        self.threshold("p95 < 300ms", 412.0, false, None)
    }

    pub(super) fn set(self, change: impl FnOnce(&mut lgoose_metrics::RunSettings)) -> UnjudgedRun {
        self.with(|report| {
            let mut settings = report.settings.take().unwrap_or_default();
            settings.thresholds.clear();
            change(&mut settings);
            report.settings = Some(settings);
        })
    }

    pub(super) fn usual(self) -> UnjudgedRun {
        self.set(|_| {})
    }

    pub(super) fn failures(self, failures: u64) -> UnjudgedRun {
        self.with(|report| {
            report.aggregated.failures = failures;
            report.requests[0].figures.failures = failures;
        })
    }

    pub(super) fn trouble(mut self, text: &str) -> UnjudgedRun {
        self.trouble = Some(Error::trouble(text));
        self
    }

    /// Returns the report with its ending and its verdict.
    pub(super) fn end(self) -> Report {
        let mut report = self.report;
        report.ending = Some(self.ending.with_text());
        report.verdict = Some(judge(&report, self.trouble.as_ref()));
        report
    }
}
