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

/// Time without its manager's broker after which a worker stops its users, so that no load goes on that nobody can stop.
pub(crate) const WORKER_ALONE: Duration = Duration::from_secs(40);

/// Time for which a worker whose users have gone keeps trying to hand over the last figures.
pub(crate) const WORKER_FAREWELL: Duration = Duration::from_secs(120);

/// Time after which workers that cannot be reached will deliver nothing more.
const NEVER: Duration = WORKER_ALONE.saturating_add(WORKER_FAREWELL);

/// What a director knows of its workers as a whole.
#[derive(Debug)]
pub(crate) struct WorkerWatch {
    /// Whether the loss of a worker ends the run.
    stops_on_loss: bool,
    /// When a worker was last heard at work, in time since the run began.
    last_active: Duration,
    /// Since when no worker has taken part, while some may come back; in time since the run began.
    alone_since: Option<Duration>,
    /// Since when no worker can be reached, in time since the run began, and why.
    unreachable: Option<(Duration, String)>,
}

impl WorkerWatch {
    pub(crate) fn new(stops_on_loss: bool) -> WorkerWatch {
        WorkerWatch {
            stops_on_loss,
            last_active: Duration::ZERO,
            alone_since: None,
            unreachable: None,
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

    /// Records why no worker can be reached from `now` on, or that they can be.
    pub(crate) fn record_reach(&mut self, now: Duration, why: Option<String>) {
        self.unreachable = why.map(|why| (now, why));
    }

    /// Returns why no worker can be reached, if the run ends without them for that: at once if somebody has stopped it and
    /// its users had their time, after a while if its time is over, and in the end in any case.
    pub(crate) fn gives_up(
        &self,
        now: Duration,
        stopped: Option<&RunStop>,
        is_aborting: bool,
    ) -> Option<String> {
        let (since, why) = self.unreachable.as_ref()?;
        let lasted = now.saturating_sub(*since);
        let is_by_hand = stopped.is_some_and(|stopped| {
            matches!(
                stopped.cause,
                Cause::StoppedByUser | Cause::Signal | Cause::Aborted
            )
        });
        let most = match (is_aborting, is_by_hand) {
            (true, true) => Duration::ZERO,
            (true, false) => WORKER_ALONE,
            (false, _) => NEVER,
        };
        (lasted >= most).then(|| why.clone())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_its_workers_ends_the_sooner_the_less_can_come() {
        let mut watch = WorkerWatch::new(false);
        let seconds = Duration::from_secs;
        let stopped = |cause| RunStop {
            cause,
            at: seconds(20),
            why: None,
            in_warmup: false,
        };
        let (by_hand, in_time) = (stopped(Cause::Signal), stopped(Cause::TimeUp));
        assert_eq!(watch.gives_up(seconds(999), Some(&by_hand), true), None);
        watch.record_reach(seconds(5), Some("why".to_owned()));
        let at = |now, stop, is_aborting| watch.gives_up(now, stop, is_aborting);
        let at_once = at(seconds(5), Some(&by_hand), true);
        assert_eq!(at_once.as_deref(), Some("why"));
        for (stop, is_aborting, due) in [
            (Some(&by_hand), false, 165),
            (Some(&in_time), true, 45),
            (Some(&in_time), false, 165),
            (None, false, 165),
        ] {
            let now = at(seconds(due), stop, is_aborting);
            assert_eq!(now.as_deref(), Some("why"), "{stop:?}");
            let before = seconds(due) - Duration::from_millis(1);
            assert_eq!(at(before, stop, is_aborting), None, "{stop:?}");
        }
        watch.record_reach(seconds(50), None);
        assert_eq!(watch.gives_up(seconds(999), Some(&by_hand), true), None);
    }
}
