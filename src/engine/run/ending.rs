//! Ends a run, and finds out why it ended: who asked for the stop, and how its users came to their end.

use crate::config::RunConfig;
use crate::engine::load_model::timetable::Timetable;
use crate::engine::protocol::directive::Phase;
use crate::engine::protocol::journal::Told;
use crate::engine::run::director::Director;
use crate::engine::run::life::{Life, Stopped};
use crate::engine::run::watchdog::{Caught, complaint};
use crate::metrics::{Cause, Ending, EventKind};
use crate::units::counted;
use std::time::Duration;

/// Time that shards have to hand over when another is caught in the plan's code, or when memory is short.
const HAND_OVER: Duration = Duration::from_secs(2);

/// Time in which a user has to be started; after it, the user counts as missing.
const TIME_TO_START: Duration = Duration::from_millis(500);

/// Time that shards have to hand over after an abort: the process is to end within a second of it.
const ABORT_HAND_OVER: Duration = Duration::from_millis(400);

impl Director {
    /// Stops the run and lets running tasks finish. Only the first stop counts, but a later abort overrides it. `why`
    /// is the threshold that was broken, or the plan's reason.
    pub(crate) fn stop(&mut self, cause: Cause, why: Option<String>) {
        if self.is_stopping() {
            return;
        }
        let at = self.now();
        let told = || Told::Stop {
            cause,
            why: why.clone(),
        };
        self.journal.note(at, told);
        self.reset_if_due();
        self.note_users_due();
        self.note(cause, why);
        self.reset_before_stop();
        let now = self.now();
        // Users that a pause has held until now go on, and stop.
        self.store.resume(now);
        self.store.load_ended(now);
        self.store
            .happened(now, EventKind::Stop, "users were told to stop");
        let until = now + self.context.config.stop_timeout;
        self.lifecycle.enter(Life::Stopping { until });
        self.tell(|directive| directive.phase = Phase::Stop);
    }

    /// Aborts the run: cuts requests off at somebody's command.
    pub(crate) fn abort(&mut self) {
        self.note(Cause::Aborted, None);
        self.cut_off(Some(self.now() + ABORT_HAND_OVER));
    }

    /// Cuts off all users that are left, and waits for shards until that time since the run began; without one, until
    /// they end.
    pub(crate) fn cut_off(&mut self, until: Option<Duration>) {
        self.lifecycle.enter(Life::Aborting { until });
        self.tell(|directive| directive.phase = Phase::Abort);
    }

    /// Cuts off tasks that have not finished in time; this does not count as an abort.
    pub(crate) fn give_up(&mut self) {
        self.lifecycle.note_out_of_time();
        let seconds = self.context.config.stop_timeout.as_secs_f64();
        self.store.warn(format!(
            "tasks still running {seconds} s after the stop were cut off ('--stop-timeout')"
        ));
        self.cut_off(None);
    }

    /// Gives a participant up: the run no longer waits for it.
    pub(crate) fn lose(&mut self, participant: usize) {
        if self.roster.lost(participant) {
            self.store.worker_away(participant, self.now());
            self.leave_out(participant);
        }
    }

    /// Ends the run at once when the process takes more memory than it may: letting users finish their tasks would
    /// take more.
    pub(crate) fn look_at_memory(&mut self) {
        let Some(trouble) = self.memory.look() else {
            return;
        };
        self.lifecycle.note_trouble(trouble);
        self.stop(Cause::Trouble, None);
        if !self.lifecycle.is_aborting() {
            self.cut_off(Some(self.now() + HAND_OVER));
        }
    }

    /// Ends the run without a shard that is caught in the plan's code: the others hand over what they have.
    pub(crate) fn end_without(&mut self, caught: Caught) {
        self.lifecycle.note_caught();
        let plan_version = self.directives.borrow().plan_version.clone();
        self.lifecycle
            .note_trouble(complaint(&plan_version.plan, &self.name, caught));
        self.lose(caught.shard);
        self.cut_off(Some(self.now() + HAND_OVER));
    }

    /// Gives up the shards that have not handed over in time: they are computing, and only the end of the process
    /// stops them.
    pub(crate) fn leave_behind(&mut self) {
        self.lifecycle.note_caught();
        let missing = self.roster.missing();
        for shard in &missing {
            self.lose(*shard);
        }
        if !missing.is_empty() {
            let threads = counted(missing.len() as u64, "thread");
            self.store.warn(format!(
                "{threads} of users were still computing at the end: their last figures are missing"
            ));
        }
    }

    /// Notes how many users are due and have been due long enough to have been started.
    pub(crate) fn note_users_due(&mut self) {
        let directive = self.directives.borrow();
        let elapsed = directive.clock.elapsed(self.now());
        let due = elapsed.checked_sub(TIME_TO_START);
        if let (Life::Going, Some(due)) = (self.lifecycle.life(), due) {
            let users = self.users_at(&directive.timetable, due);
            self.users_due = self.users_due.max(users);
        }
    }

    /// Returns how many users of this process are to run at that moment, without those of a rate. Lanes are added up
    /// at one moment, since each may peak at another.
    fn users_at(&self, timetable: &Timetable, elapsed: Duration) -> u64 {
        let lanes = (0..timetable.lanes.len()).filter_map(|lane| {
            let users = timetable.users(lane)?.users_at(elapsed);
            Some(self.context.share_of_lane(lane, users))
        });
        lanes.sum()
    }

    /// Notes why the run ends here.
    pub(crate) fn note(&mut self, cause: Cause, why: Option<String>) {
        let at = self.directives.borrow().clock.elapsed(self.now());
        self.lifecycle.note_stop(Stopped {
            cause,
            at,
            why,
            in_warmup: self.reset.is_due(),
        });
    }

    /// Returns how long the run has lasted, without the wait for workers that may come back.
    pub(crate) fn lasted(&self) -> Duration {
        let workers = self.workers.as_ref();
        match workers.and_then(|workers| workers.alone_since) {
            Some(alone) => alone,
            None => self.journal.over_at().unwrap_or_else(|| self.now()),
        }
    }

    /// Returns how the run has ended; `Ending::told` adds the text.
    pub(crate) fn ending(&self, elapsed: Duration) -> Ending {
        let departures = self.roster.departures();
        let stopped = self.lifecycle.stopped();
        let at = stopped.map_or(elapsed, |stopped| stopped.at);
        let lost = self.workers_lost_at();
        let cause = match stopped.map(|stopped| stopped.cause) {
            _ if self.lifecycle.trouble().is_some() => Cause::Trouble,
            _ if lost.is_some() => Cause::WorkersLost,
            Some(cause) => cause,
            None if self.workers.is_some() && self.roster.is_over() => Cause::TimeUp,
            None => departures.cause(),
        };
        let at = match (cause, self.milestones.end()) {
            // A run that ended because its time was up is not reported as shorter than planned.
            (Cause::TimeUp, Some(end)) => at.max(end),
            (Cause::WorkersLost, _) => lost.unwrap_or(at),
            _ => at,
        };
        let mut ending = Ending::new(cause, at, self.milestones.end());
        let RunConfig {
            iterations,
            shared_iterations,
            ..
        } = &*self.context.config;
        let counted = iterations.is_some() || shared_iterations.is_some();
        let iterations = counted && self.milestones.end().is_none();
        let early = matches!(
            cause,
            Cause::Signal | Cause::StoppedByUser | Cause::Plan | Cause::StoppedByPlan
        );
        ending.cut_short |= iterations && (early || cause == Cause::UsersLost);
        ending.in_warmup = stopped.map_or(self.reset.is_due(), |stopped| stopped.in_warmup);
        ending.cut_off = self.lifecycle.is_out_of_time();
        ending.all_lost = departures.all_lost();
        ending.users_started = departures.started;
        // How many users a lost shard has started is not known.
        ending.users_due = if self.roster.is_complete() {
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
}
