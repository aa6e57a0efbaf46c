//! Words and figures for a search for the greatest load, the same in every format.

use lgoose_base::figures::{rate, share, time};
use lgoose_base::line::one_line;
use lgoose_base::units::three_digits;
use lgoose_metrics::{Capacity, CapacityStep, LoadKind, StepResult};

/// Returns the result of a search, as labels and texts.
pub(crate) fn capacity_facts(found: &Capacity) -> Vec<(&'static str, String)> {
    let mut facts = vec![("result", one_line(&found.text))];
    match (found.low, found.high) {
        (Some(low), Some(high)) => {
            let width = three_digits((high / low - 1.0) * 100.0);
            let text = format!(
                "{} held, {} failed: {width}% apart",
                found.shown(low),
                found.shown(high)
            );
            facts.push(("interval", text));
        }
        (Some(low), None) => facts.push((
            "interval",
            format!("from {} on, no step failed", found.shown(low)),
        )),
        _ => {}
    }
    let confirmed = if found.confirmed {
        "by a run of its own, which this report is about"
    } else {
        "not by a run of its own; this report is about one of the steps"
    };
    facts.push(("confirmed", confirmed.to_owned()));
    if let Some(limit) = &found.limited_by {
        facts.push(("breaks first", one_line(limit)));
    }
    facts.push((
        "knee",
        match found.knee {
            Some(load) => format!(
                "{}: from here on latency grows faster than the load",
                found.shown(load)
            ),
            None => "none between the steps".to_owned(),
        },
    ));
    facts
}

/// Returns the law of scalability that was fitted to a search, as labels and texts.
pub(crate) fn scalability_facts(found: &Capacity) -> Vec<(&'static str, String)> {
    match &found.usl {
        Some(usl) => {
            let coefficients = format!(
                "α = {}, β = {} (universal scalability law, Gunther 2007)",
                coefficient(usl.alpha),
                coefficient(usl.beta)
            );
            vec![
                ("scalability", coefficients),
                ("in words", one_line(&usl.text)),
            ]
        }
        None => vec![(
            "scalability",
            "too few steps held to fit a law to".to_owned(),
        )],
    }
}

/// Formats a coefficient, which may be very small.
fn coefficient(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        small if small < 0.001 => format!("{small:.2e}"),
        value => format!("{value:.4}"),
    }
}

/// Returns the unit of a search's loads, for the head of a column.
pub(crate) fn load_unit(by: LoadKind) -> &'static str {
    match by {
        LoadKind::Rate => "iterations/s",
        LoadKind::Users => "users",
    }
}

/// Returns the cells of a step: load, requests per second, p95, failures, seconds judged.
pub(crate) fn step_cells(by: LoadKind, step: &CapacityStep) -> [String; 5] {
    [
        by.number(step.load),
        rate(step.throughput),
        step.p95_ms.map_or_else(|| "–".to_owned(), time),
        match step.count {
            0 => "–".to_owned(),
            count => share(step.failures, count),
        },
        format!("{} s", step.measured_s.round()),
    ]
}

/// Returns the result of a step in a word or two.
pub(crate) fn step_result(step: &CapacityStep) -> &'static str {
    match (step.confirms, step.result) {
        (true, StepResult::Held) => "confirmed",
        (true, StepResult::Failed) => "not confirmed",
        (_, StepResult::Generator) if step.limited_by.as_deref() == Some("users") => {
            "too few users"
        }
        (_, result) => result.word(),
    }
}
