//! The users of one lane in one shard: those of a number of users, or those that serve arrivals.

use crate::engine::load_model::dispatcher::Dispatcher;
use crate::engine::load_model::timetable::{LaneLoad, Timetable};
use crate::engine::load_model::user_pool::{Start, UserPool};
use crate::engine::protocol::context::RunContext;
use crate::engine::protocol::directive::Directive;
use std::time::Duration;

/// A shard's own users of one lane.
#[derive(Debug)]
pub(crate) enum Crew {
    Users(UserPool),
    Arrivals(Box<Dispatcher>),
}

impl Crew {
    /// Makes a shard's crews, one for each lane.
    pub(crate) fn of_lanes(index: usize, context: &RunContext, directive: &Directive) -> Vec<Crew> {
        let scenarios = directive.plan_version.plan.scenarios.len();
        let lanes = directive.timetable.lanes.iter().enumerate();
        let crews = lanes.map(|(number, lane)| match &lane.load {
            LaneLoad::Users(_) => Crew::Users(UserPool::new(context.share(index, number))),
            LaneLoad::Arrivals { spacing, most, .. } => {
                let wanted = (*spacing, *most);
                let dispatcher = Dispatcher::new(index, number, context, scenarios, wanted);
                Crew::Arrivals(Box::new(dispatcher))
            }
        });
        crews.collect()
    }

    /// Returns when the crew has something to do next, by the timetable's clock; a time in the past means at once.
    pub(crate) fn due(
        &mut self,
        timetable: &Timetable,
        lane: usize,
        elapsed: Duration,
    ) -> Option<Duration> {
        match self {
            Crew::Users(pool) => {
                let users = timetable.users(lane)?;
                if pool.has_come_to(users.users_at(elapsed)) {
                    users.next_change(elapsed)
                } else {
                    Some(elapsed)
                }
            }
            Crew::Arrivals(dispatcher) => match dispatcher.next(&timetable.lanes[lane]) {
                Some((_, time)) => Some(time),
                None => timetable
                    .early_end(lane)
                    .filter(|_| !dispatcher.pool.is_closed()),
            },
        }
    }

    /// Takes over the limit on users that the timetable now sets for the arrivals of that lane.
    pub(crate) fn obey(&mut self, timetable: &Timetable, lane: usize) {
        if let (Crew::Arrivals(dispatcher), LaneLoad::Arrivals { most, .. }) =
            (self, &timetable.lanes[lane].load)
        {
            dispatcher.pool.limit(*most);
        }
    }

    /// Replaces users when their iteration has ended: new ones run another version of the plan, which has `scenarios`
    /// scenarios.
    pub(crate) fn renew(&mut self, scenarios: usize) {
        match self {
            Crew::Users(pool) => pool.renew(),
            Crew::Arrivals(dispatcher) => dispatcher.pool.renew(scenarios),
        }
    }

    /// Tells all users to stop.
    pub(crate) fn dismiss_all(&mut self) {
        match self {
            Crew::Users(pool) => pool.dismiss_all(),
            Crew::Arrivals(dispatcher) => dispatcher.pool.dismiss_all(),
        }
    }

    /// Notes that a user has ended, and returns the one to start in its place if its number is to run again.
    pub(crate) fn ended(&mut self, number: u64) -> Option<Start> {
        match self {
            Crew::Users(pool) => pool.ended(number),
            Crew::Arrivals(dispatcher) => {
                dispatcher.pool.ended(number);
                None
            }
        }
    }

    /// Returns how many users of this shard were ever started; 0 at a rate.
    pub(crate) fn reached(&self) -> u64 {
        match self {
            Crew::Users(pool) => pool.reached(),
            Crew::Arrivals(_) => 0,
        }
    }

    /// Returns whether the lane has started as many users as it will ever have at a time; always true at a rate,
    /// where the arrivals decide how many users there are.
    pub(crate) fn has_started_all(&self, timetable: &Timetable, lane: usize) -> bool {
        match (self, timetable.users(lane)) {
            (Crew::Users(pool), Some(users)) => pool.highest() >= users.shape.peak(),
            _ => true,
        }
    }

    /// Returns whether no user is left and the timetable of that lane starts no more.
    pub(crate) fn is_over(&self, timetable: &Timetable, lane: usize, elapsed: Duration) -> bool {
        match (self, timetable.users(lane)) {
            (Crew::Users(pool), Some(users)) => {
                pool.has_come_to(users.users_at(elapsed))
                    && users.next_change(elapsed).is_none()
                    && (pool.is_done() || users.has_ended(elapsed) && pool.is_empty())
            }
            (Crew::Users(_), None) => false,
            (Crew::Arrivals(dispatcher), _) => {
                dispatcher.pool.is_closed() && dispatcher.pool.is_empty()
            }
        }
    }
}
