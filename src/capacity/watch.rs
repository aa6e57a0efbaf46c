//! Watches one step: leaves out its transient, goes on until its figures are steady, and judges it.

use super::judgement::{DRIFT, FAILURES, Judgement};
use super::trend::{Trend, transient, trend};
use crate::metrics::{SeriesPoint, StepResult, ThresholdRow};
use crate::threshold::{FigureKind, Threshold, Unit};
use crate::units::counted;

/// How much longer each stretch is than the one before it that was not steady.
const LONGER: f64 = 1.5;

/// Stretches that a step goes on for if a figure is near its limit.
const NEAR_STRETCHES: f64 = 3.0;

/// A figure within this factor of its limit is near it.
const NEAR: f64 = 1.25;

/// A figure beyond its limit by this factor is plainly too much.
const PLAIN: f64 = 2.0;

/// Seconds after which a step that plainly fails is over.
const PLAIN_AFTER: usize = 5;

/// Share of failed requests from which on no step holds, whatever its limits.
pub(super) const MOST_FAILED: f64 = 0.5;

/// Share of the starts that may find no user.
const MOST_DROPPED: f64 = 0.01;

/// Requests that have to be beyond a percentile before it is believed.
const BEYOND: f64 = 5.0;

/// Seconds between two looks at a step that is not decided.
const LOOK_AGAIN: f64 = 5.0;

/// The shortest and the longest time of a step, in seconds: of what is judged, and of all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepLengths {
    pub least_s: f64,
    pub most_s: f64,
}

/// State of a step that goes on, since its figures began to count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepWindow<'a> {
    /// Seconds since the step began.
    pub elapsed_s: f64,
    /// Whole seconds since the figures began to count.
    pub points: &'a [SeriesPoint],
    /// The limits of the search with their figures.
    pub limits: &'a [ThresholdRow],
    /// Starts that found no free user.
    pub dropped: u64,
}

/// What is to be done with a step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// Let it go on.
    GoOn,
    /// Forget what was counted: that was the transient.
    Anew,
    /// End it.
    Over(Judgement),
}

/// Watch over one step.
#[derive(Debug)]
pub(crate) struct StepWatch<'a> {
    lengths: StepLengths,
    slo: &'a [Threshold],
    /// Iterations started per second; `None` in a search by users.
    rate: Option<f64>,
    /// Seconds of the stretch that is being measured, at least.
    stretch_s: f64,
    /// When to look again.
    due_s: f64,
}

impl StepWatch<'_> {
    /// Begins to watch a step.
    pub(crate) fn new(lengths: StepLengths, slo: &[Threshold], rate: Option<f64>) -> StepWatch<'_> {
        StepWatch {
            lengths,
            slo,
            rate,
            stretch_s: lengths.least_s,
            due_s: lengths.least_s,
        }
    }

    /// Decides what is to be done, once a second.
    pub(crate) fn look(&mut self, look: &StepWindow<'_>) -> Decision {
        let seconds = look.points.len() as f64;
        let decision = match self.plain(look) {
            Some(judgement) => Decision::Over(judgement),
            None if look.elapsed_s >= self.lengths.most_s => Decision::Over(self.last_word(look)),
            None if seconds < self.due_s => Decision::GoOn,
            None => self.judged(look, seconds),
        };
        match decision {
            Decision::Over(judgement) if judgement.result == StepResult::Failed => {
                Decision::Over(judgement.blamed(self.slo, look))
            }
            Decision::Anew => {
                self.stretch_s *= LONGER;
                self.due_s = self.stretch_s;
                Decision::Anew
            }
            Decision::GoOn if seconds >= self.due_s => {
                self.due_s = seconds + LOOK_AGAIN;
                Decision::GoOn
            }
            other => other,
        }
    }

    /// Judges a step that ends by itself, by the figures of that moment.
    pub(crate) fn at_end(&self, look: &StepWindow<'_>) -> Judgement {
        match self.last_word(look) {
            judgement if judgement.result == StepResult::Failed => judgement.blamed(self.slo, look),
            judgement => judgement,
        }
    }

    /// Judges a step whose stretch is over; it goes on where that says too little.
    fn judged(&self, look: &StepWindow<'_>, seconds: f64) -> Decision {
        if (count(look.points) as f64) < self.needed_requests() {
            return Decision::GoOn;
        }
        let broken = self.broken(look);
        let rest_s = self.lengths.most_s - look.elapsed_s;
        let anew = if rest_s > self.stretch_s * LONGER {
            Decision::Anew
        } else {
            Decision::GoOn
        };
        let direction = match transient(&averages(look.points), self.matters()) {
            Trend::Steady => self.trend(look.points),
            direction => direction,
        };
        match (direction, broken) {
            (Trend::Rising, Some(judgement)) => Decision::Over(judgement),
            (Trend::Rising, None) | (Trend::Falling, _) => anew,
            (Trend::Steady, _) if seconds < self.needed_s(look) => Decision::GoOn,
            (_, Some(judgement)) => Decision::Over(judgement),
            (_, None) => Decision::Over(Judgement::held()),
        }
    }

    /// Judges a step that has had all of its time.
    fn last_word(&self, look: &StepWindow<'_>) -> Judgement {
        if let Some(judgement) = self.broken(look) {
            return judgement;
        }
        if count(look.points) == 0 {
            return Judgement::failed("no answer", "no request was answered");
        }
        match self.trend(look.points) {
            Trend::Rising => Judgement::failed(
                DRIFT,
                "its latency kept rising: requests pile up faster than they are answered",
            ),
            Trend::Steady | Trend::Falling => Judgement::held(),
        }
    }

    /// Judges a step that fails beyond doubt.
    fn plain(&self, look: &StepWindow<'_>) -> Option<Judgement> {
        let points = look.points;
        if points.len() < PLAIN_AFTER {
            return None;
        }
        let (count, failures) = (count(points), failures(points));
        let oldest = points.last().map_or(0.0, |point| point.oldest_ms);
        if count == 0 && oldest >= PLAIN_AFTER as f64 * 1e3 {
            return Some(Judgement::failed("no answer", "no request was answered"));
        }
        if count >= 10 && failures as f64 >= MOST_FAILED * count as f64 {
            let reason = format!("{failures} of {} failed", counted(count, "request"));
            return Some(Judgement::failed(FAILURES, reason));
        }
        let due = self.rate.unwrap_or(0.0) * points.len() as f64;
        if look.dropped > 0 && look.dropped as f64 > MOST_DROPPED * due {
            return Some(self.without_users(look));
        }
        if self.trend(points) == Trend::Falling {
            return None;
        }
        let beyond = self.slo.iter().zip(look.limits).find(|(limit, row)| {
            let counts = limit.is_upper() && !limit.only_grows() && row.limit > 0.0;
            let value = row.value.unwrap_or(0.0);
            // A second in which a garbage collector ran is not beyond doubt.
            let enough = match limit.figure {
                FigureKind::Failures => failures >= 10,
                FigureKind::Max | FigureKind::Oldest => false,
                _ => count >= 20,
            };
            counts && enough && value >= row.limit * PLAIN
        });
        let last: Vec<f64> = averages(&points[points.len() - 3..]);
        let level = averages(points);
        let goes_on = last.iter().sum::<f64>() / last.len().max(1) as f64
            >= level.iter().sum::<f64>() / level.len().max(1) as f64 / PLAIN;
        beyond
            .filter(|_| goes_on)
            .map(|(_, row)| Judgement::broke(row))
    }

    /// Judges a step whose users were all at work: because the site lets them wait, or because they are too few.
    fn without_users(&self, look: &StepWindow<'_>) -> Judgement {
        let reason = format!(
            "{} found no free user",
            counted(look.dropped, "start of an iteration")
                .replace("start of an iterations", "starts of iterations")
        );
        if let Some(judgement) = self.broken(look) {
            return Judgement {
                reason: Some(reason),
                ..judgement
            };
        }
        match self.trend(look.points) {
            Trend::Rising => Judgement::failed(DRIFT, reason),
            Trend::Steady | Trend::Falling => Judgement {
                result: StepResult::Generator,
                reason: Some(format!("{reason}: raise '--max-users'")),
                limited_by: Some("users".to_owned()),
            },
        }
    }

    /// Returns the first limit that is broken.
    fn broken(&self, look: &StepWindow<'_>) -> Option<Judgement> {
        look.limits
            .iter()
            .find(|row| !row.passed)
            .map(Judgement::broke)
    }

    fn trend(&self, points: &[SeriesPoint]) -> Trend {
        trend(&averages(points), self.matters())
    }

    /// Returns by how many milliseconds a latency has to change before that matters.
    fn matters(&self) -> f64 {
        let limits = self.slo.iter().filter(|limit| limit.is_upper());
        let limits = limits.filter_map(|limit| Some(limit.limit / limit.unit.per_millisecond()?));
        let least = limits.fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            (least / 50.0).max(1.0)
        } else {
            1.0
        }
    }

    /// Returns how many requests the limits need.
    fn needed_requests(&self) -> f64 {
        let beyond = self.slo.iter().map(|limit| match limit.figure {
            FigureKind::Percentile(percent) => BEYOND / (1.0 - percent / 100.0).max(1e-4),
            FigureKind::Failures if limit.unit == Unit::Percent => {
                BEYOND / (limit.limit / 100.0).max(1e-4)
            }
            _ => 0.0,
        });
        // What a step of the usual length at ten requests a second has.
        beyond.fold(0.0, f64::max).min(100.0 * NEAR_STRETCHES)
    }

    /// Returns how many seconds are to be judged: more if a figure is near its limit.
    fn needed_s(&self, look: &StepWindow<'_>) -> f64 {
        let near = look.limits.iter().any(|row| {
            let part = row.value.map_or(1.0, |value| value / row.limit);
            (1.0 / NEAR..NEAR).contains(&part)
        });
        if near {
            self.lengths.least_s * NEAR_STRETCHES
        } else {
            self.lengths.least_s
        }
    }
}

fn count(points: &[SeriesPoint]) -> u64 {
    points.iter().map(|point| point.count).sum()
}

fn failures(points: &[SeriesPoint]) -> u64 {
    points.iter().map(|point| point.failures).sum()
}

/// Returns the mean latency of each second that had requests, in milliseconds.
fn averages(points: &[SeriesPoint]) -> Vec<f64> {
    let had = points.iter().filter(|point| point.count > 0);
    had.map(|point| point.latency.sum_ms / point.count as f64)
        .collect()
}
