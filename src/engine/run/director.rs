//! Directs a run: keeps its timetable, tells all shards what to do, gathers what they measured and judges it. Knows
//! shards only by directive and signals, whatever machine they are on.

use crate::control::Calls;
use crate::engine::protocol::context::RunContext;
use crate::engine::protocol::directive::Directive;
use crate::engine::protocol::journal::{PlanFacts, Told};
use crate::engine::protocol::offer::{Offer, Offers};
use crate::engine::protocol::signal::{Signal, SignalKind};
use crate::engine::run::journal::Journal;
use crate::engine::run::life::{Life, Lifecycle};
use crate::engine::run::live_report::LiveReport;
use crate::engine::run::memory::MemoryWatch;
use crate::engine::run::milestones::Milestones;
use crate::engine::run::reset::Reset;
use crate::engine::run::roster::Roster;
use crate::engine::run::shards::Shards;
use crate::engine::run::worker_watch::WorkerWatch;
use crate::engine::timing::standstill::Standstill;
use crate::error::Error;
use crate::metrics::{Cause, Delta, EventKind, Snapshot, Store};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// Time between two snapshots.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// Delay of the director's ticks behind those of the shards.
pub(super) const AFTER_SHARDS: Duration = Duration::from_millis(20);

/// What is due next, by the timetable or after a stop: the end, a reset, and the moment at which what is left is cut
/// off or given up.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) end: Option<Duration>,
    pub(super) reset: Option<Duration>,
    pub(super) until: Option<Duration>,
}

/// A run under way.
pub(crate) struct Director {
    pub(crate) context: Arc<RunContext>,
    /// The plan's name.
    pub(crate) name: String,
    pub(crate) store: Store,
    pub(crate) directives: watch::Sender<Directive>,
    pub(crate) snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    pub(crate) live_report: LiveReport,
    pub(crate) roster: Roster,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) milestones: Milestones,
    /// The most users of this process that were ever due at a time, long enough to have been started.
    pub(crate) users_due: u64,
    pub(crate) reset: Reset,
    /// Merged deltas to give back to their shards.
    pub(crate) emptied: Vec<Delta>,
    pub(crate) standstill: Standstill,
    pub(crate) memory: MemoryWatch,
    /// Workers, if users run on other machines.
    pub(crate) workers: Option<WorkerWatch>,
    pub(crate) journal: Journal,
}

impl Director {
    /// Directs the run until nobody takes part any more.
    pub(crate) async fn direct(
        &mut self,
        shards: &mut Shards,
        mut signals: mpsc::UnboundedReceiver<Signal>,
        calls: &mut Calls,
        mut offers: Offers,
    ) {
        let mut tick = tokio::time::interval_at(self.context.begin + self.next_tick(), TICK);
        while !self.is_over() {
            let Due { end, reset, until } = self.due();
            let [stop_at, reset_at, until] = [end, reset, until].map(|due| self.instant(due));
            tokio::select! {
                signal = signals.recv() => match signal {
                    Some(signal) => self.heed(signal),
                    None => return,
                },
                Some(call) = calls.next() => self.take(call),
                Some(Offer { plan_version, reply }) = offers.next() => {
                    let at = self.now();
                    let adopted = self.adopt(plan_version.clone());
                    if adopted.is_ok() {
                        let facts = || Told::PlanVersion(Box::new(PlanFacts::from(&*plan_version)));
                        self.journal.note(at, facts);
                    }
                    // Fails if nobody waits for the answer any more.
                    let _ignored = reply.send(adopted);
                }
                () = at(stop_at), if stop_at.is_some() => self.stop(Cause::TimeUp, None),
                () = at(reset_at), if reset_at.is_some() => self.reset_at_its_time(),
                () = at(until), if until.is_some() => match self.lifecycle.life() {
                    Life::Stopping { .. } => self.give_up(),
                    Life::Going | Life::Aborting { .. } => return self.leave_behind(),
                },
                () = sleep_until(self.memory.due()) => self.look_at_memory(),
                _ = tick.tick() => self.tick(shards),
            }
            for delta in self.emptied.drain(..) {
                shards.recycle(delta);
            }
        }
    }

    /// Returns what is due next, in time since the run began.
    pub(super) fn due(&self) -> Due {
        let clock = self.directives.borrow().clock;
        let moment = |due: Option<Duration>| due.and_then(|due| clock.moment(due));
        Due {
            end: moment(self.milestones.end()).filter(|_| self.lifecycle.is_going()),
            reset: moment(self.reset.due),
            until: self.lifecycle.until(),
        }
    }

    /// Returns the time of the next tick, since the run began: a little after that of the shards, so that it includes
    /// what they hand over.
    fn next_tick(&self) -> Duration {
        let ticks = self.now().as_millis() / TICK.as_millis();
        match ticks {
            0 => AFTER_SHARDS,
            before => TICK * (before as u32 + 1) + AFTER_SHARDS,
        }
    }

    /// Returns whether nobody takes part any more or can come back.
    pub(super) fn is_over(&self) -> bool {
        self.roster.is_over() && !self.roster.any_away()
    }

    /// Returns how long the run has gone on.
    pub(crate) fn now(&self) -> Duration {
        self.journal.now().unwrap_or_else(|| self.context.now())
    }

    fn instant(&self, since: Option<Duration>) -> Option<Instant> {
        since.and_then(|since| self.context.instant(since))
    }

    /// Publishes a snapshot, and checks what only the passing of time changes.
    fn tick(&mut self, shards: &mut Shards) {
        let lost = self.standstill.tick(Instant::now());
        self.note_standstill(lost);
        let connections = self.show();
        if let Some(warning) = shards.scarce_ports(connections) {
            self.store.warn(warning);
        }
        self.look_at_time();
        self.look_for_workers();
        if let Some(caught) = shards.caught().filter(|_| !self.lifecycle.is_caught()) {
            self.end_without(caught);
        }
    }

    /// Checks what only the passing of time changes.
    pub(super) fn look_at_time(&mut self) {
        // Those whom the others waited for may be lost by now.
        self.open_if_all_started();
        self.note_stages();
        self.note_users_due();
        self.heed_thresholds();
    }

    /// Counts time in which the process stood still as a pause: somebody stopped and continued it, or its machine was
    /// frozen.
    pub(super) fn note_standstill(&mut self, lost: Duration) {
        if lost.is_zero() || self.workers.is_some() || self.directives.borrow().clock.is_paused() {
            return;
        }
        let now = self.now();
        self.store.stood_still(now.saturating_sub(lost), now);
        self.store.warn(format!(
            "the process stood still for {:.1} s: that time counts as a pause, and not towards requests under way",
            lost.as_secs_f64()
        ));
        self.lifecycle.extend(lost);
        self.tell(|directive| {
            directive.clock.pause(now.saturating_sub(lost));
            directive.clock.resume(now);
        });
    }

    pub(super) fn heed(&mut self, Signal { from, kind }: Signal) {
        let at_work = kind.is_of_work();
        match kind {
            SignalKind::Delivery { sequence, delivery } => {
                if self.roster.delivered(from, sequence) {
                    self.merge(from, delivery);
                }
            }
            SignalKind::Gathered(delivery) => self.merge(from, delivery),
            SignalKind::Idle {
                version,
                departures,
            } => {
                self.roster.idle(from, version, departures);
                self.stop_if_all_idle();
            }
            SignalKind::AllStarted => {
                self.roster.started_all(from);
                self.open_if_all_started();
            }
            SignalKind::Asked(asked) => self.heed_plan(asked),
            SignalKind::Ended { departures } => {
                self.roster.ended(from, departures);
                self.store.worker_ended(from);
                self.finish_reset_if_all_reached();
            }
            SignalKind::Lost => {
                let fault = "a thread of users ended because of a bug in lgoose".to_owned();
                self.lifecycle.note_trouble(Error::trouble(fault));
                self.lose(from);
                self.stop(Cause::Trouble, None);
            }
            SignalKind::Warning(text) => self.store.warn(text),
            SignalKind::Joined { identity, text } => self.take_in(from, identity, text),
            SignalKind::Away(text) => self.miss(from, text),
            SignalKind::Back(text) => self.welcome(from, text),
            SignalKind::Failed(error) => {
                self.lifecycle.note_trouble(error);
                self.stop(Cause::Trouble, None);
            }
            SignalKind::Deposed(error) => self.depose(error),
        }
        if self.workers.is_some() {
            self.note_workers(at_work);
        }
    }

    /// Records the stages that have begun, and the own loads of scenarios that have begun or ended.
    fn note_stages(&mut self) {
        let clock = self.directives.borrow().clock;
        let elapsed = clock.elapsed(self.now());
        while let Some((due, text)) = self.milestones.begun(elapsed) {
            if let Some(at) = clock.moment(due) {
                self.store.happened(at, EventKind::Stage, text);
            }
        }
    }

    /// Returns whether the run is on its way to its end.
    pub(crate) fn is_stopping(&self) -> bool {
        !self.lifecycle.is_going()
    }

    /// Changes the directive.
    pub(crate) fn tell(&self, change: impl FnOnce(&mut Directive)) {
        self.directives.send_modify(change);
    }

    /// Ends the run when no shard has anything left to do.
    pub(crate) fn stop_if_all_idle(&mut self) {
        let version = self.directives.borrow().version;
        if self.roster.all_idle(version) {
            self.stop(self.roster.departures().cause(), None);
        }
    }

    /// Stops the run when a threshold with `abort` is broken.
    fn heed_thresholds(&mut self) {
        if self.is_stopping() {
            return;
        }
        if let Some(row) = self.store.stopping_threshold() {
            let seconds = row.broken_s.unwrap_or_default();
            let name = row
                .name
                .map_or_else(String::new, |name| format!("{name}: "));
            let threshold = format!("{name}{}", row.threshold);
            self.store.warn(format!(
                "the run was stopped after {seconds:.1} s: the threshold '{threshold}' was broken"
            ));
            self.stop(Cause::Threshold, Some(threshold));
        }
    }
}

/// Waits until that moment; for ever without one.
pub(super) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
