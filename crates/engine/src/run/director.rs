//! The director of a run: keeps its timetable, directs all shards, gathers their figures and judges them. Driven by
//! [`super::lead`], or by [`super::replay`] as long as another director leads. Knows shards only by directive and events,
//! on any machine.

use crate::messages::context::RunContext;
use crate::messages::directive::{Directive, DirectivePhase};
use crate::messages::journal::{DirectorEvent, PlanFacts};
use crate::messages::plan_requests::PlanCommand;
use crate::messages::plan_version::PlanVersion;
use crate::messages::shard_event::{ShardEvent, ShardEventKind};
use crate::run::ending::EndFacts;
use crate::run::journal::DirectorLog;
use crate::run::life::{Life, Lifecycle, RunStop};
use crate::run::machine_watch::MachineWatch;
use crate::run::measurements::Measurements;
use crate::run::membership::Membership;
use crate::run::memory::MemoryWatch;
use crate::run::settings::settings_of;
use crate::run::steering::{LoadProgress, Steering};
use crate::run::views::Views;
use crate::run::watchdog::{StuckShard, stuck_task_error};
use crate::run::worker_watch::{Absence, OrdersLost};
use crate::timing::standstill::{Gap, Standstill};
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::units::{counted, show_percent};
use lgoose_metrics::control::{Command, CommandResult, ControlCall, Done, Interrupt, Refusal};
use lgoose_metrics::{
    Cause, Delivery, Detail, Ending, EventKind, LiveLoad, Report, Store, WorkerIdentity,
};
use lgoose_plan::PlanEvent;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time between two snapshots.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// Delay of the director's ticks behind those of the shards.
pub(super) const AFTER_SHARDS: Duration = Duration::from_millis(20);

/// Time that shards have to hand over when another is caught in the plan's code, or when memory is short.
const HAND_OVER: Duration = Duration::from_secs(2);

/// Time that shards have to hand over after an abort: the process is to end within a second of it.
const ABORT_HAND_OVER: Duration = Duration::from_millis(400);

/// Next moments of a run, by the timetable or after a stop, in time since it began: the end, a reset, and the moment at
/// which the remaining users are cut off or given up.
#[derive(Debug)]
pub(super) struct NextDue {
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
    pub(crate) steering: Steering,
    pub(crate) measurements: Measurements,
    pub(crate) views: Views,
    pub(crate) membership: Membership,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) standstill: Standstill,
    pub(crate) memory: MemoryWatch,
    pub(crate) machine: MachineWatch,
    pub(crate) journal: DirectorLog,
}

impl Director {
    /// Returns the next moments of the run, in time since it began.
    pub(super) fn due(&self) -> NextDue {
        let clock = self.directives.borrow().clock;
        let moment = |due: Option<Duration>| due.and_then(|due| clock.moment(due));
        NextDue {
            end: moment(self.steering.end()).filter(|_| self.lifecycle.is_going()),
            reset: moment(self.measurements.due()),
            until: self.lifecycle.until(),
        }
    }

    /// Returns how long the run has gone on.
    pub(crate) fn now(&self) -> Duration {
        self.journal.playing.unwrap_or_else(|| self.context.now())
    }

    /// Returns whether the run is on its way to its end.
    pub(crate) fn is_stopping(&self) -> bool {
        !self.lifecycle.is_going()
    }

    /// Changes the directive.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut Directive)) {
        self.directives.send_modify(change);
    }

    /// Checks everything that changes by the passing of time alone.
    pub(super) fn on_tick(&mut self) {
        // Those whom the others waited for may be lost by now.
        self.open_if_all_started();
        self.steering.record_stages(self.now(), &mut self.store);
        self.record_users_due();
        self.apply_thresholds();
    }

    fn record_users_due(&mut self) {
        if self.lifecycle.is_going() {
            self.steering.record_users_due(self.now());
        }
    }

    /// Counts time in which the process stood still as a pause: somebody stopped and continued it, or its machine was
    /// frozen.
    pub(super) fn check_standstill(&mut self, look: impl FnOnce(&Standstill) -> Option<Gap>) {
        let Some(Gap::Standstill(lost)) = look(&self.standstill) else {
            return;
        };
        if self.membership.on_workers() || self.directives.borrow().clock.is_paused() {
            return;
        }
        let now = self.now();
        self.store.stood_still(now.saturating_sub(lost), now);
        self.store.warn(format!(
            "the process stood still for {:.1} s: that time counts as a pause, and not towards requests under way",
            lost.as_secs_f64()
        ));
        self.lifecycle.extend(lost);
        self.publish(|directive| {
            directive.clock.pause(now.saturating_sub(lost));
            directive.clock.resume(now);
        });
    }

    /// Records suspensions of the machine and limits on processor time since the last tick.
    pub(super) fn check_machine(&mut self) {
        if let Some(time) = self.machine.suspended() {
            let text = format!(
                "the machine was suspended for {:.1} s: the clock of the run stood still meanwhile",
                time.as_secs_f64()
            );
            self.store
                .happened(self.now(), EventKind::Pause, text.clone());
            self.store.warn(text);
        }
        // Users on workers have the limits of their own machines.
        let limit = self.machine.cpu_limit();
        if let Some(limit) = limit.filter(|_| !self.membership.on_workers()) {
            self.store.limit_generator(limit);
        }
    }

    /// Handles an event of a participant.
    pub(super) fn handle(&mut self, ShardEvent { from, kind }: ShardEvent) {
        let (clock, now) = (self.directives.borrow().clock, self.now());
        self.membership.observe(from, &kind, clock, now);
        match kind {
            ShardEventKind::Delivery { sequence, delivery } => {
                if self.membership.roster.delivered(from, sequence) {
                    self.merge(from, delivery);
                }
            }
            ShardEventKind::Gathered(delivery) => self.merge(from, delivery),
            ShardEventKind::Idle { .. } => self.stop_if_all_idle(),
            ShardEventKind::AllStarted => self.open_if_all_started(),
            ShardEventKind::PlanRequest(plan_request) => self.execute_plan_request(plan_request),
            ShardEventKind::Ended { .. } => {
                self.store.worker_ended(from);
                self.finish_reset_if_all_reached();
            }
            ShardEventKind::Lost => {
                let fault = "a thread of users ended because of a bug in lgoose".to_owned();
                self.lifecycle.note_trouble(Error::trouble(fault));
                self.lose(from);
                self.stop(Cause::Trouble, None);
            }
            ShardEventKind::Warning(text) => self.store.warn(text),
            ShardEventKind::Joined {
                in_place_of,
                identity,
                text,
            } => self.admit_worker(from, in_place_of, identity, text),
            ShardEventKind::Away(text) => self.mark_away(from, text, Absence::Silent),
            ShardEventKind::Leaving(text) => self.mark_away(from, text, Absence::Leaving),
            ShardEventKind::Back(text) => self.mark_back(from, text),
            ShardEventKind::Paused(_) | ShardEventKind::Unreachable(_) => {}
            ShardEventKind::Failed(error) => {
                self.lifecycle.note_trouble(error);
                self.stop(Cause::Trouble, None);
            }
            ShardEventKind::Superseded(error) => self.mark_superseded(error),
        }
        self.membership.record_alone(self.now());
    }

    /// Returns the time of the timetable.
    fn played(&self) -> Duration {
        self.directives.borrow().clock.elapsed(self.now())
    }

    /// Adds a participant's figures to the measurement that they belong to.
    fn merge(&mut self, from: usize, delivery: Delivery) {
        let roster = &mut self.membership.roster;
        let measurements = &mut self.measurements;
        measurements.merge(from, delivery, roster, &mut self.store);
        self.finish_reset_if_all_reached();
    }

    /// Ends the earlier measurement when all shards that take part have come to the next one.
    fn finish_reset_if_all_reached(&mut self) {
        let (now, roster) = (self.now(), &self.membership.roster);
        let measurements = &mut self.measurements;
        if measurements.finish_if_all_reached(roster, &mut self.store, now) {
            self.views.figures_changed();
        }
    }

    /// Ends the run when no shard has anything left to do.
    fn stop_if_all_idle(&mut self) {
        let version = self.directives.borrow().version;
        let roster = &self.membership.roster;
        if roster.all_idle(version) {
            self.stop(roster.departures().cause(), None);
        }
    }

    /// Stops the run when a threshold with `abort` is broken.
    fn apply_thresholds(&mut self) {
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

    /// Carries out a request of the plan.
    fn execute_plan_request(&mut self, plan_request: PlanCommand) {
        match plan_request {
            PlanCommand::Stop(why) => self.stop(Cause::StoppedByPlan, Some(why)),
            PlanCommand::Fail(why) => self.lifecycle.note_failed(why),
        }
    }

    /// Lets users that wait for all others go on, once all have been started.
    fn open_if_all_started(&mut self) {
        if self.membership.roster.have_all_started() && !self.directives.borrow().all_started {
            self.publish(|directive| directive.all_started = true);
        }
    }

    /// Handles a call and replies to it.
    pub(super) fn take(&mut self, call: ControlCall) {
        // Comes first: otherwise a command that resumes the run would be followed by a pause for the time that the
        // process stood still.
        self.check_standstill(|standstill| standstill.see(Instant::now()));
        match call {
            ControlCall::Command(command, reply) => {
                let at = self.now();
                let result = self.execute(command.clone());
                if result.is_ok() {
                    self.journal.note(at, || DirectorEvent::Command(command));
                }
                self.views.publish_load(self.progress());
                reply.send(result);
            }
            ControlCall::Tag(asked, reply) => {
                let _ignored = reply.send(asked.look_up(&mut self.store));
            }
            ControlCall::Report(detail, reply) => {
                // Fails if nobody waits for the reply any more.
                let _ignored = reply.send(self.report_now(detail));
            }
        }
    }

    /// Executes a command, or returns the refusal.
    pub(super) fn execute(&mut self, command: Command) -> CommandResult {
        let now = self.now();
        match command {
            Command::Stop if self.is_stopping() => Err(Refusal::Stopping),
            Command::Stop | Command::Interrupt(Interrupt::Key) => {
                self.stop(Cause::StoppedByUser, None);
                Ok(Done::Stopping)
            }
            Command::Interrupt(Interrupt::Signal) => {
                self.stop(Cause::Signal, None);
                Ok(Done::Stopping)
            }
            Command::Abort => {
                self.abort();
                Ok(Done::Aborting)
            }
            // Where a plan can be reloaded, `Handle::ask` sends these to `Reloads` instead.
            Command::Reload => Err(Refusal::NoReload),
            _ if self.is_stopping() => Err(Refusal::Stopping),
            Command::Pause if self.directives.borrow().clock.is_paused() => Err(Refusal::Paused),
            Command::Pause => {
                self.measurements.reset_if_due(now);
                self.steering.pause(now, &mut self.store);
                Ok(Done::Paused)
            }
            Command::Resume => self.steering.resume(now, &mut self.store),
            Command::ResetStatistics => {
                self.measurements.reset_on_request(now)?;
                Ok(Done::Reset)
            }
            change => self.steering.execute(change, now, &mut self.store),
        }
    }

    /// Lets users take a version of the plan that is offered.
    pub(super) fn take_offer(&mut self, plan_version: Arc<PlanVersion>) -> Result<(), Refusal> {
        let at = self.now();
        self.adopt(plan_version.clone())?;
        let facts = || DirectorEvent::PlanVersion(Box::new(PlanFacts::from(&*plan_version)));
        self.journal.note(at, facts);
        Ok(())
    }

    /// Lets users take another version of the plan, each from its next iteration on. They keep the value that `test_start`
    /// returned.
    pub(super) fn adopt(&mut self, plan_version: Arc<PlanVersion>) -> Result<(), Refusal> {
        if self.is_stopping() {
            return Err(Refusal::Stopping);
        }
        if !plan_version
            .lanes
            .fit(&self.directives.borrow().plan_version.lanes)
        {
            let text =
                "scenarios with loads of their own have changed: that takes effect in the next run";
            let error =
                Diagnostic::new(text).help("stop this run and start it again, or undo that");
            return Err(Refusal::Plan(Arc::new(error.into())));
        }
        plan_version
            .program
            .share_as(&self.directives.borrow().plan_version.program);
        self.measurements.reset_with_plan(self.now());
        self.views.settings_changed();
        self.publish(|directive| {
            directive.plan_version = plan_version;
            // Shards that had nothing left to do may have something now.
            directive.version += 1;
        });
        Ok(())
    }

    /// Publishes a snapshot, and returns how many connections are open.
    pub(super) fn show(&mut self) -> u64 {
        // While nobody is left but those that may come back, no time passes for the figures.
        let now = self.lasted();
        let behind = self.store.behind(now);
        if let Some(behind) = behind.filter(|_| self.membership.on_workers()) {
            let ms = behind.as_millis();
            tracing::debug!(target: "lgoose::gaggle", "the figures of some worker are {ms} ms behind");
        }
        self.show_until(now)
    }

    /// Publishes the final figures of a run that has lasted so long; views show them as long as `test_stop` runs.
    pub(super) fn conclude(&mut self, elapsed: Duration) {
        let now = self.now();
        self.measurements.conclude(&mut self.store, now);
        self.show_until(elapsed);
    }

    fn show_until(&mut self, now: Duration) -> u64 {
        let loads = self.enter_progress();
        self.store.set_loads(loads);
        let snapshot = self.store.tick(now);
        let connections = snapshot.connections;
        self.views.publish(snapshot);
        connections
    }

    /// Lets a tick pass without a snapshot for views.
    pub(super) fn skip_snapshot(&mut self) {
        self.enter_progress();
        self.store.advance(self.now());
    }

    /// Enters the load of this moment into the store, and returns the loads of lanes.
    fn enter_progress(&mut self) -> Arc<[LiveLoad]> {
        let load = self.progress();
        self.store.enter(load.phase, load.aim, load.played);
        load.loads
    }

    fn progress(&self) -> LoadProgress {
        let warmup_due = self.measurements.warmup_due();
        self.steering
            .progress(self.now(), self.is_stopping(), warmup_due)
    }

    /// Returns the current report; all requests between two ticks get the same one.
    pub(super) fn report_now(&mut self, detail: Detail) -> Arc<Report> {
        let directive = self.directives.borrow();
        let plan_version = &directive.plan_version;
        let settings = || settings_of(&plan_version.config, &self.context.local, plan_version);
        self.views.report(&mut self.store, detail, settings)
    }

    /// Takes in a worker that joins a run that is under way, in the place of a lost one.
    fn admit_worker(
        &mut self,
        worker: usize,
        in_place_of: usize,
        identity: WorkerIdentity,
        text: String,
    ) {
        let (at, now) = (self.played(), self.now());
        let number = self.membership.join(in_place_of, &identity, at, now);
        self.store.expect_more(identity.shards.end);
        self.store.add_worker(identity);
        debug_assert_eq!(
            number, worker,
            "workers are numbered in the order in which they join"
        );
        self.report_worker(text);
    }

    /// Goes on without a worker that is silent or leaving, or stops the run if it is to stop on a loss.
    fn mark_away(&mut self, worker: usize, mut text: String, absence: Absence) {
        let Some(percent) = self.membership.leave(worker, absence) else {
            return;
        };
        let percent = show_percent(percent);
        if self.lifecycle.is_going() {
            text += &match absence {
                Absence::Leaving => format!("; {percent} of the load is missing without it"),
                Absence::Silent => {
                    format!("; whether it sends its {percent} of the load is not known")
                }
            };
        }
        if self.membership.workers.stops_on_loss() && !self.is_stopping() {
            let why = format!("{text} ('--on-worker-loss stop')");
            self.lifecycle.note_trouble(Error::trouble(why));
            self.stop(Cause::Trouble, None);
        }
        self.report_worker(text);
        self.leave_out(worker);
    }

    /// Goes on with a worker that is back.
    fn mark_back(&mut self, worker: usize, text: String) {
        if !self.membership.come_back(worker) {
            return;
        }
        self.report_worker(text);
        self.store.worker_back(worker);
        for shard in self.membership.roster.shards_of(worker) {
            self.store.find(shard);
        }
    }

    /// Gives up the workers that are away, once no other has been left for a while, and ends the run.
    pub(super) fn give_up_absent_workers(&mut self) {
        if self.end_if_unreachable() {
            return;
        }
        if self.membership.workers.is_return_over(self.now()) {
            self.membership.roster.drop_away();
            self.stop(Cause::WorkersLost, None);
        }
    }

    /// Ends the run without its workers if none can be reached and that has lasted long enough; returns whether it did.
    fn end_if_unreachable(&mut self) -> bool {
        let workers = &self.membership.workers;
        let (stopped, is_aborting) = (self.lifecycle.stopped(), self.lifecycle.is_aborting());
        let Some(why) = workers.gives_up(self.now(), stopped, is_aborting) else {
            return false;
        };
        self.store
            .warn(format!("{why}: what workers had not delivered is missing"));
        self.lifecycle.note_trouble(Error::trouble(why));
        self.stop(Cause::Trouble, None);
        self.lose_missing();
        self.membership.roster.drop_away();
        true
    }

    /// Gives up the participants that still take part, and returns how many there were.
    fn lose_missing(&mut self) -> usize {
        let missing = self.membership.roster.missing();
        for participant in &missing {
            self.lose(*participant);
        }
        missing.len()
    }

    fn report_worker(&mut self, text: String) {
        self.store.warn(text.clone());
        self.store.happened(self.now(), EventKind::Worker, text);
    }

    /// Stops waiting for the shards of a participant.
    fn leave_out(&mut self, participant: usize) {
        self.store.worker_away(participant, self.now());
        for shard in self.membership.roster.shards_of(participant) {
            self.store.lose(shard);
        }
        self.finish_reset_if_all_reached();
        self.stop_if_all_idle();
    }

    /// Gives a participant up: the run no longer waits for it.
    fn lose(&mut self, participant: usize) {
        if self.membership.roster.lost(participant) {
            self.leave_out(participant);
        }
    }

    /// Stops the run and lets running tasks finish. Only the first stop counts, but a later abort overrides it. `why`
    /// is the threshold that was broken, or the plan's reason.
    pub(crate) fn stop(&mut self, cause: Cause, why: Option<String>) {
        if self.is_stopping() {
            return;
        }
        let at = self.now();
        let action = || DirectorEvent::Stop {
            cause,
            why: why.clone(),
        };
        self.journal.note(at, action);
        self.measurements.reset_if_due(at);
        self.record_users_due();
        self.note(cause, why);
        let now = self.now();
        self.measurements.prepare_stop(now);
        // Users that a pause has held until now go on, and stop.
        self.store.resume(now);
        self.store.load_ended(now);
        self.store
            .happened(now, EventKind::Stop, "users were told to stop");
        let until = now + self.context.config.stop_timeout;
        self.lifecycle.enter(Life::Stopping { until });
        self.measurements.close();
        self.publish(|directive| directive.phase = DirectivePhase::Stop);
    }

    /// Aborts the run at a command: cuts requests off.
    fn abort(&mut self) {
        self.note(Cause::Aborted, None);
        self.cut_off(Some(self.now() + ABORT_HAND_OVER));
    }

    /// Cuts off all users that are left, and waits for shards until that time since the run began; without one, until
    /// they end.
    fn cut_off(&mut self, until: Option<Duration>) {
        self.lifecycle.enter(Life::Aborting { until });
        self.measurements.close();
        self.publish(|directive| directive.phase = DirectivePhase::Abort);
    }

    /// Cuts off tasks that have not finished in time; this does not count as an abort.
    pub(crate) fn cut_off_late_tasks(&mut self) {
        self.lifecycle.note_out_of_time();
        self.cut_off(None);
    }

    /// Ends the run at once when the process takes more memory than it may: letting users finish their tasks would
    /// take more.
    pub(crate) fn check_memory(&mut self) {
        let Some(trouble) = self.memory.look() else {
            return;
        };
        self.lifecycle.note_trouble(trouble);
        self.stop(Cause::Trouble, None);
        if !self.lifecycle.is_aborting() {
            self.cut_off(Some(self.now() + HAND_OVER));
        }
    }

    /// Ends the run without a shard that is caught in the plan's code: the others hand over their figures.
    pub(crate) fn end_without_shard(&mut self, caught: StuckShard) {
        self.lifecycle.note_caught();
        let plan_version = self.directives.borrow().plan_version.clone();
        self.lifecycle
            .note_trouble(stuck_task_error(&plan_version.plan, &self.name, caught));
        self.lose(caught.shard);
        self.cut_off(Some(self.now() + HAND_OVER));
    }

    /// Gives up the shards that have not handed over in time: they are computing, and only the end of the process
    /// stops them.
    pub(crate) fn give_up_late_shards(&mut self) {
        if self.end_if_unreachable() {
            return;
        }
        self.lifecycle.note_caught();
        let missing = self.lose_missing() as u64;
        if missing > 0 {
            let who = if self.membership.on_workers() {
                let workers = counted(missing, "worker");
                format!("{workers} had not handed over everything")
            } else {
                let threads = counted(missing, "thread");
                format!("{threads} of users were still computing")
            };
            self.store
                .warn(format!("{who} at the end: the last figures are missing"));
        }
    }

    /// Leaves the run to another manager.
    pub(crate) fn mark_superseded(&mut self, why: Error) {
        self.journal.superseded = true;
        self.lifecycle.note_trouble(why);
        self.stop(Cause::Trouble, None);
    }

    /// Records that this director has taken the run over from another.
    pub(super) fn taken_over(&mut self, at: Duration) {
        let text = "another manager took the run over: the one before was lost".to_owned();
        self.store.warn(text.clone());
        self.store.happened(at, EventKind::Worker, text);
    }

    /// Returns whether the plan has a function for the end of the test.
    pub(super) fn has_test_stop(&self) -> bool {
        let directive = self.directives.borrow();
        directive
            .plan_version
            .plan
            .events
            .contains(&PlanEvent::TestStop)
    }

    /// Returns whether this director has to run `test_stop`; adds a warning if another has begun it.
    pub(crate) fn may_run_test_stop(&mut self) -> bool {
        if self.journal.test_stop_started {
            self.store.warn(
                "test_stop had begun when the manager was lost: it was not run again, and its requests are missing here"
                    .to_owned(),
            );
        }
        !(self.journal.test_stop_started || self.journal.superseded)
    }

    /// Records why the run ends here.
    pub(crate) fn note(&mut self, cause: Cause, why: Option<String>) {
        let at = self.directives.borrow().clock.elapsed(self.now());
        self.lifecycle.note_stop(RunStop {
            cause,
            at,
            why,
            in_warmup: self.measurements.due().is_some(),
        });
    }

    /// Returns how long the run has lasted, without the wait for workers that may come back.
    pub(crate) fn lasted(&self) -> Duration {
        let alone_since = self.membership.workers.alone_since();
        let over_at = alone_since.or(self.journal.over_at);
        over_at.unwrap_or_else(|| self.now())
    }

    /// Returns how the run has ended; `Ending::told` adds the text.
    pub(crate) fn ending(&self, elapsed: Duration) -> Ending {
        let facts = EndFacts {
            config: &self.context.config,
            lifecycle: &self.lifecycle,
            membership: &self.membership,
            end: self.steering.end(),
            reset_is_due: self.measurements.due().is_some(),
            users_due: self.steering.users_due(),
        };
        facts.ending(elapsed)
    }

    /// Reports the tasks that were cut off after `--stop-timeout`, as far as participants have reported them.
    pub(super) fn report_cut_off(&mut self) {
        let cut_off = self.membership.roster.departures().cut_off;
        if self.lifecycle.is_out_of_time() && cut_off > 0 {
            let users = counted(cut_off, "user");
            let seconds = self.context.config.stop_timeout.as_secs_f64();
            self.store.warn(format!(
                "the tasks of {users} still ran {seconds} s after the stop and were cut off ('--stop-timeout')"
            ));
        }
    }

    /// Reports workers that have not confirmed a stop and may go on sending: the run ends in trouble then, since its load may not.
    pub(super) fn report_unstopped(&mut self, ending: &Ending) {
        let was_stopped = matches!(
            ending.cause,
            Cause::Signal
                | Cause::StoppedByUser
                | Cause::StoppedByPlan
                | Cause::Threshold
                | Cause::Aborted
                | Cause::Trouble
        );
        if !was_stopped || !self.membership.on_workers() {
            return;
        }
        let unstopped = self.membership.unstopped(self.now(), self.orders_lost());
        let Some((workers_have, latest)) = unstopped else {
            return;
        };
        let why = format!(
            "{workers_have} not confirmed that users stopped, and may go on sending until {} at the latest (or for a moment once a \
             process that stands still goes on)",
            self.store.wall_clock(latest),
        );
        self.store.warn(why.clone());
        self.lifecycle.note_trouble(Error::trouble(why));
    }

    /// Returns the limits on the load of workers that no order reaches.
    fn orders_lost(&self) -> OrdersLost {
        let clock = self.directives.borrow().clock;
        OrdersLost {
            end: self.steering.end().and_then(|end| clock.moment(end)),
            stop_timeout: self.context.config.stop_timeout,
        }
    }

    /// Adds the missing load of lost workers to the figures and to the ending of the run.
    pub(super) fn count_missing(&mut self, ending: &mut Ending) {
        if !self.membership.on_workers() {
            return;
        }
        let (workers, orders) = (&self.membership.workers, self.orders_lost());
        let end = Duration::try_from_secs_f64(ending.at_s).unwrap_or_default();
        let moment = |worker| {
            self.store
                .wall_clock(workers.may_send_until(worker, orders))
        };
        let (missing, sentences) = workers.missing(end, self.machine.suspended_in_all(), moment);
        ending.missing_load = Some(missing);
        if sentences.is_empty() {
            return;
        }
        sentences
            .into_iter()
            .for_each(|sentence| self.store.warn(sentence));
        let from = self.store.measured_from();
        let from = self.directives.borrow().clock.elapsed(from);
        let due = self.steering.arrivals_between(from, end);
        self.store.set_arrivals_due(due);
    }
}
