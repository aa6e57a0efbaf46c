//! Keeps the run's time, tells the shards what to do and gathers what they measured.

use super::context::RunContext;
use super::directive::{Directive, Phase};
use super::ending::Stopped;
use super::plan_version::PlanVersion;
use super::ports::PortWatch;
use super::reset::Reset;
use super::watchdog::{Watchdog, complaint};
use crate::control::Command;
use crate::engine::shard::Message;
use crate::error::Error;
use crate::metrics::{Cause, Delta, EventKind, RunPhase, Snapshot, Store};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// How often the figures are merged into a snapshot.
const TICK: Duration = Duration::from_millis(250);

/// How much later than those of the shards its own ticks are.
const AFTER_SHARDS: Duration = Duration::from_millis(20);

/// How often a live view gets a whole report.
const SHOW: Duration = Duration::from_millis(900);

/// Keeps the run's time, tells the shards what to do and gathers what they measured.
pub(crate) struct Director {
    pub(crate) store: Store,
    pub(crate) directives: watch::Sender<Directive>,
    /// When the timetable ends, none for never.
    pub(crate) end: Option<Duration>,
    /// The version of the directive under which each shard had nothing left to do.
    pub(crate) idle: Vec<Option<u64>>,
    pub(crate) reset: Reset,
    /// Gives each shard its deltas back.
    pub(crate) emptied: Vec<mpsc::UnboundedSender<Box<Delta>>>,
    pub(crate) snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    pub(crate) begin: Instant,
    pub(crate) abort_at: Option<Instant>,
    pub(crate) stop_timeout: Duration,
    pub(crate) watchdog: Watchdog,
    pub(crate) ports: PortWatch,
    /// The stages to come: when each begins by the timetable, and what it is.
    pub(crate) stages: VecDeque<(Duration, String)>,
    /// When a live view was last given a whole report.
    pub(crate) shown: Instant,
    /// A shard will never answer.
    pub(crate) caught: bool,
    pub(crate) context: Arc<RunContext>,
    /// The plan's name.
    pub(crate) name: String,
    /// The first stop, or the abort.
    pub(crate) stopped: Option<Stopped>,
    /// Tasks were cut off after `--stop-timeout`.
    pub(crate) cut_off: bool,
    pub(crate) trouble: Option<Error>,
}

impl Director {
    /// Until the last shard has handed over its last figures.
    pub(crate) async fn conduct(
        &mut self,
        mut messages: mpsc::UnboundedReceiver<Message>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        mut plan_versions: mpsc::UnboundedReceiver<Arc<PlanVersion>>,
    ) {
        // A little after the shards', so that what they hand over is in it.
        let mut tick = tokio::time::interval_at(self.begin + AFTER_SHARDS, TICK);
        loop {
            let clock = self.directives.borrow().clock;
            let moment = |due: Option<Duration>| due.and_then(|due| clock.instant(due));
            let (stop_at, reset_at) = (moment(self.end), moment(self.reset.due));
            tokio::select! {
                message = messages.recv() => match message {
                    Some(Message::Delta(shard, delta)) => self.merge(shard, *delta),
                    Some(Message::Idle(shard, version)) => self.rest(shard, version),
                    Some(Message::Failed(error)) => {
                        self.trouble.get_or_insert(error);
                        self.stop(Cause::Trouble, None);
                    }
                    None => return,
                },
                Some(command) = commands.recv() => self.obey(command),
                Some(plan_version) = plan_versions.recv() => self.adopt(plan_version),
                () = at(stop_at), if self.abort_at.is_none() && stop_at.is_some() => self.stop(Cause::TimeUp, None),
                () = at(reset_at), if reset_at.is_some() => self.reset_at_its_time(),
                () = at(self.abort_at), if self.abort_at.is_some() => match self.caught {
                    true => return,
                    false => self.give_up(),
                },
                _ = tick.tick() => {
                    self.store.enter(self.phase());
                    if self.context.config.view && self.shown.elapsed() >= SHOW {
                        self.shown = Instant::now();
                        self.store.show_report();
                    }
                    let snapshot = self.store.tick(self.begin.elapsed());
                    let connections = snapshot.connections;
                    self.snapshots.send_replace(Some(snapshot));
                    if let Some(warning) = self.ports.look(Instant::now(), connections) {
                        self.store.warn(warning);
                    }
                    self.note_stages();
                    self.heed_thresholds();
                    self.watch();
                }
            }
        }
    }

    /// Enters the stages that have begun.
    fn note_stages(&mut self) {
        let clock = self.directives.borrow().clock;
        let elapsed = clock.elapsed(Instant::now());
        while let Some((due, text)) = self.stages.pop_front_if(|(due, _)| *due <= elapsed) {
            if let Some(at) = clock.instant(due) {
                let at = at.duration_since(self.begin);
                self.store.happened(at, EventKind::Stage, text);
            }
        }
    }

    /// Ends the run if a shard is caught in the plan's code: the others hand over what they have.
    fn watch(&mut self) {
        const HAND_OVER: Duration = Duration::from_secs(2);
        if self.caught {
            return;
        }
        if let Some((running, line)) = self.watchdog.look(Instant::now()) {
            self.caught = true;
            let plan_version = self.directives.borrow().plan_version.clone();
            self.trouble
                .get_or_insert(complaint(&plan_version.plan, &self.name, running, line));
            self.abort_at = Some(Instant::now() + HAND_OVER);
            self.tell(|directive| directive.phase = Phase::Abort);
        }
    }

    fn phase(&self) -> RunPhase {
        let directive = self.directives.borrow();
        match directive.phase {
            Phase::Go if directive.clock.is_paused() => RunPhase::Paused,
            Phase::Go => RunPhase::Running,
            Phase::Stop | Phase::Abort => RunPhase::Stopping,
        }
    }

    /// Whether the run is on its way to its end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.directives.borrow().phase != Phase::Go
    }

    /// Changes what the shards are told.
    pub(crate) fn tell(&self, change: impl FnOnce(&mut Directive)) {
        self.directives.send_modify(change);
    }

    /// A shard has nothing left to do. When that is so of all, the run is over.
    fn rest(&mut self, shard: usize, version: u64) {
        self.idle[shard] = Some(version);
        let current = Some(self.directives.borrow().version);
        if self.idle.iter().all(|idle| *idle == current) {
            self.stop(self.context.departures.cause(), None);
        }
    }

    /// Stops the run when a threshold is broken that says so.
    fn heed_thresholds(&mut self) {
        if self.abort_at.is_some() {
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

    pub(crate) fn obey(&mut self, command: Command) {
        match command {
            Command::Stop => self.stop(Cause::StoppedByUser, None),
            Command::Interrupt => self.stop(Cause::Signal, None),
            Command::SetUsers(_)
            | Command::SetRate(_)
            | Command::Pause
            | Command::Resume
            | Command::ResetStatistics => self.steer(command),
            Command::Abort => self.abort(),
        }
    }

    /// Tasks that have not finished in time are cut off; that is no abort by the user.
    fn give_up(&mut self) {
        self.cut_off = true;
        self.abort_at = Some(Instant::now() + Duration::from_secs(3600));
        let seconds = self.stop_timeout.as_secs_f64();
        self.store.warn(format!(
            "tasks still running {seconds} s after the stop were cut off ('--stop-timeout')"
        ));
        self.tell(|directive| directive.phase = Phase::Abort);
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
