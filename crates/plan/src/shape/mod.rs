//! The number of users over time: a ramp at a fixed rate, or stages with straight lines between them.
//!
//! The engine compares [`Shape::users_at`] with the running users and starts or stops the difference. How many users
//! run at a time and when the n-th one starts both follow from the same absolute schedule, so a late start does not
//! delay others and errors do not add up.

use super::wait::seconds;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The number of users over the time since their load began. User n, counted from 0, starts when the line reaches n
/// on its way up and stops when the line reaches n on its way down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    line: UserLine,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum UserLine {
    /// A ramp at `rate` users per second, then a level for `run_time`, or without end.
    Ramp {
        users: u64,
        rate: f64,
        run_time: Option<Duration>,
    },
    /// Straight pieces from one corner to the next, the first of 0 users at 0.
    Stages(Vec<ShapeStage>),
}

/// A straight piece of the line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct ShapeStage {
    start: Duration,
    length: Duration,
    from: u64,
    to: u64,
}

impl Shape {
    /// Creates a shape that starts `users` users at `rate` per second, user n after exactly n / rate seconds, and
    /// lets all of them run for `run_time`, or until something else ends the load. `rate` is above 0.
    pub fn ramp(users: u64, rate: f64, run_time: Option<Duration>) -> Self {
        Shape {
            line: UserLine::Ramp {
                users,
                rate,
                run_time,
            },
        }
    }

    /// Creates a shape that goes straight to the users of each stage within the stage's time. The first stage begins
    /// with none. A stage without a length is a jump.
    pub fn stages(stages: &[(Duration, u64)]) -> Self {
        let (mut start, mut from) = (Duration::ZERO, 0);
        let stages = stages.iter().map(|&(length, to)| {
            let stage = ShapeStage {
                start,
                length,
                from,
                to,
            };
            (start, from) = (stage.end(), to);
            stage
        });
        Shape {
            line: UserLine::Stages(stages.collect()),
        }
    }

    /// Returns how many users are to run at `elapsed` since the load began. After [`Shape::duration`] it stays at the
    /// last number: ending the load is the caller's task.
    pub fn users_at(&self, elapsed: Duration) -> u64 {
        match &self.line {
            UserLine::Ramp { users, rate, .. } => started(*users, *rate, elapsed),
            UserLine::Stages(stages) => match stage_at(stages, elapsed) {
                Some(stage) if elapsed < stage.start => stage.from,
                Some(stage) => stage.users_at(elapsed - stage.start),
                None => stages.last().map_or(0, |stage| stage.to),
            },
        }
    }

    /// Returns the number of users that the line aims at, at `elapsed`: those at the end of the current stage.
    pub fn goal_at(&self, elapsed: Duration) -> u64 {
        match &self.line {
            UserLine::Ramp { users, .. } => *users,
            UserLine::Stages(stages) => {
                let now = stage_at(stages, elapsed);
                now.or(stages.last()).map_or(0, |stage| stage.to)
            }
        }
    }

    /// Returns when user `n`, counted from 0, starts for the first time; `None` if there are never that many.
    pub(crate) fn start_of(&self, n: u64) -> Option<Duration> {
        match &self.line {
            UserLine::Ramp { users, rate, .. } => (n < *users).then(|| start_at_rate(n, *rate)),
            UserLine::Stages(stages) => stages
                .iter()
                .find(|stage| n < stage.to)
                .map(|stage| stage.start_of(n)),
        }
    }

    /// Returns the first moment after `elapsed` at which the number of users changes; `None` if it stays.
    pub fn next_change(&self, elapsed: Duration) -> Option<Duration> {
        let now = self.users_at(elapsed);
        let stages = match &self.line {
            UserLine::Ramp { .. } => return self.start_of(now),
            UserLine::Stages(stages) => stages,
        };
        let mut at = elapsed;
        loop {
            let stage = stage_at(stages, at)?;
            at = stage.next_step(at);
            if self.users_at(at) != now {
                return Some(at);
            }
        }
    }

    /// Returns a shape that goes straight from the users at `elapsed` to `users`, at `rate` users per second, and
    /// stays there. Before `elapsed` it is level.
    pub fn steered(&self, elapsed: Duration, users: u64, rate: f64) -> Self {
        let from = self.users_at(elapsed);
        let stage = ShapeStage {
            start: elapsed,
            length: seconds(from.abs_diff(users) as f64 / rate),
            from,
            to: users,
        };
        Shape {
            line: UserLine::Stages(vec![stage]),
        }
    }

    /// Returns this shape with the next stage beginning at `elapsed`, from the number of users at that moment, and
    /// how much earlier all that follows comes; `None` if there is no stage to come.
    pub fn skipped(&self, elapsed: Duration) -> Option<(Self, Duration)> {
        let UserLine::Stages(stages) = &self.line else {
            return None;
        };
        let now = stages.iter().position(|stage| elapsed < stage.end())?;
        let skipped = stages[now].end() - elapsed;
        let mut later = stages[now + 1..].to_vec();
        later.first_mut()?.from = self.users_at(elapsed);
        for stage in &mut later {
            stage.start = stage.start.saturating_sub(skipped);
        }
        let line = UserLine::Stages(later);
        Some((Shape { line }, skipped))
    }

    /// Returns the largest number of users that run at one time.
    pub fn peak(&self) -> u64 {
        match &self.line {
            UserLine::Ramp { users, .. } => *users,
            UserLine::Stages(stages) => stages.iter().map(|stage| stage.to).max().unwrap_or(0),
        }
    }

    /// Returns the moment from which all users run: when the last of them first starts.
    pub fn all_running_at(&self) -> Duration {
        self.peak()
            .checked_sub(1)
            .and_then(|last| self.start_of(last))
            .unwrap_or_default()
    }

    /// Returns how long the load lasts in all; `None` if it has no end. A run time counts from the moment all users
    /// run.
    pub fn duration(&self) -> Option<Duration> {
        match &self.line {
            UserLine::Ramp { run_time, .. } => {
                run_time.map(|run_time| self.all_running_at().saturating_add(run_time))
            }
            UserLine::Stages(stages) => Some(stages.last().map_or(Duration::ZERO, ShapeStage::end)),
        }
    }
}

/// Returns the stage that has not ended at `elapsed`; `None` after the last one.
fn stage_at(stages: &[ShapeStage], elapsed: Duration) -> Option<&ShapeStage> {
    stages.get(stages.partition_point(|stage| stage.end() <= elapsed))
}

/// Returns when user `n` starts at `rate` users per second.
fn start_at_rate(n: u64, rate: f64) -> Duration {
    seconds(n as f64 / rate)
}

/// Returns how many of `users` have started by `elapsed`. It searches the schedule itself instead of computing
/// elapsed * rate, which now and then rounds to the other side of a start.
fn started(users: u64, rate: f64, elapsed: Duration) -> u64 {
    let (mut low, mut high) = (0, users);
    while low < high {
        let middle = low + (high - low) / 2;
        if start_at_rate(middle, rate) <= elapsed {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl ShapeStage {
    fn end(&self) -> Duration {
        self.start.saturating_add(self.length)
    }

    /// Returns when user `n` starts, for `n` below `to`; at once if it runs already when the stage begins.
    fn start_of(&self, n: u64) -> Duration {
        let (nth, rise) = (
            n.saturating_sub(self.from),
            self.to.saturating_sub(self.from).max(1),
        );
        let offset = self.length.as_nanos() * u128::from(nth) / u128::from(rise);
        self.start.saturating_add(from_nanoseconds(offset))
    }

    /// Returns the next moment after `at` at which the stage's number of users may change, at most its end.
    fn next_step(&self, at: Duration) -> Duration {
        if at < self.start {
            return self.start;
        }
        let now = self.users_at(at - self.start);
        if self.to > self.from {
            return if now < self.to {
                self.start_of(now)
            } else {
                self.end()
            };
        }
        // The line passes a whole number with each step down, the first at its beginning.
        let (step, fall) = (self.from - now + 1, self.from - self.to);
        let offset = self.length.as_nanos() * u128::from(step) / u128::from(fall.max(1));
        let offset = from_nanoseconds(offset.min(self.length.as_nanos()));
        let moment = self.start.saturating_add(offset);
        moment.min(self.end())
    }

    /// Returns how many users run at `offset` into a stage that lasts longer than that: those whose start, on whole
    /// nanoseconds rounded down, has come, and whose stop has not.
    fn users_at(&self, offset: Duration) -> u64 {
        let change = self.from.abs_diff(self.to);
        let passed =
            ((offset.as_nanos() + 1) * u128::from(change)).div_ceil(self.length.as_nanos().max(1));
        let passed = u64::try_from(passed).unwrap_or(change).min(change);
        if self.to >= self.from {
            self.from + passed
        } else {
            self.from - passed.saturating_sub(1)
        }
    }
}

/// Returns a time of so many nanoseconds, at most as many as the longest has.
fn from_nanoseconds(nanoseconds: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    let seconds = u64::try_from(nanoseconds / SECOND);
    seconds.map_or(Duration::MAX, |seconds| {
        Duration::new(seconds, (nanoseconds % SECOND) as u32)
    })
}

#[cfg(test)]
mod tests;
