//! Judges thresholds: the figures of the whole run at its end, those of every interval during the run, and whether a
//! threshold that stops the run was broken.
//!
//! Driven by the store, which passes on each merged slice and, at each tick, the time up to which the figures are
//! complete. A threshold that leaves out a part of the run, or looks at intervals, gathers its own figures, so that
//! nothing that is left out is ever judged. Times are nanoseconds since the start of the measurement.

mod gathering;

use super::delta::SliceDelta;
use super::report::ThresholdRow;
use super::silence::Silence;
use super::threshold_figures::ThresholdFigures;
use crate::threshold::{FigureKind, Threshold};
use gathering::GatheredFigures;
pub(super) use gathering::{ALL_CHECKS, ITERATIONS, is_called, task_called};
use std::time::Duration;

/// Thresholds of a run and their state.
#[derive(Debug, Default)]
pub(super) struct Judges {
    judges: Vec<Judge>,
    /// When the load began to go down: later stretches say nothing about the target.
    ended: Option<u64>,
    /// Whether judgement is suspended because what is measured now will be left out.
    held: bool,
}

#[derive(Debug)]
struct Judge {
    threshold: Threshold,
    /// The name that rows show: the threshold's own, or the label that its figures are all of.
    name: Option<String>,
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
pub(super) struct FigureView<'a> {
    /// The moment up to which everything is known.
    pub(super) until: u64,
    /// Returns the figures of the whole run that a threshold is about; `None` if nothing of that name was seen.
    pub(super) whole: &'a dyn Fn(&Threshold) -> Option<ThresholdFigures>,
    /// Returns how much of a stretch, given by its two ends, was not spent in a pause.
    pub(super) lasted: &'a dyn Fn(u64, u64) -> Duration,
    /// Times without any response while users waited, including one that still lasts.
    pub(super) silences: &'a [Silence],
}

/// A threshold without a figure, and the reason if it is known.
#[derive(Debug)]
pub(super) struct UnjudgedThreshold<'a> {
    pub(super) threshold: &'a Threshold,
    /// The name that its row shows.
    pub(super) name: Option<&'a str>,
    pub(super) why: Option<&'static str>,
}

impl Judges {
    pub(super) fn new(thresholds: Vec<Threshold>) -> Judges {
        Judges {
            judges: thresholds.into_iter().map(Judge::new).collect(),
            ..Judges::default()
        }
    }

    /// Returns the judges of those thresholds whose name is a label, for figures that are all of that label.
    pub(super) fn of_label(&self, label: &str) -> Judges {
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

    /// Suspends judgement until the next reset: what is measured until then will be left out.
    pub(super) fn hold(&mut self) {
        self.held = true;
    }

    /// Adds a slice, or a part of one.
    pub(super) fn gather(&mut self, slice: &SliceDelta) {
        if !self.held {
            for judge in &mut self.judges {
                if let Some(gathered) = &mut judge.gathered {
                    gathered.add(&judge.threshold, slice);
                }
            }
        }
    }

    /// Looks at the current figures.
    pub(super) fn look(&mut self, view: &FigureView<'_>) {
        for judge in &mut self.judges {
            judge.look(view, self.ended, self.held);
        }
    }

    /// Judges no stretches from `at` on, and stops nothing.
    pub(super) fn end(&mut self, at: u64) {
        self.ended.get_or_insert(at);
    }

    /// Drops what was seen, and judges from now on.
    pub(super) fn reset(&mut self) {
        let judges = std::mem::take(self).judges.into_iter();
        let anew = judges.map(|judge| Judge {
            name: judge.name,
            ..Judge::new(judge.threshold)
        });
        self.judges = anew.collect();
    }

    /// Returns the first broken threshold that ends the run.
    pub(super) fn stopping(&self) -> Option<ThresholdRow> {
        let mut broken = self.judges.iter().filter(|judge| judge.broken.is_some());
        let stopping = broken.find(|judge| judge.threshold.abort)?;
        Some(stopping.row(stopping.broken.map(|(_, value)| value)))
    }

    /// Returns all thresholds with their figures at the latest look.
    pub(super) fn current(&self) -> Vec<ThresholdRow> {
        self.judges
            .iter()
            .map(|judge| judge.row(judge.now))
            .collect()
    }

    /// Returns the verdicts on a run that is seen up to its end, and the thresholds that could not be judged.
    pub(super) fn verdicts(
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
                judge.last_word(view)
            };
            if !matches!(seen, Ok(Some(_))) {
                let why = seen.err();
                let name = judge.name.as_deref();
                unjudged.push(UnjudgedThreshold {
                    threshold,
                    name,
                    why,
                });
            }
            rows.push(judge.row(seen.unwrap_or(None)));
        }
        (rows, unjudged)
    }
}

impl Judge {
    fn new(threshold: Threshold) -> Judge {
        Judge {
            gathered: GatheredFigures::for_threshold(&threshold),
            name: threshold.name.clone(),
            threshold,
            now: None,
            worst: None,
            broken: None,
        }
    }

    fn look(&mut self, view: &FigureView<'_>, ended: Option<u64>, held: bool) {
        let stretches = match &mut self.gathered {
            Some(gathered) => {
                gathered.stretches(ended.map_or(view.until, |ended| view.until.min(ended)))
            }
            None => None,
        };
        if let Some(stretches) = stretches {
            for stretch in stretches {
                let end = stretch.to;
                let Ok(Some(value)) = stretch.value(&self.threshold, view) else {
                    continue;
                };
                self.now = Some(value);
                if !held {
                    self.judge(end, value);
                }
            }
            return;
        }
        let seen = self.whole(view).unwrap_or(None);
        self.now = seen;
        let from = nanoseconds(self.threshold.after);
        // A rate needs some time to be one.
        let least = match self.threshold.figure {
            FigureKind::Rate | FigureKind::Bytes if from > 0 => LEAST_FOR_A_RATE,
            _ => 0,
        };
        let has_started = view.until >= from.saturating_add(least);
        if let Some(value) = seen
            && self.threshold.abort
            && has_started
            && !held
            && ended.is_none()
        {
            self.judge(view.until, value);
        }
    }

    /// Takes a figure that counts, as of the moment `at`.
    fn judge(&mut self, at: u64, value: f64) {
        let threshold = &self.threshold;
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
    fn whole(&self, view: &FigureView<'_>) -> Result<Option<f64>, &'static str> {
        let threshold = &self.threshold;
        let (threshold_figures, from) = match &self.gathered {
            Some(gathered) => (gathered.all(), gathered.after),
            None => ((view.whole)(threshold), 0),
        };
        match threshold_figures {
            Some(threshold_figures) => {
                let lasted = (view.lasted)(from, view.until.max(from));
                threshold_figures.value(threshold, lasted.as_secs_f64())
            }
            None => Ok(None),
        }
    }

    /// Returns the figure that decides at the end of the run.
    fn last_word(&self, view: &FigureView<'_>) -> Result<Option<f64>, &'static str> {
        match (self.threshold.during, self.broken) {
            (Some(_), _) if self.worst.is_some() => Ok(self.worst),
            (None, Some((_, value))) => Ok(Some(value)),
            // This holds for a run that was shorter than the stretch, too.
            _ => self.whole(view),
        }
    }

    fn row(&self, value: Option<f64>) -> ThresholdRow {
        let threshold = &self.threshold;
        let holds = value.is_some_and(|value| threshold.holds(value));
        ThresholdRow {
            threshold: threshold.to_string(),
            name: self.name.clone(),
            value,
            limit: threshold.limit,
            unit: threshold.unit.text().to_owned(),
            passed: holds && self.broken.is_none(),
            broken_s: self.broken.map(|(at, _)| at as f64 / 1e9),
        }
    }
}

/// The shortest time that makes a rate, in nanoseconds.
const LEAST_FOR_A_RATE: u64 = 1_000_000_000;

fn nanoseconds(time: Option<Duration>) -> u64 {
    time.map_or(0, super::latency::nanoseconds)
}

#[cfg(test)]
mod tests;
