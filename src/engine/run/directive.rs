//! What the run tells its shards: one value that says how things are to be now. A shard that missed one in
//! between has missed nothing.

use super::plan_version::PlanVersion;
use crate::config::{Config, Load, Spacing};
use crate::plan::{Arrivals, RateLine, Shape};
use crate::units;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How things are to be.
#[derive(Debug, Clone)]
pub(crate) struct Directive {
    pub(crate) phase: Phase,
    pub(crate) clock: Clock,
    pub(crate) timetable: Arc<Timetable>,
    /// What users run from their next iteration on.
    pub(crate) plan_version: Arc<PlanVersion>,
    /// Counts what was steered, so that a shard's word that it has nothing left to do is about this.
    pub(crate) version: u64,
    /// The figures begin anew then; what a shard measured before belongs to an earlier measurement.
    pub(crate) measurement: Measurement,
}

/// The measurement that began last or is to begin next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measurement {
    /// Counts them; the first is 0.
    pub(crate) epoch: u64,
    pub(crate) begins: Begins,
}

/// When a measurement begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Begins {
    WithTheRun,
    /// When the timetable's clock shows so much.
    On(Duration),
    At(Instant),
}

impl Directive {
    /// When its measurement begins; `None` if it began with the run, or as long as a pause puts it off.
    pub(crate) fn measured_from(&self) -> Option<Instant> {
        match self.measurement.begins {
            Begins::WithTheRun => None,
            Begins::On(due) => self.clock.instant(due),
            Begins::At(moment) => Some(moment),
        }
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Go,
    Stop,
    Abort,
}

/// Who starts when.
#[derive(Debug, Clone)]
pub(crate) enum Timetable {
    /// So many users at a time.
    Users(Shape),
    /// Iterations at a rate by at most so many users, until `end`.
    Arrivals {
        line: RateLine,
        most: u64,
        end: Option<Duration>,
    },
}

/// The time since the test began as the timetable counts it: it stands still while the run is paused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    begin: Instant,
    paused: Option<Instant>,
}

impl Timetable {
    /// What the options say, and how long the run takes.
    pub(crate) fn of(config: &Config) -> (Timetable, Option<Duration>) {
        match &config.load {
            Load::Users => {
                let shape = Shape::ramp(config.users, config.hatch_rate, config.run_time);
                let end = shape.duration();
                (Timetable::Users(shape), end)
            }
            Load::Stages(stages) => {
                let shape = Shape::stages(stages);
                let end = shape.duration();
                (Timetable::Users(shape), end)
            }
            Load::Rate(stages, _) => {
                let timetable = Timetable::Arrivals {
                    line: RateLine::new(stages),
                    most: config.users,
                    end: config.run_time,
                };
                (timetable, config.run_time)
            }
        }
    }

    /// From when on all users run; none without such a moment.
    pub(crate) fn all_running_at(&self) -> Option<Duration> {
        match self {
            Timetable::Users(shape) => Some(shape.all_running_at()),
            Timetable::Arrivals { .. } => None,
        }
    }
}

/// When the options say that a run ends, since its beginning; `None` for never.
pub fn end_of(config: &Config) -> Option<Duration> {
    Timetable::of(config).1
}

/// When each stage but the first begins, and what it is.
pub(crate) fn stages(config: &Config) -> VecDeque<(Duration, String)> {
    let named: Vec<(Duration, String)> = match &config.load {
        Load::Users => Vec::new(),
        Load::Stages(stages) => {
            let named = stages.iter();
            named
                .map(|(time, users)| (*time, format!("to {}", units::counted(*users, "user"))))
                .collect()
        }
        Load::Rate(stages, _) => {
            let named = stages.iter();
            named
                .map(|(time, rate)| (*time, format!("to {rate} iterations a second")))
                .collect()
        }
    };
    let mut begins = Duration::ZERO;
    let mut stages = VecDeque::new();
    for (time, goal) in named {
        if !begins.is_zero() && !time.is_zero() {
            stages.push_back((begins, format!("stage {goal}")));
        }
        begins += time;
    }
    stages
}

/// The arrivals of a run, the same for every shard.
pub(crate) fn arrivals(config: &Config) -> Arrivals {
    match config.load {
        // Not the stream of a user, which are the seed and a number.
        Load::Rate(_, Spacing::Poisson) => Arrivals::poisson(config.seed.rotate_left(32)),
        _ => Arrivals::even(),
    }
}

impl Clock {
    pub(crate) fn starting(begin: Instant) -> Self {
        Clock {
            begin,
            paused: None,
        }
    }

    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        self.paused
            .unwrap_or(now)
            .saturating_duration_since(self.begin)
    }

    /// When the timetable's `moment` comes; never while the run is paused.
    pub(crate) fn instant(&self, moment: Duration) -> Option<Instant> {
        match self.paused {
            Some(_) => None,
            None => self.begin.checked_add(moment),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub(crate) fn pause(&mut self, now: Instant) {
        self.paused.get_or_insert(now);
    }

    pub(crate) fn resume(&mut self, now: Instant) {
        if let Some(paused) = self.paused.take() {
            self.begin += now.saturating_duration_since(paused);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_clock_stands_still_and_goes_on_where_it_stood() {
        let begin = Instant::now();
        let second = Duration::from_secs(1);
        let mut clock = Clock::starting(begin);
        assert_eq!(clock.elapsed(begin + 3 * second), 3 * second);
        clock.pause(begin + 4 * second);
        clock.pause(begin + 5 * second);
        assert_eq!(clock.elapsed(begin + 9 * second), 4 * second);
        assert_eq!(clock.instant(5 * second), None);
        clock.resume(begin + 10 * second);
        clock.resume(begin + 11 * second);
        assert_eq!(clock.elapsed(begin + 11 * second), 5 * second);
        assert_eq!(clock.instant(7 * second), Some(begin + 13 * second));
    }
}
