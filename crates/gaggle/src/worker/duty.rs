//! Duty of a worker: its part in one run, from the claim to the last figures.

use super::clocks::compare_clocks;
use super::following::OrderFollower;
use super::logs::{PartLogs, PieceOrigin};
use super::outbox::{HandOverEnd, hand_over};
use super::tasks::{FinishedTask, LoadedVersion, PreparedWorker};
use super::{PlanLoader, PlanOffer, refuse};
use crate::broker::{Broker, ContactState};
use crate::clock::ProcessClock;
use crate::messages::{self, RequestKind, RevisedOrder, WorkerPresence, WorkerReply};
use crate::names;
use crate::reserving::{StreamLog, is_reserved, reserve};
use crate::sharing::forward;
use async_nats::Subscriber;
use futures_util::StreamExt as _;
use lgoose_base::allotment::Reservations;
use lgoose_base::error::Error;
use lgoose_engine::{EventOrder, WORKER_ALONE, WorkerRun, WorkerSignal};
use lgoose_plan::config::LoadPart;
use lgoose_plan::shared_state::SharedLink;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, WeakUnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, interval};

/// Time without a sign of life from the manager after which users of a run without an end are stopped.
const UNLED: Duration = Duration::from_secs(60);
/// Time without a sign of life from the manager after which a run that has not begun, or is over here, is given up.
const UNLED_IDLE: Duration = Duration::from_secs(30);

/// A worker's part in one run.
pub(super) struct WorkerDuty {
    run: String,
    broker: Broker,
    presence: WorkerPresence,
    load: PlanLoader,
    clock: ProcessClock,
    down: Subscriber,
    contact: watch::Receiver<ContactState>,
    look: Interval,
    /// Time of the manager's last sign of life.
    last_sign: Instant,
    /// The plan as the manager packed it, by version.
    packed: BTreeMap<u64, Vec<u8>>,
    part: LoadPart,
    first_shard: u64,
    /// The slot under which signals are published, if a gather adds them up.
    slot: Option<String>,
    /// Whether users take only reserved numbers.
    reserves: bool,
    prepared: PreparedWorker,
    following: Option<OrderFollower>,
    /// Takes signals while users work.
    signals: Option<WeakUnboundedSender<WorkerSignal>>,
    event_orders: Option<watch::Sender<EventOrder>>,
    logs: Option<PartLogs>,
    /// Origin of log times, once users have begun.
    origin: Option<Instant>,
    /// Tasks that run while requests of the manager are served.
    tasks: JoinSet<Result<FinishedTask, Error>>,
    /// Whether the duty ends as soon as everything is handed over.
    released: bool,
    started: bool,
    /// Reserves numbers for users.
    reserving: JoinSet<bool>,
    /// The way to the state that users of all workers share, and the task that sends their calls.
    shared: SharedLink,
    _sharing: JoinSet<()>,
}

impl WorkerDuty {
    /// Makes the duty for a run whose manager has claimed this worker.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn new(
        run: String,
        broker: &Broker,
        presence: WorkerPresence,
        load: PlanLoader,
        clock: ProcessClock,
    ) -> Result<WorkerDuty, Error> {
        let down = broker.listen(names::down(&run)).await?;
        let (shared, calls) = mpsc::unbounded_channel();
        let mut sharing = JoinSet::new();
        sharing.spawn(forward(broker.clone(), run.clone(), calls));
        Ok(WorkerDuty {
            run,
            shared,
            _sharing: sharing,
            contact: broker.contact(),
            broker: broker.clone(),
            presence,
            load,
            clock,
            down,
            look: interval(Duration::from_secs(1)),
            last_sign: Instant::now(),
            packed: BTreeMap::new(),
            part: LoadPart::WHOLE,
            first_shard: 0,
            slot: None,
            reserves: false,
            prepared: PreparedWorker::default(),
            following: None,
            signals: None,
            event_orders: None,
            logs: None,
            origin: None,
            tasks: JoinSet::new(),
            released: false,
            started: false,
            reserving: JoinSet::new(),
        })
    }

    /// Returns the run's name.
    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// Works for the run until it is over here; returns whether it had begun. Can be dropped and called again.
    ///
    /// # Errors
    /// Trouble that ended the run here.
    pub(super) async fn go_on(&mut self) -> Result<bool, Error> {
        loop {
            if self.released && (self.tasks.is_empty() || !self.started) {
                if let Some(logs) = &mut self.logs {
                    logs.handed_over().await;
                }
                return Ok(self.started);
            }
            tokio::select! {
                Some(message) = self.down.next() => {
                    self.last_sign = Instant::now();
                    if *message.subject != *names::beat(&self.run) {
                        self.follow(&message.payload);
                    }
                }
                changed = self.contact.changed() => {
                    let up = changed.is_ok() && *self.contact.borrow_and_update() == ContactState::Up;
                    if up {
                        // Catches up on an order that was missed meanwhile.
                        let (broker, run) = (self.broker.clone(), self.run.clone());
                        self.tasks.spawn(async move {
                            let order = broker.last(&run, &names::order(&run)).await;
                            Ok(FinishedTask::Order(order.map(|order| order.payload.to_vec())))
                        });
                    }
                }
                Some(finished) = self.tasks.join_next() => match finished {
                    Ok(finished) => self.finished(finished?).await,
                    Err(error) if error.is_panic() => {
                        return Err(Error::trouble("it ended because of a bug in lgoose; please report it"));
                    }
                    Err(_) => {}
                },
                // Its users would get nothing more.
                Some(Ok(true)) = self.reserving.join_next() => self.stop_users(),
                _ = self.look.tick() => if !self.look() {
                    return Ok(self.started);
                },
            }
        }
    }

    /// Stops users when nobody else could stop them, and returns whether the duty goes on.
    fn look(&mut self) -> bool {
        let down = self.contact.borrow().down_for();
        let unled = self.last_sign.elapsed();
        let Some(following) = self.following.as_mut().filter(|_| !self.tasks.is_empty()) else {
            // No users work here, but the manager may still have requests.
            return unled < UNLED_IDLE || !self.tasks.is_empty();
        };
        if !following.goes_on() {
            return true;
        }
        let why = if down.is_some_and(|down| down >= WORKER_ALONE) {
            "the broker cannot be reached"
        } else if unled >= UNLED && !following.has_end() {
            "nothing is heard from the manager, and the run has no end of its own"
        } else {
            return true;
        };
        tracing::warn!(target: "lgoose::gaggle", "run {}: {why}: users are stopped", self.run);
        following.leave();
        true
    }

    fn follow(&mut self, bytes: &[u8]) {
        if let (Some(following), Ok(revised)) =
            (&mut self.following, messages::decode::<RevisedOrder>(bytes))
        {
            following.follow(&revised, &self.prepared.versions);
        }
    }

    /// Handles a request; `None` if the reply follows later, to `inbox`.
    pub(super) fn take(&mut self, kind: RequestKind, inbox: &str) -> Option<WorkerReply> {
        self.last_sign = Instant::now();
        match kind {
            RequestKind::Claim | RequestKind::Split { .. } => Some(WorkerReply::Done),
            RequestKind::Piece {
                plan_version,
                first,
                bytes,
            } => {
                let packed = self.packed.entry(plan_version).or_default();
                if first {
                    packed.clear();
                }
                packed.extend(bytes);
                Some(WorkerReply::Done)
            }
            RequestKind::Load {
                plan_version,
                place,
            } => {
                if let Some(place) = place {
                    (self.part, self.first_shard) = (place.part, place.first_shard);
                    (self.slot, self.reserves) = (place.slot, place.reserves);
                }
                self.load(plan_version, inbox.to_owned());
                None
            }
            RequestKind::Event(event) => {
                let Some(run) = self.prepared.run.clone() else {
                    return Some(refuse("no plan was loaded"));
                };
                let (orders, ordered) = watch::channel(EventOrder::GoOn);
                self.event_orders = Some(orders);
                let run = match &self.following {
                    // The version of the plan that users run now.
                    Some(following) => lgoose_engine::Run {
                        plan_version: following.directives().borrow().plan_version.clone(),
                        ..run
                    },
                    None => run,
                };
                let (broker, inbox, origin) = (self.broker.clone(), inbox.to_owned(), self.origin);
                self.tasks.spawn(async move {
                    let reply =
                        match lgoose_engine::run_event_here(run, event, ordered, origin).await {
                            Ok(ended) => WorkerReply::Event(Box::new(ended)),
                            Err(error) => refuse(error.text()),
                        };
                    broker.send(inbox, messages::encode(&reply)).await;
                    Ok(FinishedTask::Replied)
                });
                None
            }
            RequestKind::EventOrder(order) => {
                if let Some(orders) = &self.event_orders {
                    orders.send_replace(order);
                }
                Some(WorkerReply::Done)
            }
            RequestKind::Share(json) => {
                let run = self.prepared.run.as_ref();
                Some(match run.map(|run| run.plan_version.program.share(&json)) {
                    Some(Ok(())) => WorkerReply::Done,
                    Some(Err(error)) => refuse(error.text()),
                    None => refuse("no plan was loaded"),
                })
            }
            RequestKind::Start {
                at,
                since_origin,
                revision,
                order,
                reserved,
            } => {
                let joins = reserved.is_some();
                if let (Some(reservations), Some(reserved)) = (self.reservations(), reserved)
                    && !self.started
                {
                    reservations.begin(reserved);
                }
                Some(self.start(at, since_origin, joins, revision, &order))
            }
            RequestKind::EndLogs => Some(WorkerReply::Logs(self.logs.as_mut().map(PartLogs::end))),
            RequestKind::Dismiss => {
                self.stop_users();
                Some(WorkerReply::Done)
            }
            RequestKind::Release => {
                self.end_at_once();
                Some(WorkerReply::Done)
            }
        }
    }

    /// Ends the duty because this worker is to end, and reports that to the manager.
    pub(super) fn leave(&mut self) {
        let signals = self.signals.as_ref().and_then(WeakUnboundedSender::upgrade);
        let works = self.following.as_ref().is_some_and(OrderFollower::goes_on);
        if let Some(signals) = signals.filter(|_| works) {
            // The receiver is gone once everything was handed over.
            let _over = signals.send(WorkerSignal::Leaving);
        }
        self.stop_users();
    }

    /// Aborts the users: the run is over, and nothing more is collected.
    fn end_at_once(&mut self) {
        self.released = true;
        self.logs = None;
        if let Some(following) = &mut self.following {
            following.abort();
        }
    }

    /// Stops users as at the end of the run; the duty ends when everything is handed over.
    fn stop_users(&mut self) {
        self.released = true;
        if let Some(following) = &mut self.following {
            following.leave();
        }
    }

    /// Returns the reservations of this worker, if it makes any.
    fn reservations(&self) -> Option<Arc<Reservations>> {
        self.prepared.run.as_ref()?.reservations.clone()
    }

    fn load(&mut self, number: u64, inbox: String) {
        let packed = self.packed.remove(&number).unwrap_or_default();
        let (load, part) = (self.load.clone(), self.part);
        let (reserves, reservations) = (self.reserves, self.reservations());
        let threads = self.presence.threads as usize;
        let (broker, run, clock) = (self.broker.clone(), self.run.clone(), self.clock);
        let shared = self.shared.clone();
        let (logs, entered) = std::sync::mpsc::channel();
        self.tasks.spawn(async move {
            let offset = match number {
                0 => compare_clocks(&broker, &run, clock).await,
                _ => None,
            };
            let offer = PlanOffer {
                packed,
                part,
                threads,
                number,
                reserves,
                reservations,
                shared,
                logs: (number == 0).then_some(logs),
            };
            let loading = tokio::task::spawn_blocking(move || load(offer));
            let loaded = loading.await;
            let loaded = loaded.map_err(|error| Error::cannot("load the plan", error))?;
            Ok(FinishedTask::Loading(Box::new(LoadedVersion {
                number,
                run: loaded,
                offset,
                entered,
                inbox,
            })))
        });
    }

    async fn finished(&mut self, finished: FinishedTask) {
        let loaded = match finished {
            FinishedTask::Loading(loaded) => *loaded,
            FinishedTask::Order(Some(order)) => return self.follow(&order),
            FinishedTask::RunOver => return self.end_at_once(),
            FinishedTask::Order(None) | FinishedTask::Replied | FinishedTask::Work => return,
        };
        let LoadedVersion { number, offset, .. } = loaded;
        let reply = match (loaded.run, number, offset) {
            (Err(error), ..) => refuse(error.text()),
            (Ok(_), 0, None) => refuse("it cannot reach the manager to compare clocks"),
            (Ok(run), ..) => {
                let version = run.plan_version.clone();
                self.prepared.versions.insert(number, version);
                if number == 0 {
                    self.prepared.offset = offset;
                    let run_logs = run.run_logs.clone();
                    self.logs = run_logs.map(|run_logs| {
                        let sender = PieceOrigin::new(&self.run, &self.presence);
                        PartLogs::start(self.broker.clone(), sender, run_logs, loaded.entered)
                    });
                    if let Some(reservations) = run.reservations.clone() {
                        // Those that users share are known from here on.
                        let _iterations = (run.own_limits(), run.tickets());
                        let log = StreamLog::of(&self.broker, &self.run, &self.presence.id);
                        self.reserving.spawn(reserve(log, reservations));
                    }
                    self.prepared.run = Some(run);
                }
                WorkerReply::Loaded(offset)
            }
        };
        let (broker, inbox) = (self.broker.clone(), loaded.inbox);
        let reservations = self.reservations();
        self.tasks.spawn(async move {
            let reply = match reservations {
                Some(reservations) if !is_reserved(&reservations).await => refuse(
                    "the broker does not take what it reserves; may it publish lgoose.run.*.reserved.>?",
                ),
                _ => reply,
            };
            broker.send(inbox, messages::encode(&reply)).await;
            Ok(FinishedTask::Replied)
        });
    }

    fn start(
        &mut self,
        at: u64,
        since_origin: Duration,
        joins: bool,
        revision: u64,
        order: &lgoose_engine::RunOrder,
    ) -> WorkerReply {
        let (Some(run), Some(offset)) = (&self.prepared.run, &self.prepared.offset) else {
            return refuse("no plan was loaded");
        };
        if self.started {
            // This is a repeat: the reply to the first request was lost.
            return WorkerReply::Done;
        }
        let Some(following) = OrderFollower::start(revision, order, &self.prepared.versions) else {
            return refuse("the run's version of the plan was not loaded");
        };
        let start: Instant = self.clock.moment(at, offset).into();
        self.origin = start.checked_sub(since_origin);
        let work = WorkerRun {
            run: run.clone(),
            worker: self.presence.name.clone(),
            start,
            since_origin,
            joins,
            first_shard: self.first_shard,
            most_bytes: self.broker.most_bytes(),
        };
        let (signals, received) = mpsc::unbounded_channel::<WorkerSignal>();
        let (broker, name) = (self.broker.clone(), self.run.clone());
        let subject = names::signals(&name, self.slot.as_deref(), &self.presence.id);
        let handing_over = hand_over(broker, name, subject, self.presence.id.clone(), received);
        self.tasks.spawn(async move {
            Ok(match handing_over.await {
                HandOverEnd::RunOver => FinishedTask::RunOver,
                HandOverEnd::Complete | HandOverEnd::GivenUp => FinishedTask::Work,
            })
        });
        let directives = following.directives();
        self.signals = Some(signals.downgrade());
        let reservations = self.reservations();
        self.tasks.spawn(async move {
            if let Some(reservations) = reservations {
                // Users wait for more if the broker is slow.
                let _enough = is_reserved(&reservations).await;
            }
            let failed = signals.clone();
            if let Err(error) = work.run(directives, signals).await {
                let _over = failed.send(WorkerSignal::Failed(error.text()));
            }
            Ok(FinishedTask::Work)
        });
        self.following = Some(following);
        self.started = true;
        WorkerReply::Done
    }
}
