//! Load of a run's workers: when each was last at work, and the load that is missing without the lost ones.

use crate::messages::shard_event::WorkerPause;
use crate::run::life::RunStop;
use lgoose_base::units::show_percent;
use lgoose_metrics::Cause;
use std::time::Duration;

/// Time that silent workers have to come back when no other is left.
const RETURN: Duration = Duration::from_secs(10);

/// Time between two deliveries of a worker: one whose last signal came no longer than that before the end was there
/// until the end.
const DELIVERY: Duration = Duration::from_secs(1);

/// Time without its manager's broker after which a worker stops its users, so that no load goes on that nobody can stop.
pub const WORKER_ALONE: Duration = Duration::from_secs(40);

/// Time for which a worker whose users have gone keeps trying to hand over the last figures.
pub const WORKER_FLUSH_TIMEOUT: Duration = Duration::from_secs(120);

/// Time from the last signal of a worker that has lost its broker until it stops its users: it notices the loss within 20 s, and may
/// have lost the broker up to a delivery after that signal.
const UNREACHED: Duration = WORKER_ALONE
    .saturating_add(Duration::from_secs(20))
    .saturating_add(DELIVERY);

/// Time without a signal after which a worker may have missed an abort.
const QUIET: Duration = Duration::from_millis(2_500);

/// Time after which workers that cannot be reached will deliver nothing more.
const NEVER: Duration = WORKER_ALONE.saturating_add(WORKER_FLUSH_TIMEOUT);

/// Workers of a run with their loads.
#[derive(Debug)]
pub(crate) struct WorkerWatch {
    /// Whether the loss of a worker ends the run.
    stops_on_loss: bool,
    /// Time since the run began from which no worker has taken part, while some may come back.
    alone_since: Option<Duration>,
    /// Time since the run began from which no worker can be reached, and the reason.
    unreachable: Option<(Duration, String)>,
    /// Each worker's own, by its number.
    loads: Vec<WorkerLoad>,
    /// Shares of the whole load.
    shares: usize,
    gaps: Vec<LoadGap>,
    /// Pauses of workers that took part all the same, by the timetable's clock.
    pauses: Vec<(usize, WorkerPause)>,
}

/// A worker's load.
#[derive(Debug)]
pub(crate) struct WorkerLoad {
    pub(crate) name: String,
    /// Number of shares of the load that it drives.
    pub(crate) shares: usize,
    /// End of its known work, its last signal or its reported end, by the timetable's clock.
    pub(crate) last_active: Duration,
    /// Time of its last signal since the run began.
    pub(crate) last_signal: Duration,
}

/// Reason for which a worker takes no part any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// It sends no signals: its users may go on.
    Silent,
    /// It has reported that it ends on request.
    Leaving,
}

/// Limits on the load of workers that no order reaches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrdersLost {
    /// The end of the timetable, in time since the run began; `None` for never.
    pub(crate) end: Option<Duration>,
    /// Time that running tasks have after a stop.
    pub(crate) stop_timeout: Duration,
}

/// A time in which the load of a worker is in no figure, by the timetable's clock.
#[derive(Debug)]
struct LoadGap {
    worker: usize,
    absence: Absence,
    from: Duration,
    /// Time at which another took its place.
    until: Option<Duration>,
}

/// Load that is in no figure.
#[derive(Debug)]
struct MissingLoad {
    /// Shares of the load times the seconds for which they are missing.
    share_seconds: f64,
    text: String,
}

impl MissingLoad {
    fn because(self, why: &str) -> MissingLoad {
        MissingLoad {
            text: format!("{} {why}", self.text),
            ..self
        }
    }
}

impl WorkerWatch {
    /// Makes the watch of workers with these names and numbers of shares.
    pub(crate) fn new(
        stops_on_loss: bool,
        workers: impl Iterator<Item = (String, usize)>,
    ) -> WorkerWatch {
        let loads = workers.map(|(name, shares)| WorkerLoad {
            name,
            shares,
            last_active: Duration::ZERO,
            last_signal: Duration::ZERO,
        });
        let loads: Vec<_> = loads.collect();
        WorkerWatch {
            stops_on_loss,
            alone_since: None,
            unreachable: None,
            shares: loads.iter().map(|load| load.shares).sum(),
            loads,
            gaps: Vec::new(),
            pauses: Vec::new(),
        }
    }

    /// Records that a worker was at work until that time of the timetable, by a signal that came at `now`.
    pub(crate) fn note_active(&mut self, worker: usize, at: Duration, now: Duration) {
        let load = &mut self.loads[worker];
        load.last_active = at;
        load.last_signal = now;
    }

    /// Records that a worker is lost, and returns its percentage of the load. Its load since its last signal is missing,
    /// too: a worker hands over whole seconds.
    pub(crate) fn lose(&mut self, worker: usize, absence: Absence) -> f64 {
        let whole_seconds = self.loads[worker].last_active.as_secs();
        self.gaps.push(LoadGap {
            worker,
            absence,
            from: Duration::from_secs(whole_seconds),
            until: None,
        });
        self.percent(worker)
    }

    /// Records that a worker is back: its figures of the meantime count.
    pub(crate) fn find(&mut self, worker: usize) {
        self.gaps.retain(|gap| gap.worker != worker);
    }

    /// Records that a worker's users paused, by the timetable's clock.
    pub(crate) fn note_pause(&mut self, worker: usize, pause: WorkerPause) {
        self.pauses.push((worker, pause));
    }

    /// Records that another worker has the load of a lost one, or some shares of it.
    pub(crate) fn replace(&mut self, lost: usize, successor: WorkerLoad) {
        let at = successor.last_active;
        self.loads.push(successor);
        let mut gaps = self.gaps.iter_mut();
        if let Some(gap) = gaps.find(|gap| gap.worker == lost && gap.until.is_none()) {
            gap.until = Some(at);
        }
    }

    /// Returns the load that is in no figure of a run whose users were stopped at `end` of the timetable: its fraction of the
    /// whole, and a sentence for each worker that was lost or paused. This machine was `suspended` for so long, for which the run
    /// paused with it. `moment` returns the latest moment at which a lost worker may have sent, by its number.
    pub(crate) fn missing(
        &self,
        end: Duration,
        suspended: Duration,
        moment: impl Fn(usize) -> String,
    ) -> (f64, Vec<String>) {
        let gaps = self.gaps.iter().filter_map(|gap| {
            let until = gap.until.unwrap_or(end).min(end);
            let part = self.between(gap.worker, gap.from, until)?;
            let why = match gap.absence {
                Absence::Leaving => "is missing: the worker was told to end".to_owned(),
                Absence::Silent => format!(
                    "is in no figure: nothing was heard from the worker, which may have sent it (until {} at the latest)",
                    moment(gap.worker)
                ),
            };
            Some(part.because(&why))
        });
        let still = self.pauses.iter().filter_map(|(worker, pause)| {
            let WorkerPause::StoodStill { from, until } = *pause else {
                return None;
            };
            let part = self.between(*worker, from, until.min(end))?;
            Some(part.because("is missing: the worker stood still"))
        });
        let asleep = (0..self.loads.len()).filter_map(|worker| {
            let pauses = self.pauses.iter().filter(|(of, _)| *of == worker);
            let slept: Duration = pauses.map(|(_, pause)| pause.suspended()).sum();
            let lasted = slept.saturating_sub(suspended).min(end);
            let seconds = lasted.as_secs_f64();
            (!lasted.is_zero()).then(|| MissingLoad {
                share_seconds: self.loads[worker].shares as f64 * seconds,
                text: format!(
                    "{} is missing for {seconds:.1} s: the worker's machine was suspended",
                    self.named(worker)
                ),
            })
        });
        let parts: Vec<MissingLoad> = gaps.chain(still).chain(asleep).collect();
        let missing: f64 = parts.iter().map(|part| part.share_seconds).sum();
        let sentences = parts.into_iter().map(|part| part.text).collect();
        let whole = self.shares as f64 * end.as_secs_f64();
        (if whole > 0.0 { missing / whole } else { 0.0 }, sentences)
    }

    /// Returns the load of a worker in words.
    fn named(&self, worker: usize) -> String {
        format!(
            "the load of worker '{}' ({} of all)",
            self.loads[worker].name,
            show_percent(self.percent(worker))
        )
    }

    /// Returns the load of a worker between two times; `None` if no time lies between them.
    fn between(&self, worker: usize, from: Duration, until: Duration) -> Option<MissingLoad> {
        let lasted = until.saturating_sub(from);
        (!lasted.is_zero()).then(|| MissingLoad {
            share_seconds: self.loads[worker].shares as f64 * lasted.as_secs_f64(),
            text: format!(
                "{} from {:.1} s to {:.1} s",
                self.named(worker),
                from.as_secs_f64(),
                until.as_secs_f64()
            ),
        })
    }

    /// Returns until when a worker that no order reaches may send, in time since the run began, unless it stands still meanwhile.
    pub(crate) fn may_send_until(&self, worker: usize, lost: OrdersLost) -> Duration {
        let alone = self.loads[worker].last_signal + UNREACHED;
        let stop = match (lost.end, &self.unreachable) {
            (None, None) => alone,
            (Some(end), None) => end.min(alone),
            // It may reach the broker, and then it goes on to the end of the timetable.
            (Some(end), Some(_)) => end.max(self.loads[worker].last_signal),
            (None, Some((since, _))) => alone.max(*since + UNREACHED),
        };
        stop.saturating_add(lost.stop_timeout)
    }

    /// Returns whether a worker that has not ended may have missed a stop: it is silent, and did not leave by itself.
    pub(crate) fn is_silent(&self, worker: usize, now: Duration) -> bool {
        let gap = self.gaps.iter().rev().find(|gap| gap.worker == worker);
        match gap {
            Some(gap) => gap.absence == Absence::Silent,
            None => now.saturating_sub(self.loads[worker].last_signal) > QUIET,
        }
    }

    /// Returns the name of a worker.
    pub(crate) fn name(&self, worker: usize) -> &str {
        &self.loads[worker].name
    }

    fn percent(&self, worker: usize) -> f64 {
        100.0 * self.loads[worker].shares as f64 / self.shares as f64
    }

    /// Returns whether there are no workers, since users run in this process.
    pub(crate) fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// Returns whether the loss of a worker ends the run.
    pub(crate) fn stops_on_loss(&self) -> bool {
        self.stops_on_loss
    }

    /// Returns since when no worker has taken part, while some may come back; in time since the run began.
    pub(crate) fn alone_since(&self) -> Option<Duration> {
        self.alone_since
    }

    /// Records whether the director is `alone`: nobody takes part, and some may come back.
    pub(crate) fn record(&mut self, now: Duration, alone: bool) {
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
        let most = if !is_aborting {
            NEVER
        } else if is_by_hand {
            Duration::ZERO
        } else {
            WORKER_ALONE
        };
        (lasted >= most).then(|| why.clone())
    }

    /// Returns whether the workers that are away have had their time to come back, with no other left.
    pub(crate) fn is_return_over(&self, now: Duration) -> bool {
        self.alone_since
            .is_some_and(|since| now.saturating_sub(since) >= RETURN)
    }

    /// Returns until when a worker was at work, by the timetable's clock, if nobody takes part any more and that was
    /// before users were stopped: nobody knows of any load from then on. `end` is that of the timetable.
    pub(crate) fn lost_at(
        &self,
        stopped: Option<&RunStop>,
        end: Option<Duration>,
    ) -> Option<Duration> {
        let last_active = self.loads.iter().map(|load| load.last_active).max()?;
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
        let mut watch = WorkerWatch::new(false, std::iter::empty());
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

    #[test]
    fn a_run_has_lost_its_workers_when_the_last_of_them_was_at_work() {
        let seconds = Duration::from_secs;
        let workers = ["a", "b"].map(|name| (name.to_owned(), 1));
        let mut watch = WorkerWatch::new(false, workers.into_iter());
        // Both were cut off at 5 s, and ended by themselves; all of it is known at 65 s.
        for (worker, ended) in [(0, 45), (1, 44)] {
            watch.note_active(worker, seconds(65), seconds(65));
            watch.note_active(worker, seconds(ended), seconds(65));
        }
        assert_eq!(watch.lost_at(None, Some(seconds(70))), Some(seconds(45)));
        assert_eq!(watch.lost_at(None, Some(seconds(46))), None);
        assert_eq!(watch.lost_at(None, None), Some(seconds(45)));
    }

    #[test]
    fn what_is_in_no_figure_may_have_been_sent() {
        let seconds = Duration::from_secs_f64;
        let workers = [("a", 1), ("b", 2), ("c", 1)];
        let workers = workers.map(|(name, shares)| (name.to_owned(), shares));
        let mut watch = WorkerWatch::new(false, workers.into_iter());
        watch.note_active(1, seconds(10.06), seconds(10.06));
        assert_eq!(watch.lose(1, Absence::Silent), 50.0);
        let successor = WorkerLoad {
            name: "d".to_owned(),
            shares: 2,
            last_active: seconds(16.0),
            last_signal: seconds(16.0),
        };
        watch.replace(1, successor);
        watch.note_active(0, seconds(20.06), seconds(20.06));
        assert_eq!(watch.lose(0, Absence::Leaving), 25.0);
        let moment = |worker| format!("06:45:1{worker} UTC");
        let (missing, told) = watch.missing(seconds(30.0), Duration::ZERO, moment);
        assert_eq!(missing, (2.0 * 6.0 + 10.0) / (4.0 * 30.0));
        assert_eq!(
            told,
            [
                "the load of worker 'b' (50.0% of all) from 10.0 s to 16.0 s is in no figure: nothing was heard from the worker, \
                 which may have sent it (until 06:45:11 UTC at the latest)",
                "the load of worker 'a' (25.0% of all) from 20.0 s to 30.0 s is missing: the worker was told to end",
            ]
        );
        // The successor may be lost, too, and a worker that is back has delivered all.
        watch.lose(3, Absence::Silent);
        watch.find(1);
        watch.find(0);
        let (missing, _) = watch.missing(seconds(30.0), Duration::ZERO, moment);
        assert_eq!(missing, 2.0 * 14.0 / (4.0 * 30.0));
        assert_eq!(watch.missing(seconds(16.0), Duration::ZERO, moment).0, 0.0);
    }

    #[test]
    fn load_is_missing_while_a_worker_paused_and_the_run_went_on() {
        let seconds = Duration::from_secs;
        let workers = [("a", 1), ("b", 3)].map(|(name, shares)| (name.to_owned(), shares));
        let missing = |pauses: &[(usize, WorkerPause)], suspended| {
            let mut watch = WorkerWatch::new(false, workers.clone().into_iter());
            // It was away meanwhile, and is back.
            watch.lose(1, Absence::Silent);
            pauses
                .iter()
                .for_each(|(worker, pause)| watch.note_pause(*worker, *pause));
            watch.find(1);
            watch.missing(seconds(20), seconds(suspended), |_| String::new())
        };
        let still = |from, until| WorkerPause::StoodStill {
            from: seconds(from),
            until: seconds(until),
        };
        let slept = |time| WorkerPause::Suspended(seconds(time));
        for (pauses, suspended, expected, last) in [
            (&[][..], 0, 0.0, None),
            (
                &[(1, still(5, 15))],
                0,
                0.375,
                Some(
                    "the load of worker 'b' (75.0% of all) from 5.0 s to 15.0 s is missing: the worker stood still",
                ),
            ),
            // A worker that goes on after the end has missed the load until then.
            (
                &[(0, still(10, 90))],
                0,
                0.125,
                Some(
                    "the load of worker 'a' (25.0% of all) from 10.0 s to 20.0 s is missing: the worker stood still",
                ),
            ),
            (&[(0, still(30, 90))], 0, 0.0, None),
            (
                &[(0, still(0, 4)), (0, still(8, 12))],
                0,
                0.1,
                Some(
                    "the load of worker 'a' (25.0% of all) from 8.0 s to 12.0 s is missing: the worker stood still",
                ),
            ),
            (
                &[(1, slept(10))],
                0,
                0.375,
                Some(
                    "the load of worker 'b' (75.0% of all) is missing for 10.0 s: the worker's machine was suspended",
                ),
            ),
            (
                &[(1, slept(900))],
                0,
                0.75,
                Some(
                    "the load of worker 'b' (75.0% of all) is missing for 20.0 s: the worker's machine was suspended",
                ),
            ),
            // The manager and its worker slept on one machine.
            (&[(1, slept(10))], 10, 0.0, None),
            (
                &[(1, slept(4)), (1, slept(6))],
                8,
                0.075,
                Some(
                    "the load of worker 'b' (75.0% of all) is missing for 2.0 s: the worker's machine was suspended",
                ),
            ),
        ] {
            let (part, sentences) = missing(pauses, suspended);
            assert!((part - expected).abs() < 1e-9, "{part}: {pauses:?}");
            assert_eq!(sentences.last().map(String::as_str), last, "{pauses:?}");
        }
    }

    #[test]
    fn a_worker_that_no_order_reaches_stops_by_itself() {
        let seconds = Duration::from_secs;
        let workers = ["a", "b"].map(|name| (name.to_owned(), 1));
        let mut watch = WorkerWatch::new(false, workers.into_iter());
        watch.note_active(0, seconds(20), seconds(20));
        watch.note_active(1, seconds(80), seconds(100));
        let until = |watch: &WorkerWatch, worker, end: Option<u64>| {
            let lost = OrdersLost {
                end: end.map(seconds),
                stop_timeout: seconds(30),
            };
            watch.may_send_until(worker, lost).as_secs()
        };
        // The last signal, or the end of the timetable.
        for (worker, end, expected) in [
            (0, None, 20 + 61 + 30),
            (1, None, 100 + 61 + 30),
            (0, Some(60), 60 + 30),
            (0, Some(3_600), 20 + 61 + 30),
            (1, Some(120), 120 + 30),
            (1, Some(3_600), 100 + 61 + 30),
        ] {
            assert_eq!(until(&watch, worker, end), expected, "{worker} {end:?}");
        }
        // The broker is gone for the manager, and perhaps not for workers.
        watch.record_reach(seconds(110), Some("why".to_owned()));
        for (worker, end, expected) in [
            (0, None, 110 + 61 + 30),
            (1, None, 110 + 61 + 30),
            (0, Some(60), 60 + 30),
            (0, Some(3_600), 3_600 + 30),
            (1, Some(120), 120 + 30),
        ] {
            assert_eq!(until(&watch, worker, end), expected, "{worker} {end:?}");
        }
    }

    #[test]
    fn a_worker_is_silent_once_it_is_lost_or_sent_no_signal_for_a_while() {
        let seconds = Duration::from_secs;
        let workers = ["a", "b", "c"].map(|name| (name.to_owned(), 1));
        let mut watch = WorkerWatch::new(false, workers.into_iter());
        for worker in 0..3 {
            watch.note_active(worker, seconds(20), seconds(20));
        }
        watch.lose(0, Absence::Silent);
        watch.lose(1, Absence::Leaving);
        let silent = |watch: &WorkerWatch, now| {
            [0, 1, 2].map(|worker| watch.is_silent(worker, seconds(now)))
        };
        assert_eq!(silent(&watch, 21), [true, false, false]);
        assert_eq!(silent(&watch, 23), [true, false, true]);
        watch.find(0);
        assert_eq!(silent(&watch, 21), [false, false, false]);
    }
}
