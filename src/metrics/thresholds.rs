//! Judges thresholds: the figures of the whole run at its end, of every stretch of it while it goes on, and
//! whether one that should stop the run was broken.
//!
//! Driven by the store, which says at each tick what there is to see. A stretch is the difference of two
//! moments, so that what is merged in between is never looked at twice.

use super::report::ThresholdRow;
use super::sight::Sight;
use crate::threshold::Threshold;
use std::collections::VecDeque;
use std::time::Duration;

/// Moments kept of a sliding window: it moves by a sixtieth of its length, a tick at least.
const MOMENTS: u32 = 60;

/// The thresholds of a run and what became of them so far.
#[derive(Debug, Default)]
pub(super) struct Judges {
    judges: Vec<Judge>,
    /// The load goes down: stretches from now on say nothing about the target.
    ended: bool,
}

#[derive(Debug)]
struct Judge {
    threshold: Threshold,
    window: Option<Window>,
    /// The figure as of the latest look.
    now: Option<f64>,
    /// Of all stretches the figure nearest to breaking the limit, or furthest beyond it.
    worst: Option<f64>,
    /// When it was broken for good, and the figure then.
    broken: Option<(Duration, f64)>,
}

/// A threshold whose figure there is none of, and why not if it is known.
#[derive(Debug)]
pub(super) struct Unjudged<'a> {
    pub(super) threshold: &'a Threshold,
    pub(super) why: Option<&'static str>,
}

impl Judges {
    pub(super) fn new(thresholds: Vec<Threshold>) -> Judges {
        Judges {
            judges: thresholds.into_iter().map(Judge::new).collect(),
            ended: false,
        }
    }

    /// Ends a tick `measured` after the measurement began.
    pub(super) fn look(&mut self, measured: Duration, see: impl Fn(&Threshold) -> Option<Sight>) {
        for judge in &mut self.judges {
            let sight = see(&judge.threshold);
            judge.look(measured, sight, self.ended);
        }
    }

    /// Judges no stretches from now on, and stops nothing.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Forgets what was seen.
    pub(super) fn reset(&mut self) {
        for judge in &mut self.judges {
            *judge = Judge::new(judge.threshold.clone());
        }
    }

    /// The first threshold that is broken and says that the run ends then.
    pub(super) fn stopping(&self) -> Option<ThresholdRow> {
        let mut broken = self.judges.iter().filter(|judge| judge.broken.is_some());
        let stopping = broken.find(|judge| judge.threshold.abort)?;
        Some(stopping.row(stopping.broken.map(|(_, value)| value)))
    }

    /// All thresholds with their figures as of the latest look.
    pub(super) fn current(&self) -> Vec<ThresholdRow> {
        self.judges
            .iter()
            .map(|judge| judge.row(judge.now))
            .collect()
    }

    /// The verdicts on a run of that length, and those that could not be judged.
    pub(super) fn verdicts(
        &self,
        measured: Duration,
        see: impl Fn(&Threshold) -> Option<Sight>,
    ) -> (Vec<ThresholdRow>, Vec<Unjudged<'_>>) {
        let mut unjudged = Vec::new();
        let mut rows = Vec::new();
        for judge in &self.judges {
            let threshold = &judge.threshold;
            let seen = judge.last_word(measured, see(threshold));
            if !matches!(seen, Ok(Some(_))) {
                let why = seen.err();
                unjudged.push(Unjudged { threshold, why });
            }
            rows.push(judge.row(seen.unwrap_or(None)));
        }
        (rows, unjudged)
    }
}

impl Judge {
    fn new(threshold: Threshold) -> Judge {
        Judge {
            window: threshold.during.map(Window::new),
            threshold,
            now: None,
            worst: None,
            broken: None,
        }
    }

    fn look(&mut self, measured: Duration, sight: Option<Sight>, ended: bool) {
        let threshold = &self.threshold;
        let (may_break, from) = match &mut self.window {
            None => {
                self.now = value(threshold, sight.as_ref(), measured).unwrap_or(None);
                (threshold.abort, measured)
            }
            Some(window) => {
                let (stretch, length) = window.stretch(measured, sight.as_ref());
                self.now = value(threshold, stretch.as_ref(), length).unwrap_or(None);
                window.keep(measured, sight);
                (length >= window.length, measured.saturating_sub(length))
            }
        };
        let begun = threshold.after.is_none_or(|after| from >= after);
        let Some(value) = self.now.filter(|_| may_break && begun && !ended) else {
            return;
        };
        self.worst = Some(match self.worst {
            Some(worst) if threshold.is_upper() => worst.max(value),
            Some(worst) => worst.min(value),
            None => value,
        });
        if !threshold.holds(value) {
            self.broken.get_or_insert((measured, value));
        }
    }

    /// The figure that decides, at the end of the run.
    fn last_word(
        &self,
        measured: Duration,
        sight: Option<Sight>,
    ) -> Result<Option<f64>, &'static str> {
        match &self.window {
            Some(_) if self.worst.is_some() => Ok(self.worst),
            // The run was shorter than the window.
            Some(_) => value(&self.threshold, sight.as_ref(), measured),
            None => match self.broken {
                Some((_, value)) => Ok(Some(value)),
                None => value(&self.threshold, sight.as_ref(), measured),
            },
        }
    }

    fn row(&self, value: Option<f64>) -> ThresholdRow {
        let threshold = &self.threshold;
        let holds = value.is_some_and(|value| threshold.holds(value));
        ThresholdRow {
            threshold: threshold.to_string(),
            name: threshold.name.clone(),
            value,
            limit: threshold.limit,
            unit: threshold.unit.text().to_owned(),
            passed: holds && self.broken.is_none(),
            broken_s: self.broken.map(|(at, _)| at.as_secs_f64()),
        }
    }
}

fn value(
    threshold: &Threshold,
    sight: Option<&Sight>,
    length: Duration,
) -> Result<Option<f64>, &'static str> {
    match sight {
        Some(sight) => sight.value(threshold, length.as_secs_f64()),
        None => Ok(None),
    }
}

/// The moments from which a stretch may begin, the oldest first.
#[derive(Debug)]
struct Window {
    length: Duration,
    moments: VecDeque<(Duration, Option<Sight>)>,
}

impl Window {
    fn new(length: Duration) -> Window {
        Window {
            length,
            moments: [(Duration::ZERO, None)].into(),
        }
    }

    /// What came in the last stretch, and how long it is: at least the window's length, or all of the run.
    fn stretch(&mut self, now: Duration, all: Option<&Sight>) -> (Option<Sight>, Duration) {
        while let Some((next, _)) = self.moments.get(1)
            && *next + self.length <= now
        {
            self.moments.pop_front();
        }
        let Some((from, before)) = self.moments.front() else {
            return (all.cloned(), now);
        };
        let stretch = match (all, before) {
            (Some(all), Some(before)) => Some(all.since(before)),
            (all, _) => all.cloned(),
        };
        (stretch, now.saturating_sub(*from))
    }

    fn keep(&mut self, now: Duration, sight: Option<Sight>) {
        let step = self.length / MOMENTS;
        if self.moments.back().is_none_or(|(at, _)| *at + step <= now) {
            self.moments.push_back((now, sight));
        }
    }
}

#[cfg(test)]
mod tests;
