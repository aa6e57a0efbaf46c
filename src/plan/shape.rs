//! How many users run at each moment: a ramp at a fixed rate, or stages that a line joins.
//!
//! The engine compares [`Shape::users_at`] with what runs and starts or stops the difference. Both
//! questions, how many at a moment and when the n-th, are answered from the same absolute schedule, so a
//! late start delays no other and no error adds up.

use std::time::Duration;

use super::wait::seconds;

/// The number of users over the time since the test began. User n, counted from 0, starts when the line
/// reaches n on its way up and stops when the line reaches n on its way down.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    line: Line,
}

#[derive(Debug, Clone, PartialEq)]
enum Line {
    /// Up at `rate` users per second, then level for `run_time`, or for ever.
    Ramp {
        users: u64,
        rate: f64,
        run_time: Option<Duration>,
    },
    /// From one corner to the next, the first of 0 users at 0.
    Stages(Vec<Stage>),
}

/// A straight piece of the line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stage {
    start: Duration,
    length: Duration,
    from: u64,
    to: u64,
}

impl Shape {
    /// Starts `users` users at `rate` per second, user n after exactly n / rate seconds, and lets all of
    /// them run for `run_time`, or until something else ends the test. `rate` is above 0.
    pub fn ramp(users: u64, rate: f64, run_time: Option<Duration>) -> Self {
        Shape {
            line: Line::Ramp {
                users,
                rate,
                run_time,
            },
        }
    }

    /// Spreads the start of `users` users evenly over `startup_time`; else as [`Shape::ramp`].
    pub fn spread(users: u64, startup_time: Duration, run_time: Option<Duration>) -> Self {
        Shape::ramp(users, users as f64 / startup_time.as_secs_f64(), run_time)
    }

    /// Goes in each stage, within its time, in a straight line to its number of users. The first stage
    /// begins with none. A stage without a length is a jump.
    pub fn stages(stages: &[(Duration, u64)]) -> Self {
        let (mut start, mut from) = (Duration::ZERO, 0);
        let stages = stages.iter().map(|&(length, to)| {
            let stage = Stage {
                start,
                length,
                from,
                to,
            };
            (start, from) = (stage.end(), to);
            stage
        });
        Shape {
            line: Line::Stages(stages.collect()),
        }
    }

    /// How many users are to run at `elapsed` since the test began. After [`Shape::duration`] it stays
    /// what it was last: ending the test is the caller's business.
    pub fn users_at(&self, elapsed: Duration) -> u64 {
        match &self.line {
            Line::Ramp { users, rate, .. } => started(*users, *rate, elapsed),
            Line::Stages(stages) => match stages.iter().find(|stage| elapsed < stage.end()) {
                Some(stage) => stage.users_at(elapsed - stage.start),
                None => stages.last().map_or(0, |stage| stage.to),
            },
        }
    }

    /// When user `n`, counted from 0, starts for the first time; none if there are never so many.
    pub fn start_of(&self, n: u64) -> Option<Duration> {
        match &self.line {
            Line::Ramp { users, rate, .. } => (n < *users).then(|| start_at_rate(n, *rate)),
            Line::Stages(stages) => stages
                .iter()
                .find(|stage| n < stage.to)
                .map(|stage| stage.start_of(n)),
        }
    }

    /// The largest number of users that run at one time.
    pub fn peak(&self) -> u64 {
        match &self.line {
            Line::Ramp { users, .. } => *users,
            Line::Stages(stages) => stages.iter().map(|stage| stage.to).max().unwrap_or(0),
        }
    }

    /// The moment from which all users run: when the last of them first starts.
    pub fn all_running_at(&self) -> Duration {
        self.peak()
            .checked_sub(1)
            .and_then(|last| self.start_of(last))
            .unwrap_or_default()
    }

    /// How long the test takes in all, none for ever. A run time counts from the moment all users run.
    pub fn duration(&self) -> Option<Duration> {
        match &self.line {
            Line::Ramp { run_time, .. } => {
                run_time.map(|run_time| self.all_running_at().saturating_add(run_time))
            }
            Line::Stages(stages) => Some(stages.last().map_or(Duration::ZERO, Stage::end)),
        }
    }
}

/// When user `n` starts at `rate` users per second.
fn start_at_rate(n: u64, rate: f64) -> Duration {
    seconds(n as f64 / rate)
}

/// How many of `users` have started by `elapsed`. Searched in the schedule itself instead of computed from
/// elapsed * rate, which rounds to the other side of a start now and then.
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

impl Stage {
    fn end(&self) -> Duration {
        self.start.saturating_add(self.length)
    }

    /// When user `n` starts, for `n` below `to`; at once if it runs already when the stage begins.
    fn start_of(&self, n: u64) -> Duration {
        let (nth, rise) = (
            n.saturating_sub(self.from),
            self.to.saturating_sub(self.from).max(1),
        );
        let offset = self.length.as_nanos() * u128::from(nth) / u128::from(rise);
        self.start.saturating_add(Duration::from_nanos_u128(offset))
    }

    /// How many users run at `offset` into a stage that lasts longer than that: those whose moment, on
    /// whole nanoseconds rounded down, has come, and not those whose moment to stop has.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn seconds_of(stages: &[(u64, u64)]) -> Shape {
        let stages: Vec<_> = stages
            .iter()
            .map(|(s, users)| (Duration::from_secs(*s), *users))
            .collect();
        Shape::stages(&stages)
    }

    #[test]
    fn a_ramp_starts_each_user_at_its_number_over_the_rate() {
        let shape = Shape::ramp(5, 2.0, Some(ms(10_000)));
        for (at, users) in [
            (0, 1),
            (499, 1),
            (500, 2),
            (1_999, 4),
            (2_000, 5),
            (60_000, 5),
        ] {
            assert_eq!(shape.users_at(ms(at)), users, "at {at} ms");
        }
        for (n, start) in [
            (0, Some(ms(0))),
            (1, Some(ms(500))),
            (4, Some(ms(2_000))),
            (5, None),
        ] {
            assert_eq!(shape.start_of(n), start, "user {n}");
        }
        assert_eq!(shape.all_running_at(), ms(2_000));
        assert_eq!(shape.duration(), Some(ms(12_000)));
        assert_eq!(Shape::ramp(5, 2.0, None).duration(), None);
    }

    #[test]
    fn starts_are_exact_however_many_came_before() {
        let fast = Shape::ramp(10_000_000, 1_000.0, None);
        assert_eq!(fast.start_of(9_999_999), Some(ms(9_999_999)));
        let thirds = Shape::ramp(1_000_000, 3.0, None);
        assert_eq!(
            thirds.start_of(3 * 300_000),
            Some(Duration::from_secs(300_000))
        );
        let slow = Shape::ramp(100, 0.1, None);
        assert_eq!(slow.start_of(7), Some(Duration::from_secs(70)));
    }

    #[test]
    fn a_startup_time_spreads_the_starts_over_it() {
        let shape = Shape::spread(10, Duration::from_secs(5), None);
        assert_eq!(shape.start_of(9), Some(ms(4_500)));
        let at_once = Shape::spread(10, Duration::ZERO, Some(ms(1_000)));
        assert_eq!(at_once.users_at(Duration::ZERO), 10);
        assert_eq!(at_once.duration(), Some(ms(1_000)));
    }

    #[test]
    fn stages_are_joined_by_lines_up_level_and_down() {
        let shape = seconds_of(&[(10, 10), (20, 10), (5, 0)]);
        for (at, users) in [
            (0, 1),
            (999, 1),
            (1_000, 2),
            (9_000, 10),
            (10_000, 10),
            (30_000, 10),
            (30_499, 10),
            (30_500, 9),
            (34_499, 2),
            (34_500, 1),
            (34_999, 1),
            (35_000, 0),
            (99_000, 0),
        ] {
            assert_eq!(shape.users_at(ms(at)), users, "at {at} ms");
        }
        assert_eq!(shape.duration(), Some(ms(35_000)));
        assert_eq!(shape.all_running_at(), ms(9_000));
        assert_eq!(shape.peak(), 10);
    }

    #[test]
    fn stages_may_jump_and_rise_again() {
        let shape = seconds_of(&[(0, 4), (2, 4), (2, 2), (4, 6)]);
        for (at, users) in [
            (0, 4),
            (2_000, 4),
            (3_000, 3),
            (3_999, 3),
            (4_000, 3),
            (5_000, 4),
            (7_000, 6),
            (8_000, 6),
        ] {
            assert_eq!(shape.users_at(ms(at)), users, "at {at} ms");
        }
        for (n, start) in [
            (0, Some(0)),
            (3, Some(0)),
            (4, Some(6_000)),
            (5, Some(7_000)),
            (6, None),
        ] {
            assert_eq!(shape.start_of(n), start.map(ms), "user {n}");
        }
    }

    #[test]
    fn the_count_and_the_starts_agree_to_the_nanosecond() {
        let shapes = [
            Shape::ramp(200, 3.0, None),
            Shape::ramp(200, 0.7, None),
            Shape::spread(200, Duration::from_secs(7), None),
            seconds_of(&[(7, 91), (3, 200)]),
        ];
        for shape in shapes {
            for n in 0..200 {
                let start = shape.start_of(n).expect("200 users start");
                assert_eq!(
                    shape.users_at(start),
                    n + 1,
                    "{shape:?} at the start of user {n}"
                );
                if let Some(before) = start.checked_sub(Duration::from_nanos(1)) {
                    assert_eq!(shape.users_at(before), n, "{shape:?} before user {n}");
                }
            }
        }
    }

    #[test]
    fn extremes_are_no_trouble() {
        assert_eq!(Shape::ramp(0, 1.0, Some(ms(5))).duration(), Some(ms(5)));
        assert_eq!(
            Shape::ramp(3, f64::INFINITY, None).users_at(Duration::ZERO),
            3
        );
        assert_eq!(Shape::stages(&[]).duration(), Some(Duration::ZERO));
        let widest = Shape::stages(&[(Duration::MAX, u64::MAX), (Duration::MAX, 0)]);
        assert!(widest.users_at(Duration::from_secs(1)) >= 1);
        assert_eq!(widest.duration(), Some(Duration::MAX));
    }
}
