//! Subjects of thresholds: the rows that the name of a threshold selects, of a slice or of the whole run.
//!
//! A name can stand for several kinds of rows: requests without a name are counted under their task, so both have one
//! name. [`row_selectors`] returns all of them in the order of precedence; the threshold is about the first of which the
//! run has seen a row.

use super::figures::{MAY_LACK, ThresholdFigures, ThresholdSubject};
use crate::delta::SliceDelta;
use crate::measures::{MeasureDelta, MeasureKind};
use crate::record::{GroupedName, ITERATION, OTHER, WaitingRequests};
use crate::report::{SubjectKind, SubjectRow};
use lgoose_base::tags::{SCENARIO, Tags, split_selector};
use lgoose_base::threshold::{FigureKind, LatencySubset, Threshold};

/// Name that stands for all checks together.
const ALL_CHECKS: &str = "checks";

/// Name that stands for the iterations of all scenarios together.
pub(crate) const ITERATIONS: &str = "iterations";

/// Selects rows of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowSelector {
    AllRequests,
    AllChecks,
    /// Iterations that were due in a run at a rate, of one scenario or of all.
    Arrivals {
        scenario: Option<String>,
    },
    /// Requests of a name with these tags; of any name if it is empty.
    Requests {
        tags: Tags,
        name: String,
    },
    /// Runs of a task or transaction, of one scenario or of all.
    Tasks {
        scenario: Option<String>,
        name: String,
    },
    Metric(String),
    Check(String),
    /// Metrics that are counted for a threshold of this name, which begins with tags.
    TaggedMetric(String),
    /// The same of checks.
    TaggedCheck(String),
}

/// Whether a selector is about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    No,
    /// The row counts together everything that had too many names or tags, which may include it.
    Perhaps,
    Yes,
}

impl Selection {
    fn of(is_selected: bool) -> Selection {
        if is_selected {
            Selection::Yes
        } else {
            Selection::No
        }
    }
}

/// Returns the possible subjects of a threshold, in the order of precedence: the kind that the name begins with (`task`,
/// `check` or `metric`), the requests of the name, the task or transaction, the metric, the check; then the same with
/// the tags that the name begins with.
pub(crate) fn row_selectors(threshold: &Threshold) -> Vec<RowSelector> {
    match threshold.name.as_deref() {
        None if threshold.figure == FigureKind::Checks => vec![RowSelector::AllChecks],
        None if threshold.figure == FigureKind::Dropped => {
            vec![RowSelector::Arrivals { scenario: None }]
        }
        None => vec![RowSelector::AllRequests],
        Some(name)
            if threshold.figure == FigureKind::Dropped
                && let Some((tags, "")) = split_selector(name)
                && let [(SCENARIO, scenario)] = tags.pairs().collect::<Vec<_>>()[..] =>
        {
            vec![RowSelector::Arrivals {
                scenario: Some(scenario.to_owned()),
            }]
        }
        // Requests of these tags have no checks.
        Some(name) if threshold.figure == FigureKind::Checks && split_selector(name).is_some() => {
            vec![
                RowSelector::Check(name.to_owned()),
                RowSelector::TaggedCheck(name.to_owned()),
            ]
        }
        Some(name) => all_called(name),
    }
}

fn all_called(name: &str) -> Vec<RowSelector> {
    match name {
        ALL_CHECKS => return vec![RowSelector::AllChecks],
        ITERATIONS => return vec![RowSelector::tasks(None, ITERATION)],
        _ => {}
    }
    let mut all = Vec::new();
    all.extend(RowSelector::explicit(None, name));
    all.extend([
        RowSelector::Requests {
            tags: Tags::default(),
            name: name.to_owned(),
        },
        RowSelector::tasks(None, name),
        RowSelector::Metric(name.to_owned()),
        RowSelector::Check(name.to_owned()),
    ]);
    let whole = name;
    if let Some((tags, name)) = split_selector(name) {
        // Tasks and iterations know their scenario and no other tag.
        let scenario = match tags.pairs().collect::<Vec<_>>()[..] {
            [(SCENARIO, scenario)] => Some(scenario.to_owned()),
            _ => None,
        };
        if scenario.is_some() {
            all.extend(RowSelector::explicit(scenario.as_deref(), name));
        }
        all.push(RowSelector::Requests {
            tags,
            name: name.to_owned(),
        });
        if scenario.is_some() && !name.is_empty() {
            all.push(RowSelector::tasks(scenario.as_deref(), name));
        }
        all.push(RowSelector::TaggedMetric(whole.to_owned()));
        all.push(RowSelector::TaggedCheck(whole.to_owned()));
    }
    all
}

impl RowSelector {
    fn tasks(scenario: Option<&str>, name: &str) -> RowSelector {
        RowSelector::Tasks {
            scenario: scenario.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// Returns the selector of a name that names its kind.
    fn explicit(scenario: Option<&str>, name: &str) -> Option<RowSelector> {
        if scenario.is_some() && name == ITERATIONS {
            return Some(RowSelector::tasks(scenario, ITERATION));
        }
        let (kind, rest) = name.split_once(' ')?;
        match kind {
            "task" => Some(RowSelector::tasks(scenario, rest)),
            "metric" if scenario.is_none() => Some(RowSelector::Metric(rest.to_owned())),
            "check" if scenario.is_none() => Some(RowSelector::Check(rest.to_owned())),
            _ => None,
        }
    }

    /// Returns whether rows are selected by tags, of which a run keeps no sums.
    pub(super) fn has_tags(&self) -> bool {
        match self {
            RowSelector::Requests { tags, .. } => !tags.is_empty(),
            RowSelector::Tasks { scenario, .. } => scenario.is_some(),
            _ => false,
        }
    }

    /// Returns whether requests of that name and tags are selected.
    pub(crate) fn request(&self, label: &GroupedName) -> Selection {
        let (tags, name) = match self {
            RowSelector::AllRequests => return Selection::Yes,
            RowSelector::Requests { tags, name } => (tags, name),
            _ => return Selection::No,
        };
        let is_called = name.is_empty() || is_called(label, name);
        if is_called && tags.are_in(&label.tags) {
            return Selection::Yes;
        }
        let counts_others = label.group.is_empty() && *label.name == *OTHER;
        let lacks_keys = label.tags.get(OTHER).is_some();
        let may_have = |(key, value)| match label.tags.get(key) {
            Some(of_key) => of_key == value || of_key == OTHER,
            None => lacks_keys,
        };
        if (is_called || counts_others) && tags.pairs().all(may_have) {
            Selection::Perhaps
        } else {
            Selection::No
        }
    }

    /// Returns whether requests of that name are selected, with some tags.
    pub(crate) fn is_request_of(&self, label: &GroupedName) -> bool {
        let RowSelector::Requests { name, .. } = self else {
            return false;
        };
        name.is_empty() || is_called(label, name)
    }

    /// Returns whether the iterations of that scenario are selected.
    pub(crate) fn arrivals_of(&self, name: &str) -> bool {
        let RowSelector::Arrivals { scenario } = self else {
            return false;
        };
        scenario.as_deref().is_none_or(|one| one == name)
    }

    /// Returns whether runs of that task are selected; the group of a task is its scenario.
    pub(crate) fn task(&self, label: &GroupedName) -> Selection {
        let RowSelector::Tasks { scenario, name } = self else {
            return Selection::No;
        };
        if *label.name == *OTHER && label.group.is_empty() {
            return Selection::Perhaps;
        }
        let of_scenario = scenario.as_deref().is_none_or(|one| one == &*label.group);
        Selection::of(of_scenario && *label.name == **name)
    }

    /// Returns whether a check or metric of that kind and name is selected.
    pub(crate) fn measure(&self, kind: MeasureKind, name: &str) -> Selection {
        let own = match self {
            RowSelector::AllChecks => return Selection::of(kind.is_check()),
            RowSelector::TaggedCheck(own) if kind == MeasureKind::TaggedCheck => own,
            RowSelector::TaggedMetric(own) if matches!(kind, MeasureKind::TaggedMetric(_)) => own,
            RowSelector::Metric(own) if !kind.is_check() && !kind.is_tagged() => own,
            RowSelector::Check(own) if kind.is_check() => own,
            _ => return Selection::No,
        };
        if name == OTHER {
            Selection::Perhaps
        } else {
            Selection::of(own == name)
        }
    }

    /// Returns the subject of the rows of a slice that are selected for certain; `None` if it has none.
    pub(super) fn subject_in(&self, slice: &SliceDelta) -> Option<ThresholdSubject> {
        let mut requests = slice.requests.iter();
        let mut tasks = slice.tasks.iter();
        let mut measures = slice.measures.iter();
        let has_requests = requests.any(|row| {
            !row.figures.counts.is_empty() && self.request(&row.label) == Selection::Yes
        });
        if has_requests {
            return Some(ThresholdSubject::Requests);
        }
        if tasks.any(|row| !row.figures.is_empty() && self.task(&row.label) == Selection::Yes) {
            return Some(ThresholdSubject::Tasks);
        }
        let measured = measures
            .find(|row| !row.measure.is_empty() && self.measure_row(row) == Selection::Yes)?;
        Some(measured.measure.kind.subject())
    }

    fn measure_row(&self, row: &MeasureDelta) -> Selection {
        self.measure(row.measure.kind, &row.label.name)
    }

    /// Returns the figures of the rows of a slice; `None` if it has none.
    pub(super) fn figures(
        &self,
        threshold: &Threshold,
        slice: &SliceDelta,
    ) -> Option<ThresholdFigures> {
        let mut found = SelectedFigures::default();
        for row in slice
            .requests
            .iter()
            .filter(|row| !row.figures.counts.is_empty())
        {
            if let Some(figures) =
                found.select(self.request(&row.label), ThresholdSubject::Requests)
            {
                figures.add_slice(threshold, &row.figures);
            }
        }
        for row in slice.tasks.iter().filter(|row| !row.figures.is_empty()) {
            if let Some(figures) = found.select(self.task(&row.label), ThresholdSubject::Tasks) {
                let row = &row.figures;
                figures.add_tasks(&row.ok, &row.failed, |all| row.all.add_to(all));
            }
        }
        for row in slice.measures.iter().filter(|row| !row.measure.is_empty()) {
            let subject = row.measure.kind.subject();
            if let Some(figures) = found.select(self.measure_row(row), subject) {
                figures.add(&row.measure.threshold_figures());
            }
        }
        if let RowSelector::Arrivals { .. } = self
            && let Some(figures) = found.select(Selection::Yes, ThresholdSubject::Arrivals)
        {
            let rows = slice.scenarios.iter();
            for row in rows.filter(|row| self.arrivals_of(&row.name)) {
                figures.add_arrivals(row.counts.load.arrivals());
            }
        }
        // Without requests there is still the oldest one under way.
        if *self == RowSelector::AllRequests && slice.border.is_some() {
            found.select(Selection::Yes, ThresholdSubject::Requests);
        }
        found.0
    }

    /// Returns how many requests of a slice are selected that have ended in it, and those that have waited for long at its end.
    pub(super) fn waiting_in(&self, slice: &SliceDelta) -> (u64, WaitingRequests) {
        let rows = slice.requests.iter();
        let selected = rows.filter(|row| self.request(&row.label) == Selection::Yes);
        let mut all = (0, WaitingRequests::default());
        for row in selected {
            all.0 += row.figures.counts.count();
            all.1.add(row.figures.waiting);
        }
        all
    }

    /// Returns whether the figure of a threshold on these rows depends on verdicts that a plan may speak after a response.
    pub(super) fn waits_for_verdicts(&self, threshold: &Threshold) -> bool {
        let of_requests = matches!(
            self,
            RowSelector::AllRequests | RowSelector::Requests { .. }
        );
        of_requests
            && (threshold.figure == FigureKind::Failures || threshold.among == LatencySubset::Ok)
    }

    /// Returns the subject as the report shows it, without the scenarios that only a run shows.
    pub(crate) fn row(&self) -> SubjectRow {
        let (kind, name) = match self {
            RowSelector::AllRequests => (SubjectKind::Requests, None),
            RowSelector::AllChecks => (SubjectKind::Check, None),
            RowSelector::Arrivals { .. } => (SubjectKind::Arrivals, None),
            RowSelector::Requests { name, .. } => (SubjectKind::Requests, Some(name)),
            RowSelector::Tasks { name, .. } => (SubjectKind::Task, Some(name)),
            RowSelector::Metric(name) | RowSelector::TaggedMetric(name) => {
                (SubjectKind::Metric, Some(name))
            }
            RowSelector::Check(name) | RowSelector::TaggedCheck(name) => {
                (SubjectKind::Check, Some(name))
            }
        };
        SubjectRow {
            kind,
            name: name.filter(|name| !name.is_empty()).cloned(),
            scenarios: self.scenario().into_iter().collect(),
        }
    }

    /// Returns the scenario whose rows alone it selects, if it says one.
    pub(crate) fn scenario(&self) -> Option<String> {
        let of = |tags: &Tags| tags.get(SCENARIO).map(str::to_owned);
        match self {
            RowSelector::Requests { tags, .. } => of(tags),
            RowSelector::Tasks { scenario, .. } | RowSelector::Arrivals { scenario } => {
                scenario.clone()
            }
            RowSelector::TaggedMetric(whole) | RowSelector::TaggedCheck(whole) => {
                split_selector(whole).and_then(|(tags, _)| of(&tags))
            }
            RowSelector::AllRequests
            | RowSelector::AllChecks
            | RowSelector::Metric(_)
            | RowSelector::Check(_) => None,
        }
    }

    /// Returns the kind of rows, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            RowSelector::AllRequests | RowSelector::Requests { .. } => "requests",
            RowSelector::AllChecks => "checks",
            RowSelector::Arrivals { .. } => "iterations",
            RowSelector::Tasks { .. } => "task",
            RowSelector::Metric(_) | RowSelector::TaggedMetric(_) => "metric",
            RowSelector::Check(_) | RowSelector::TaggedCheck(_) => "check",
        }
    }
}

/// Figures of the rows selected so far.
#[derive(Debug, Default)]
pub(crate) struct SelectedFigures(pub(crate) Option<ThresholdFigures>);

impl SelectedFigures {
    /// Returns the figures to add a row to, if it is selected. Figures that may lack a row say so.
    pub(crate) fn select(
        &mut self,
        selection: Selection,
        subject: ThresholdSubject,
    ) -> Option<&mut ThresholdFigures> {
        if selection == Selection::No {
            return None;
        }
        let figures = self
            .0
            .get_or_insert_with(|| ThresholdFigures::nothing(subject));
        if selection == Selection::Perhaps {
            figures.flaw = Some(MAY_LACK);
            return None;
        }
        // A row of others may have come first, of another kind of metrics.
        if figures.count == 0 {
            figures.subject = subject;
        }
        Some(figures)
    }
}

/// Returns whether a request has that name, with or without its method.
fn is_called(label: &GroupedName, name: &str) -> bool {
    let without_method = name
        .strip_prefix(&*label.group)
        .and_then(|name| name.strip_prefix(' '));
    *label.name == *name || without_method == Some(&*label.name)
}
