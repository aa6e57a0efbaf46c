//! A worker's side of a run on many machines: drives its shards, adds up their figures, hands them over once a second,
//! and reports events of this machine. Knows its orders, not who gives them.

use crate::messages::context::RunContext;
use crate::messages::departures::Departures;
use crate::messages::directive::{Directive, DirectivePhase};
use crate::messages::plan_requests::PlanCommand;
use crate::messages::shard_event::{ShardEvent, ShardEventKind, WorkerPause};
use crate::run::Run;
use crate::run::local_shards::{LocalShards, StartShard, start_thread};
use crate::run::machine_watch::MachineWatch;
use crate::run::memory::MemoryWatch;
use crate::run::roster::Roster;
use crate::run::watchdog::stuck_task_error;
use crate::timing::at;
use crate::timing::standstill::{Gap, Standstill};
use crate::timing::{interval, interval_at};
use lgoose_base::error::Error;
use lgoose_metrics::{Delivery, PortableDelta};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// Time between two hand-overs, and how long they come after full seconds, at which shards hand over.
const HAND_OVER: Duration = Duration::from_secs(1);
const AFTER_SECONDS: Duration = Duration::from_millis(60);

/// Time between two checks of everything that changes by the passing of time alone.
const LOOK: Duration = Duration::from_millis(250);

/// Time that other shards have to hand over when this worker cannot go on.
const LAST_HAND_OVER: Duration = Duration::from_secs(2);

/// Signals of a worker to the manager, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WorkerSignal {
    /// Figures since the last ones, encoded.
    Figures {
        /// The latest measurement that all of its shards have come to; 0 in all pieces of a hand-over but the last.
        reached: u64,
        /// Encoded by [`PortableDelta::encode`].
        bytes: Vec<u8>,
    },
    /// It has nothing left to do under that version of the directive.
    Idle {
        /// The version of the directive.
        version: u64,
        /// Departures of its users so far.
        departures: Departures,
    },
    /// It has started all users that it will have at a time.
    AllStarted,
    /// Its users paused, though the run went on.
    Paused(WorkerPause),
    /// A request of the plan.
    PlanRequest(PlanCommand),
    /// The worker is ending on request: its users stop.
    Leaving,
    /// It cannot go on; the text says why.
    Failed(String),
    /// Its last signal: its last user has gone, and everything was handed over.
    Ended {
        /// Departures of its users so far.
        departures: Departures,
        /// Time of that since the run began: the signal may come much later.
        at: Duration,
    },
}

impl WorkerSignal {
    /// Returns the signal as the director takes it, numbered `sequence`; errors name the worker.
    ///
    /// # Errors
    /// Trouble with figures that cannot be read.
    pub fn kind(self, sequence: u64, worker: &str) -> Result<ShardEventKind, Error> {
        Ok(match self {
            WorkerSignal::Figures { reached, bytes } => ShardEventKind::Delivery {
                sequence,
                delivery: Delivery::Worker {
                    delta: Box::new(PortableDelta::decode(&bytes)?),
                    reached,
                },
            },
            WorkerSignal::Idle {
                version,
                departures,
            } => ShardEventKind::Idle {
                version,
                departures,
            },
            WorkerSignal::AllStarted => ShardEventKind::AllStarted,
            WorkerSignal::Paused(pause) => ShardEventKind::Paused(pause),
            WorkerSignal::PlanRequest(plan_request) => ShardEventKind::PlanRequest(plan_request),
            WorkerSignal::Leaving => ShardEventKind::Leaving(format!(
                "worker '{worker}' was told to end before the run was over: its users stop"
            )),
            WorkerSignal::Failed(text) => {
                ShardEventKind::Failed(Error::trouble(format!("worker '{worker}': {text}")))
            }
            WorkerSignal::Ended { departures, at } => ShardEventKind::Ended {
                departures,
                at: Some(at),
            },
        })
    }
}

/// A worker's part of a run, ready to begin.
#[derive(Debug)]
pub struct WorkerRun {
    /// The run.
    pub run: Run,
    /// Start of the users.
    pub start: Instant,
    /// Time from the origin of the times in logs to that start.
    pub since_origin: Duration,
    /// Whether it joins a run under way, in the place of a lost worker.
    pub joins: bool,
    /// Number of its first shard among all of the run.
    pub first_shard: u64,
    /// The most bytes of one signal with figures.
    pub most_bytes: usize,
    /// The worker's name.
    pub worker: String,
}

impl WorkerRun {
    /// Runs the users of this worker by its orders, and sends their figures, until the last has gone.
    ///
    /// # Errors
    /// Trouble with a thread.
    pub async fn run(
        self,
        orders: watch::Sender<Directive>,
        signals: mpsc::UnboundedSender<WorkerSignal>,
    ) -> Result<(), Error> {
        self.run_by(start_thread, orders, signals).await
    }

    /// Works like [`WorkerRun::run`], with a given way to start shards.
    pub(crate) async fn run_by(
        self,
        start_shard: StartShard,
        orders: watch::Sender<Directive>,
        signals: mpsc::UnboundedSender<WorkerSignal>,
    ) -> Result<(), Error> {
        let name = self.run.name.clone();
        let origin = self.start.checked_sub(self.since_origin);
        let context = self.run.into_context().beginning(self.start);
        let mut context = context.with_origin(origin.unwrap_or(self.start));
        context.joined = self.joins.then(Instant::now);
        let context = Arc::new(context);
        let (mut local, received) = LocalShards::start(start_shard, &context, &orders)?;
        let shards = context.shards;
        let mut worker = RunningWorker {
            name,
            worker: self.worker,
            context: context.clone(),
            first_shard: self.first_shard,
            most_bytes: self.most_bytes,
            orders,
            signals,
            roster: Roster::new((0..shards).map(|shard| shard..shard + 1)),
            epochs: vec![0; shards],
            pending: PortableDelta::default(),
            memory: MemoryWatch::new(context.local.memory, context.halted.clone()),
            machine: MachineWatch::new(),
            standstill: Standstill::default(),
            idle: None,
            all_started: false,
            cut_off_at: None,
            until: None,
            caught: false,
        };
        worker.serve(&mut local, received).await;
        local.join(worker.until.is_some());
        worker.end();
        Ok(())
    }
}

/// A worker whose users have begun.
struct RunningWorker {
    /// The plan's name.
    name: String,
    /// The worker's name.
    worker: String,
    context: Arc<RunContext>,
    first_shard: u64,
    most_bytes: usize,
    orders: watch::Sender<Directive>,
    signals: mpsc::UnboundedSender<WorkerSignal>,
    /// Its shards.
    roster: Roster,
    /// The latest measurement that each of them has come to.
    epochs: Vec<u64>,
    /// Figures that have not been handed over.
    pending: PortableDelta,
    memory: MemoryWatch,
    machine: MachineWatch,
    standstill: Standstill,
    /// The version of the directive under which it last had nothing left to do.
    idle: Option<u64>,
    /// Whether it has reported that all of its users have been started.
    all_started: bool,
    /// Time at which tasks that still run are cut off after a stop: the manager orders that, too, if it can be reached.
    cut_off_at: Option<Instant>,
    /// Time at which shards that have not ended are given up after an abort.
    until: Option<Instant>,
    /// Whether a shard is caught in the plan's code.
    caught: bool,
}

impl RunningWorker {
    async fn serve(
        &mut self,
        local: &mut LocalShards,
        mut received: mpsc::UnboundedReceiver<ShardEvent>,
    ) {
        let start = self.context.start;
        let mut hand_over = interval_at(start + HAND_OVER + AFTER_SECONDS, HAND_OVER);
        let mut look = interval(LOOK);
        let mut orders = self.orders.subscribe();
        while !self.roster.is_over() {
            self.note_stop();
            let (end, cut_off_at, until) = (self.end_of_timetable(), self.cut_off_at, self.until);
            tokio::select! {
                signal = received.recv() => match signal {
                    Some(signal) => self.handle(signal, local),
                    None => return,
                },
                // Wakes the loop, which looks at the directive again; shards receive it by the same channel.
                changed = orders.changed() => if changed.is_err() { return },
                () = at(end), if end.is_some() => self.publish(DirectivePhase::Stop),
                () = at(cut_off_at), if cut_off_at.is_some() => self.publish(DirectivePhase::Abort),
                () = at(until), if until.is_some() => return self.leave_behind(),
                _ = hand_over.tick() => self.hand_over(),
                _ = look.tick() => self.look(local),
                () = sleep_until(self.memory.due()) => if let Some(trouble) = self.memory.look() {
                    self.fail(&trouble);
                },
            }
        }
    }

    /// Sets when tasks are cut off, once users stop.
    fn note_stop(&mut self) {
        if self.orders.borrow().phase != DirectivePhase::Stop {
            self.cut_off_at = None;
        } else if self.cut_off_at.is_none() {
            self.cut_off_at = Instant::now().checked_add(self.context.config.stop_timeout);
        }
    }

    /// Returns when the timetable ends by the directive: the users stop then, whether or not the manager says so.
    fn end_of_timetable(&self) -> Option<Instant> {
        let directive = self.orders.borrow();
        let going = directive.phase == DirectivePhase::Go;
        let end = directive.end.filter(|_| going)?;
        self.context.instant(directive.clock.moment(end)?)
    }

    fn publish(&self, phase: DirectivePhase) {
        self.orders.send_modify(|directive| directive.phase = phase);
    }

    fn handle(&mut self, ShardEvent { from, kind }: ShardEvent, local: &LocalShards) {
        match kind {
            ShardEventKind::Delivery {
                delivery: Delivery::Shard(mut delta),
                ..
            } => {
                self.epochs[from] = self.epochs[from].max(delta.epoch());
                let portable = PortableDelta::from(&*delta);
                self.pending.merge(&portable.shift_shards(self.first_shard));
                delta.clear();
                local.recycle(*delta);
            }
            ShardEventKind::Idle {
                version,
                departures,
            } => {
                self.roster.idle(from, version, departures);
                if self.idle != Some(version) && self.roster.all_idle(version) {
                    self.idle = Some(version);
                    self.hand_over();
                    let departures = self.roster.departures();
                    self.send(WorkerSignal::Idle {
                        version,
                        departures,
                    });
                }
            }
            ShardEventKind::AllStarted => {
                self.roster.started_all(from);
                if !self.all_started && self.roster.have_all_started() {
                    self.all_started = true;
                    self.send(WorkerSignal::AllStarted);
                }
            }
            ShardEventKind::PlanRequest(plan_request) => {
                self.send(WorkerSignal::PlanRequest(plan_request))
            }
            ShardEventKind::Ended { departures, .. } => self.roster.ended(from, departures),
            ShardEventKind::Lost => {
                self.roster.lost(from);
                self.fail(&Error::trouble(
                    "a thread of users ended because of a bug in lgoose",
                ));
            }
            ShardEventKind::Failed(error) => self.fail(&error),
            // Shards do not send these.
            ShardEventKind::Delivery { .. }
            | ShardEventKind::Gathered(_)
            | ShardEventKind::Warning(_)
            | ShardEventKind::Away(_)
            | ShardEventKind::Leaving(_)
            | ShardEventKind::Back(_)
            | ShardEventKind::Paused(_)
            | ShardEventKind::Joined { .. }
            | ShardEventKind::Unreachable(_)
            | ShardEventKind::Superseded(_) => {}
        }
    }

    /// Reports why this worker cannot go on, and ends its shards.
    fn fail(&mut self, why: &Error) {
        self.send(WorkerSignal::Failed(why.text()));
        if self.until.is_none() {
            self.until = Some(Instant::now() + LAST_HAND_OVER);
            self.publish(DirectivePhase::Abort);
        }
    }

    fn look(&mut self, local: &mut LocalShards) {
        if let Some(Gap::Standstill(lost)) = self.standstill.tick(Instant::now()) {
            self.cut_off_at = self.cut_off_at.and_then(|at| at.checked_add(lost));
            let seconds = lost.as_secs_f64();
            let stood = format!(
                "worker '{}' stood still for {seconds:.1} s: its users paused meanwhile",
                self.worker
            );
            self.pending.warn(stood);
            let until = self.context.now();
            let from = until.saturating_sub(lost);
            self.send(WorkerSignal::Paused(WorkerPause::StoodStill {
                from,
                until,
            }));
        }
        if let Some(time) = self.machine.suspended() {
            let suspended = format!(
                "worker '{}' was suspended with its machine for {:.1} s: its users paused meanwhile",
                self.worker,
                time.as_secs_f64()
            );
            self.pending.warn(suspended);
            self.send(WorkerSignal::Paused(WorkerPause::Suspended(time)));
        }
        if let Some(caught) = local.caught().filter(|_| !self.caught) {
            self.caught = true;
            let plan_version = self.orders.borrow().plan_version.clone();
            self.roster.lost(caught.shard);
            self.fail(&stuck_task_error(&plan_version.plan, &self.name, caught));
        }
    }

    /// Hands over everything measured since the last time.
    fn hand_over(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let reached = self.reached();
        let pieces = pending.pieces(self.most_bytes);
        let last = pieces.len() - 1;
        for (at, bytes) in pieces.into_iter().enumerate() {
            let reached = if at == last { reached } else { 0 };
            self.send(WorkerSignal::Figures { reached, bytes });
        }
    }

    /// Returns the latest measurement that all shards have come to that are still at work or, if none is, all shards.
    fn reached(&self) -> u64 {
        let mut shards = self.roster.missing();
        if shards.is_empty() {
            shards = (0..self.epochs.len()).collect();
        }
        let epochs = shards.into_iter().map(|shard| self.epochs[shard]);
        epochs.min().unwrap_or(0)
    }

    fn leave_behind(&mut self) {
        for shard in self.roster.missing() {
            self.roster.lost(shard);
        }
    }

    fn end(mut self) {
        self.hand_over();
        let departures = self.roster.departures();
        let at = self.context.now();
        self.send(WorkerSignal::Ended { departures, at });
    }

    fn send(&self, signal: WorkerSignal) {
        // Fails if the task that passes signals on has ended.
        let _unheard = self.signals.send(signal);
    }
}
