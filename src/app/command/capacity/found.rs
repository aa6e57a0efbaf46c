//! The report of a search: the report of one of its runs, with the result of the search and the verdict on it.

use lgoose_base::error::exit;
use lgoose_base::units;
use lgoose_engine::Outcome;
use lgoose_metrics::{
    Capacity, CapacityOutcome, Cause, Ending, ReasonKind, Verdict, VerdictResult,
};
use std::time::Duration;

/// Completes the report of the run that represents the search.
pub(super) fn complete(outcome: &mut Outcome, found: Capacity, aborted: bool) {
    if let Some(ending) = &mut outcome.report.ending {
        ended_by_search(ending);
    }
    let mut verdict = lgoose_judgement::judge(&outcome.report, outcome.trouble.as_ref());
    let code = exit_code(&found);
    if outcome.trouble.is_none() && code != exit::OK {
        verdict = Verdict {
            result: VerdictResult::Failed,
            exit_code: if aborted { exit::ABORTED } else { code },
            reasons: vec![found.text.clone()],
            reason_kinds: vec![ReasonKind::Capacity],
            text: format!("failed: {}", found.text),
            ..verdict
        };
    } else if verdict.exit_code == exit::OK {
        verdict.text = format!("passed: {}", found.text);
    }
    outcome.report.verdict = Some(verdict);
    outcome.report.capacity = Some(Box::new(found));
}

/// Describes the end of a step that the search, and not a person, stopped because its result was known.
fn ended_by_search(ending: &mut Ending) {
    if ending.cause == Cause::StoppedByUser {
        ending.cause = Cause::TimeUp;
        ending.cut_short = false;
        ending.text = format!(
            "the step was decided after {}",
            units::show_long(Duration::from_secs_f64(ending.at_s.max(0.0).floor()))
        );
    }
}

fn exit_code(found: &Capacity) -> u8 {
    match found.outcome {
        CapacityOutcome::Found | CapacityOutcome::AtLeast => exit::OK,
        CapacityOutcome::TimeUp if found.confirmed => exit::OK,
        CapacityOutcome::Generator => exit::TROUBLE,
        _ => exit::VERDICT,
    }
}
