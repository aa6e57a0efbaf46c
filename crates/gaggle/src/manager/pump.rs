//! Pump between the director of a run and its workers: sends directives down as orders, and signals up.

use super::PreparedWorkers;
use super::events::{self, EventFailure};
use super::inputs::WorkerInputs;
use super::intake::SignalIntake;
use super::journal::{ManagerLog, store_lines};
use super::outages::Outages;
use super::playback::Playback;
use super::recruit::release;
use super::registry::{RegisteredWorker, WorkerRegistry};
use super::requests::{ChangeRequest, CompletedRequest, PendingRequests};
use super::signal_path::SignalPath;
use super::slots::Slots;
use super::streams::{ManagerConnection, publish, repeat};
use super::terms::{LatestReceiver, WorkerLoss};
use crate::broker::{ContactState, remove_log_stream};
use crate::messages::{ManagerLogEvent, ManagerLogLine, ManagerRecord, RunDescription};
use crate::names;
use crate::reading::{FailureTracker, READ_AHEAD, RunMessage, read};
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use lgoose_engine::{
    Directive, DirectorEvent, DirectorLogEntry, EventTask, LoadStart, PlanVersions, RunOrder,
    ShardEvent, ShardEventKind, VersionOffer, VersionOffers, WorkerEvent,
};
use lgoose_metrics::control::Refusal;
use lgoose_plan::PlanEvent;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Time between two attempts to fill a place.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// The pump's ends of the channels to the director and to the code that reloads the plan.
pub(super) struct ManagerChannels {
    pub(super) signals: mpsc::UnboundedSender<ShardEvent>,
    pub(super) journal: mpsc::UnboundedReceiver<DirectorLogEntry>,
    pub(super) start: Option<oneshot::Receiver<LoadStart>>,
    pub(super) events: mpsc::UnboundedReceiver<EventTask>,
    /// Versions of the plan that workers should load.
    pub(super) offered: VersionOffers,
    /// Takes the versions that all workers have loaded.
    pub(super) loaded: PlanVersions,
}

/// Joins the director of a run to its workers.
pub(super) struct ManagerLoop {
    line: ManagerConnection,
    intake: SignalIntake,
    slots: Slots,
    inputs: WorkerInputs,
    requests: PendingRequests,
    ends: ManagerChannels,
    log: ManagerLog,
    /// Journal lines for the stream, until a task keeps them there.
    lines: Option<mpsc::UnboundedReceiver<ManagerLogLine>>,
    /// The subjects to read (`""` for all), and the sequence number in the stream to start from.
    reads: (String, u64),
    up_since: Instant,
    path: SignalPath,
    is_reachable: bool,
    outages: Outages,
    vacancies: BTreeMap<usize, Vacancy>,
}

/// A place that could not be filled so far.
struct Vacancy {
    why: String,
    /// Time of the last attempt.
    tried: Instant,
}

impl ManagerLoop {
    /// Makes the pump of a run that is to begin.
    pub(super) fn new(
        prepared: PreparedWorkers,
        ends: ManagerChannels,
        facts: RunDescription,
        on_loss: WorkerLoss,
    ) -> ManagerLoop {
        let (sender, lines) = mpsc::unbounded_channel();
        let log = ManagerLog {
            facts,
            on_loss,
            test_start: None,
            leader: prepared.line.leader.clone(),
            number: 0,
            lines: sender,
        };
        let (line, inputs) = (prepared.line, WorkerInputs::new(prepared.plan));
        ManagerLoop {
            slots: prepared.slots,
            reads: (names::all_signals(&line.run), 1),
            ..ManagerLoop::with(line, prepared.registry, ends, inputs, log, lines)
        }
    }

    /// Makes the pump of a run that was played up to the present.
    pub(super) fn of(
        line: ManagerConnection,
        playback: Playback,
        ends: ManagerChannels,
        record: ManagerRecord,
    ) -> ManagerLoop {
        let (sender, lines) = mpsc::unbounded_channel();
        let start = (playback.start, record.since_origin);
        let log = playback.log(record, line.leader.clone(), sender);
        let inputs = WorkerInputs::of_run_under_way(start, playback.order);
        ManagerLoop {
            reads: (String::new(), playback.next),
            ..ManagerLoop::with(line, playback.registry, ends, inputs, log, lines)
        }
    }

    /// Makes a pump without slots, which reads the signals of all workers itself, also those that gathers add up.
    fn with(
        line: ManagerConnection,
        registry: WorkerRegistry,
        ends: ManagerChannels,
        inputs: WorkerInputs,
        log: ManagerLog,
        lines: mpsc::UnboundedReceiver<ManagerLogLine>,
    ) -> ManagerLoop {
        let (broker, signals) = (line.broker.clone(), ends.signals.clone());
        ManagerLoop {
            intake: SignalIntake::new(broker.clone(), &line.run, registry, signals),
            slots: Slots::none(),
            inputs,
            requests: PendingRequests::new(broker, &line.run),
            ends,
            log,
            lines: Some(lines),
            reads: (String::new(), 1),
            line,
            up_since: Instant::now(),
            path: SignalPath::new(),
            is_reachable: true,
            outages: Outages::default(),
            vacancies: BTreeMap::new(),
        }
    }

    /// Pumps until the run is over, then lets the workers go, unless another manager has taken over the lead.
    pub(super) async fn run(mut self, mut over: oneshot::Receiver<()>) {
        let mut contact = self.line.broker.contact();
        let mut look = tokio::time::interval(Duration::from_millis(250));
        let (sender, mut received) = mpsc::channel(READ_AHEAD);
        let (failed, mut troubles) = mpsc::unbounded_channel();
        let tasks = self.spawn_tasks(sender, failed);
        let mut directives: Option<LatestReceiver<Directive>> = None;
        let mut leads = true;
        loop {
            let starting = async {
                match &mut self.ends.start {
                    Some(start) => start.await,
                    None => std::future::pending().await,
                }
            };
            let changed = async {
                match &mut directives {
                    Some(directives) => directives.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // In this order, so that signals that have come are taken in before any worker counts as lost.
                biased;
                _ = &mut over => break,
                Some(trouble) = self.line.superseded.recv() => {
                    self.intake.send(0, ShardEventKind::Superseded(trouble));
                    leads = false;
                    break;
                }
                start_result = starting => {
                    self.ends.start = None;
                    if let Ok(start) = start_result {
                        directives = Some(self.start_workers(start).await);
                    }
                }
                changed = changed => match (changed, &mut directives) {
                    (Ok(()), Some(latest)) => {
                        self.inputs.revise(RunOrder::from(&*latest.borrow_and_update()));
                    }
                    _ => directives = None,
                },
                Some(DirectorLogEntry { at, action }) = self.ends.journal.recv() => {
                    self.log.write(at, ManagerLogEvent::Action(action));
                }
                Some(message) = received.recv() => self.receive(&message),
                Some(event) = self.slots.next() => self.slots.handle(&mut self.intake, event),
                Some(trouble) = troubles.recv() => self.intake.send(0, ShardEventKind::Failed(trouble)),
                completed = self.requests.next() => self.complete(completed),
                Some(task) = self.ends.events.recv() => self.begin_event(task),
                Some(offer) = self.ends.offered.next() => self.hand_out(offer),
                Some(message) = self.line.failures.next() => self.intake.warn_of(&message),
                _ = contact.changed() => self.note(*contact.borrow_and_update()),
                _ = look.tick() => {
                    self.intake.pass_on();
                    let is_up = *contact.borrow() == ContactState::Up;
                    if is_up {
                        self.look();
                    }
                    self.note_reach(is_up);
                }
            }
        }
        drop(tasks);
        self.requests.end().await;
        // A broker that cannot be reached keeps the signals that workers have still to deliver.
        if leads && self.is_reachable {
            self.release().await;
        }
        self.line.close();
    }

    /// Starts the tasks beside the loop: reading the stream, publishing orders, and keeping the journal. Failures
    /// that last are sent to `failed`.
    fn spawn_tasks(
        &mut self,
        received: mpsc::Sender<RunMessage>,
        failed: mpsc::UnboundedSender<Error>,
    ) -> JoinSet<()> {
        let broker = || self.line.broker.clone();
        let run = || self.line.run.clone();
        let failing = || FailureTracker::new(failed.clone());
        let (subjects, from) = self.reads.clone();
        let lines = self.lines.take();
        let orders = self.inputs.orders();
        let mut tasks = JoinSet::new();
        tasks.spawn(read(broker(), run(), subjects, from, received, failing()));
        tasks.spawn(repeat(broker(), run(), self.inputs.orders()));
        tasks.spawn(publish(broker(), run(), orders, failing()));
        if let Some(lines) = lines {
            tasks.spawn(store_lines(broker(), run(), lines, failing()));
        }
        tasks
    }

    /// Takes in a message of the stream.
    fn receive(&mut self, message: &RunMessage) {
        self.path.note();
        if names::is_slot(&message.sender) {
            self.slots.receive_record(&mut self.intake, message);
        } else {
            self.intake.receive(message);
        }
    }

    /// Records whether the broker can be reached.
    fn note(&mut self, contact: ContactState) {
        if contact == ContactState::Up {
            self.up_since = Instant::now();
        }
        if let Some(text) = self.outages.note(contact) {
            self.intake.warn(&text);
        }
    }

    /// Reports to the director when no worker can be reached any more, or they can be again.
    fn note_reach(&mut self, is_up: bool) {
        let is_reachable = is_up && !self.path.is_silent();
        if is_reachable == self.is_reachable {
            return;
        }
        self.is_reachable = is_reachable;
        let url = self.line.broker.url();
        // A server of version 2.9 whose disk is full keeps its connections, and is silent.
        let hint = if is_up {
            ", though the connection is open (look whether it hangs, or its disk is full)"
        } else {
            ""
        };
        let why = (!is_reachable)
            .then(|| format!("nothing comes from the broker at {url} any more{hint}"));
        self.intake.send(0, ShardEventKind::Unreachable(why));
    }

    /// Sends the start and the order to all workers, unless they already have them.
    async fn start_workers(&mut self, start: LoadStart) -> LatestReceiver<Directive> {
        let mut directives = start.directives;
        let order = RunOrder::from(&*directives.borrow_and_update());
        self.inputs.revise(order);
        if self.inputs.has_started() {
            return directives;
        }
        self.inputs.start(start.at, start.since_origin);
        self.record(start.at, start.since_origin).await;
        let (mut ready, mut lost) = (Vec::new(), Vec::new());
        for (number, member) in self.intake.registry.0.iter().enumerate() {
            if member.away {
                lost.push(number);
            } else {
                ready.push((number, member.presence.id.clone()));
            }
        }
        let request = self.inputs.start_request(&self.line, None);
        self.requests.start(ready, request);
        for number in lost {
            let name = self.intake.registry.0[number].name();
            let text = format!("worker '{name}' did not begin: it was lost before");
            self.lose(number, text);
        }
        directives
    }

    /// Keeps the record that another manager needs to go on with the run.
    async fn record(&mut self, start: Instant, since_origin: Duration) {
        let ahead = start.saturating_duration_since(Instant::now());
        let (broker, run) = (&self.line.broker, &self.line.run);
        let stored = self
            .log
            .store_record(broker, run, &self.intake.registry, ahead, since_origin)
            .await;
        if let Err(error) = stored {
            let text = format!("if this manager is lost, no other can go on with the run: {error}");
            self.intake.warn(&text);
        }
    }

    /// Sends a warning to views and the report.
    pub(super) fn warn(&self, text: &str) {
        self.intake.warn(text);
    }

    /// Reports an event of a worker to the director that none of the worker's own signals shows.
    fn signal_as_seen(&mut self, from: usize, kind: ShardEventKind) {
        self.log.write_of(self.inputs.elapsed(), from, &kind);
        self.intake.send(from, kind);
    }

    /// Begins an event.
    fn begin_event(&mut self, task: EventTask) {
        if task.event == PlanEvent::TestStop {
            let at = self.inputs.elapsed();
            let event = ManagerLogEvent::Action(DirectorEvent::TestStop);
            self.log.write(at, event);
        }
        self.run_event(task);
    }

    /// Runs an event on the first worker that is there.
    fn run_event(&mut self, task: EventTask) {
        let workers = self.intake.registry.event_workers();
        match workers.filter(|_| self.is_reachable) {
            Some(workers) => self.requests.run_event(workers, task),
            None if self.is_reachable => {
                events::end(task, Err("no worker is left to run it".to_owned()));
            }
            None => events::end(task, Err("no worker can be reached".to_owned())),
        }
    }

    /// Takes in the end of an event. One whose worker was lost begins anew on another.
    fn end_event(&mut self, task: EventTask, ended: Result<WorkerEvent, EventFailure>) {
        let ended = match ended {
            Ok(ended) => {
                if task.event == PlanEvent::TestStart {
                    self.inputs.shared = ended.shared.clone();
                    self.log.test_start = Some(ended.bytes.clone());
                }
                Ok(ended)
            }
            Err(EventFailure::Lost(id)) => {
                let Some(number) = self.intake.registry.number_of(&id) else {
                    return self.run_event(task);
                };
                let member = &mut self.intake.registry.0[number];
                member.away = true;
                let (name, event) = (member.name(), task.event.name());
                let text = format!(
                    "worker '{name}' was lost while it ran {event}, which another runs anew"
                );
                self.signal_as_seen(number, ShardEventKind::Warning(text));
                return self.run_event(task);
            }
            Err(EventFailure::Failed(why)) => Err(why),
        };
        events::end(task, ended);
    }

    /// Sends another version of the plan to all workers, and offers it to the director once they have loaded it.
    fn hand_out(&mut self, offer: VersionOffer) {
        if self.inputs.plan.is_none() {
            let _abandoned = offer.reply.send(Err(Refusal::NoReload));
            return;
        }
        self.requests.change(ChangeRequest::PlanVersion(offer));
    }

    /// Takes in the end of a request.
    fn complete(&mut self, completed: CompletedRequest) {
        match completed {
            CompletedRequest::Start(failed) => {
                for (number, why) in failed {
                    let name = self.intake.registry.0[number].name();
                    let text = format!("worker '{name}' has not confirmed that it began: {why}");
                    self.lose(number, text);
                }
            }
            CompletedRequest::Event(task, ended) => self.end_event(task, ended),
            CompletedRequest::PlanVersion(offer, Ok((plan, offsets))) => {
                self.inputs.plan = Some(Arc::new(plan));
                self.intake.registry.note(offsets);
                let loaded = self.ends.loaded.clone();
                tokio::spawn(async move {
                    let _abandoned = offer.reply.send(loaded.offer(offer.plan_version).await);
                });
            }
            CompletedRequest::PlanVersion(offer, Err(error)) => {
                let _abandoned = offer.reply.send(Err(Refusal::Plan(Arc::new(error))));
            }
            CompletedRequest::Replacement(number, Ok(successors)) => {
                let lost = &self.intake.registry.0[number];
                if lost.is_lost() {
                    self.requests.succeed(number, lost, successors);
                } else {
                    // It has come back meanwhile.
                    let ids = successors.into_iter().map(|one| one.presence.id);
                    ids.for_each(|id| self.requests.release(id));
                }
            }
            CompletedRequest::Succession(number, Ok(successors)) => {
                self.admit_workers(number, successors);
            }
            CompletedRequest::Replacement(number, Err(why))
            | CompletedRequest::Succession(number, Err(why)) => self.leave_vacant(number, why),
            CompletedRequest::GivenUp => {}
        }
        self.requests.advance(&self.inputs, &self.intake.registry);
    }

    /// Looks for workers that have been silent for too long.
    fn look(&mut self) {
        if self.inputs.has_started() {
            self.path.probe(&self.line.broker, &self.line.run);
            for number in self.intake.take_leaving() {
                self.replace(number);
            }
            if let Some(works_since) = self.path.works_since() {
                self.look_for_lost(self.up_since.max(works_since));
                self.look_for_successors();
            }
        }
        self.requests.advance(&self.inputs, &self.intake.registry);
    }

    /// Counts workers as lost that have been silent for too long, since messages have come at all.
    fn look_for_lost(&mut self, since: Instant) {
        self.slots.look(&mut self.intake, since);
        for number in self.intake.registry.newly_away(since) {
            let text = self.intake.registry.0[number].lost();
            self.signal_as_seen(number, ShardEventKind::Away(text));
            self.replace(number);
        }
    }

    /// Counts a worker as lost that has not confirmed its start.
    fn lose(&mut self, number: usize, text: String) {
        self.intake.registry.0[number].away = true;
        self.signal_as_seen(number, ShardEventKind::Away(text));
        self.replace(number);
    }

    /// Lets others take the place of a lost worker, if the run wants that.
    fn replace(&mut self, number: usize) {
        let on_loss = self.log.on_loss;
        if on_loss.fills_places() && self.inputs.order_goes_on() {
            self.requests
                .change(ChangeRequest::Replacement(number, on_loss));
        }
    }

    /// Records that the place of a lost worker could not be filled, for another attempt.
    fn leave_vacant(&mut self, number: usize, why: String) {
        let tried = Instant::now();
        let vacancy = Vacancy {
            why: why.clone(),
            tried,
        };
        let before = self.vacancies.insert(number, vacancy);
        if before.is_none_or(|before| before.why != why) {
            self.signal_as_seen(number, ShardEventKind::Warning(why));
        }
    }

    /// Looks again for workers that could fill places, since one may have come.
    fn look_for_successors(&mut self) {
        let due = self
            .vacancies
            .iter()
            .filter(|(_, vacancy)| vacancy.tried.elapsed() >= RETRY_DELAY);
        let due: Vec<usize> = due.map(|(number, _)| *number).collect();
        for number in due {
            if let Some(vacancy) = self.vacancies.get_mut(&number) {
                vacancy.tried = Instant::now();
            }
            self.replace(number);
        }
    }

    /// Gives workers the place of a lost one, and has them start its users.
    fn admit_workers(&mut self, number: usize, successors: Vec<RegisteredWorker>) {
        if !self.intake.registry.0[number].is_lost() {
            // It has come back just now, and can reserve nothing more.
            self.intake.release(number);
        }
        self.vacancies.remove(&number);
        for mut member in successors {
            let (name, lost) = (member.name(), self.intake.registry.0[number].name());
            let text = format!("worker '{name}' took the place of '{lost}'");
            member.last_signal = Instant::now();
            let (identity, id) = (member.identity(), member.presence.id.clone());
            let line = ManagerLogEvent::Joined {
                in_place_of: number,
                member: Box::new(member.recorded()),
                text: text.clone(),
            };
            self.log.write(self.inputs.elapsed(), line);
            let reserved = member.reserved.clone();
            let new = self.intake.registry.replace(number, member);
            let joined = ShardEventKind::Joined {
                in_place_of: number,
                identity,
                text,
            };
            self.intake.send(new, joined);
            let request = self.inputs.start_request(&self.line, Some(reserved));
            self.requests.start(vec![(new, id)], request);
        }
    }

    /// Releases all workers and gathers, and removes the streams of the run.
    async fn release(&mut self) {
        let (broker, run) = (&self.line.broker, &self.line.run);
        let present = self.intake.registry.0.iter().filter(|member| !member.away);
        let released = present.map(|member| release(broker, run, &member.presence.id));
        futures_util::future::join_all(released).await;
        self.slots.release(broker, run).await;
        broker.remove_stream(run).await;
        remove_log_stream(broker, run).await;
    }
}
