//! Dispatches arrivals at one shard: each is served on schedule by a user of the shard, passed on to a shard that
//! has one to spare, or dropped and counted.

use super::share::Share;
use crate::engine::load_model::dispatch_pool::DispatchPool;
use crate::engine::load_model::timetable::{Timetable, arrivals};
use crate::engine::protocol::context::RunContext;
use crate::engine::protocol::directive::Directive;
use crate::plan::{Arrivals, RateLine};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// An iteration that is to start at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// Number of the arrival, counted from 0 over the whole run.
    pub(crate) number: u64,
    pub(crate) scheduled: Instant,
}

/// Channels by which shards pass arrivals on.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub(crate) others: Vec<mpsc::UnboundedSender<Arrival>>,
    pub(crate) incoming: mpsc::UnboundedReceiver<Arrival>,
}

#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) index: usize,
    share: Share,
    pub(crate) pool: DispatchPool,
    pub(crate) arrivals: Arrivals,
}

impl Dispatcher {
    /// Makes a shard's dispatcher; `None` in a run of users.
    pub(crate) fn new(
        index: usize,
        context: &RunContext,
        directive: &Directive,
    ) -> Option<Dispatcher> {
        let Timetable::Arrivals { most, .. } = &*directive.timetable else {
            return None;
        };
        let scenarios = directive.plan_version.plan.scenarios.len();
        Some(Dispatcher {
            index,
            share: context.share(index),
            pool: DispatchPool::new(context.share(index), scenarios, *most),
            arrivals: arrivals(&context.config),
        })
    }

    /// Returns the next arrival of this shard, and skips those of the others.
    pub(crate) fn next(
        &mut self,
        line: &RateLine,
        end: Option<Duration>,
    ) -> Option<(u64, Duration)> {
        loop {
            let (number, time) = self.arrivals.peek(line)?;
            if end.is_some_and(|end| time >= end) {
                return None;
            }
            if self.share.has(number) {
                return Some((number, time));
            }
            self.arrivals.advance();
        }
    }

    /// Returns when the next arrival is due, by the timetable's clock.
    pub(crate) fn due(&mut self, line: &RateLine, end: Option<Duration>) -> Option<Duration> {
        let (_, time) = self.next(line, end)?;
        Some(time)
    }
}
