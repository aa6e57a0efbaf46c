//! Why a run's verdict is bad, for the exit code and for every output that tells a verdict.

use super::text::broken_line;
use crate::metrics::Report;
use crate::units::show_count;

/// What is bad beside a broken threshold and a run without a single success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strict {
    /// One failed request or task (`--fail-on-error`).
    pub errors: bool,
    /// One second in which lgoose was the bottleneck (`--fail-on-saturation`).
    pub saturation: bool,
}

/// One line for each reason; none: the verdict is good.
pub fn reasons(report: &Report, strict: Strict) -> Vec<String> {
    let mut reasons: Vec<String> = nothing_succeeded(report).into_iter().collect();
    let broken = report.thresholds.iter().filter(|row| !row.passed);
    reasons.extend(broken.map(broken_line));
    reasons.extend(saturated(report, strict));
    let tasks: u64 = report.tasks.iter().map(|task| task.failures).sum();
    for (failures, what) in [(report.aggregated.failures, "requests"), (tasks, "tasks")] {
        if strict.errors && failures > 0 {
            let count = show_count(failures);
            reasons.push(format!("failed {what}: {count} ('--fail-on-error')"));
        }
    }
    reasons
}

/// Said when there is no request that did not fail.
pub(super) fn nothing_succeeded(report: &Report) -> Option<String> {
    let all = &report.aggregated;
    let why = match all.count {
        0 => "no request was made",
        _ => "not one request succeeded",
    };
    (all.failures == all.count).then(|| why.to_owned())
}

pub(super) fn saturated(report: &Report, strict: Strict) -> Option<String> {
    let row = report.generator.filter(|_| strict.saturation)?;
    let why = "lgoose itself was the bottleneck ('--fail-on-saturation')";
    (row.saturated_s > 0.0).then(|| why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    #[test]
    fn each_reason_is_given_and_those_that_were_not_asked_for_are_not() {
        let mut report = fixture::report();
        assert_eq!(reasons(&report, Strict::default()).len(), 3);
        report.thresholds.clear();
        assert!(reasons(&report, Strict::default()).is_empty());
        let strict = Strict {
            errors: true,
            saturation: true,
        };
        assert_eq!(
            reasons(&report, strict),
            [
                "lgoose itself was the bottleneck ('--fail-on-saturation')",
                "failed requests: 135 ('--fail-on-error')",
                "failed tasks: 12 ('--fail-on-error')",
            ]
        );
        report.aggregated.failures = report.aggregated.count;
        assert_eq!(
            reasons(&report, Strict::default()),
            ["not one request succeeded"]
        );
    }
}
