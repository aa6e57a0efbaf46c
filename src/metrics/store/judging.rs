//! Judges thresholds in the store: finds the rows that each threshold is about, and explains why it has none.

use super::super::names::ITERATION;
use super::super::report::{Report, ThresholdRow};
use super::super::threshold_figures::{Subject, ThresholdFigures};
use super::super::thresholds::{
    ALL_CHECKS, ITERATIONS, Judges, Unjudged, View, is_called, task_called,
};
use super::{Store, latency};
use crate::error::nearest;
use crate::phases::Phase;
use crate::tags::{Tags, split_selector};
use crate::threshold::{Figure, Threshold};
use std::time::Duration;

impl Store {
    /// Sets the thresholds that are judged from now on.
    pub(crate) fn judge_by(&mut self, thresholds: Vec<Threshold>) {
        self.judges = Judges::new(thresholds);
        self.judge_labels();
    }

    /// Suspends judgement until the next reset: what is measured until then will be left out.
    pub(crate) fn hold_judgement(&mut self) {
        self.judges.hold();
        self.workers.each_store(Store::hold_judgement);
    }

    /// Notes that the load goes down from that time since the start of the run: nothing that follows breaks a
    /// stretch or stops the run.
    pub(crate) fn load_ended(&mut self, at: Duration) {
        let since = latency::nanoseconds(at).saturating_sub(self.time.origin_ns());
        self.judges.end(since);
        self.workers.each_store(|store| store.load_ended(at));
    }

    /// Returns the broken threshold that ends the run, if there is one.
    pub(crate) fn stopping_threshold(&self) -> Option<ThresholdRow> {
        let own = self.judges.stopping();
        own.or_else(|| self.workers.stopping_threshold())
    }

    /// Returns all thresholds with their current figures.
    pub(super) fn current_thresholds(&self) -> Vec<ThresholdRow> {
        let mut rows = self.judges.current();
        let labels = self.workers.current_thresholds();
        put_rows_of_labels(&mut rows, labels);
        rows
    }

    /// Lets the judges look at everything up to `until`, in nanoseconds since the measurement began.
    pub(super) fn look(&mut self, until: u64) {
        let mut judges = std::mem::take(&mut self.judges);
        self.with_view(until, |view| judges.look(view));
        self.judges = judges;
    }

    fn with_view<T>(&self, until: u64, see: impl FnOnce(&View<'_>) -> T) -> T {
        let lasted = |from, to| self.time.lasted(from, to);
        see(&View {
            until,
            whole: &|threshold| self.threshold_figures(threshold),
            lasted: &lasted,
            silences: &self.silences(),
        })
    }

    /// Judges the run up to `elapsed` since its start, and puts the verdicts into its report; `labels` are the
    /// verdicts of the labels.
    pub(super) fn judge(&self, elapsed: Duration, report: &mut Report, labels: Vec<Verdicts>) {
        let own = self.verdicts(elapsed);
        report.thresholds = own.rows;
        report.warnings.extend(own.warnings);
        for label in &labels {
            report.warnings.extend(label.warnings.iter().cloned());
        }
        let labels = labels.into_iter().map(|label| label.rows);
        put_rows_of_labels(&mut report.thresholds, labels.collect());
    }

    /// Returns the verdicts up to `elapsed` since the start of the run.
    pub(super) fn verdicts(&self, elapsed: Duration) -> Verdicts {
        let until = latency::nanoseconds(elapsed).saturating_sub(self.time.origin_ns());
        let (rows, unjudged) = self.with_view(until, |view| self.judges.verdicts(view));
        let warnings = unjudged.into_iter().filter_map(|unjudged| {
            let why = self.why_unjudged(&unjudged, until)?;
            let threshold = unjudged.threshold;
            let name = unjudged
                .name
                .map_or_else(String::new, |name| format!("{name}: "));
            Some(format!(
                "the threshold '{name}{threshold}' has no data: {why}"
            ))
        });
        let warnings = warnings.collect();
        Verdicts { rows, warnings }
    }

    /// Explains why a threshold could not be judged, if that is known.
    fn why_unjudged(&self, unjudged: &Unjudged<'_>, until: u64) -> Option<String> {
        let threshold = unjudged.threshold;
        if threshold
            .name
            .as_deref()
            .is_some_and(|name| self.workers.knows(name))
        {
            // It is judged by the figures of that label.
            return None;
        }
        let after = threshold.after.map(latency::nanoseconds);
        match (unjudged.why, &threshold.name) {
            (Some(why), _) => Some(why.to_owned()),
            (None, _) if after.is_some_and(|after| after >= until) => {
                Some("the run ended before the part that 'after' selects".to_owned())
            }
            (None, _)
                if threshold.phase.is_some() && self.threshold_figures(threshold).is_some() =>
            {
                let phase = threshold.phase.map_or("", Phase::name);
                Some(format!("no request had a phase '{phase}'"))
            }
            (None, Some(name)) if self.threshold_figures(threshold).is_none() => {
                Some(match split_selector(name) {
                    Some((tags, name)) => self.no_tags(&tags, name, threshold.phase),
                    None => self.nobody(name),
                })
            }
            (None, None) if unjudged.name.is_some() => {
                Some("no worker with that label has made a request".to_owned())
            }
            _ => None,
        }
    }

    /// Returns the figures that a threshold is about; `None` if nothing of that name was seen.
    fn threshold_figures(&self, threshold: &Threshold) -> Option<ThresholdFigures> {
        match (threshold.name.as_deref(), threshold.figure) {
            (None, Figure::Checks) | (Some(ALL_CHECKS), _) => self.measured.measures.all_checks(),
            (None, _) => {
                let mut threshold_figures = ThresholdFigures::nothing(Subject::Requests);
                self.measured
                    .requests
                    .total
                    .show(&mut threshold_figures, threshold);
                Some(threshold_figures)
            }
            (Some(name), _) => self
                .requests_named(name, threshold)
                .or_else(|| self.tasks_named(name))
                .or_else(|| self.measured.measures.named(name)),
        }
    }

    /// Returns the figures of requests of a name, of all methods if it has none.
    fn requests_named(&self, name: &str, of: &Threshold) -> Option<ThresholdFigures> {
        let rows = self.measured.requests.by_label.named();
        let mut rows = rows
            .filter(|(label, row)| is_called(label, name) && row.counts.count() > 0)
            .peekable();
        rows.peek()?;
        let mut threshold_figures = ThresholdFigures::nothing(Subject::Requests);
        rows.for_each(|(_, row)| row.show(&mut threshold_figures, of));
        Some(threshold_figures)
    }

    /// Returns the figures of tasks and transactions of a name, of all scenarios.
    fn tasks_named(&self, name: &str) -> Option<ThresholdFigures> {
        let name = task_called(name);
        let rows = self.measured.tasks.named();
        let mut rows = rows
            .filter(|(label, row)| *label.name == *name && row.runs() > 0)
            .peekable();
        rows.peek()?;
        let mut threshold_figures = ThresholdFigures::nothing(Subject::Tasks);
        rows.for_each(|(_, row)| row.show(&mut threshold_figures));
        Some(threshold_figures)
    }

    /// Explains that no request had these tags, this name and this phase, and suggests a known tag for an unknown
    /// one.
    fn no_tags(&self, tags: &Tags, name: &str, phase: Option<Phase>) -> String {
        let requests = &self.measured.requests;
        let tags_met = requests.by_tag.rows().map(|(tag, _)| tag);
        let known: Vec<String> = tags_met.chain(self.workers.label_texts()).collect();
        let or_label = if self.workers.is_empty() {
            ""
        } else {
            ", and no label of workers has that name"
        };
        let mut unknown = tags.pairs().map(|(key, value)| format!("{key}={value}"));
        match unknown.find(|tag| !known.contains(tag)) {
            Some(tag) => match nearest(&tag, known.iter().map(String::as_str)) {
                Some(near) => {
                    format!("no request had the tag '{tag}'{or_label}; did you mean '{near}'?")
                }
                None => format!("no request had the tag '{tag}'{or_label}"),
            },
            None => {
                let called = match name {
                    "" => String::new(),
                    name => format!(" named '{name}'"),
                };
                match phase {
                    Some(phase) => {
                        let phase = phase.name();
                        format!("no request{called} with all of these tags had a phase '{phase}'")
                    }
                    None => format!("no request{called} had all of these tags"),
                }
            }
        }
    }

    /// Explains that a name was never used, and suggests the one most like it.
    fn nobody(&self, name: &str) -> String {
        let requests = self.measured.requests.by_label.names.labels().iter();
        let full = requests.map(|label| format!("{} {}", label.group, label.name));
        let tasks = self.measured.tasks.names.labels().iter();
        let names = full
            .chain(tasks.map(|label| label.name.replace(ITERATION, ITERATIONS)))
            .chain(self.measured.measures.names())
            .chain(self.workers.label_texts());
        let names: Vec<String> = names.collect();
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("; did you mean '{near}'?"),
            None => String::new(),
        };
        if self.workers.is_empty() {
            format!("no request, task, check or metric of that name was seen{hint}")
        } else {
            format!("no request, task, check, metric or label of workers has that name{hint}")
        }
    }
}

/// Verdicts on thresholds, and the reasons for those that could not be judged.
#[derive(Debug)]
pub(super) struct Verdicts {
    rows: Vec<ThresholdRow>,
    warnings: Vec<String>,
}

/// Replaces the rows that name a label by those of its own figures, which are in the same order.
fn put_rows_of_labels(rows: &mut [ThresholdRow], labels: Vec<Vec<ThresholdRow>>) {
    for judged in labels {
        let name = judged.first().and_then(|row| row.name.clone());
        let named = rows.iter_mut().filter(|row| row.name == name);
        for (row, judged) in named.zip(judged) {
            *row = judged;
        }
    }
}
