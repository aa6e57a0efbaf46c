//! Which rows a threshold is about, and what the store tells of those that are about none.

use super::super::names::Label;
use super::super::report::ThresholdRow;
use super::super::sight::{Sight, Subject};
use super::super::thresholds::Judges;
use super::{Report, Store};
use crate::error::nearest;
use crate::threshold::{Figure, Threshold};
use std::time::Duration;

/// The name that stands for all checks together.
const ALL_CHECKS: &str = "checks";

impl Store {
    /// Judges these thresholds from now on.
    pub fn judge_by(&mut self, thresholds: Vec<Threshold>) {
        self.judges = Judges::new(thresholds);
    }

    /// The load goes down from here: nothing that comes breaks a stretch or stops the run.
    pub fn load_ended(&mut self) {
        self.judges.end();
    }

    /// The threshold that is broken and ends the run, if one is.
    pub fn stopping_threshold(&self) -> Option<ThresholdRow> {
        self.judges.stopping()
    }

    pub(super) fn look(&mut self) {
        let measured = self.measured(self.now);
        let mut judges = std::mem::take(&mut self.judges);
        judges.look(measured, |threshold| self.sight(threshold));
        self.judges = judges;
    }

    /// Puts the verdicts into a report, and for those that could not be judged the reason.
    pub(super) fn judge(&self, measured: Duration, report: &mut Report) {
        let see = |threshold: &Threshold| self.sight(threshold);
        let (rows, unjudged) = self.judges.verdicts(measured, see);
        report.thresholds = rows;
        for unjudged in unjudged {
            let threshold = unjudged.threshold;
            let Some(name) = &threshold.name else {
                continue;
            };
            let why = match unjudged.why {
                Some(why) => why.to_owned(),
                None if see(threshold).is_some() => continue,
                None => self.nobody(name),
            };
            report.warnings.push(format!(
                "the threshold '{name}: {threshold}' has no data: {why}"
            ));
        }
    }

    /// What a threshold is about; `None` if nothing of that name was seen.
    fn sight(&self, threshold: &Threshold) -> Option<Sight> {
        match (threshold.name.as_deref(), threshold.figure) {
            (None, Figure::Checks) | (Some(ALL_CHECKS), _) => self.measures.all_checks(),
            (None, _) => {
                let counts = &self.total.counts;
                Some(Sight::latencies(
                    Subject::Requests,
                    &counts.ok,
                    &counts.failed,
                    &self.total.all,
                ))
            }
            (Some(name), _) => self
                .requests_named(name)
                .or_else(|| self.tasks_named(name))
                .or_else(|| self.measures.named(name)),
        }
    }

    /// Requests of a name, of all methods if it has none.
    fn requests_named(&self, name: &str) -> Option<Sight> {
        let rows = self.requests.named();
        let rows = rows.filter(|(label, row)| is_called(label, name) && row.counts.count() > 0);
        rows.map(|(_, row)| {
            Sight::latencies(
                Subject::Requests,
                &row.counts.ok,
                &row.counts.failed,
                &row.all,
            )
        })
        .reduce(|all, row| all.with(&row))
    }

    /// Tasks and transactions of a name, of all scenarios.
    fn tasks_named(&self, name: &str) -> Option<Sight> {
        let name = name.strip_prefix("task ").unwrap_or(name);
        let rows = self.tasks.named();
        let rows = rows.filter(|(label, row)| *label.name == *name && row.runs() > 0);
        rows.map(|(_, row)| row.sight())
            .reduce(|all, row| all.with(&row))
    }

    /// That a name was never used, and which is most like it.
    fn nobody(&self, name: &str) -> String {
        let requests = self.requests.names.labels().iter();
        let full = requests.map(|label| format!("{} {}", label.group, label.name));
        let tasks = self.tasks.names.labels().iter();
        let names = full
            .chain(tasks.map(|label| label.name.to_string()))
            .chain(self.measures.names());
        let names: Vec<String> = names.collect();
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("; did you mean '{near}'?"),
            None => String::new(),
        };
        format!("no request, task, check or metric of that name was seen{hint}")
    }
}

fn is_called(label: &Label, name: &str) -> bool {
    let without_method = name
        .strip_prefix(&*label.group)
        .and_then(|name| name.strip_prefix(' '));
    *label.name == *name || without_method == Some(&*label.name)
}
