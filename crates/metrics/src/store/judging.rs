//! Subjects of thresholds: finds the rows that each threshold names, and explains why it has none.

use super::measured::MeasuredFigures;
use crate::latencies::nanoseconds;
use crate::record::ITERATION;
use crate::report::ThresholdRow;
use crate::thresholds::{
    ITERATIONS, RowSelector, SelectedFigures, Selection, ThresholdFigures, ThresholdSubject,
    UnjudgedThreshold, row_selectors,
};
use lgoose_base::error::nearest;
use lgoose_base::phases::TimedPart;
use lgoose_base::tags::{SCENARIO, Tags, split_selector};
use lgoose_base::threshold::Threshold;

/// Verdicts on thresholds, and the reasons for those that could not be judged.
#[derive(Debug)]
pub(super) struct Verdicts {
    pub(super) rows: Vec<ThresholdRow>,
    pub(super) warnings: Vec<String>,
}

/// Replaces the rows that name a label by those of its own figures, which are in the same order.
pub(super) fn put_rows_of_labels(rows: &mut [ThresholdRow], labels: Vec<Vec<ThresholdRow>>) {
    for judged in labels {
        let name = judged.first().and_then(|row| row.name.clone());
        let named = rows.iter_mut().filter(|row| row.name == name);
        for (row, judged) in named.zip(judged) {
            *row = judged;
        }
    }
}

/// Returns the figures of the rows that are selected, but not by tags; `None` if there are none.
pub(super) fn figures(
    measured: &MeasuredFigures,
    selector: &RowSelector,
    threshold: &Threshold,
) -> Option<ThresholdFigures> {
    if *selector == RowSelector::AllRequests {
        let mut figures = ThresholdFigures::nothing(ThresholdSubject::Requests);
        measured.requests.total.show(&mut figures, threshold);
        return Some(figures);
    }
    if let RowSelector::Arrivals { .. } = selector {
        let mut figures = ThresholdFigures::nothing(ThresholdSubject::Arrivals);
        let rows = measured.scenarios.rows.iter();
        for row in rows.filter(|row| selector.arrivals_of(&row.name)) {
            figures.add_arrivals(row.load.arrivals());
        }
        return Some(figures);
    }
    let mut found = SelectedFigures::default();
    let requests = measured.requests.by_label.named();
    for (label, row) in requests.filter(|(_, row)| row.has_figures()) {
        if let Some(figures) = found.select(selector.request(label), ThresholdSubject::Requests) {
            row.show(figures, threshold);
        }
    }
    for (label, row) in measured.tasks.named().filter(|(_, row)| row.runs() > 0) {
        if let Some(figures) = found.select(selector.task(label), ThresholdSubject::Tasks) {
            row.show(figures);
        }
    }
    for (name, row) in measured.measures.named() {
        if let Some(figures) = found.select(selector.measure(row.kind, name), row.kind.subject()) {
            figures.add(&row.threshold_figures());
        }
    }
    found.0
}

/// Returns the scenarios that the selected rows belong to, where some do not; empty for all. One that has made no request, or
/// run no task, may have been kept from it, and belongs to them.
pub(super) fn scenarios(measured: &MeasuredFigures, selector: &RowSelector) -> Vec<String> {
    if let Some(scenario) = selector.scenario() {
        return vec![scenario];
    }
    let requests = &measured.requests;
    let labels = requests.by_label.names.labels();
    let has_rows = |scenario: &str| match selector {
        RowSelector::Requests { .. } => {
            let tag = format!("{SCENARIO}={scenario}");
            let tagged = requests.by_tag.rows().find(|(text, _)| *text == tag);
            tagged.is_none_or(|(_, tagged)| {
                let mut names = tagged.names.keys();
                names.any(|at| selector.is_request_of(&labels[*at]))
            })
        }
        RowSelector::Tasks { .. } => {
            let of_scenario = measured
                .tasks
                .named()
                .filter(|(label, row)| *label.group == *scenario && row.runs() > 0);
            let mut labels = of_scenario.map(|(label, _)| label).peekable();
            labels.peek().is_none() || labels.any(|label| selector.task(label) != Selection::No)
        }
        _ => true,
    };
    let all = measured.scenarios.rows.iter().map(|row| &row.name);
    let own: Vec<String> = all
        .filter(|name| has_rows(name))
        .map(|name| name.to_string())
        .collect();
    if own.len() == measured.scenarios.rows.len() {
        return Vec::new();
    }
    own
}

/// Returns whether the run has anything that a threshold can be about.
fn has_any(measured: &MeasuredFigures, threshold: &Threshold) -> bool {
    let selectors = row_selectors(threshold);
    let mut selectors = selectors.iter();
    selectors.any(|selector| figures(measured, selector, threshold).is_some())
}

/// Returns the warning about a threshold that could not be judged, if it is known why; `labels` are those of the run's
/// workers, if it has workers.
pub(super) fn warning(
    measured: &MeasuredFigures,
    unjudged: &UnjudgedThreshold<'_>,
    until: u64,
    labels: Option<&[String]>,
) -> Option<String> {
    let why = why_unjudged(measured, unjudged, until, labels)?;
    let threshold = unjudged.threshold;
    let name = unjudged
        .name
        .map_or_else(String::new, |name| format!("{name}: "));
    Some(format!(
        "the threshold '{name}{threshold}' has no data: {why}"
    ))
}

/// Explains why a threshold could not be judged, if that is known.
fn why_unjudged(
    measured: &MeasuredFigures,
    unjudged: &UnjudgedThreshold<'_>,
    until: u64,
    labels: Option<&[String]>,
) -> Option<String> {
    let threshold = unjudged.threshold;
    let is_label = |name: &String| labels.is_some_and(|labels| labels.contains(name));
    if threshold.name.as_ref().is_some_and(is_label) {
        // It is judged by the figures of that label.
        return None;
    }
    let after = threshold.after.map(nanoseconds);
    match (unjudged.why, &threshold.name) {
        (Some(why), _) => Some(why.to_owned()),
        (None, _) if after.is_some_and(|after| after >= until) => {
            Some("the run ended before the part that 'after' selects".to_owned())
        }
        (None, _) if threshold.part.is_some() && has_any(measured, threshold) => {
            let part = threshold.part.map_or_else(String::new, described);
            Some(format!("no request had {part}"))
        }
        (None, Some(name)) if !has_any(measured, threshold) => Some(match split_selector(name) {
            Some((tags, name)) => no_tags(measured, &tags, name, threshold.part, labels),
            None => nobody(measured, name, labels),
        }),
        (None, None) if unjudged.name.is_some() => {
            Some("no worker with that label has made a request".to_owned())
        }
        _ => None,
    }
}

/// Returns a part of requests as messages name it.
fn described(part: TimedPart) -> String {
    match part {
        TimedPart::Phase(phase) => format!("a phase '{}'", phase.name()),
        part => format!("'{}', which only streams have", part.name()),
    }
}

/// Explains that no request had these tags, this name and this part, and suggests a known tag for an unknown
/// one.
fn no_tags(
    measured: &MeasuredFigures,
    tags: &Tags,
    name: &str,
    part: Option<TimedPart>,
    labels: Option<&[String]>,
) -> String {
    let requests = &measured.requests;
    let tags_met = requests.by_tag.rows().map(|(tag, _)| tag);
    let existing: Vec<String> = tags_met
        .chain(labels.into_iter().flatten().cloned())
        .collect();
    let or_label = if labels.is_none() {
        ""
    } else {
        ", and no label of workers has that name"
    };
    let mut unknown = tags.pairs().map(|(key, value)| format!("{key}={value}"));
    match unknown.find(|tag| !existing.contains(tag)) {
        Some(tag) => {
            let hint = hint(&tag, &existing);
            format!("no request had the tag '{tag}'{or_label}{hint}")
        }
        None => {
            let called = match name {
                "" => String::new(),
                name => format!(" named '{name}'"),
            };
            match part {
                Some(part) => {
                    let part = described(part);
                    format!("no request{called} with all of these tags had {part}")
                }
                None => format!("no request{called} had all of these tags"),
            }
        }
    }
}

/// Suggests the one of some names that is most like another.
fn hint(name: &str, existing: &[String]) -> String {
    let near = nearest(name, existing.iter().map(String::as_str));
    near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

/// Explains that a name was never used, and suggests the one most like it.
fn nobody(measured: &MeasuredFigures, name: &str, labels: Option<&[String]>) -> String {
    let requests = measured.requests.by_label.names.labels().iter();
    let full = requests.map(|label| format!("{} {}", label.group, label.name));
    let tasks = measured.tasks.names.labels().iter();
    let names = full
        .chain(tasks.map(|label| label.name.replace(ITERATION, ITERATIONS)))
        .chain(measured.measures.names())
        .chain(labels.into_iter().flatten().cloned());
    let names: Vec<String> = names.collect();
    let hint = hint(name, &names);
    if labels.is_none() {
        format!("no request, task, check or metric of that name was seen{hint}")
    } else {
        format!("no request, task, check, metric or label of workers has that name{hint}")
    }
}
