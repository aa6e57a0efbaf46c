//! Workers that join a run, go missing and come back, as its director sees them.

use crate::engine::run::director::Director;
use crate::error::Error;
use crate::metrics::{Cause, EventKind, WorkerIdentity};
use std::time::Duration;

/// Time that workers which are no longer heard from have to come back when no other is left.
const RETURN: Duration = Duration::from_secs(10);

/// Time between two deliveries of a worker: one that is heard no longer than that before the end was there until the
/// end.
const DELIVERY: Duration = Duration::from_secs(1);

impl Director {
    /// Takes in a worker that joins a run that is under way.
    pub(crate) fn take_in(&mut self, worker: usize, identity: WorkerIdentity, text: String) {
        self.store.expect_more(identity.shards.end);
        let number = self.roster.join(identity.shards.clone());
        self.store.add_worker(identity);
        debug_assert_eq!(
            number, worker,
            "workers are numbered in the order in which they join"
        );
        self.tell_of_worker(text);
    }

    /// Goes on without a worker that is no longer heard from, or stops the run if it is to stop on a loss.
    pub(crate) fn miss(&mut self, worker: usize, text: String) {
        if !self.roster.away(worker) {
            return;
        }
        let stops = self
            .workers
            .as_ref()
            .is_some_and(|workers| workers.stops_on_loss);
        if stops && !self.is_stopping() {
            let why = format!("{text} ('--on-worker-loss stop')");
            self.lifecycle.note_trouble(Error::trouble(why));
            self.stop(Cause::Trouble, None);
        }
        self.tell_of_worker(text);
        self.store.worker_away(worker, self.now());
        self.leave_out(worker);
    }

    /// Goes on with a worker that is back.
    pub(crate) fn welcome(&mut self, worker: usize, text: String) {
        if !self.roster.back(worker) {
            return;
        }
        self.tell_of_worker(text);
        self.store.worker_back(worker);
        for shard in self.roster.shards_of(worker) {
            self.store.find(shard);
        }
    }

    /// Gives up the workers that are away, once no other has been left for a while, and ends the run.
    pub(crate) fn look_for_workers(&mut self) {
        let since = self
            .workers
            .as_ref()
            .and_then(|workers| workers.alone_since);
        if since.is_none_or(|since| self.now().saturating_sub(since) < RETURN) {
            return;
        }
        self.roster.give_up_away();
        self.stop(Cause::WorkersLost, None);
    }

    /// Notes that a worker was heard at work, if `at_work`, and whether any is left.
    pub(crate) fn note_workers(&mut self, at_work: bool) {
        let now = self.now();
        let alone = self.roster.is_over() && self.roster.any_away();
        let Some(workers) = &mut self.workers else {
            return;
        };
        if at_work {
            workers.heard = now;
        }
        workers.alone_since = alone.then(|| workers.alone_since.unwrap_or(now));
    }

    /// Returns when a worker was last heard at work, if there were workers, nobody takes part any more, and that was
    /// before users were told to stop: nobody knows of any load from then on.
    pub(super) fn workers_lost_at(&self) -> Option<Duration> {
        let workers = self.workers.as_ref().filter(|_| self.roster.is_over())?;
        let heard = self.directives.borrow().clock.elapsed(workers.heard);
        let stopped = self.lifecycle.stopped();
        let until = match stopped.map(|stopped| (stopped.cause, stopped.at)) {
            // By their own clocks, workers may see the end a little before this process does.
            None => self.milestones.end(),
            Some((Cause::WorkersLost, _)) => None,
            Some((Cause::TimeUp, at)) if workers.alone_since.is_some() => Some(at),
            Some(_) => return None,
        };
        let is_early = until.is_none_or(|until| heard + DELIVERY < until);
        is_early.then_some(heard)
    }

    fn tell_of_worker(&mut self, text: String) {
        self.store.warn(text.clone());
        self.store.happened(self.now(), EventKind::Worker, text);
    }

    /// Stops waiting for the shards of a participant.
    pub(crate) fn leave_out(&mut self, participant: usize) {
        for shard in self.roster.shards_of(participant) {
            self.store.lose(shard);
        }
        self.finish_reset_if_all_reached();
        self.stop_if_all_idle();
    }
}
