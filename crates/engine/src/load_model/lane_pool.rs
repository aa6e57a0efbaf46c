//! The users of one lane in one shard: those of a number of users, or those that serve arrivals.

use crate::load_model::dispatcher::Dispatcher;
use crate::load_model::timetable::{LaneLoad, Timetable};
use crate::load_model::user_pool::{UserPool, UserStart};
use crate::messages::context::RunContext;
use crate::messages::directive::Directive;
use std::time::Duration;

/// A shard's own users of one lane.
#[derive(Debug)]
pub(crate) enum LanePool {
    Users(UserPool),
    Arrivals(Box<Dispatcher>),
}

impl LanePool {
    /// Makes a shard's pools, one for each lane.
    pub(crate) fn of_lanes(
        index: usize,
        context: &RunContext,
        directive: &Directive,
    ) -> Vec<LanePool> {
        let scenarios = directive.plan_version.plan.scenarios.len();
        let lanes = directive.timetable.lanes.iter().enumerate();
        let pools = lanes.map(|(number, lane)| match &lane.load {
            LaneLoad::Users(_) => LanePool::Users(UserPool::new(context.share(index, number))),
            LaneLoad::Arrivals { spacing, most, .. } => {
                let mut dispatcher =
                    Dispatcher::new(index, number, context, scenarios, *spacing, *most);
                if let Some(joined) = context.joined {
                    let since = joined.saturating_duration_since(context.start);
                    let skipped = dispatcher.skip(lane, directive.clock.elapsed(since));
                    context.arrivals_left.settle(number, skipped);
                }
                LanePool::Arrivals(Box::new(dispatcher))
            }
        });
        pools.collect()
    }

    /// Returns when the pool has something to do next, by the timetable's clock; a time in the past means at once.
    pub(crate) fn due(
        &mut self,
        timetable: &Timetable,
        lane: usize,
        elapsed: Duration,
    ) -> Option<Duration> {
        match self {
            LanePool::Users(pool) => {
                let users = timetable.users(lane)?;
                if pool.has_come_to(users.users_at(elapsed)) {
                    users.next_change(elapsed)
                } else {
                    Some(elapsed)
                }
            }
            LanePool::Arrivals(dispatcher) => match dispatcher.next(&timetable.lanes[lane]) {
                Some((_, time)) => Some(time),
                None => timetable
                    .early_end(lane)
                    .filter(|_| !dispatcher.pool.is_closed()),
            },
        }
    }

    /// Takes over the limit on users that the timetable now sets for the arrivals of that lane.
    pub(crate) fn follow(&mut self, timetable: &Timetable, lane: usize) {
        if let (LanePool::Arrivals(dispatcher), LaneLoad::Arrivals { most, .. }) =
            (self, &timetable.lanes[lane].load)
        {
            dispatcher.pool.limit(*most);
        }
    }

    /// Replaces users when their iteration has ended: new ones run another version of the plan, which has `scenarios`
    /// scenarios.
    pub(crate) fn renew(&mut self, scenarios: usize) {
        match self {
            LanePool::Users(pool) => pool.renew(),
            LanePool::Arrivals(dispatcher) => dispatcher.pool.renew(scenarios),
        }
    }

    /// Stops all users.
    pub(crate) fn release_all(&mut self) {
        match self {
            LanePool::Users(pool) => pool.release_all(),
            LanePool::Arrivals(dispatcher) => dispatcher.pool.release_all(),
        }
    }

    /// Records that a user has ended, and returns the one to start in its place if its number is to run again.
    pub(crate) fn ended(&mut self, number: u64) -> Option<UserStart> {
        match self {
            LanePool::Users(pool) => pool.ended(number),
            LanePool::Arrivals(dispatcher) => {
                dispatcher.pool.ended(number);
                None
            }
        }
    }

    /// Returns how many users of this shard were ever started; 0 at a rate.
    pub(crate) fn reached(&self) -> u64 {
        match self {
            LanePool::Users(pool) => pool.reached(),
            LanePool::Arrivals(_) => 0,
        }
    }

    /// Returns whether the lane has started as many users as it will ever have at a time; always true at a rate,
    /// where the arrivals decide how many users there are.
    pub(crate) fn has_started_all(&self, timetable: &Timetable, lane: usize) -> bool {
        match (self, timetable.users(lane)) {
            (LanePool::Users(pool), Some(users)) => pool.highest() >= users.shape.peak(),
            _ => true,
        }
    }

    /// Returns whether no user is left and the timetable of that lane starts no more.
    pub(crate) fn is_over(&self, timetable: &Timetable, lane: usize, elapsed: Duration) -> bool {
        match (self, timetable.users(lane)) {
            (LanePool::Users(pool), Some(users)) => {
                pool.has_come_to(users.users_at(elapsed))
                    && users.stays(elapsed)
                    && (pool.is_done() || users.has_ended(elapsed) && pool.is_empty())
            }
            (LanePool::Users(_), None) => false,
            (LanePool::Arrivals(dispatcher), _) => {
                dispatcher.pool.is_closed() && dispatcher.pool.is_empty()
            }
        }
    }
}
