//! Requests to workers that take time: the start, a version of the plan, a replacement, an event. They go on beside the pump,
//! so that no order waits for a worker, and end with news for it.

use super::events::{EventFailure, EventWorkers};
use super::hand_out::{ClockOffsets, PackedPlan};
use super::inputs::WorkerInputs;
use super::recruit::{claim_one, release};
use super::registry::{RegisteredWorker, WorkerRegistry};
use super::terms::{REPLY_TIMEOUT, WorkerLoss};
use crate::broker::Broker;
use crate::messages::{RequestKind, WorkerPresence, WorkerReply, WorkerRequest};
use crate::reserving::{StreamLog, end_reservations};
use lgoose_base::error::Error;
use lgoose_engine::{EventTask, VersionOffer, WorkerEvent};
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
    /// Workers can take the place of the one with that number, or none can, and why.
    Replacement(usize, Result<Vec<RegisteredWorker>, String>),
    /// The reservations of the one with that number are known, and it reserves nothing more.
    Succession(usize, Result<Vec<RegisteredWorker>, String>),
    /// The run stops, so that a change is no longer wanted.
    GivenUp,
}

/// A request that changes the workers of the run, or their plan. There is one at a time, since a worker that joins needs
/// the plan that the others have.
pub(super) enum ChangeRequest {
    PlanVersion(VersionOffer),
    /// The number of the worker that was lost, and how its place is filled.
    Replacement(usize, WorkerLoss),
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

    /// Requests workers, by number and identity, to start their users.
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

    /// Releases a worker that was claimed.
    pub(super) fn release(&self, id: String) {
        let (broker, run) = (self.broker.clone(), self.run.clone());
        tokio::spawn(async move { release(&broker, &run, &id).await });
    }

    /// Ends the reservations of a lost worker, so that those that take its place know where to go on.
    pub(super) fn succeed(
        &mut self,
        number: usize,
        lost: &RegisteredWorker,
        mut successors: Vec<RegisteredWorker>,
    ) {
        let (broker, run, lost) = (self.broker.clone(), self.run.clone(), lost.clone());
        self.is_changing = true;
        self.running.spawn(async move {
            let log = StreamLog::of(&broker, &run, &lost.presence.id);
            let ended = match end_reservations(log).await {
                Ok(own) => {
                    for successor in &mut successors {
                        successor.go_on_after(&lost, &own);
                    }
                    Ok(successors)
                }
                Err(error) => {
                    release_members(&broker, &run, &successors).await;
                    let (name, why) = (lost.name(), error.text());
                    Err(format!("nobody takes the place of '{name}': {why}"))
                }
            };
            CompletedRequest::Succession(number, ended)
        });
    }

    /// Begins with the next change, if none is under way.
    pub(super) fn advance(&mut self, inputs: &WorkerInputs, registry: &WorkerRegistry) {
        if self.is_changing {
            return;
        }
        let is_due = |request: &ChangeRequest| match request {
            ChangeRequest::PlanVersion(_) => true,
            ChangeRequest::Replacement(number, _) => registry.0[*number].is_lost(),
        };
        let Some(request) = std::iter::from_fn(|| self.changes.pop_front()).find(is_due) else {
            return;
        };
        self.is_changing = true;
        let change = Change {
            broker: self.broker.clone(),
            run: self.run.clone(),
            inputs: inputs.clone(),
            registry: registry.clone(),
            over: self.over.subscribe(),
        };
        match request {
            ChangeRequest::PlanVersion(offer) => self.running.spawn(change.hand_out(offer)),
            ChangeRequest::Replacement(number, how) => {
                self.running.spawn(change.replace(number, how))
            }
        };
    }

    /// Gives up the change that is under way, and releases the workers that it has claimed.
    pub(super) async fn end(&mut self) {
        self.over.send_replace(true);
        while self.is_changing {
            if let CompletedRequest::Replacement(_, Ok(successors))
            | CompletedRequest::Succession(_, Ok(successors)) = self.next().await
            {
                release_members(&self.broker, &self.run, &successors).await;
            }
        }
    }
}

async fn release_members(broker: &Broker, run: &str, members: &[RegisteredWorker]) {
    let ids = members.iter().map(|member| &member.presence.id);
    let released = ids.map(|id| release(broker, run, id));
    futures_util::future::join_all(released).await;
}

/// A change with everything that it needs.
struct Change {
    broker: Broker,
    run: String,
    inputs: WorkerInputs,
    registry: WorkerRegistry,
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
            let offsets = next
                .hand_out(&self.broker, &self.run, &self.registry)
                .await?;
            Ok((next, offsets))
        };
        tokio::select! {
            handed_out = handing => CompletedRequest::PlanVersion(offer, handed_out),
            () = Change::given_up(self.over, self.inputs.clone()) => CompletedRequest::GivenUp,
        }
    }

    /// Brings workers in to take the place of a lost one.
    async fn replace(self, number: usize, how: WorkerLoss) -> CompletedRequest {
        let (broker, run, registry) = (&self.broker, &self.run, &self.registry);
        let lost = registry.0[number].name();
        let claimed = match how {
            WorkerLoss::Spread => self.split(number).await,
            _ => self.claim(number).await,
        };
        let mut successors = match claimed {
            Ok(claimed) => registry.successors(number, claimed),
            Err(why) => return CompletedRequest::Replacement(number, Err(why)),
        };
        let bringing_in = async {
            for member in &mut successors {
                let joined = self.inputs.bring_in(broker, run, member).await;
                joined.map_err(|why| {
                    let name = member.name();
                    format!("worker '{name}' could not take the place of '{lost}': {why}")
                })?;
            }
            Ok(())
        };
        let joined = tokio::select! {
            joined = bringing_in => Some(joined),
            () = Change::given_up(self.over, self.inputs.clone()) => None,
        };
        if let Some(Ok(())) = joined {
            return CompletedRequest::Replacement(number, Ok(successors));
        }
        release_members(broker, run, &successors).await;
        match joined {
            Some(Err(why)) => CompletedRequest::Replacement(number, Err(why)),
            _ => CompletedRequest::GivenUp,
        }
    }

    /// Claims a free worker for the place of a lost one.
    async fn claim(&self, number: usize) -> Result<Vec<WorkerPresence>, String> {
        let excluded: Vec<String> = self.registry.ids().cloned().collect();
        let lost = &self.registry.0[number];
        let threads = lost.shards.len() as u64;
        let claimed = claim_one(&self.broker, &self.run, threads, &excluded).await;
        let name = lost.name();
        claimed.map(|presence| vec![presence]).ok_or_else(|| {
            format!(
                "no free worker could take the place of '{name}' yet; one that comes later will"
            )
        })
    }

    /// Has those that are left run a part each of a lost worker's threads beside their own.
    async fn split(&self, number: usize) -> Result<Vec<WorkerPresence>, String> {
        let (lost, mut hosts) = (&self.registry.0[number], self.registry.hosts());
        let threads = lost.shards.len();
        hosts.truncate(threads);
        let name = lost.name();
        if hosts.is_empty() {
            return Err(format!("no worker is left to take the place of '{name}'"));
        }
        let mut claimed = Vec::new();
        for (place, host) in hosts.iter().enumerate() {
            let threads = (threads * (place + 1) / hosts.len()) - (threads * place / hosts.len());
            let kind = RequestKind::Split {
                name: format!("{} for {name}", host.name()),
                threads: threads as u64,
            };
            let request = WorkerRequest::new(&self.run, kind);
            let id = &host.presence.id;
            match self.broker.request(id, &request, REPLY_TIMEOUT).await {
                Ok(WorkerReply::Split(presence)) => claimed.push(presence),
                other => {
                    for claimed in &claimed {
                        release(&self.broker, &self.run, &claimed.id).await;
                    }
                    let why = other
                        .err()
                        .unwrap_or_else(|| "an unexpected answer".to_owned());
                    let host = host.name();
                    return Err(format!(
                        "worker '{host}' could not take a part of the load of '{name}': {why}"
                    ));
                }
            }
        }
        Ok(claimed)
    }
}
