//! The pause after a task: its length, given when the task or the iteration was due and how long it took.
//!
//! The engine calls this and sleeps; nothing here reads a clock.

use lgoose_base::units;
use std::f64::consts::TAU;
use std::time::Duration;

use rand::{Rng, RngExt};

/// The rule for a user's pause after a task.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Wait {
    /// No pause.
    #[default]
    None,
    /// A pause of always this length.
    Constant(Duration),
    /// A pause between the two, uniformly distributed.
    Uniform(Duration, Duration),
    /// A normally distributed pause; values below zero count as zero.
    Normal {
        /// The mean pause.
        mean: Duration,
        /// The standard deviation.
        deviation: Duration,
    },
    /// Exponentially distributed pauses, as between independent arrivals.
    Exponential {
        /// The mean pause.
        mean: Duration,
    },
    /// One iteration per this time, however long it took: a pause only after an iteration's last task.
    Pacing(Duration),
    /// This many tasks per second and user, however long they took.
    Throughput(f64),
}

impl Wait {
    /// Returns the mean pause after a task that takes no time, unless the task is the last of its iteration.
    pub(crate) fn mean(&self) -> Duration {
        match *self {
            Wait::None | Wait::Pacing(_) => Duration::ZERO,
            Wait::Constant(pause) => pause,
            Wait::Uniform(a, b) => a.saturating_add(b) / 2,
            Wait::Normal { mean, .. } | Wait::Exponential { mean } => mean,
            Wait::Throughput(per_second) => seconds(1.0 / per_second),
        }
    }

    /// Returns the pause after a task, given the task and, if it was the last of its iteration, the iteration.
    ///
    /// Pacing and throughput keep to a schedule: a late start does not delay the starts after it.
    pub fn after_task<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        task: TaskTiming,
        iteration: Option<TaskTiming>,
    ) -> TaskPause {
        let pause = match *self {
            Wait::None => Duration::ZERO,
            Wait::Constant(pause) => pause,
            Wait::Uniform(a, b) => rng.random_range(a.min(b)..=a.max(b)),
            Wait::Normal { mean, deviation } => {
                seconds(mean.as_secs_f64() + deviation.as_secs_f64() * standard_normal(rng))
            }
            Wait::Exponential { mean } => seconds(mean.as_secs_f64() * standard_exponential(rng)),
            Wait::Pacing(every) => {
                return iteration.map_or(TaskPause::default(), |work| work.rest_of(every));
            }
            Wait::Throughput(per_second) => return task.rest_of(seconds(1.0 / per_second)),
        };
        TaskPause {
            pause,
            ..TaskPause::default()
        }
    }
}

/// The longest delay behind schedule that is made up for by starting the next tasks at once. It covers late timers
/// and short stalls of the machine; longer delays move the schedule.
const CATCH_UP: Duration = Duration::from_millis(50);

/// The timing of a task or an iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TaskTiming {
    /// The delay between its due time and its start.
    pub late: Duration,
    /// Its duration from the start on.
    pub took: Duration,
}

/// The pause after a task, and the schedule of the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TaskPause {
    /// The time until the next task begins.
    pub pause: Duration,
    /// The time since the next task was due; only without a pause.
    pub late: Duration,
}

impl TaskTiming {
    /// Returns the pause that fills `every` after this work. Work that took longer than that moves the schedule by
    /// the excess: the next begins at once, and the excess is not caught up.
    fn rest_of(self, every: Duration) -> TaskPause {
        let gone = self.late.saturating_add(self.took.min(every));
        let behind = gone.saturating_sub(every);
        TaskPause {
            pause: every.saturating_sub(gone),
            late: if behind > CATCH_UP {
                Duration::ZERO
            } else {
                behind
            },
        }
    }
}

/// Multiplies a pause; the result is at most ten years.
pub fn scaled(pause: Duration, factor: f64) -> Duration {
    if factor == 1.0 {
        pause
    } else {
        seconds(pause.as_secs_f64() * factor)
    }
}

/// Draws from the normal distribution of mean 0 and deviation 1 (Box and Muller, 1958).
pub fn standard_normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    let radius = (-2.0 * open_unit(rng).ln()).sqrt();
    radius * (TAU * rng.random::<f64>()).cos()
}

/// Draws from the exponential distribution of mean 1.
pub fn standard_exponential<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    -open_unit(rng).ln()
}

/// Draws from (0, 1], whose logarithm is finite.
pub(super) fn open_unit<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    1.0 - rng.random::<f64>()
}

/// Converts seconds to a duration: zero for negative numbers, ten years for more than that.
pub(super) fn seconds(seconds: f64) -> Duration {
    if seconds > 0.0 {
        units::seconds(seconds).unwrap_or(units::LONGEST)
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn on_time(took: u64) -> TaskTiming {
        TaskTiming {
            late: Duration::ZERO,
            took: ms(took),
        }
    }

    #[test]
    fn a_late_start_is_made_up_for_and_long_work_is_not() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for (late, took, pause, behind) in [
            (0, 4, 6, 0),
            (3, 4, 3, 0),
            (3, 7, 0, 0),
            // Behind because it began late.
            (3, 8, 0, 1),
            (50, 10, 0, 50),
            // A stall is not followed by a burst.
            (51, 10, 0, 0),
            (2_000, 1, 0, 0),
            // The excess is not made up for, but the late start still is.
            (0, 11, 0, 0),
            (0, 500, 0, 0),
            (3, 11, 0, 3),
        ] {
            let work = TaskTiming {
                late: ms(late),
                took: ms(took),
            };
            let rest = TaskPause {
                pause: ms(pause),
                late: ms(behind),
            };
            let pacing = Wait::Pacing(ms(10)).after_task(&mut rng, on_time(0), Some(work));
            assert_eq!(pacing, rest, "{work:?}");
            let throughput = Wait::Throughput(100.0).after_task(&mut rng, work, None);
            assert_eq!(throughput, rest, "{work:?}");
        }
    }

    #[test]
    fn the_pause_follows_from_what_the_work_took() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for (wait, task, iteration, pause) in [
            (Wait::None, 10, None, 0),
            (Wait::Constant(ms(2_000)), 5_000, Some(9_000), 2_000),
            (Wait::Uniform(ms(300), ms(300)), 10, None, 300),
            (Wait::Pacing(ms(10_000)), 100, None, 0),
            (Wait::Pacing(ms(10_000)), 100, Some(4_000), 6_000),
            (Wait::Pacing(ms(10_000)), 100, Some(12_000), 0),
            (Wait::Throughput(0.5), 500, None, 1_500),
            (Wait::Throughput(0.5), 500, Some(700), 1_500),
            (Wait::Throughput(4.0), 300, None, 0),
        ] {
            let got = wait.after_task(&mut rng, on_time(task), iteration.map(on_time));
            assert_eq!(
                (got.pause, got.late),
                (ms(pause), Duration::ZERO),
                "{wait:?} after {task} ms, iteration {iteration:?}"
            );
        }
    }

    #[test]
    fn a_uniform_pause_stays_between_its_limits_in_either_order() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        for wait in [
            Wait::Uniform(ms(1_000), ms(5_000)),
            Wait::Uniform(ms(5_000), ms(1_000)),
        ] {
            for _ in 0..1_000 {
                let pause = wait.after_task(&mut rng, on_time(0), None).pause;
                assert!((ms(1_000)..=ms(5_000)).contains(&pause), "{pause:?}");
            }
        }
    }

    #[test]
    fn random_pauses_have_the_configured_mean() {
        const DRAWS: u32 = 20_000;
        for (wait, mean) in [
            (Wait::Uniform(ms(1_000), ms(5_000)), 3.0),
            (
                Wait::Normal {
                    mean: ms(5_000),
                    deviation: ms(1_000),
                },
                5.0,
            ),
            (Wait::Exponential { mean: ms(5_000) }, 5.0),
        ] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            let total: f64 = (0..DRAWS)
                .map(|_| {
                    wait.after_task(&mut rng, on_time(0), None)
                        .pause
                        .as_secs_f64()
                })
                .sum();
            let got = total / f64::from(DRAWS);
            assert!((got / mean - 1.0).abs() < 0.03, "{wait:?}: {got}");
            assert_eq!(wait.mean().as_secs_f64(), mean, "{wait:?}");
        }
    }

    #[test]
    fn a_factor_stretches_a_pause_and_never_overflows() {
        for (factor, pause) in [(1.0, 400), (0.1, 40), (0.0, 0), (2.5, 1_000)] {
            assert_eq!(scaled(ms(400), factor), ms(pause), "{factor}");
        }
        assert_eq!(scaled(Duration::MAX, 2.0), units::LONGEST);
    }

    #[test]
    fn no_pause_is_negative_and_none_overflows() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let wide = Wait::Normal {
            mean: ms(1),
            deviation: ms(10_000),
        };
        assert!((0..1_000).any(|_| wide.after_task(&mut rng, on_time(0), None).pause.is_zero()));
        for wait in [
            Wait::Throughput(0.0),
            Wait::Throughput(f64::MIN_POSITIVE),
            Wait::Exponential {
                mean: Duration::MAX,
            },
        ] {
            let forever = TaskTiming {
                late: Duration::MAX,
                took: Duration::MAX,
            };
            wait.after_task(&mut rng, forever, Some(forever));
        }
    }
}
