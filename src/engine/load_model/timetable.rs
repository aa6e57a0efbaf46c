//! Timetable of a run: the number of users, or the rate at which iterations start, over time.

use crate::config::{Load, RunConfig, Spacing};
use crate::metrics::Aim;
use crate::plan::{Arrivals, RateLine, Shape};
use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// The load over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Timetable {
    /// A number of users.
    Users(Shape),
    /// Iterations at a rate by at most so many users, until `end`.
    Arrivals {
        line: RateLine,
        most: u64,
        end: Option<Duration>,
    },
}

impl Timetable {
    /// Makes the timetable of the options, and returns how long the run takes.
    pub(crate) fn of(config: &RunConfig) -> (Timetable, Option<Duration>) {
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

    /// Returns the load that it leads to at `elapsed`, without the time of the run's end.
    pub(crate) fn aim(&self, elapsed: Duration) -> Aim {
        let (users, rate) = match self {
            Timetable::Users(shape) => (shape.goal_at(elapsed), None),
            Timetable::Arrivals { line, most, .. } => (*most, Some(line.goal_at(elapsed))),
        };
        Aim {
            users,
            rate,
            ..Aim::default()
        }
    }

    /// Returns from when on all users run; `None` without such a moment.
    pub(crate) fn all_running_at(&self) -> Option<Duration> {
        match self {
            Timetable::Users(shape) => Some(shape.all_running_at()),
            Timetable::Arrivals { .. } => None,
        }
    }
}

/// Returns when each stage except the first begins, and its description.
pub(crate) fn stages(config: &RunConfig) -> VecDeque<(Duration, String)> {
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

/// Returns the arrivals of a run, the same for every shard.
pub(crate) fn arrivals(config: &RunConfig) -> Arrivals {
    match config.load {
        // Not the stream of a user, which are the seed and a number.
        Load::Rate(_, Spacing::Poisson) => Arrivals::poisson(config.seed.rotate_left(32)),
        _ => Arrivals::even(),
    }
}
