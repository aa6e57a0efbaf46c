//! Gathers the figures that one threshold needs in addition to those of the whole run: everything from its `after`
//! on, or the cells of its sliding window.

use super::figures::{ThresholdFigures, ThresholdSubject};
use super::selector::RowSelector;
use super::waits::RowWaits;
use super::{FigureView, nanoseconds};
use crate::delta::SliceDelta;
use crate::over_time::{Silence, least_silence};
use crate::record::GRID;
use lgoose_base::phases::{Phase, TimedPart};
use lgoose_base::threshold::{FigureKind, Threshold, Unit};
use std::collections::BTreeMap;
use std::time::Duration;

/// Cells of a window: it moves by a sixtieth of its length, but at least by a quarter of a second.
const CELLS: u64 = 60;

/// By how much a stretch without a pause may last less than its length.
const BORDER: Duration = Duration::from_millis(1);

/// Figures gathered so far.
#[derive(Debug)]
pub(super) struct GatheredFigures {
    /// Beginning of the gathered figures, in nanoseconds since the measurement began.
    pub(super) after: u64,
    /// Subject of the figures, once it is known.
    subject: Option<ThresholdSubject>,
    figures: StoredFigures,
    /// Times without a response to the requests, where waiting for one counts.
    waits: Option<RowWaits>,
}

#[derive(Debug)]
enum StoredFigures {
    /// All figures together.
    All {
        sum: Option<Box<ThresholdFigures>>,
        /// Those that are not in the sum yet; `None` if no verdicts are waited for.
        undecided: Option<UndecidedFigures>,
    },
    /// Figures by cells, each known by its beginning.
    Cells {
        length: u64,
        step: u64,
        cells: BTreeMap<u64, ThresholdFigures>,
        /// End of the latest stretch that was judged.
        judged: u64,
    },
}

/// Figures of slices in which verdicts on requests may change.
#[derive(Debug, Default)]
struct UndecidedFigures {
    /// Ends and figures of the slices, by their beginnings.
    slices: BTreeMap<u64, (u64, ThresholdFigures)>,
    /// End of the last slice in which they are decided.
    to: u64,
}

/// Figures of a stretch of the run.
#[derive(Debug)]
pub(super) struct ThresholdStretch {
    from: u64,
    pub(super) to: u64,
    threshold_figures: ThresholdFigures,
    /// Silences of the selected requests alone.
    silences: Vec<Silence>,
}

impl GatheredFigures {
    /// Prepares to gather the figures of a threshold; `None` if the figures of the whole run are enough, which is never
    /// so for tags. A figure that only grows is always gathered in full: its `after` says when the limit has to be
    /// reached.
    pub(super) fn for_threshold(
        threshold: &Threshold,
        selector: &RowSelector,
    ) -> Option<GatheredFigures> {
        let grows = threshold.only_grows();
        let waits = threshold.abort && selector.waits_for_verdicts(threshold);
        let all = || StoredFigures::All {
            sum: None,
            undecided: waits.then(UndecidedFigures::default),
        };
        let mut after = nanoseconds(threshold.after);
        let figures = match threshold.during {
            Some(during) => {
                let length = nanoseconds(Some(during));
                StoredFigures::Cells {
                    length,
                    step: (length / CELLS / GRID * GRID).max(GRID),
                    cells: BTreeMap::new(),
                    judged: 0,
                }
            }
            None if selector.has_tags() => {
                if grows {
                    after = 0;
                }
                all()
            }
            None if waits => all(),
            None if grows
                || (threshold.after.is_none() && threshold.figure != FigureKind::Oldest) =>
            {
                return None;
            }
            None => all(),
        };
        Some(GatheredFigures {
            after,
            subject: None,
            figures,
            waits: (threshold.during.is_some()
                && matches!(selector, RowSelector::Requests { .. })
                && counts_waiting(threshold))
            .then(RowWaits::default),
        })
    }

    /// Adds the selected rows of a slice, or of a part of one.
    pub(super) fn add(
        &mut self,
        threshold: &Threshold,
        selector: &RowSelector,
        slice: &SliceDelta,
    ) {
        let from = slice.span.from;
        if from < self.after {
            return;
        }
        if let Some(waits) = &mut self.waits {
            let (ended, waiting) = selector.waiting_in(slice);
            waits.add(&slice.span, ended, waiting);
        }
        let Some(mut threshold_figures) = selector.figures(threshold, slice) else {
            return;
        };
        self.subject = Some(threshold_figures.subject);
        if let Some(border) = &slice.border {
            threshold_figures.oldest = threshold_figures.oldest.max(border.oldest as f64 / 1e6);
        }
        match &mut self.figures {
            StoredFigures::All {
                undecided: Some(undecided),
                ..
            } => match undecided.slices.get_mut(&from) {
                Some((_, existing)) => existing.add(&threshold_figures),
                None => {
                    let slice = (slice.span.to, threshold_figures);
                    drop(undecided.slices.insert(from, slice));
                }
            },
            StoredFigures::All { sum, .. } => add(sum, threshold_figures),
            StoredFigures::Cells { step, cells, .. } => {
                let cell = (from / *step * *step).max(self.after);
                match cells.get_mut(&cell) {
                    Some(existing) => existing.add(&threshold_figures),
                    None => drop(cells.insert(cell, threshold_figures)),
                }
            }
        }
    }

    /// Returns whether a whole stretch has been judged.
    pub(super) fn has_stretches(&self) -> bool {
        matches!(self.figures, StoredFigures::Cells { judged, .. } if judged > 0)
    }

    /// Returns whether the subject of the figures is known.
    pub(super) fn has_subject(&self) -> bool {
        self.subject.is_some()
    }

    /// Notes the subject of the figures although there are none: a counter to which nothing was added.
    pub(super) fn are_of(&mut self, subject: ThresholdSubject) {
        self.subject.get_or_insert(subject);
    }

    /// Returns everything that was kept.
    pub(super) fn all(&self) -> Option<ThresholdFigures> {
        match &self.figures {
            StoredFigures::All {
                sum: all,
                undecided,
            } => {
                let undecided = undecided.iter().flat_map(|all| all.slices.values());
                let undecided = undecided.map(|(_, figures)| figures);
                Some(sum(
                    self.subject?,
                    all.iter().map(|all| &**all).chain(undecided),
                ))
            }
            StoredFigures::Cells { cells, .. } => Some(sum(self.subject?, cells.values())),
        }
    }

    /// Returns the figures of the slices that are over at `until`, in which no verdict changes any more, and the end of the last
    /// of them.
    pub(super) fn decide(&mut self, until: u64) -> Option<(u64, &ThresholdFigures)> {
        let StoredFigures::All { sum, undecided } = &mut self.figures else {
            return None;
        };
        let (to, slices) = undecided
            .as_mut()
            .map(|all| (&mut all.to, &mut all.slices))?;
        while let Some(entry) = slices.first_entry()
            && entry.get().0 <= until
        {
            let (end, figures) = entry.remove();
            *to = end.max(*to);
            add(sum, figures);
        }
        Some((*to, sum.as_deref()?))
    }

    /// Returns the next stretch that is over at `until` and was not judged yet.
    pub(super) fn next_stretch(&mut self, until: u64) -> Option<ThresholdStretch> {
        // Once their subject is known, all are judged from the start, whenever that is.
        let subject = self.subject?;
        let StoredFigures::Cells {
            length,
            step,
            cells,
            judged,
        } = &mut self.figures
        else {
            return None;
        };
        let first = (self.after + *length).next_multiple_of(*step);
        let to = (*judged + *step).max(first);
        if to > until {
            return None;
        }
        *judged = to;
        let from = ((to - *length) / *step * *step).max(self.after);
        *cells = cells.split_off(&from);
        let threshold_figures = sum(subject, cells.range(..to).map(|(_, cell)| cell));
        let silences = self.waits.as_mut().map_or_else(Vec::new, |waits| {
            waits.forget_before(from);
            waits.silences(to, least_silence(threshold_figures.median()))
        });
        Some(ThresholdStretch {
            from,
            to,
            threshold_figures,
            silences,
        })
    }
}

/// Adds figures to the sum.
fn add(sum: &mut Option<Box<ThresholdFigures>>, more: ThresholdFigures) {
    match sum {
        Some(all) => all.add(&more),
        None => *sum = Some(Box::new(more)),
    }
}

/// Returns whether requests that wait for a response count for the figure of a threshold.
fn counts_waiting(threshold: &Threshold) -> bool {
    let is_latency = matches!(
        threshold.figure,
        FigureKind::Percentile(_) | FigureKind::Avg | FigureKind::Max | FigureKind::Oldest
    );
    is_latency
        && threshold
            .part
            .is_none_or(|part| part == TimedPart::Phase(Phase::FirstByte))
}

fn sum<'a>(
    subject: ThresholdSubject,
    cells: impl Iterator<Item = &'a ThresholdFigures>,
) -> ThresholdFigures {
    let mut sum = ThresholdFigures::nothing(subject);
    cells.for_each(|cell| sum.add(cell));
    sum
}

impl ThresholdStretch {
    /// Returns the figure of the stretch. If there was a silence in it, the requests that users would have made
    /// meanwhile count with the time that they would have waited; there are as many per second as in the rest of the
    /// stretch.
    pub(super) fn value(
        mut self,
        threshold: &Threshold,
        view: &FigureView<'_>,
    ) -> Result<Option<f64>, &'static str> {
        let lasted = (view.lasted)(self.from, self.to);
        let length = Duration::from_nanos(self.to - self.from);
        // A stretch that was mostly a pause says nothing.
        if lasted * 2 < length {
            return Ok(None);
        }
        // A number that is to be reached may be too small only because a part of the stretch was a pause.
        let is_number = match threshold.figure {
            FigureKind::Failures | FigureKind::Dropped => threshold.unit == Unit::None,
            _ => threshold.only_grows(),
        };
        if is_number && !threshold.is_upper() && lasted + BORDER < length {
            return Ok(None);
        }
        let silences = match (counts_waiting(threshold), &threshold.name) {
            (false, _) => Vec::new(),
            (true, None) => view.silences.to_vec(),
            (true, Some(_)) => std::mem::take(&mut self.silences),
        };
        let seen = self
            .threshold_figures
            .value(threshold, lasted.as_secs_f64())?;
        if silences.is_empty() || !threshold.is_upper() {
            return Ok(seen);
        }
        for silence in &silences {
            self.wait_for(silence, lasted);
        }
        let with_waiting = self
            .threshold_figures
            .value(threshold, lasted.as_secs_f64())?;
        // Short waits beside long responses must not make them look better.
        Ok(seen.into_iter().chain(with_waiting).reduce(f64::max))
    }

    fn wait_for(&mut self, silence: &Silence, lasted: Duration) {
        let (from, to) = (silence.from.max(self.from), silence.to.min(self.to));
        if from >= to {
            return;
        }
        let threshold_figures = &mut self.threshold_figures;
        let age = Duration::from_nanos(to - silence.from);
        threshold_figures.oldest = threshold_figures.oldest.max(age.as_secs_f64() * 1e3);
        let silent = Duration::from_nanos(to - from).as_secs_f64();
        let responsive = lasted.as_secs_f64() - silent;
        let unsent = if responsive > 0.1 * lasted.as_secs_f64() {
            (threshold_figures.count as f64 * silent / responsive) as u64
        } else {
            threshold_figures.count
        };
        // Whoever would have sent a request during the silence waits until it is over, as far as that is known.
        let longest = Duration::from_nanos(silence.to - from);
        threshold_figures.wait_evenly(unsent.max(silence.waiting), longest);
    }
}
