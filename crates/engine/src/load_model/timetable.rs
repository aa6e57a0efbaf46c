//! Timetable of a run: the number of users, or the rate at which iterations start, over time. The scenarios that
//! share the run's load have one lane of it; each scenario with a load of its own has another.

use lgoose_base::units;
use lgoose_metrics::{Aim, LiveLoad};
use lgoose_plan::config::{Load, RunConfig, Spacing};
use lgoose_plan::{Arrivals, Plan, RateLine, Shape};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The load over time, by lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Timetable {
    /// Lanes in the order of the plan's [`lgoose_plan::Lanes`].
    pub(crate) lanes: Vec<Lane>,
}

/// The load of a lane. Times are those of the run unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lane {
    /// The scenario that has this load to itself; `None` for the load that all others share.
    pub(crate) owner: Option<String>,
    /// Its beginning; the times of `load` count from here.
    pub(crate) start: Duration,
    /// Its end; `None` if it never ends by itself.
    pub(crate) end: Option<Duration>,
    pub(crate) load: LaneLoad,
}

/// Kinds of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum LaneLoad {
    /// A number of users.
    Users(Shape),
    /// Iterations at a rate, run by at most `most` users; no more than `ceiling` of them.
    Arrivals {
        line: RateLine,
        spacing: Spacing,
        most: u64,
        ceiling: Option<u64>,
    },
}

impl Timetable {
    /// Makes the timetable of a plan in a run with that configuration.
    pub(crate) fn of(config: &RunConfig, plan: &Plan) -> Timetable {
        let lanes = plan.lanes(config.users);
        let own = |owner: &str| {
            let scenario = plan.scenarios.iter().find(|one| one.name == owner)?;
            Some((scenario, scenario.load.as_ref()?))
        };
        let lane = |owner: Option<&str>| match owner.and_then(own) {
            Some((scenario, own)) => {
                let run_time = own.run_time(config.run_time);
                Lane::new(
                    own.start,
                    &own.load,
                    own.users,
                    own.hatch_rate(run_time),
                    run_time,
                    scenario.shared_iterations,
                )
            }
            None => Lane::new(
                Duration::ZERO,
                &config.load,
                config.users,
                config.hatch_rate,
                config.run_time,
                config.shared_iterations,
            ),
        };
        let lanes = lanes.owners().map(|owner| Lane {
            owner: owner.map(str::to_owned),
            ..lane(owner)
        });
        Timetable {
            lanes: lanes.collect(),
        }
    }

    /// Returns when the last lane ends; `None` if one never does by itself.
    pub(crate) fn end(&self) -> Option<Duration> {
        let mut ends = self.lanes.iter().map(|lane| lane.end);
        ends.try_fold(Duration::ZERO, |last, end| Some(last.max(end?)))
    }

    /// Returns the users and the rate that all lanes together aim at, `elapsed` since the run began; the other fields
    /// keep their defaults.
    pub(crate) fn aim(&self, elapsed: Duration) -> Aim {
        let mut aim = Aim::default();
        for (number, lane) in self.lanes.iter().enumerate() {
            let (users, rate) = if self.goes_on(number, elapsed) {
                lane.goal_at(elapsed.saturating_sub(lane.start))
            } else {
                (0, lane.load.is_open().then_some(0.0))
            };
            aim.users += users;
            aim.rate = match (aim.rate, rate) {
                (Some(sum), Some(rate)) => Some(sum + rate),
                (sum, rate) => sum.or(rate),
            };
        }
        aim
    }

    /// Returns each load with the users and the rate that it aims at, `elapsed` since the run began; none if there is
    /// only one load.
    pub(crate) fn loads(&self, elapsed: Duration) -> Arc<[LiveLoad]> {
        if self.lanes.len() < 2 {
            return Arc::default();
        }
        let lanes = self.lanes.iter().enumerate();
        lanes
            .map(|(number, lane)| {
                let (users, rate) = lane.goal_at(elapsed.saturating_sub(lane.start));
                LiveLoad {
                    scenario: lane.owner.as_deref().map(Arc::from),
                    users,
                    rate,
                    is_under_way: self.goes_on(number, elapsed),
                }
            })
            .collect()
    }

    /// Returns whether a lane has begun and has not ended; one that lasts as long as the run does not end here.
    fn goes_on(&self, lane: usize, elapsed: Duration) -> bool {
        let ended = self.early_end(lane).is_some_and(|end| elapsed >= end);
        elapsed >= self.lanes[lane].start && !ended
    }

    /// Returns the moment from which all users run; `None` if every lane has a rate.
    pub(crate) fn all_running_at(&self) -> Option<Duration> {
        let users = self.lanes.iter().filter_map(|lane| match &lane.load {
            LaneLoad::Users(shape) => Some(lane.start.saturating_add(shape.all_running_at())),
            LaneLoad::Arrivals { .. } => None,
        });
        users.max()
    }

    /// Returns when a lane ends, if that is before the run does.
    pub(crate) fn early_end(&self, lane: usize) -> Option<Duration> {
        let end = self.lanes[lane].end?;
        (Some(end) != self.end()).then_some(end)
    }

    /// Returns the users of a lane over time; `None` if it has a rate.
    pub(crate) fn users(&self, lane: usize) -> Option<LaneUsers<'_>> {
        let Lane { start, load, .. } = &self.lanes[lane];
        match load {
            LaneLoad::Users(shape) => Some(LaneUsers {
                shape,
                start: *start,
                early_end: self.early_end(lane),
            }),
            LaneLoad::Arrivals { .. } => None,
        }
    }

    /// Returns the lane that scenarios share, or the only one there is; `None` if there are several and each is one
    /// scenario's own.
    pub(crate) fn shared(&self) -> Option<usize> {
        match self.lanes[..] {
            [_] => Some(0),
            _ => self.lanes.iter().position(|lane| lane.owner.is_none()),
        }
    }

    /// Returns this timetable with another load in that lane.
    pub(crate) fn with(&self, lane: usize, load: LaneLoad) -> Timetable {
        let mut timetable = self.clone();
        timetable.lanes[lane].load = load;
        timetable
    }
}

impl LaneLoad {
    /// Returns whether iterations start at a rate.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, LaneLoad::Arrivals { .. })
    }
}

impl Lane {
    /// Makes a lane with that load. `run_time` counts from when all users of a ramp run or, at a rate, from the
    /// start; stages of users have a length of their own. `ceiling` is the most iterations that start at a rate; users
    /// take theirs from [`super::tickets::Tickets`].
    fn new(
        start: Duration,
        load: &Load,
        users: u64,
        hatch_rate: f64,
        run_time: Option<Duration>,
        ceiling: Option<u64>,
    ) -> Lane {
        let (load, length) = match load {
            Load::Users => {
                let shape = Shape::ramp(users, hatch_rate, run_time);
                let length = shape.duration();
                (LaneLoad::Users(shape), length)
            }
            Load::Stages(stages) => {
                let shape = Shape::stages(stages);
                let length = shape.duration();
                (LaneLoad::Users(shape), length)
            }
            Load::Rate(stages, spacing) => {
                let load = LaneLoad::Arrivals {
                    line: RateLine::new(stages),
                    spacing: *spacing,
                    most: users,
                    ceiling,
                };
                (load, run_time)
            }
        };
        Lane {
            owner: None,
            start,
            end: length.map(|length| start.saturating_add(length)),
            load,
        }
    }

    /// Returns the users and the rate that the lane aims at, `since` its start: those at the end of the stage.
    pub(crate) fn goal_at(&self, since: Duration) -> (u64, Option<f64>) {
        match &self.load {
            LaneLoad::Users(shape) => (shape.goal_at(since), None),
            LaneLoad::Arrivals { line, most, .. } => (*most, Some(line.goal_at(since))),
        }
    }
}

/// The users of a lane over the time of the run. A lane that ends before the run has no users from then on; one that
/// lasts as long as the run is ended with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneUsers<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) start: Duration,
    /// End of the lane, if that is before the end of the run.
    pub(crate) early_end: Option<Duration>,
}

impl LaneUsers<'_> {
    /// Returns how many users are to run.
    pub(crate) fn users_at(&self, elapsed: Duration) -> u64 {
        match elapsed.checked_sub(self.start) {
            Some(since) if !self.has_ended(elapsed) => self.shape.users_at(since),
            _ => 0,
        }
    }

    /// Returns the first moment after `elapsed` at which their number may change; `None` if it stays.
    pub(crate) fn next_change(&self, elapsed: Duration) -> Option<Duration> {
        if self.has_ended(elapsed) {
            return None;
        }
        match (self.next_change_of_shape(elapsed), self.early_end) {
            (Some(next), Some(end)) => Some(next.min(end)),
            (next, end) => next.or(end),
        }
    }

    /// Returns whether their number changes no more until the lane ends.
    pub(crate) fn stays(&self, elapsed: Duration) -> bool {
        self.has_ended(elapsed) || self.next_change_of_shape(elapsed).is_none()
    }

    fn next_change_of_shape(&self, elapsed: Duration) -> Option<Duration> {
        match elapsed.checked_sub(self.start) {
            None => Some(self.start),
            Some(since) => self
                .shape
                .next_change(since)
                .map(|change| self.start.saturating_add(change)),
        }
    }

    /// Returns whether the lane has ended before the run.
    pub(crate) fn has_ended(&self, elapsed: Duration) -> bool {
        self.early_end.is_some_and(|end| elapsed >= end)
    }
}

/// Returns when each stage except the first begins, and its description.
pub(crate) fn stages(config: &RunConfig) -> VecDeque<(Duration, String)> {
    /// More are the pieces of a curve, whose borders say nothing.
    const MOST_NAMED: usize = 100;
    let named: Vec<(Duration, String)> = match &config.load {
        Load::Users => Vec::new(),
        Load::Stages(stages) if stages.len() > MOST_NAMED => Vec::new(),
        Load::Rate(stages, _) if stages.len() > MOST_NAMED => Vec::new(),
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
    let mut start = Duration::ZERO;
    let mut stages = VecDeque::new();
    for (time, goal) in named {
        if !start.is_zero() && !time.is_zero() {
            stages.push_back((start, format!("stage {goal}")));
        }
        start += time;
    }
    stages
}

/// Returns when own loads of scenarios begin later than the run and end before it does, with descriptions, in order
/// of time.
pub(crate) fn own_loads(timetable: &Timetable) -> VecDeque<(Duration, String)> {
    let lanes = timetable.lanes.iter().enumerate();
    let mut moments: Vec<(Duration, String)> = lanes
        .filter_map(|(lane, one)| {
            let owner = one.owner.as_ref()?;
            let start = (!one.start.is_zero())
                .then(|| (one.start, format!("the load of scenario '{owner}' began")));
            let end = timetable.early_end(lane);
            let ends = end.map(|end| (end, format!("the load of scenario '{owner}' ended")));
            Some([start, ends])
        })
        .flatten()
        .flatten()
        .collect();
    moments.sort();
    moments.into()
}

impl Lane {
    /// Returns the number of the next of these arrivals and its time in the run; `None` if none comes before the lane ends, or
    /// if the lane has users.
    pub(crate) fn arrival(&self, arrivals: &Arrivals) -> Option<(u64, Duration)> {
        let LaneLoad::Arrivals { line, ceiling, .. } = &self.load else {
            return None;
        };
        let (number, since) = arrivals.peek(line)?;
        let time = self.start.saturating_add(since);
        let is_over = ceiling.is_some_and(|ceiling| number >= ceiling)
            || self.end.is_some_and(|end| time >= end);
        (!is_over).then_some((number, time))
    }

    /// Returns how many arrivals of this lane, which has that number, come between two times; `None` if it has users.
    pub(crate) fn arrivals_between(
        &self,
        seed: u64,
        number: usize,
        from: Duration,
        to: Duration,
    ) -> Option<u64> {
        let LaneLoad::Arrivals { spacing, .. } = &self.load else {
            return None;
        };
        let mut next = arrivals(*spacing, seed, number);
        let mut count = 0;
        while let Some((_, time)) = self.arrival(&next).filter(|(_, time)| *time < to) {
            count += u64::from(time >= from);
            next.advance();
        }
        Some(count)
    }
}

/// Returns the arrivals of a lane, the same for every shard.
pub(crate) fn arrivals(spacing: Spacing, seed: u64, lane: usize) -> Arrivals {
    match spacing {
        // Not the random stream of any user: that is made of the seed and the user's number. Each lane has its own.
        Spacing::Poisson => Arrivals::poisson(seed.rotate_left(32) ^ ((lane as u64) << 48)),
        Spacing::Even => Arrivals::even(),
    }
}
