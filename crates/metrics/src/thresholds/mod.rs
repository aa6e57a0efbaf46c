//! Judges thresholds: the figures of the whole run at its end, those of every interval during the run, and whether a
//! threshold that stops the run was broken.
//!
//! Driven by the store, which passes on each merged slice and, at each tick, the time up to which the figures are
//! complete. A threshold that leaves out a part of the run, or looks at intervals, gathers its own figures, so that
//! nothing that is left out is ever judged. Times are nanoseconds since the start of the measurement.

mod figures;
mod gathering;
mod selector;
mod waits;

use crate::delta::SliceDelta;
use crate::over_time::Silence;
use crate::report::ThresholdRow;
pub(crate) use figures::{ThresholdFigures, ThresholdSubject};
use gathering::{GatheredFigures, ThresholdStretch};
use lgoose_base::threshold::{FigureKind, Threshold};
pub(crate) use selector::{ITERATIONS, RowSelector, SelectedFigures, Selection, row_selectors};
use std::time::Duration;

/// Thresholds of a run and their state.
#[derive(Debug, Default)]
pub(crate) struct Judges {
    judges: Vec<Judge>,
    /// When the load began to go down: later stretches say nothing about the target.
    ended: Option<u64>,
    /// Whether judgement is suspended because the current figures will be left out.
    held: bool,
}

#[derive(Debug)]
struct Judge {
    threshold: Threshold,
    /// The name that rows show: the threshold's own, or the label that its figures are all of.
    name: Option<String>,
    /// Possible subjects of the threshold, in the order of precedence. Each is judged from the start of the run, so that
    /// it does not matter when the run sees a row of it.
    candidates: Vec<Candidate>,
}

/// A possible subject of a threshold: rows of one kind, and their figures so far.
#[derive(Debug)]
struct Candidate {
    selector: RowSelector,
    /// Once the run has had such a row, whatever was left out since: whether such rows can have the figure.
    has_figure: Option<bool>,
    /// Figures that it gathers itself; without them it looks at those of the whole run.
    gathered: Option<GatheredFigures>,
    /// Figure at the latest look.
    now: Option<f64>,
    /// Figure of all stretches nearest to breaking the limit, or furthest beyond it.
    worst: Option<f64>,
    /// When the threshold was finally broken, and the figure then.
    broken: Option<(u64, f64)>,
}

/// Figures that judges look at.
pub(crate) struct FigureView<'a> {
    /// The moment up to which everything is known.
    pub(crate) until: u64,
    /// The moment up to which all verdicts of the plan on requests are known, too.
    pub(crate) decided: u64,
    /// Returns the figures of the rows of the whole run that are selected; `None` if there are none.
    pub(crate) whole: &'a dyn Fn(&RowSelector, &Threshold) -> Option<ThresholdFigures>,
    /// Returns how much of a stretch, given by its two ends, was not spent in a pause.
    pub(crate) lasted: &'a dyn Fn(u64, u64) -> Duration,
    /// Returns the scenarios that the selected rows belong to, where some do not; empty for all.
    pub(crate) scenarios: &'a dyn Fn(&RowSelector) -> Vec<String>,
    /// Times without any response while users waited, including one that still lasts.
    pub(crate) silences: &'a [Silence],
}

/// A threshold without a figure, and the reason if it is known.
#[derive(Debug)]
pub(crate) struct UnjudgedThreshold<'a> {
    pub(crate) threshold: &'a Threshold,
    /// The name that its row shows.
    pub(crate) name: Option<&'a str>,
    pub(crate) why: Option<&'static str>,
}

impl Judges {
    pub(crate) fn new(thresholds: Vec<Threshold>) -> Judges {
        Judges {
            judges: thresholds.into_iter().map(Judge::new).collect(),
            ..Judges::default()
        }
    }

    /// Returns the judges of those thresholds whose name is a label, for figures that are all of that label.
    pub(crate) fn of_label(&self, label: &str) -> Judges {
        let named = self.judges.iter();
        let named = named.filter(|judge| judge.name.as_deref() == Some(label));
        let whole = named.map(|judge| Judge {
            name: judge.name.clone(),
            ..Judge::new(Threshold {
                name: None,
                ..judge.threshold.clone()
            })
        });
        Judges {
            judges: whole.collect(),
            ended: self.ended,
            held: self.held,
        }
    }

    /// Suspends judgement until the next reset: the figures up to then will be left out.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// Adds a slice, or a part of one.
    pub(crate) fn gather(&mut self, slice: &SliceDelta) {
        for judge in &mut self.judges {
            judge.gather(slice, self.held);
        }
    }

    /// Looks at the current figures.
    pub(crate) fn look(&mut self, view: &FigureView<'_>) {
        for judge in &mut self.judges {
            judge.look(view, self.ended, self.held);
        }
    }

    /// Judges no stretches from `at` on, and stops nothing.
    pub(crate) fn end(&mut self, at: u64) {
        self.ended.get_or_insert(at);
    }

    /// Drops all figures so far, and judges from now on.
    pub(crate) fn reset(&mut self) {
        let judges = std::mem::take(self).judges.into_iter();
        self.judges = judges.map(Judge::anew).collect();
    }

    /// Returns the first broken threshold that ends the run, without those that are about a label of workers.
    pub(crate) fn stopping(&self, labels: &[String]) -> Option<ThresholdRow> {
        let mut judges = self
            .judges
            .iter()
            .filter(|judge| judge.threshold.abort && judge.label(labels).is_none());
        judges.find_map(|judge| {
            let (_, value) = judge.subject().broken?;
            Some(judge.row(Some(value)))
        })
    }

    /// Returns all thresholds with their figures at the latest look; one that is broken for good keeps its worst.
    pub(crate) fn current(&self) -> Vec<ThresholdRow> {
        self.judges
            .iter()
            .map(|judge| judge.row(judge.subject().shown()))
            .collect()
    }

    /// Returns a warning for each threshold whose name the run has had rows of several kinds of, or is that of a label of
    /// workers, too: which are meant, and how to choose others.
    pub(crate) fn ambiguities(&self, labels: &[String]) -> impl Iterator<Item = String> {
        let judges = self.judges.iter();
        judges.filter_map(move |judge| judge.ambiguity(labels))
    }

    /// Returns the verdicts on a run that is seen up to its end, and the thresholds that could not be judged.
    pub(crate) fn verdicts(
        &self,
        view: &FigureView<'_>,
    ) -> (Vec<ThresholdRow>, Vec<UnjudgedThreshold<'_>>) {
        let mut unjudged = Vec::new();
        let mut rows = Vec::new();
        for judge in &self.judges {
            let threshold = &judge.threshold;
            let seen = if self.held {
                Err("the run ended before the part that is judged began")
            } else {
                judge.subject().last_word(threshold, view)
            };
            if threshold.of_left_out && matches!(seen, Ok(None)) {
                continue;
            }
            if !matches!(seen, Ok(Some(_))) {
                let why = seen.err();
                let name = judge.name.as_deref();
                unjudged.push(UnjudgedThreshold {
                    threshold,
                    name,
                    why,
                });
            }
            let mut row = judge.row(seen.unwrap_or(None));
            if let Some(subject) = &mut row.subject {
                subject.scenarios = (view.scenarios)(&judge.subject().selector);
            }
            rows.push(row);
        }
        (rows, unjudged)
    }
}

impl Judge {
    fn new(threshold: Threshold) -> Judge {
        let candidates = row_selectors(&threshold).into_iter();
        Judge {
            name: threshold.name.clone(),
            candidates: candidates
                .map(|selector| Candidate::new(selector, &threshold))
                .collect(),
            threshold,
        }
    }

    /// Returns the same judge without figures, which still knows the rows that the run has had.
    fn anew(self) -> Judge {
        let candidates = self.candidates.into_iter().map(|candidate| Candidate {
            has_figure: candidate.has_figure,
            ..Candidate::new(candidate.selector, &self.threshold)
        });
        Judge {
            candidates: candidates.collect(),
            ..self
        }
    }

    /// Returns the subject of the threshold: the first candidate with its figure that the run has had rows of, else the
    /// first of which it has had rows.
    fn subject(&self) -> &Candidate {
        let mut seen = self
            .candidates
            .iter()
            .filter(|one| one.has_figure.is_some());
        let first = seen.clone().next();
        let with_figure = seen.find(|candidate| candidate.has_figure == Some(true));
        // There is always one.
        with_figure.or(first).unwrap_or(&self.candidates[0])
    }

    /// Returns the label of workers that the threshold is about.
    fn label<'a>(&self, labels: &'a [String]) -> Option<&'a str> {
        let name = self.name.as_deref()?;
        let label = labels.iter().find(|label| **label == name)?;
        Some(label)
    }

    fn ambiguity(&self, labels: &[String]) -> Option<String> {
        let name = self.name.as_deref()?;
        let candidates = self.candidates.iter();
        let mut seen = candidates.filter(|candidate| candidate.has_figure == Some(true));
        let subject = seen.next()?.selector.kind();
        if let Some(label) = self.label(labels) {
            return Some(format!(
                "the threshold '{name}: {}' is about the workers with the label '{label}'; requests have a tag of that \
                 name, too: rename one of them",
                self.threshold
            ));
        }
        let others: Vec<&str> = seen.map(|candidate| candidate.selector.kind()).collect();
        let (first, rest) = (others.first()?, others.get(1..)?);
        let rest: String = rest.iter().map(|kind| format!(" and a {kind}")).collect();
        let threshold = &self.threshold;
        Some(format!(
            "the threshold '{name}: {threshold}' is about the {subject} of that name; a {first}{rest} has it, too: \
             '{first} …' before the name chooses"
        ))
    }

    fn gather(&mut self, slice: &SliceDelta, held: bool) {
        for candidate in &mut self.candidates {
            if candidate.has_figure.is_none()
                && let Some(subject) = candidate.selector.subject_in(slice)
            {
                candidate.see(subject, &self.threshold);
            }
            if let Some(gathered) = &mut candidate.gathered
                && !held
            {
                gathered.add(&self.threshold, &candidate.selector, slice);
            }
        }
    }

    fn look(&mut self, view: &FigureView<'_>, ended: Option<u64>, held: bool) {
        for candidate in &mut self.candidates {
            candidate.look(&self.threshold, view, ended, held);
        }
    }

    fn row(&self, value: Option<f64>) -> ThresholdRow {
        let threshold = &self.threshold;
        let holds = value.is_some_and(|value| threshold.holds(value));
        let broken = self.subject().broken;
        ThresholdRow {
            threshold: threshold.to_string(),
            name: self.name.clone(),
            value,
            limit: threshold.limit,
            unit: threshold.unit.text().to_owned(),
            passed: holds && broken.is_none(),
            broken_s: broken.map(|(at, _)| at as f64 / 1e9),
            subject: Some(self.subject().selector.row()),
        }
    }
}

impl Candidate {
    /// Returns the figure that shows why the threshold is broken, or else the one of the latest look.
    fn shown(&self) -> Option<f64> {
        match self.broken {
            Some((_, then)) => self.worst.or(Some(then)),
            None => self.now,
        }
    }

    fn new(selector: RowSelector, threshold: &Threshold) -> Candidate {
        Candidate {
            gathered: GatheredFigures::for_threshold(threshold, &selector),
            selector,
            has_figure: None,
            now: None,
            worst: None,
            broken: None,
        }
    }

    /// Notes that the run has had such a row, of that subject.
    fn see(&mut self, subject: ThresholdSubject, threshold: &Threshold) {
        self.has_figure.get_or_insert_with(|| {
            let nothing = ThresholdFigures::nothing(subject);
            nothing.value(threshold, 1.0).is_ok()
        });
    }

    fn look(
        &mut self,
        threshold: &Threshold,
        view: &FigureView<'_>,
        ended: Option<u64>,
        held: bool,
    ) {
        self.find_declared(threshold, view);
        let known = if self.selector.waits_for_verdicts(threshold) {
            view.decided
        } else {
            view.until
        };
        if threshold.during.is_some() {
            let until = ended.map_or(known, |ended| known.min(ended));
            while let Some(stretch) = self.next_stretch(until) {
                let end = stretch.to;
                let Ok(Some(value)) = stretch.value(threshold, view) else {
                    continue;
                };
                self.now = Some(value);
                if !held {
                    self.judge(threshold, end, value);
                }
            }
            return;
        }
        let seen = self.whole(threshold, view).unwrap_or(None);
        self.now = seen;
        let from = nanoseconds(threshold.after);
        // A rate needs some time to be one.
        let least = match threshold.figure {
            FigureKind::Rate | FigureKind::Bytes if from > 0 => LEAST_FOR_A_RATE,
            _ => 0,
        };
        let (known, seen) = self.decided(threshold, view, known, seen);
        let has_started = known >= from.saturating_add(least);
        if let Some(value) = seen
            && threshold.abort
            && has_started
            && !held
            && ended.is_none()
        {
            self.judge(threshold, known, value);
        }
    }

    /// Returns the moment up to which the verdicts on all requests are known, and the figure at that moment; where the
    /// figure waits for no verdicts, `until` and `value`.
    fn decided(
        &mut self,
        threshold: &Threshold,
        view: &FigureView<'_>,
        until: u64,
        value: Option<f64>,
    ) -> (u64, Option<f64>) {
        let gathered = self
            .gathered
            .as_mut()
            .filter(|_| threshold.abort && self.selector.waits_for_verdicts(threshold));
        let Some(gathered) = gathered else {
            return (until, value);
        };
        let after = gathered.after;
        let Some((until, figures)) = gathered.decide(until) else {
            return (until, None);
        };
        let lasted = (view.lasted)(after, until.max(after));
        let value = figures.value(threshold, lasted.as_secs_f64());
        (until, value.unwrap_or(None))
    }

    fn next_stretch(&mut self, until: u64) -> Option<ThresholdStretch> {
        self.gathered.as_mut()?.next_stretch(until)
    }

    /// Looks for a counter that the plan has declared, or that had something added before what is gathered: it is 0 as
    /// long as nothing is added.
    fn find_declared(&mut self, threshold: &Threshold, view: &FigureView<'_>) {
        let gathered = self
            .gathered
            .as_mut()
            .filter(|gathered| !gathered.has_subject());
        let is_metric = matches!(self.selector, RowSelector::Metric(_));
        if !is_metric || (self.has_figure.is_some() && gathered.is_none()) {
            return;
        }
        if let Some(figures) = (view.whole)(&self.selector, threshold) {
            if let Some(gathered) = gathered {
                gathered.are_of(figures.subject);
            }
            self.see(figures.subject, threshold);
        }
    }

    /// Takes a figure that counts, as of the moment `at`.
    fn judge(&mut self, threshold: &Threshold, at: u64, value: f64) {
        self.worst = Some(match self.worst {
            Some(worst) if threshold.is_upper() => worst.max(value),
            Some(worst) => worst.min(value),
            None => value,
        });
        if !threshold.holds(value) {
            self.broken.get_or_insert((at, value));
        }
    }

    /// Returns the figure of everything that is not left out.
    fn whole(
        &self,
        threshold: &Threshold,
        view: &FigureView<'_>,
    ) -> Result<Option<f64>, &'static str> {
        let (threshold_figures, from) = match &self.gathered {
            // The part that counts has not begun.
            Some(gathered) if view.until < gathered.after => return Ok(None),
            Some(gathered) => (gathered.all(), gathered.after),
            None => ((view.whole)(&self.selector, threshold), 0),
        };
        threshold_figures.map_or(Ok(None), |threshold_figures| {
            let lasted = (view.lasted)(from, view.until.max(from));
            threshold_figures.value(threshold, lasted.as_secs_f64())
        })
    }

    /// Returns the figure that decides at the end of the run.
    fn last_word(
        &self,
        threshold: &Threshold,
        view: &FigureView<'_>,
    ) -> Result<Option<f64>, &'static str> {
        let gathered = self.gathered.as_ref();
        match (threshold.during, self.broken) {
            // Where no stretch had a figure, there is none.
            (Some(_), _) if gathered.is_some_and(GatheredFigures::has_stretches) => Ok(self.worst),
            (None, Some((_, value))) => Ok(Some(value)),
            // This holds for a run that was shorter than the stretch, too.
            _ => self.whole(threshold, view),
        }
    }
}

/// The shortest time that makes a rate, in nanoseconds.
const LEAST_FOR_A_RATE: u64 = 1_000_000_000;

fn nanoseconds(time: Option<Duration>) -> u64 {
    time.map_or(0, crate::latencies::nanoseconds)
}

#[cfg(test)]
mod tests;
