//! Finds out how a run has ended: the cause of its stop, and the departures of its users.

use crate::run::life::Lifecycle;
use crate::run::membership::Membership;
use lgoose_metrics::{Cause, Ending};
use lgoose_plan::config::RunConfig;
use std::time::Duration;

/// The facts of a run that say how it has ended.
pub(super) struct EndFacts<'a> {
    pub(super) config: &'a RunConfig,
    pub(super) lifecycle: &'a Lifecycle,
    pub(super) membership: &'a Membership,
    /// End of the timetable; `None` for never.
    pub(super) end: Option<Duration>,
    /// Whether the timetable still has to reset the figures.
    pub(super) reset_is_due: bool,
    /// The most users that were ever due at a time.
    pub(super) users_due: u64,
}

impl EndFacts<'_> {
    /// Returns how the run has ended after `elapsed`; `Ending::told` adds the text.
    pub(super) fn ending(&self, elapsed: Duration) -> Ending {
        let roster = &self.membership.roster;
        let departures = roster.departures();
        let stopped = self.lifecycle.stopped();
        let lost_at = || self.membership.workers.lost_at(stopped, self.end);
        let workers_lost_at = roster.is_over().then(lost_at).flatten();
        let cause = self.cause(workers_lost_at.is_some());
        let at = stopped.map_or(elapsed, |stopped| stopped.at);
        let at = match (cause, self.end) {
            // A run that ended because its time was up is not reported as shorter than planned.
            (Cause::TimeUp, Some(end)) => at.max(end),
            (Cause::WorkersLost, _) => workers_lost_at.unwrap_or(at),
            _ => at,
        };
        let mut ending = Ending::new(cause, at, self.end);
        ending.cut_short |= self.leaves_iterations(cause);
        ending.in_warmup = stopped.map_or(self.reset_is_due, |stopped| stopped.in_warmup);
        ending.cut_off = self.lifecycle.is_out_of_time() && departures.cut_off > 0;
        ending.all_lost = departures.all_lost();
        ending.users_started = departures.started;
        // How many users a lost shard has started is not known.
        ending.users_due = if roster.is_complete() {
            self.users_due
        } else {
            0
        };
        let why = stopped.and_then(|stopped| stopped.why.clone());
        match cause {
            Cause::StoppedByPlan => ending.reason = why,
            _ => ending.threshold = why,
        }
        ending.failed = self.lifecycle.failed().to_vec();
        ending
    }

    fn cause(&self, are_workers_lost: bool) -> Cause {
        let roster = &self.membership.roster;
        match self.lifecycle.stopped() {
            _ if self.lifecycle.trouble().is_some() => Cause::Trouble,
            _ if are_workers_lost => Cause::WorkersLost,
            Some(stopped) => stopped.cause,
            None if self.membership.on_workers() && roster.is_over() => Cause::TimeUp,
            None => roster.departures().cause(),
        }
    }

    /// Returns whether iterations that alone limit the run were not all run.
    fn leaves_iterations(&self, cause: Cause) -> bool {
        let counted = self.config.iterations.is_some() || self.config.shared_iterations.is_some();
        let early = matches!(
            cause,
            Cause::Signal
                | Cause::StoppedByUser
                | Cause::Plan
                | Cause::StoppedByPlan
                | Cause::UsersLost
        );
        counted && self.end.is_none() && early
    }
}
