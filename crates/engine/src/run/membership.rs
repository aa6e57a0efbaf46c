//! Membership of a run: its participants, which workers are away or lost, and the load that is missing without them.
//! Kept by the director, which draws the consequences for the run.

use crate::load_model::clock::RunClock;
use crate::messages::shard_event::{ShardEventKind, WorkerPause};
use crate::run::roster::Roster;
use crate::run::worker_watch::{Absence, OrdersLost, WorkerLoad, WorkerWatch};
use lgoose_base::units::counted;
use lgoose_metrics::{Delivery, WorkerIdentity};
use std::time::Duration;

/// Participants of a run: threads of this process, or workers.
#[derive(Debug)]
pub(crate) struct Membership {
    /// Each participant and how far it has come.
    pub(crate) roster: Roster,
    /// The load of each worker; empty if users run on threads of this process.
    pub(crate) workers: WorkerWatch,
}

impl Membership {
    /// Makes the membership of that many threads of this process.
    pub(crate) fn of_threads(threads: usize) -> Membership {
        Membership {
            roster: Roster::new((0..threads).map(|shard| shard..shard + 1)),
            workers: WorkerWatch::new(false, std::iter::empty()),
        }
    }

    /// Makes the membership of these workers.
    pub(crate) fn of_workers(workers: &[WorkerIdentity], stops_on_loss: bool) -> Membership {
        let loads = workers.iter();
        let loads = loads.map(|one| (one.name.clone(), one.shards.len()));
        Membership {
            roster: Roster::new(workers.iter().map(|worker| worker.shards.clone())),
            workers: WorkerWatch::new(stops_on_loss, loads),
        }
    }

    /// Returns whether users run on workers.
    pub(crate) fn on_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Returns whether nobody takes part any more or can come back.
    pub(crate) fn is_over(&self) -> bool {
        self.roster.is_over() && !self.roster.any_away()
    }

    /// Records the state of a participant that an event reports: its work, its users and their pauses.
    pub(crate) fn observe(
        &mut self,
        from: usize,
        kind: &ShardEventKind,
        clock: RunClock,
        now: Duration,
    ) {
        match kind {
            ShardEventKind::Idle {
                version,
                departures,
            } => self.roster.idle(from, *version, *departures),
            ShardEventKind::AllStarted => self.roster.started_all(from),
            ShardEventKind::Ended { departures, .. } => self.roster.ended(from, *departures),
            _ => {}
        }
        if !self.on_workers() {
            return;
        }
        let workers = &mut self.workers;
        let active_at = clock.elapsed(match kind {
            ShardEventKind::Ended { at: Some(at), .. } => *at,
            _ => now,
        });
        match kind {
            ShardEventKind::Gathered(Delivery::Gathered { reached, .. }) => {
                for (worker, _) in reached {
                    workers.note_active(*worker, active_at, now);
                }
            }
            ShardEventKind::Gathered(_) => {}
            ShardEventKind::Paused(WorkerPause::StoodStill { from: since, until }) => {
                let pause = WorkerPause::StoodStill {
                    from: clock.elapsed(*since),
                    until: clock.elapsed(*until),
                };
                workers.note_pause(from, pause);
            }
            ShardEventKind::Paused(suspended) => workers.note_pause(from, *suspended),
            ShardEventKind::Unreachable(why) => workers.record_reach(now, why.clone()),
            _ if kind.is_of_work() => workers.note_active(from, active_at, now),
            _ => {}
        }
    }

    /// Records whether nobody takes part while some may come back.
    pub(crate) fn record_alone(&mut self, now: Duration) {
        let is_alone = self.roster.is_over() && self.roster.any_away();
        self.workers.record(now, is_alone);
    }

    /// Adds a worker with the load of a lost one, or some shares of it, from `at` of the timetable on. Returns its number.
    pub(crate) fn join(
        &mut self,
        in_place_of: usize,
        identity: &WorkerIdentity,
        at: Duration,
        now: Duration,
    ) -> usize {
        let successor = WorkerLoad {
            name: identity.name.clone(),
            shares: identity.shards.len(),
            last_active: at,
            last_signal: now,
        };
        self.workers.replace(in_place_of, successor);
        self.roster.join(identity.shards.clone())
    }

    /// Records that a worker is away, and returns its percentage of the load; `None` if it took no part before.
    pub(crate) fn leave(&mut self, worker: usize, absence: Absence) -> Option<f64> {
        let took_part = self.roster.away(worker);
        took_part.then(|| self.workers.lose(worker, absence))
    }

    /// Records that a worker is back, and returns whether it was away.
    pub(crate) fn come_back(&mut self, worker: usize) -> bool {
        let was_away = self.roster.back(worker);
        if was_away {
            self.workers.find(worker);
        }
        was_away
    }

    /// Returns the workers that have not confirmed a stop and may go on sending, with their verb, and until when at the
    /// latest; `None` without any.
    pub(crate) fn unstopped(
        &self,
        now: Duration,
        orders: OrdersLost,
    ) -> Option<(String, Duration)> {
        let workers = &self.workers;
        let silent = self.roster.without_end();
        let silent = silent.filter(|worker| workers.is_silent(*worker, now));
        let sending = silent.map(|worker| (worker, workers.may_send_until(worker, orders)));
        let sending: Vec<_> = sending.filter(|(_, until)| *until > now).collect();
        let latest = sending.iter().map(|(_, until)| *until).max()?;
        let names = sending.iter().map(|(worker, _)| workers.name(*worker));
        Some((named_workers(&names.collect::<Vec<_>>()), latest))
    }
}

/// Returns the workers of these names with their verb: `worker 'a' has`.
fn named_workers(names: &[&str]) -> String {
    /// Number of workers that are named; the rest is counted.
    const MAX_NAMED: usize = 3;
    let mut shown: Vec<String> = names
        .iter()
        .take(MAX_NAMED)
        .map(|name| format!("'{name}'"))
        .collect();
    let more = names.len().saturating_sub(MAX_NAMED) as u64;
    if more > 0 {
        shown.push(counted(more, "other"));
    }
    match &shown[..] {
        [name] => format!("worker {name} has"),
        [others @ .., last] => format!("workers {} and {last} have", others.join(", ")),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_workers_are_named_and_the_rest_is_counted() {
        for (names, text) in [
            (&["a"][..], "worker 'a' has"),
            (&["a", "b"], "workers 'a' and 'b' have"),
            (&["a", "b", "c"], "workers 'a', 'b' and 'c' have"),
            (
                &["a", "b", "c", "d"],
                "workers 'a', 'b', 'c' and 1 other have",
            ),
            (
                &["a", "b", "c", "d", "e"],
                "workers 'a', 'b', 'c' and 2 others have",
            ),
        ] {
            assert_eq!(named_workers(names), text);
        }
    }
}
