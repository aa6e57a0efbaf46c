//! Finds out why a run ended: who asked for the stop, and how its users came to their end.

use super::directive::Phase;
use super::director::Director;
use crate::engine::user::User;
use crate::metrics::{Cause, Ending, EventKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// How users came to their end, counted over all shards. Once or twice in a user's life, not in a request's way.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    began: AtomicU64,
    lost: AtomicU64,
    finished: AtomicU64,
}

impl Departures {
    /// A user has done its `on_start` tasks.
    pub(crate) fn began(&self) {
        self.began.fetch_add(1, Ordering::Relaxed);
    }

    /// A user was lost by an error in `on_start`.
    pub(crate) fn lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// A user has done all its iterations.
    pub(crate) fn finished(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there were users and all were lost.
    fn all_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) > 0 && self.began.load(Ordering::Relaxed) == 0
    }

    /// Why nobody is left although nobody was told to stop.
    pub(crate) fn cause(&self) -> Cause {
        match self.finished.load(Ordering::Relaxed) {
            _ if self.all_lost() => Cause::UsersLost,
            0 => Cause::Plan,
            _ => Cause::IterationsDone,
        }
    }
}

impl User {
    /// Counts a user that has done as many iterations as it may.
    pub(crate) fn note_finished(&self) {
        let limit = self.shared.config.iterations;
        if limit.is_some_and(|limit| self.iteration > limit) {
            self.shared.departures.finished();
        }
    }
}

/// The first stop of a run: why, when, and of a threshold which.
#[derive(Debug)]
pub(crate) struct Stopped {
    cause: Cause,
    at: Duration,
    threshold: Option<String>,
    /// The figures had not begun to count.
    in_warmup: bool,
}

impl Director {
    /// Lets running tasks finish. Only the first stop counts, and an abort.
    pub(crate) fn stop(&mut self, cause: Cause, threshold: Option<String>) {
        if self.abort_at.is_some() {
            return;
        }
        self.reset_if_due();
        self.note(cause, threshold);
        self.reset_before_stop();
        let now = self.begin.elapsed();
        // Whoever was kept by a pause until now goes on to stop.
        self.store.resume(now);
        self.store.load_ended(now);
        self.store
            .happened(now, EventKind::Stop, "users were told to stop");
        self.abort_at = Some(Instant::now() + self.stop_timeout);
        self.tell(|directive| directive.phase = Phase::Stop);
    }

    /// Cuts requests off.
    pub(crate) fn abort(&mut self) {
        self.note(Cause::Aborted, None);
        self.tell(|directive| directive.phase = Phase::Abort);
    }

    fn note(&mut self, cause: Cause, threshold: Option<String>) {
        let at = self.directives.borrow().clock.elapsed(Instant::now());
        let before = self.stopped.as_ref();
        let in_warmup = before.map_or(self.reset.is_due(), |before| before.in_warmup);
        self.stopped = Some(Stopped {
            cause,
            at,
            threshold,
            in_warmup,
        });
    }

    /// How the run has ended, without its words.
    pub(crate) fn ending(&self, elapsed: Duration) -> Ending {
        let departures = &self.context.departures;
        let stopped = self.stopped.as_ref();
        let at = stopped.map_or(elapsed, |stopped| stopped.at);
        let cause = match stopped.map(|stopped| stopped.cause) {
            _ if self.trouble.is_some() => Cause::Trouble,
            Some(cause) => cause,
            None => departures.cause(),
        };
        // A timer is late, and a run that is over when its last user goes is no shorter than it was to be.
        let at = match (cause, self.end) {
            (Cause::TimeUp, Some(end)) => at.max(end),
            _ => at,
        };
        let mut ending = Ending::new(cause, at, self.end);
        let iterations = self.context.config.iterations.is_some() && self.end.is_none();
        let early = matches!(cause, Cause::Signal | Cause::StoppedByUser | Cause::Plan);
        ending.cut_short |= iterations && (early || cause == Cause::UsersLost);
        ending.in_warmup = stopped.map_or(self.reset.is_due(), |stopped| stopped.in_warmup);
        ending.cut_off = self.cut_off;
        ending.all_lost = departures.all_lost();
        ending.threshold = stopped.and_then(|stopped| stopped.threshold.clone());
        ending
    }
}
