//! Leads a run: waits for events, calls, versions of the plan and the moments of the timetable, and has the director
//! handle each. Knows nothing of their meaning.

use crate::messages::offer::{VersionOffer, VersionOffers};
use crate::messages::shard_event::ShardEvent;
use crate::run::director::{AFTER_SHARDS, Director, NextDue, TICK};
use crate::run::life::Life;
use crate::run::local_shards::LocalShards;
use crate::timing::at;
use lgoose_metrics::Cause;
use lgoose_metrics::control::ControlCalls;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// A director that leads a run, with its sources of events.
pub(super) struct Lead<'a> {
    pub(super) director: &'a mut Director,
    /// Shards of this process; `None` if users run on workers.
    pub(super) shards: Option<&'a mut LocalShards>,
    pub(super) signals: mpsc::UnboundedReceiver<ShardEvent>,
    pub(super) calls: &'a mut ControlCalls,
    pub(super) offers: VersionOffers,
}

impl Lead<'_> {
    /// Leads the run until nobody takes part any more.
    pub(super) async fn lead(mut self) {
        let start = self.director.context.start;
        let mut tick = tokio::time::interval_at(start + self.next_tick(), TICK);
        while !self.director.membership.is_over() {
            let NextDue { end, reset, until } = self.director.due();
            let instant = |due: Option<Duration>| self.director.context.instant(due?);
            let [stop_at, reset_at, until] = [end, reset, until].map(instant);
            let memory_due = self.director.memory.due();
            tokio::select! {
                signal = self.signals.recv() => match signal {
                    Some(signal) => self.director.handle(signal),
                    None => return,
                },
                Some(call) = self.calls.next() => self.director.take(call),
                Some(VersionOffer { plan_version, reply }) = self.offers.next() => {
                    // Fails if nobody waits for the reply any more.
                    let _ignored = reply.send(self.director.take_offer(plan_version));
                }
                () = at(stop_at), if stop_at.is_some() => self.director.stop(Cause::TimeUp, None),
                () = at(reset_at), if reset_at.is_some() => self.director.measurements.reset_at_its_time(),
                () = at(until), if until.is_some() => match self.director.lifecycle.life() {
                    Life::Stopping { .. } => self.director.cut_off_late_tasks(),
                    Life::Going | Life::Aborting { .. } => return self.director.give_up_late_shards(),
                },
                () = sleep_until(memory_due) => self.director.check_memory(),
                _ = tick.tick() => self.tick(),
            }
            let emptied = self.director.measurements.take_emptied();
            if let Some(shards) = &self.shards {
                emptied.for_each(|delta| shards.recycle(delta));
            }
        }
    }

    /// Returns the time of the next tick, since the run began: a little after that of the shards, so that it includes
    /// their figures.
    fn next_tick(&self) -> Duration {
        let ticks = self.director.now().as_millis() / TICK.as_millis();
        match ticks {
            0 => AFTER_SHARDS,
            before => TICK * (before as u32 + 1) + AFTER_SHARDS,
        }
    }

    /// Publishes a snapshot, and checks everything that changes by the passing of time alone.
    fn tick(&mut self) {
        let director = &mut *self.director;
        director.check_standstill(|standstill| standstill.tick(Instant::now()));
        director.check_machine();
        director.check_memory();
        let connections = director.show();
        if let Some(shards) = &mut self.shards
            && let Some(warning) = shards.scarce_ports(connections)
        {
            director.store.warn(warning);
        }
        director.on_tick();
        director.give_up_absent_workers();
        let caught = self.shards.as_mut().and_then(|shards| shards.caught());
        if let Some(caught) = caught.filter(|_| !director.lifecycle.is_caught()) {
            director.end_without_shard(caught);
        }
    }
}
