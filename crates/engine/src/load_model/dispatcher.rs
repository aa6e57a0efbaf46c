//! Dispatches arrivals at one shard: each is served on schedule by a user of the shard, passed on to a shard that
//! has one to spare, or dropped and counted.

use super::share::ShardShare;
use crate::load_model::dispatch_pool::DispatchPool;
use crate::load_model::timetable::{Lane, arrivals};
use crate::messages::context::RunContext;
use lgoose_plan::Arrivals;
use lgoose_plan::config::Spacing;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// An iteration that is to start at a given moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) lane: usize,
    /// Number of the arrival, counted from 0 over the whole lane.
    pub(crate) number: u64,
    pub(crate) scheduled: Instant,
}

/// Channels by which shards pass arrivals on.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub(crate) others: Vec<mpsc::UnboundedSender<Arrival>>,
    pub(crate) incoming: mpsc::UnboundedReceiver<Arrival>,
}

/// Dispatcher of a lane's arrivals.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    share: ShardShare,
    pub(crate) pool: DispatchPool,
    pub(crate) arrivals: Arrivals,
}

impl Dispatcher {
    /// Makes a shard's dispatcher of a lane. Arrivals have this `spacing`; at most `most` users of all shards serve
    /// them.
    pub(crate) fn new(
        index: usize,
        lane: usize,
        context: &RunContext,
        scenarios: usize,
        spacing: Spacing,
        most: u64,
    ) -> Dispatcher {
        let share = context.share(index, lane);
        Dispatcher {
            share,
            pool: DispatchPool::new(share, scenarios, most),
            arrivals: arrivals(spacing, context.config.seed, lane),
        }
    }

    /// Skips the arrivals before that time of the timetable, which were another's; returns how many.
    pub(crate) fn skip(&mut self, lane: &Lane, until: Duration) -> u64 {
        let mut skipped = 0;
        while self.next(lane).is_some_and(|(_, time)| time < until) {
            self.arrivals.advance();
            skipped += 1;
        }
        skipped
    }

    /// Returns the number and the time of this shard's next arrival, and skips those of other shards; `None` if none
    /// comes before the lane ends.
    pub(crate) fn next(&mut self, lane: &Lane) -> Option<(u64, Duration)> {
        loop {
            let (number, time) = lane.arrival(&self.arrivals)?;
            if self.share.has(number) {
                return Some((number, time));
            }
            self.arrivals.advance();
        }
    }
}
