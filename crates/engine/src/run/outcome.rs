//! Outcome of a run: its report, completed with its ending and the settings of its load.

use crate::messages::context::RunContext;
use crate::messages::plan_version::PlanVersion;
use crate::run::settings::{settings_of, thresholds};
use lgoose_base::error::Error;
use lgoose_lua::Program;
use lgoose_metrics::{Cause, Ending, Report};
use lgoose_plan::Hook;
use lgoose_plan::config::ShowLevel;
use std::sync::Arc;

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The figures, the ending of the run and the settings of its load. Without a verdict as long as logs are still being
    /// written.
    pub report: Report,
    /// Trouble inside lgoose, if any; the figures of the report are still correct.
    pub trouble: Option<Error>,
    /// The plan as it was at the end.
    pub program: Arc<Program>,
    /// Whether the plan has an `on("report")` function.
    pub has_report_hook: bool,
}

impl Outcome {
    /// Makes the outcome of a run of that plan, whose report holds only the figures.
    pub(super) fn new(
        report: Report,
        ending: Ending,
        trouble: Option<Error>,
        context: &RunContext,
        plan_version: &PlanVersion,
    ) -> Outcome {
        Outcome {
            report: ended(report, ending, context, plan_version),
            trouble,
            program: plan_version.program.clone(),
            has_report_hook: plan_version.plan.hooks.contains(&Hook::Report),
        }
    }
}

/// Completes the report with the ending of its run and the settings of its load.
fn ended(
    mut report: Report,
    mut ending: Ending,
    context: &RunContext,
    plan_version: &PlanVersion,
) -> Report {
    let mut settings = settings_of(&context.config, &context.local, plan_version);
    // A reloaded plan has brought its own.
    settings.thresholds = thresholds(&plan_version.config);
    if ending.in_test_start {
        // There was nothing to judge.
        report.thresholds.clear();
    }
    if context.local.show != ShowLevel::Nothing {
        // One iteration is no load to judge; a row that a threshold lacks is in the warnings.
        report.thresholds.clear();
        settings.thresholds.clear();
    }
    if ending.in_warmup {
        // The figures are those of the warm-up, which thresholds do not judge.
        report.thresholds.clear();
    }
    if report.part.is_some() {
        let only = format!(
            "these are the figures of {} alone: 'lgoose report' joins the JSON reports of all parts",
            context.local.part
        );
        report.warnings.insert(0, only);
    }
    if let Some((done, due)) = undone(&report, &ending, context) {
        ending.leave_undone(done, due);
    }
    report.ending = Some(ending.with_text());
    report.settings = Some(settings);
    report
}

/// Returns how many of the iterations that limit a run on workers were done, if lost workers left some undone.
fn undone(report: &Report, ending: &Ending, context: &RunContext) -> Option<(u64, u64)> {
    if report.workers.is_empty() || ending.cause != Cause::IterationsDone {
        return None;
    }
    let config = &context.config;
    let due = match config.shared_iterations {
        Some(all) => all,
        // Users of a lost worker have begun anew in its place.
        None if ending.missing_load == Some(0.0) => return None,
        None => config.iterations?.checked_mul(config.users)?,
    };
    let measurements = report.earlier.iter().chain(report.warmup.as_deref());
    let scenarios = measurements.chain([report]).flat_map(|one| &one.scenarios);
    let done = scenarios.map(|scenario| scenario.iterations).sum();
    (done < due).then_some((done, due))
}
