//! Watches one step: leaves out its transient, goes on until its figures are steady, and judges it.

use super::iterations::{IterationFlow, StepIterations};
use super::judgement::{DRIFT, FAILURES, Judgement};
use super::trend::{Trend, median, slope, transient, trend};
use crate::{SeriesPoint, StepResult, ThresholdRow};
use lgoose_base::threshold::{FigureKind, Threshold, Unit};
use lgoose_base::units::counted;

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

/// Requests that are enough to believe a figure that is not near its limit.
const USUAL_REQUESTS: f64 = 100.0;

/// Seconds between two looks at a step that is not decided.
const LOOK_AGAIN: f64 = 5.0;

/// Times of a step, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepLengths {
    /// How much is judged at least.
    pub least_s: f64,
    /// When a step is over at the latest, whose iterations end as fast as they start.
    pub most_s: f64,
    /// When a step is over whose iterations have not begun to end as fast as they start.
    pub longest_s: f64,
    /// When as many iterations end as start, by earlier steps; `None` if none has shown it.
    pub settles_s: Option<f64>,
}

/// State of a step that goes on, since its figures began to count.
#[derive(Debug, Clone, Copy)]
pub struct StepWindow<'a> {
    /// Seconds since the step began.
    pub elapsed_s: f64,
    /// Whole seconds since the figures began to count.
    pub points: &'a [SeriesPoint],
    /// The limits of the search with their figures.
    pub limits: &'a [ThresholdRow],
    /// Starts that found no free user.
    pub dropped: u64,
    /// The iterations.
    pub iterations: StepIterations<'a>,
}

/// Decision on a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Let it go on.
    GoOn,
    /// Drop the figures so far: they were those of the transient.
    Anew,
    /// End it.
    Over(Judgement),
}

/// Watch over one step.
#[derive(Debug)]
pub struct StepWatch<'a> {
    lengths: StepLengths,
    slo: &'a [Threshold],
    /// Iterations started per second; `None` in a search by users.
    rate: Option<f64>,
    /// Seconds of the stretch that is being measured, at least.
    stretch_s: f64,
    /// Whether the latency rose in the stretch before.
    rose: bool,
    /// When to look again.
    due_s: f64,
    /// When the step is over at the latest, unless its iterations do not end yet.
    end_s: f64,
    /// Whether the time is over in which, by earlier steps, fewer iterations end than start.
    settled: bool,
    /// Whether the figures before that were dropped once: an imbalance from then on piles up.
    balanced: bool,
    flow: IterationFlow,
}

impl StepWatch<'_> {
    /// Begins to watch a step.
    pub fn new(lengths: StepLengths, slo: &[Threshold], rate: Option<f64>) -> StepWatch<'_> {
        StepWatch {
            lengths,
            slo,
            rate,
            stretch_s: lengths.least_s,
            rose: false,
            due_s: lengths.least_s,
            end_s: lengths.most_s,
            settled: false,
            balanced: false,
            flow: IterationFlow::default(),
        }
    }

    /// Decides on the step, once a second.
    pub fn look(&mut self, look: &StepWindow<'_>) -> Decision {
        let seconds = look.points.len() as f64;
        self.flow.note(seconds, &look.iterations);
        let settles_s = self.lengths.settles_s.unwrap_or(0.0);
        self.settled |= look.elapsed_s - seconds >= settles_s;
        let decision = match self.plain(look) {
            Some(judgement) => Decision::Over(judgement),
            None if !self.settled && look.elapsed_s < settles_s => Decision::GoOn,
            None if !self.settled => self.anew(),
            None if look.elapsed_s >= self.end_s() => Decision::Over(self.last_word(look)),
            None if seconds < self.due_s => Decision::GoOn,
            None => self.judged(look, seconds),
        };
        match decision {
            Decision::Over(judgement) if judgement.result == StepResult::Failed => {
                Decision::Over(judgement.blamed(self.slo, look))
            }
            Decision::GoOn if seconds >= self.due_s => {
                self.due_s = seconds + LOOK_AGAIN;
                Decision::GoOn
            }
            other => other,
        }
    }

    /// Begins a stretch of the same length.
    fn anew(&mut self) -> Decision {
        self.settled = true;
        self.due_s = self.stretch_s;
        self.flow = IterationFlow::default();
        Decision::Anew
    }

    /// Returns when the step is over.
    fn end_s(&self) -> f64 {
        if !self.is_known() && !self.flow.is_balanced() {
            self.lengths.longest_s
        } else {
            self.end_s
        }
    }

    /// Judges a step that ends by itself, by the figures of that moment.
    pub fn at_end(&self, look: &StepWindow<'_>) -> Judgement {
        match self.last_word(look) {
            judgement if judgement.result == StepResult::Failed => judgement.blamed(self.slo, look),
            judgement => judgement,
        }
    }

    /// Returns whether iterations are known to end.
    fn is_known(&self) -> bool {
        self.balanced || self.lengths.settles_s.is_some()
    }

    /// Judges a step whose stretch is over; it goes on where that says too little.
    fn judged(&mut self, look: &StepWindow<'_>, seconds: f64) -> Decision {
        let has_enough = self.rate.is_none() || self.flow.has_enough_starts();
        if (count(look.points) as f64) < self.needed_requests(look) || !has_enough {
            return Decision::GoOn;
        }
        match (self.direction(look.points), self.broken(look)) {
            (Trend::Rising, Some(judgement)) => Decision::Over(judgement),
            _ if !self.flow.is_balanced() => self.unbalanced(look),
            (Trend::Rising, None) if self.rose && self.will_break(look) => {
                Decision::Over(Judgement::drift())
            }
            (direction @ Trend::Rising, None) | (direction @ Trend::Falling, _) => {
                self.longer(look, direction)
            }
            (Trend::Steady, _) if seconds < self.needed_s(look) => Decision::GoOn,
            (_, Some(judgement)) => Decision::Over(judgement),
            (_, None) => Decision::Over(Judgement::held()),
        }
    }

    /// Returns whether a latency would be beyond its limit at the end of the step if it went on rising as in this stretch.
    fn will_break(&self, look: &StepWindow<'_>) -> bool {
        let averages = averages(look.points);
        let per_second = slope(&averages) / median(averages);
        let growth = 1.0 + per_second * (self.end_s - look.elapsed_s);
        let mut limits = self.slo.iter().zip(look.limits);
        limits.any(|(limit, row)| {
            let is_latency = limit.is_upper() && limit.unit.per_millisecond().is_some();
            is_latency && row.value.is_some_and(|value| value * growth > row.limit)
        })
    }

    /// Begins a longer stretch, if there is time for it.
    fn longer(&mut self, look: &StepWindow<'_>, direction: Trend) -> Decision {
        let longer_s = self.stretch_s * LONGER;
        if self.end_s - look.elapsed_s <= longer_s {
            return Decision::GoOn;
        }
        self.stretch_s = longer_s;
        self.rose = direction == Trend::Rising;
        self.anew()
    }

    /// Waits until as many iterations end as start, and drops the figures before. Users that begin the next iteration by themselves
    /// are always under way: one iteration of each has to be within the judged time.
    fn unbalanced(&mut self, look: &StepWindow<'_>) -> Decision {
        let lately = self.flow.is_balanced_lately(self.lengths.least_s);
        if self.rate.is_none() || self.balanced || !lately {
            return Decision::GoOn;
        }
        if !self.is_known() {
            let end_s = look.elapsed_s + self.lengths.most_s;
            self.end_s = self.end_s.max(end_s.min(self.lengths.longest_s));
        }
        self.balanced = true;
        self.anew()
    }

    /// Judges a step that has had all of its time.
    fn last_word(&self, look: &StepWindow<'_>) -> Judgement {
        if let Some(judgement) = self.broken(look) {
            return judgement;
        }
        if count(look.points) == 0 {
            return Judgement::failed("no answer", "no request was answered");
        }
        if !self.flow.is_balanced() {
            return self.without_ends();
        }
        if self.trend(look.points) == Trend::Rising {
            return Judgement::drift();
        }
        match self.flow.trend() {
            Trend::Rising => Judgement::failed(
                DRIFT,
                "more and more iterations were under way: they pile up faster than they end",
            ),
            Trend::Steady | Trend::Falling => Judgement::held(),
        }
    }

    /// Judges a step fewer of whose iterations ended than started: they take longer than the step, unless earlier steps have
    /// shown how long they take.
    fn without_ends(&self) -> Judgement {
        let (due, ended) = self.flow.totals();
        let counts = match self.rate {
            Some(_) => format!(
                "{} started and {ended} ended",
                counted(due.round() as u64, "iteration")
            ),
            None => format!(
                "{} completed {}",
                counted(due as u64, "user"),
                counted(ended, "iteration")
            ),
        };
        if self.is_known() {
            return Judgement::failed(
                DRIFT,
                format!("{counts}: they pile up faster than they end"),
            );
        }
        Judgement {
            result: StepResult::TooShort,
            reason: Some(counts),
            limited_by: None,
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
        // While iterations do not end yet, latencies are those of their first requests alone, which may be the slowest.
        let is_partial = !self.settled || !self.flow.is_balanced();
        match self.trend(points) {
            Trend::Falling => return None,
            Trend::Steady if is_partial => return None,
            Trend::Steady | Trend::Rising => {}
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
            Trend::Rising if self.flow.is_balanced() => Judgement::failed(DRIFT, reason),
            Trend::Rising | Trend::Steady | Trend::Falling => Judgement {
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

    /// Returns where the latency goes, or, where that is steady, the number of iterations under way.
    fn direction(&self, points: &[SeriesPoint]) -> Trend {
        let latency = match transient(&averages(points), self.matters()) {
            Trend::Steady => self.trend(points),
            direction => direction,
        };
        match (latency, self.flow.trend()) {
            (Trend::Steady, Trend::Rising) if self.flow.is_balanced() => Trend::Rising,
            (latency, _) => latency,
        }
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

    /// Returns how many requests the limits need: as many as a step of the usual length has at ten requests a second, and three
    /// times as many if a figure is near its limit.
    fn needed_requests(&self, look: &StepWindow<'_>) -> f64 {
        let beyond = self.slo.iter().map(|limit| match limit.figure {
            FigureKind::Percentile(percent) => BEYOND / (1.0 - percent / 100.0).max(1e-4),
            FigureKind::Failures if limit.unit == Unit::Percent => {
                BEYOND / (limit.limit / 100.0).max(1e-4)
            }
            _ => 0.0,
        });
        let most = if is_near(look) {
            USUAL_REQUESTS * NEAR_STRETCHES
        } else {
            USUAL_REQUESTS
        };
        beyond.fold(0.0, f64::max).min(most)
    }

    /// Returns how many seconds are to be judged: more if a figure is near its limit.
    fn needed_s(&self, look: &StepWindow<'_>) -> f64 {
        if is_near(look) {
            self.lengths.least_s * NEAR_STRETCHES
        } else {
            self.lengths.least_s
        }
    }
}

/// Returns whether a figure is near its limit.
fn is_near(look: &StepWindow<'_>) -> bool {
    look.limits.iter().any(|row| {
        let part = row.value.map_or(1.0, |value| value / row.limit);
        (1.0 / NEAR..NEAR).contains(&part)
    })
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
