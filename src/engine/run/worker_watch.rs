//! What the director of a run knows of its workers as a whole.

use crate::engine::load_model::clock::RunClock;
use crate::engine::run::life::RunStop;
use crate::metrics::Cause;
use std::time::Duration;

/// Time that workers which are no longer heard from have to come back when no other is left.
const RETURN: Duration = Duration::from_secs(10);

/// Time between two deliveries of a worker: one that is heard no longer than that before the end was there until the
/// end.
const DELIVERY: Duration = Duration::from_secs(1);

/// What a director knows of its workers as a whole.
#[derive(Debug)]
pub(crate) struct WorkerWatch {
    /// Whether the loss of a worker ends the run.
    stops_on_loss: bool,
    /// When a worker was last heard at work, in time since the run began.
    last_active: Duration,
    /// Since when no worker has taken part, while some may come back; in time since the run began.
    alone_since: Option<Duration>,
}

impl WorkerWatch {
    pub(crate) fn new(stops_on_loss: bool) -> WorkerWatch {
        WorkerWatch {
            stops_on_loss,
            last_active: Duration::ZERO,
            alone_since: None,
        }
    }

    /// Returns whether the loss of a worker ends the run.
    pub(crate) fn stops_on_loss(&self) -> bool {
        self.stops_on_loss
    }

    /// Returns since when no worker has taken part, while some may come back; in time since the run began.
    pub(crate) fn alone_since(&self) -> Option<Duration> {
        self.alone_since
    }

    /// Records that a worker was heard at work, if `at_work`, and whether the director is `alone`: nobody takes part, and
    /// some may come back.
    pub(crate) fn record(&mut self, now: Duration, at_work: bool, alone: bool) {
        if at_work {
            self.last_active = now;
        }
        self.alone_since = alone.then(|| self.alone_since.unwrap_or(now));
    }

    /// Returns whether the workers that are away have had their time to come back, with no other left.
    pub(crate) fn is_return_over(&self, now: Duration) -> bool {
        self.alone_since
            .is_some_and(|since| now.saturating_sub(since) >= RETURN)
    }

    /// Returns when a worker was last heard at work, by the timetable's `clock`, if nobody takes part any more and that
    /// was before users were told to stop: nobody knows of any load from then on. `end` is that of the timetable.
    pub(crate) fn lost_at(
        &self,
        clock: RunClock,
        stopped: Option<&RunStop>,
        end: Option<Duration>,
    ) -> Option<Duration> {
        let last_active = clock.elapsed(self.last_active);
        let until = match stopped.map(|stopped| (stopped.cause, stopped.at)) {
            // By their own clocks, workers may see the end a little before this process does.
            None => end,
            Some((Cause::WorkersLost, _)) => None,
            Some((Cause::TimeUp, at)) if self.alone_since.is_some() => Some(at),
            Some(_) => return None,
        };
        let is_early = until.is_none_or(|until| last_active + DELIVERY < until);
        is_early.then_some(last_active)
    }
}
