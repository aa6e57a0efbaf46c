//! Gathers the figures that one threshold needs in addition to those of the whole run: everything from its `after`
//! on, or the cells of its sliding window.

use super::super::axis::GRID;
use super::super::delta::SliceDelta;
use super::super::names::{GroupedName, ITERATION};
use super::super::silence::Silence;
use super::super::threshold_figures::{ThresholdFigures, ThresholdSubject};
use super::{FigureView, nanoseconds};
use crate::phases::Phase;
use crate::tags::{SCENARIO, Tags, split_selector};
use crate::threshold::{FigureKind, Threshold};
use std::collections::BTreeMap;
use std::time::Duration;

/// Cells of a window: it moves by a sixtieth of its length, but at least by a quarter of a second.
const CELLS: u64 = 60;

/// Name that stands for all checks together.
pub(in super::super) const ALL_CHECKS: &str = "checks";

/// Name that stands for the iterations of all scenarios together.
pub(in super::super) const ITERATIONS: &str = "iterations";

/// Returns the name under which the task of a threshold is counted.
pub(in super::super) fn task_called(name: &str) -> &str {
    match name {
        ITERATIONS => ITERATION,
        name => name.strip_prefix("task ").unwrap_or(name),
    }
}

/// Figures gathered so far.
#[derive(Debug)]
pub(super) struct GatheredFigures {
    /// Beginning of what is gathered, in nanoseconds since the measurement began.
    pub(super) after: u64,
    /// Tags that the threshold's name begins with, and the name that follows, which may be empty.
    selector: Option<(Tags, String)>,
    /// Subject of the threshold, once it is known.
    subject: Option<ThresholdSubject>,
    figures: StoredFigures,
}

#[derive(Debug)]
enum StoredFigures {
    /// All figures together.
    All(Option<Box<ThresholdFigures>>),
    /// Figures by cells, each known by its beginning.
    Cells {
        length: u64,
        step: u64,
        cells: BTreeMap<u64, ThresholdFigures>,
        /// End of the latest stretch that was judged.
        judged: u64,
    },
}

/// Figures of a stretch of the run.
#[derive(Debug)]
pub(super) struct ThresholdStretch {
    from: u64,
    pub(super) to: u64,
    threshold_figures: Option<ThresholdFigures>,
}

impl GatheredFigures {
    /// Prepares to gather what a threshold needs; `None` if the figures of the whole run are enough, which is never
    /// so for tags. A figure that only grows is always gathered in full: its `after` says when the limit has to be
    /// reached.
    pub(super) fn for_threshold(threshold: &Threshold) -> Option<GatheredFigures> {
        let grows = threshold.only_grows();
        let selector = threshold.name.as_deref().and_then(split_selector);
        let selector = selector.map(|(tags, name)| (tags, name.to_owned()));
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
            None if selector.is_some() => {
                if grows {
                    after = 0;
                }
                StoredFigures::All(None)
            }
            None if grows
                || (threshold.after.is_none() && threshold.figure != FigureKind::Oldest) =>
            {
                return None;
            }
            None => StoredFigures::All(None),
        };
        Some(GatheredFigures {
            after,
            selector,
            subject: None,
            figures,
        })
    }

    /// Adds a slice, or a part of one.
    pub(super) fn add(&mut self, threshold: &Threshold, slice: &SliceDelta) {
        let from = slice.span.from;
        if from < self.after {
            return;
        }
        let selector = self.selector.as_ref();
        let Some(mut threshold_figures) = seen(threshold, selector, slice) else {
            return;
        };
        if self
            .subject
            .is_some_and(|subject| subject != threshold_figures.subject)
        {
            // The name stood for something else before.
            self.forget();
        }
        self.subject = Some(threshold_figures.subject);
        if let Some(border) = &slice.border {
            threshold_figures.oldest = threshold_figures.oldest.max(border.oldest as f64 / 1e6);
        }
        match &mut self.figures {
            StoredFigures::All(Some(all)) => all.add(&threshold_figures),
            StoredFigures::All(none) => *none = Some(Box::new(threshold_figures)),
            StoredFigures::Cells { step, cells, .. } => {
                let cell = (from / *step * *step).max(self.after);
                match cells.get_mut(&cell) {
                    Some(existing) => existing.add(&threshold_figures),
                    None => drop(cells.insert(cell, threshold_figures)),
                }
            }
        }
    }

    fn forget(&mut self) {
        match &mut self.figures {
            StoredFigures::All(all) => *all = None,
            StoredFigures::Cells { cells, .. } => cells.clear(),
        }
    }

    /// Returns everything that was kept.
    pub(super) fn all(&self) -> Option<ThresholdFigures> {
        match &self.figures {
            StoredFigures::All(all) => all.as_deref().cloned(),
            StoredFigures::Cells { cells, .. } => self.sum(cells.values()),
        }
    }

    fn sum<'a>(
        &self,
        cells: impl Iterator<Item = &'a ThresholdFigures>,
    ) -> Option<ThresholdFigures> {
        let mut sum = ThresholdFigures::nothing(self.subject?);
        cells.for_each(|cell| sum.add(cell));
        Some(sum)
    }

    /// Returns the stretches that are over at `until` and were not judged yet; `None` if the threshold has none.
    pub(super) fn stretches(&mut self, until: u64) -> Option<Vec<ThresholdStretch>> {
        let StoredFigures::Cells {
            length,
            step,
            judged,
            ..
        } = &self.figures
        else {
            return None;
        };
        let (length, step, mut judged) = (*length, *step, *judged);
        let mut found = Vec::new();
        loop {
            let next = if judged < self.after {
                self.after
            } else {
                (judged / step + 1) * step
            };
            if next > until {
                break;
            }
            judged = next;
            if next < self.after + length {
                continue;
            }
            let from = ((next - length) / step * step).max(self.after);
            let StoredFigures::Cells { cells, .. } = &self.figures else {
                break;
            };
            found.push(ThresholdStretch {
                from,
                to: next,
                threshold_figures: self.sum(cells.range(from..next).map(|(_, cell)| cell)),
            });
        }
        if let StoredFigures::Cells {
            cells, judged: at, ..
        } = &mut self.figures
        {
            *at = judged;
            if !found.is_empty() {
                *cells = cells.split_off(&judged.saturating_sub(length + step));
            }
        }
        Some(found)
    }
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
        let is_latency = matches!(
            threshold.figure,
            FigureKind::Percentile(_) | FigureKind::Avg | FigureKind::Max | FigureKind::Oldest
        ) && threshold
            .phase
            .is_none_or(|phase| phase == Phase::FirstByte);
        if is_latency && threshold.name.is_none() {
            for silence in view.silences {
                self.wait_for(silence, lasted);
            }
        }
        match &self.threshold_figures {
            Some(threshold_figures) => threshold_figures.value(threshold, lasted.as_secs_f64()),
            None => Ok(None),
        }
    }

    fn wait_for(&mut self, silence: &Silence, lasted: Duration) {
        let (from, to) = (silence.from.max(self.from), silence.to.min(self.to));
        if from >= to {
            return;
        }
        let threshold_figures = self
            .threshold_figures
            .get_or_insert_with(|| ThresholdFigures::nothing(ThresholdSubject::Requests));
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

/// Returns the figures of a threshold's subject within a slice; `None` if there are none. What has the whole name
/// comes before what is selected by tags.
fn seen(
    threshold: &Threshold,
    selector: Option<&(Tags, String)>,
    slice: &SliceDelta,
) -> Option<ThresholdFigures> {
    match (threshold.name.as_deref(), threshold.figure) {
        (None, FigureKind::Checks) | (Some(ALL_CHECKS), _) => {
            measured(slice, |_, is_check| is_check)
        }
        (None, _) => {
            let any = requests(threshold, slice, |_| true);
            any.or_else(|| {
                slice
                    .border
                    .map(|_| ThresholdFigures::nothing(ThresholdSubject::Requests))
            })
        }
        (Some(name), _) => requests(threshold, slice, |label| is_called(label, name))
            .or_else(|| tasks(slice, name, |_| true))
            .or_else(|| measured(slice, |label, is_check| !is_check && *label.name == *name))
            .or_else(|| measured(slice, |label, _| *label.name == *name))
            .or_else(|| {
                let (tags, name) = selector?;
                requests(threshold, slice, |label| {
                    tags.are_in(&label.tags) && (name.is_empty() || is_called(label, name))
                })
                .or_else(|| {
                    // Tasks and iterations know their scenario and no other tag.
                    let [(SCENARIO, scenario)] = tags.pairs().collect::<Vec<_>>()[..] else {
                        return None;
                    };
                    tasks(slice, name, |group| group == scenario)
                })
            }),
    }
}

fn requests(
    threshold: &Threshold,
    slice: &SliceDelta,
    is_selected: impl Fn(&GroupedName) -> bool,
) -> Option<ThresholdFigures> {
    let mut rows = slice.requests.iter();
    let mut rows = rows
        .by_ref()
        .filter(|row| !row.figures.counts.is_empty() && is_selected(&row.label))
        .peekable();
    rows.peek()?;
    let mut threshold_figures = ThresholdFigures::nothing(ThresholdSubject::Requests);
    rows.for_each(|row| threshold_figures.add_slice(threshold, &row.figures));
    Some(threshold_figures)
}

fn tasks(
    slice: &SliceDelta,
    name: &str,
    of_scenario: impl Fn(&str) -> bool,
) -> Option<ThresholdFigures> {
    let name = task_called(name);
    let rows = slice
        .tasks
        .iter()
        .filter(|row| of_scenario(&row.label.group));
    let mut rows = rows
        .filter(|row| !row.figures.is_empty() && *row.label.name == *name)
        .peekable();
    rows.peek()?;
    let mut threshold_figures = ThresholdFigures::nothing(ThresholdSubject::Tasks);
    for row in rows.map(|row| &row.figures) {
        threshold_figures.add_tasks(&row.ok, &row.failed, |all| row.all.add_to(all));
    }
    Some(threshold_figures)
}

fn measured(
    slice: &SliceDelta,
    is_selected: impl Fn(&GroupedName, bool) -> bool,
) -> Option<ThresholdFigures> {
    let rows = slice.measures.iter();
    let found = rows.filter(|row| {
        !row.measure.is_empty() && is_selected(&row.label, row.measure.kind.is_check())
    });
    found
        .map(|row| row.measure.threshold_figures())
        .reduce(|mut all, row| {
            all.add(&row);
            all
        })
}

/// Returns whether a request has that name, with or without its method.
pub(in super::super) fn is_called(label: &GroupedName, name: &str) -> bool {
    let without_method = name
        .strip_prefix(&*label.group)
        .and_then(|name| name.strip_prefix(' '));
    *label.name == *name || without_method == Some(&*label.name)
}
