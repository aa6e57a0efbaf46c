//! Judges thresholds in the store: finds the rows that each is about, and explains those that are about none.

use super::super::report::{Report, ThresholdRow};
use super::super::threshold_figures::{Subject, ThresholdFigures};
use super::super::thresholds::{ALL_CHECKS, Judges, View, is_called};
use super::{Store, latency};
use crate::error::nearest;
use crate::threshold::{Among, Figure, Threshold};
use std::time::Duration;

impl Store {
    /// Sets the thresholds that are judged from now on.
    pub(crate) fn judge_by(&mut self, thresholds: Vec<Threshold>) {
        self.judges = Judges::new(thresholds);
    }

    /// Suspends judgement until the next reset: what comes until then is left out.
    pub(crate) fn hold_judgement(&mut self) {
        self.judges.hold();
    }

    /// Notes that the load goes down from that time since the start of the run: nothing that follows breaks a
    /// stretch or stops the run.
    pub(crate) fn load_ended(&mut self, at: Duration) {
        let at = latency::nanoseconds(at).saturating_sub(self.time.origin_ns());
        self.judges.end(at);
    }

    /// Returns the broken threshold that ends the run, if there is one.
    pub(crate) fn stopping_threshold(&self) -> Option<ThresholdRow> {
        self.judges.stopping()
    }

    /// Lets the judges look at everything until so many nanoseconds after the measurement began.
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

    /// Puts the verdicts into a report, with the reason for those that could not be judged.
    pub(super) fn judge(&self, until: u64, report: &mut Report) {
        let (rows, unjudged) = self.with_view(until, |view| self.judges.verdicts(view));
        report.thresholds = rows;
        for unjudged in unjudged {
            let threshold = unjudged.threshold;
            let why = match (unjudged.why, &threshold.name) {
                (Some(why), _) => why.to_owned(),
                (None, _)
                    if threshold
                        .after
                        .is_some_and(|after| latency::nanoseconds(after) >= until) =>
                {
                    "the run was over before the part of it that 'after' leaves in".to_owned()
                }
                (None, Some(name)) if self.threshold_figures(threshold).is_none() => {
                    self.nobody(name)
                }
                _ => continue,
            };
            let name = threshold.name.as_deref();
            let name = name.map_or_else(String::new, |name| format!("{name}: "));
            report.warnings.push(format!(
                "the threshold '{name}{threshold}' has no data: {why}"
            ));
        }
    }

    /// Returns the figures that a threshold is about; `None` if nothing of that name was seen.
    fn threshold_figures(&self, threshold: &Threshold) -> Option<ThresholdFigures> {
        let among = threshold.among;
        match (threshold.name.as_deref(), threshold.figure) {
            (None, Figure::Checks) | (Some(ALL_CHECKS), _) => self.measured.measures.all_checks(),
            (None, _) => {
                let mut threshold_figures = ThresholdFigures::nothing(Subject::Requests);
                self.measured
                    .requests
                    .total
                    .show(&mut threshold_figures, among);
                Some(threshold_figures)
            }
            (Some(name), _) => self
                .requests_named(name, among)
                .or_else(|| self.tasks_named(name))
                .or_else(|| self.measured.measures.named(name)),
        }
    }

    /// Returns the figures of requests of a name, of all methods if it has none.
    fn requests_named(&self, name: &str, among: Among) -> Option<ThresholdFigures> {
        let rows = self.measured.requests.by_label.named();
        let mut rows = rows
            .filter(|(label, row)| is_called(label, name) && row.counts.count() > 0)
            .peekable();
        rows.peek()?;
        let mut threshold_figures = ThresholdFigures::nothing(Subject::Requests);
        rows.for_each(|(_, row)| row.show(&mut threshold_figures, among));
        Some(threshold_figures)
    }

    /// Returns the figures of tasks and transactions of a name, of all scenarios.
    fn tasks_named(&self, name: &str) -> Option<ThresholdFigures> {
        let name = name.strip_prefix("task ").unwrap_or(name);
        let rows = self.measured.tasks.named();
        let mut rows = rows
            .filter(|(label, row)| *label.name == *name && row.runs() > 0)
            .peekable();
        rows.peek()?;
        let mut threshold_figures = ThresholdFigures::nothing(Subject::Tasks);
        rows.for_each(|(_, row)| row.show(&mut threshold_figures));
        Some(threshold_figures)
    }

    /// Explains that a name was never used, and names the one most like it.
    fn nobody(&self, name: &str) -> String {
        let requests = self.measured.requests.by_label.names.labels().iter();
        let full = requests.map(|label| format!("{} {}", label.group, label.name));
        let tasks = self.measured.tasks.names.labels().iter();
        let names = full
            .chain(tasks.map(|label| label.name.to_string()))
            .chain(self.measured.measures.names());
        let names: Vec<String> = names.collect();
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("; did you mean '{near}'?"),
            None => String::new(),
        };
        format!("no request, task, check or metric of that name was seen{hint}")
    }
}
