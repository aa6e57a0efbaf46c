//! Requests to workers that take time: the start, a version of the plan, a replacement, an event. They go on beside the pump,
//! so that no order waits for a worker, and end with news for it.

use super::events::{EventFailure, EventWorkers};
use super::hand_out::{ClockOffsets, PackedPlan};
use super::inputs::WorkerInputs;
use super::recruit::{claim_one, release};
use super::roll::{RegisteredWorker, WorkerRegistry};
use super::terms::REPLY_TIMEOUT;
use crate::engine::{EventTask, VersionOffer, WorkerEvent};
use crate::error::Error;
use crate::gaggle::broker::Broker;
use crate::gaggle::messages::WorkerRequest;
use crate::gaggle::reserving::{StreamLog, end_reservations};
use std::collections::VecDeque;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The end of a request.
pub(super) enum CompletedRequest {
    /// Users begin, but for those of the workers with these numbers, and why.
    Start(Vec<(usize, String)>),
    /// An event ended, or did not run, and why.
    Event(EventTask, Result<WorkerEvent, EventFailure>),
    /// All workers that are present have loaded a version of the plan, or not.
    PlanVersion(VersionOffer, Result<(PackedPlan, ClockOffsets), Error>),
    /// A worker can take the place of the one with that number, or none can, and why.
    Replacement(usize, Result<Box<RegisteredWorker>, String>),
    /// What the one with that number had reserved is known, and it reserves nothing more.
    Succession(usize, Result<Box<RegisteredWorker>, String>),
    /// The run stops, so that a change is no longer wanted.
    GivenUp,
}

/// A request that changes which workers there are, or which plan they have. There is one at a time, since whoever joins needs
/// the plan that the others have.
pub(super) enum ChangeRequest {
    PlanVersion(VersionOffer),
    /// The number of the worker that was lost.
    Replacement(usize),
}

/// The requests of a run that have not ended.
pub(super) struct PendingRequests {
    broker: Broker,
    run: String,
    running: JoinSet<CompletedRequest>,
    /// Changes that wait for the one before.
    changes: VecDeque<ChangeRequest>,
    is_changing: bool,
    over: watch::Sender<bool>,
}

impl PendingRequests {
    pub(super) fn new(broker: Broker, run: &str) -> PendingRequests {
        PendingRequests {
            broker,
            run: run.to_owned(),
            running: JoinSet::new(),
            changes: VecDeque::new(),
            is_changing: false,
            over: watch::channel(false).0,
        }
    }

    /// Waits for the end of the next request. Can be dropped and called again at any time.
    pub(super) async fn next(&mut self) -> CompletedRequest {
        let completed = match self.running.join_next().await {
            Some(Ok(completed)) => completed,
            Some(Err(failed)) => std::panic::resume_unwind(failed.into_panic()),
            None => std::future::pending().await,
        };
        if !matches!(
            completed,
            CompletedRequest::Start(_) | CompletedRequest::Event(..)
        ) {
            self.is_changing = false;
        }
        completed
    }

    /// Asks workers, by number and identity, to start their users.
    pub(super) fn start(&mut self, workers: Vec<(usize, String)>, request: WorkerRequest) {
        let broker = self.broker.clone();
        self.running.spawn(async move {
            let starting = workers.iter().map(async |(number, id)| {
                let reply = broker.request(id, &request, REPLY_TIMEOUT).await;
                reply.err().map(|why| (*number, why))
            });
            let failed = futures_util::future::join_all(starting).await;
            CompletedRequest::Start(failed.into_iter().flatten().collect())
        });
    }

    /// Runs an event on one of the workers.
    pub(super) fn run_event(&mut self, workers: EventWorkers, task: EventTask) {
        let (broker, run) = (self.broker.clone(), self.run.clone());
        self.running.spawn(async move {
            let ended = workers.run(broker, run, task.event, task.ordered.clone());
            let ended = ended.await;
            CompletedRequest::Event(task, ended)
        });
    }

    /// Makes a change once those before have ended.
    pub(super) fn change(&mut self, request: ChangeRequest) {
        self.changes.push_back(request);
    }

    /// Lets go of a worker that was claimed.
    pub(super) fn release(&self, id: String) {
        let (broker, run) = (self.broker.clone(), self.run.clone());
        tokio::spawn(async move { release(&broker, &run, &id).await });
    }

    /// Ends the reservations of a lost worker, so that the one that takes its place knows where to go on.
    pub(super) fn succeed(
        &mut self,
        number: usize,
        lost: &RegisteredWorker,
        mut member: Box<RegisteredWorker>,
    ) {
        let (broker, run) = (self.broker.clone(), self.run.clone());
        let (id, mut reserved) = (lost.presence.id.clone(), lost.reserved.clone());
        let name = lost.name().to_owned();
        self.is_changing = true;
        self.running.spawn(async move {
            let ended = match end_reservations(StreamLog::of(&broker, &run, &id)).await {
                Ok(own) => {
                    // Before users begin, a worker reserves from 0 on.
                    for (name, number) in own {
                        let first = reserved.entry(name).or_default();
                        *first = number.max(*first);
                    }
                    member.reserved = reserved;
                    Ok(member)
                }
                Err(error) => {
                    release(&broker, &run, &member.presence.id).await;
                    Err(format!(
                        "nobody takes the place of '{name}': {}",
                        error.text()
                    ))
                }
            };
            CompletedRequest::Succession(number, ended)
        });
    }

    /// Begins with the next change, if none is under way.
    pub(super) fn advance(&mut self, inputs: &WorkerInputs, roll: &WorkerRegistry) {
        if self.is_changing {
            return;
        }
        let is_due = |request: &ChangeRequest| match request {
            ChangeRequest::PlanVersion(_) => true,
            ChangeRequest::Replacement(number) => roll.0[*number].is_lost(),
        };
        let Some(request) = std::iter::from_fn(|| self.changes.pop_front()).find(is_due) else {
            return;
        };
        self.is_changing = true;
        let change = Change {
            broker: self.broker.clone(),
            run: self.run.clone(),
            inputs: inputs.clone(),
            roll: roll.clone(),
            over: self.over.subscribe(),
        };
        match request {
            ChangeRequest::PlanVersion(offer) => self.running.spawn(change.hand_out(offer)),
            ChangeRequest::Replacement(number) => self.running.spawn(change.replace(number)),
        };
    }

    /// Gives up the change that is under way, and lets go of whom it has claimed.
    pub(super) async fn end(&mut self) {
        self.over.send_replace(true);
        while self.is_changing {
            if let CompletedRequest::Replacement(_, Ok(member))
            | CompletedRequest::Succession(_, Ok(member)) = self.next().await
            {
                release(&self.broker, &self.run, &member.presence.id).await;
            }
        }
    }
}

/// A change with what it needs.
struct Change {
    broker: Broker,
    run: String,
    inputs: WorkerInputs,
    roll: WorkerRegistry,
    over: watch::Receiver<bool>,
}

impl Change {
    /// Waits until the run stops or is over.
    async fn given_up(mut over: watch::Receiver<bool>, inputs: WorkerInputs) {
        tokio::select! {
            _ = over.wait_for(|over| *over) => {}
            () = inputs.stopped() => {}
        }
    }

    /// Sends another version of the plan to all workers.
    async fn hand_out(self, offer: VersionOffer) -> CompletedRequest {
        let Some(plan) = &self.inputs.plan else {
            unreachable!("only a run with its plan is offered another version");
        };
        let handing = async {
            let next = plan.next(&offer.plan_version)?;
            let offsets = next.hand_out(&self.broker, &self.run, &self.roll).await?;
            Ok((next, offsets))
        };
        tokio::select! {
            handed_out = handing => CompletedRequest::PlanVersion(offer, handed_out),
            () = Change::given_up(self.over, self.inputs.clone()) => CompletedRequest::GivenUp,
        }
    }

    /// Brings a free worker in to take the place of a lost one.
    async fn replace(self, number: usize) -> CompletedRequest {
        let (broker, run, roll) = (&self.broker, &self.run, &self.roll);
        let excluded: Vec<String> = roll.ids().cloned().collect();
        let threads = roll.0[number].shards.len() as u64;
        let lost = roll.0[number].name();
        let Some(presence) = claim_one(broker, run, threads, &excluded).await else {
            let why = format!(
                "no free worker could take the place of '{lost}' yet; one that comes later will"
            );
            return CompletedRequest::Replacement(number, Err(why));
        };
        let mut member = roll.successor(number, presence);
        let joined = tokio::select! {
            joined = self.inputs.bring_in(broker, run, &mut member) => Some(joined),
            () = Change::given_up(self.over, self.inputs.clone()) => None,
        };
        if let Some(Ok(())) = joined {
            return CompletedRequest::Replacement(number, Ok(Box::new(member)));
        }
        release(broker, run, &member.presence.id).await;
        match joined {
            Some(Err(why)) => {
                let name = member.name();
                let why = format!("worker '{name}' could not take the place of '{lost}': {why}");
                CompletedRequest::Replacement(number, Err(why))
            }
            _ => CompletedRequest::GivenUp,
        }
    }
}
