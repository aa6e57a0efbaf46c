//! Summary of the steps of a search, as the report has it.

use super::search::{SearchAims, SearchEnd};
use super::{knee, usl};
use crate::{Capacity, CapacityOutcome, CapacityStep, LoadKind, StepResult};

/// All that a search has found.
#[derive(Debug)]
pub struct SearchSummary {
    /// Aims of the search.
    pub aims: SearchAims,
    /// The limits that had to be kept, as they were written.
    pub slo: Vec<String>,
    /// How the search ended.
    pub end: SearchEnd,
    /// Its steps.
    pub steps: Vec<CapacityStep>,
}

/// Sums up a search.
pub fn summary(findings: SearchSummary) -> Capacity {
    let SearchSummary {
        aims,
        slo,
        end,
        steps,
    } = findings;
    let limiting = steps.iter().rev().find(|step| {
        step.result == StepResult::Failed && end.high.is_none_or(|high| step.load == high)
    });
    let limited_by = limiting.and_then(|step| step.limited_by.clone());
    let last = steps.last().and_then(|step| step.reason.clone());
    let held = steps.iter().rev().find(|step| {
        step.result == StepResult::Held && end.low.is_some_and(|low| step.load == low)
    });
    let good = held.map_or(1.0, good_share);
    Capacity {
        by: aims.by,
        rate: end
            .low
            .filter(|_| aims.by == LoadKind::Rate)
            .map(|rate| rate * good),
        users: end
            .low
            .filter(|_| aims.by == LoadKind::Users)
            .map(|users| users as u64),
        low: end.low,
        high: end.high,
        text: text(aims, &end, good, limited_by.as_deref(), last.as_deref()),
        limited_by,
        outcome: end.outcome,
        confirmed: end.confirmed,
        slo,
        within: aims.within,
        knee: knee::knee(&steps),
        usl: usl::usl(&steps),
        steps,
    }
}

/// Returns the share of a step's iterations in which nothing failed.
fn good_share(step: &CapacityStep) -> f64 {
    let failed = step.iterations_failed as f64;
    1.0 - failed / step.iterations_ended.max(step.iterations_failed).max(1) as f64
}

/// Returns the result in one sentence; of the iterations at the load that held, that share was good.
fn text(
    aims: SearchAims,
    end: &SearchEnd,
    good: f64,
    limited_by: Option<&str>,
    last: Option<&str>,
) -> String {
    let by = aims.by;
    let so_far = match (end.low, end.high) {
        (Some(low), Some(high)) => format!(
            "so far {} held and {} did not",
            by.shown(low),
            by.shown(high)
        ),
        (Some(low), None) => format!("so far {} held", by.shown(low)),
        (None, Some(high)) => format!("{} did not hold", by.shown(high)),
        (None, None) => "no step was completed".to_owned(),
    };
    let because = limited_by.map_or_else(String::new, |limit| format!(" ({limit})"));
    let low = end.low.map(|low| match by {
        LoadKind::Rate if good < 1.0 => format!(
            "{} without a failure, of {} that start",
            by.shown((low * good * 10.0).floor() / 10.0),
            by.shown(low)
        ),
        _ => by.shown(low),
    });
    let low = low.unwrap_or_default();
    let why = last.map_or_else(String::new, |why| format!(": {why}"));
    match end.outcome {
        CapacityOutcome::Found => format!(
            "the site holds {low}; {} break its limits{because}",
            by.shown(end.high.unwrap_or_default())
        ),
        CapacityOutcome::AtLeast => {
            format!("the site holds at least {low}, the greatest load that '--to' allows")
        }
        CapacityOutcome::FirstStepFails => format!(
            "the first step fails already, with {}{because}{why}: begin with less ('--from'), or check the site and the limits",
            by.shown(aims.from)
        ),
        CapacityOutcome::NothingHolds => format!(
            "no load from {} on holds as long as a confirming run{because}: begin with less ('--from')",
            by.shown(aims.from)
        ),
        CapacityOutcome::Generator => {
            format!("lgoose, not the site, is the limit{why}; {so_far}")
        }
        CapacityOutcome::NotRecovered => {
            format!("the site did not recover after the last step, so the search ended; {so_far}")
        }
        CapacityOutcome::NotConfirmed => {
            format!("loads that held in a step failed repeatedly in the confirming run; {so_far}")
        }
        CapacityOutcome::TimeUp if end.confirmed => match end.high {
            Some(high) => format!(
                "the site holds {low}; {} break its limits{because}; the time of the search was up before it was narrowed further",
                by.shown(high)
            ),
            None => format!(
                "the site holds at least {low}; the time of the search was up before more was tried"
            ),
        },
        CapacityOutcome::TimeUp => {
            format!(
                "the time of the search was up before a run confirmed a result: give it more ('--time'); {so_far}"
            )
        }
        CapacityOutcome::StepsTooShort => {
            format!("the steps are too short for this plan{why}; {so_far}")
        }
        CapacityOutcome::Stopped => format!("the search was stopped; {so_far}"),
    }
}
