//! A worker: waits for runs at the broker and takes part in one after another.

mod clocks;
mod duty;
mod following;
mod logs;
mod outbox;
mod tasks;

use crate::broker::Broker;
use crate::clock::ProcessClock;
use crate::messages::{self, RequestKind, WorkerPresence, WorkerReply, WorkerRequest};
use crate::names;
use async_nats::Subscriber;
pub(super) use clocks::compare_clocks;
use duty::WorkerDuty;
use futures_util::StreamExt as _;
use lgoose_base::allotment::Reservations;
use lgoose_base::error::Error;
use lgoose_metrics::LogMessage;
use lgoose_metrics::control::{Command, Control, ControlCall, ControlCalls, Done, Handle, Refusal};
use lgoose_plan::config::LoadPart;
use lgoose_plan::shared_state::SharedLink;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use tokio::task::JoinSet;

/// A plan that a worker is to load.
#[derive(Debug)]
pub struct PlanOffer {
    /// The plan as the manager packed it.
    pub packed: Vec<u8>,
    /// This worker's part of the load.
    pub part: LoadPart,
    /// Threads that drive users.
    pub threads: usize,
    /// Number of the plan's version, 0 for the first.
    pub number: u64,
    /// Whether this worker reserves numbers, so that another can go on in its place.
    pub reserves: bool,
    /// Reservations of this worker; `None` for the first version.
    pub reservations: Option<Arc<Reservations>>,
    /// The way to the state that users of all workers share.
    pub shared: SharedLink,
    /// Takes log entries, if the run keeps any; `None` for later versions.
    pub logs: Option<mpsc::Sender<LogMessage>>,
}

/// Function that turns a packed plan into a run that is ready to begin; called on a thread that may block.
pub(crate) type PlanLoader =
    Arc<dyn Fn(PlanOffer) -> Result<lgoose_engine::Run, Error> + Send + Sync>;

/// Serves runs until a signal ends the process; with `once`, until the first run that began or failed is over.
///
/// # Errors
/// Trouble with the broker.
pub async fn serve(
    broker: Broker,
    presence: WorkerPresence,
    load: PlanLoader,
    once: bool,
    calls: ControlCalls,
) -> Result<(), Error> {
    let requests = broker.listen(names::worker(&presence.id)).await?;
    let hellos = broker.listen(names::HELLO.to_owned()).await?;
    let worker = Worker {
        broker,
        presence,
        load,
        clock: ProcessClock::start(),
        once,
        calls,
        requests,
        hellos: Some(hellos),
        duty: None,
        leaving: false,
        splits: JoinSet::new(),
        split_handles: Vec::new(),
    };
    worker.serve().await
}

/// A worker at the broker, under one identity.
struct Worker {
    broker: Broker,
    presence: WorkerPresence,
    load: PlanLoader,
    clock: ProcessClock,
    /// Whether it ends after the first run that began or failed.
    once: bool,
    calls: ControlCalls,
    requests: Subscriber,
    /// Questions who is there; `None` under an identity that is only for one run.
    hellos: Option<Subscriber>,
    duty: Option<WorkerDuty>,
    leaving: bool,
    /// The same process under other identities, each for one run, and the channel that ends them.
    splits: JoinSet<Result<(), Error>>,
    split_handles: Vec<Handle>,
}

impl Worker {
    async fn serve(mut self) -> Result<(), Error> {
        loop {
            if self.duty.is_none() && self.splits.is_empty() && self.leaving {
                // Flush: somebody waits for the last reply.
                let _gone = self.broker.flush().await;
                return Ok(());
            }
            let working = async {
                match &mut self.duty {
                    Some(duty) => duty.go_on().await,
                    None => std::future::pending().await,
                }
            };
            let hello = async {
                match &mut self.hellos {
                    Some(hellos) => hellos.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ended = working => self.end_duty(ended),
                Some(hello) = hello => if let Some(inbox) = hello.reply {
                    self.introduce_itself(inbox.to_string()).await;
                },
                Some(message) = self.requests.next() => {
                    let Some(inbox) = message.reply.map(|inbox| inbox.to_string()) else {
                        continue;
                    };
                    let reply = match messages::decode::<WorkerRequest>(&message.payload) {
                        Ok(request) => self.take(request, &inbox).await,
                        Err(error) => Some(refuse(error.text())),
                    };
                    // Without one, it is sent later.
                    if let Some(reply) = reply {
                        self.broker.send(inbox, messages::encode(&reply)).await;
                    }
                }
                Some(_) = self.splits.join_next() => {}
                Some(call) = self.calls.next() => if let ControlCall::Command(command, reply) = call {
                    for split in &self.split_handles {
                        // Fails if it has ended.
                        let _ended = split.send(command.clone()).await;
                    }
                    reply.send(match command {
                        Command::Interrupt(_) | Command::Stop => {
                            self.leaving = true;
                            if let Some(duty) = &mut self.duty {
                                duty.leave();
                            }
                            Ok(Done::Stopping)
                        }
                        Command::Abort => return Ok(()),
                        _ => Err(Refusal::NotStarted),
                    });
                },
            }
        }
    }

    fn end_duty(&mut self, ended: Result<bool, Error>) {
        let run = self.duty.take().map(|duty| duty.run().to_owned());
        let run = run.unwrap_or_default();
        let is_split = self.hellos.is_none();
        self.leaving |= is_split || (self.once && !matches!(ended, Ok(false)));
        match ended {
            Ok(true) => tracing::info!(target: "lgoose::gaggle", "run {run} is over"),
            Ok(false) => tracing::info!(target: "lgoose::gaggle", "run {run} did not begin here"),
            Err(error) => tracing::warn!(target: "lgoose::gaggle", "run {run}: {error}"),
        }
    }

    async fn introduce_itself(&self, inbox: String) {
        if self.leaving {
            return;
        }
        let presence = WorkerPresence {
            run: self.duty.as_ref().map(|duty| duty.run().to_owned()),
            wall: self.clock.read().wall,
            ..self.presence.clone()
        };
        self.broker.send(inbox, messages::encode(&presence)).await;
    }

    /// Handles a request; `None` if the reply is sent later.
    async fn take(&mut self, request: WorkerRequest, inbox: &str) -> Option<WorkerReply> {
        let reply = match (&mut self.duty, request.kind) {
            (None, RequestKind::Claim) if self.leaving => refuse("it is about to end"),
            (None, RequestKind::Claim) => match self.claim(request.run).await {
                Ok(()) => WorkerReply::Done,
                Err(error) => refuse(error.text()),
            },
            (Some(duty), RequestKind::Claim) => refuse(format!("it works for run {}", duty.run())),
            (Some(duty), RequestKind::Split { name, threads }) if duty.run() == request.run => {
                match self.split(request.run, name, threads).await {
                    Ok(presence) => WorkerReply::Split(presence),
                    Err(error) => refuse(error.text()),
                }
            }
            (Some(duty), kind) if duty.run() == request.run => return duty.take(kind, inbox),
            (_, RequestKind::Release | RequestKind::Dismiss) => WorkerReply::Done,
            (_, _) => refuse(format!("it does not work for run {}", request.run)),
        };
        Some(reply)
    }

    async fn claim(&mut self, run: String) -> Result<(), Error> {
        let (presence, load) = (self.presence.clone(), self.load.clone());
        let duty = WorkerDuty::new(run, &self.broker, presence, load, self.clock).await?;
        self.duty = Some(duty);
        Ok(())
    }

    /// Runs more threads for a run, under an identity that is only for that run.
    async fn split(
        &mut self,
        run: String,
        name: String,
        threads: u64,
    ) -> Result<WorkerPresence, Error> {
        let presence = WorkerPresence {
            // Permissions may name the worker.
            id: names::identity(&self.presence.name, rand::random()),
            name,
            threads,
            ..self.presence.clone()
        };
        let requests = self.broker.listen(names::worker(&presence.id)).await?;
        let (handle, control) = Control::open();
        let mut split = Worker {
            broker: self.broker.clone(),
            presence: presence.clone(),
            load: self.load.clone(),
            clock: self.clock,
            once: true,
            calls: control.calls,
            requests,
            hellos: None,
            duty: None,
            leaving: false,
            splits: JoinSet::new(),
            split_handles: Vec::new(),
        };
        split.claim(run).await?;
        self.split_handles.push(handle);
        self.splits.spawn(split.boxed());
        Ok(presence)
    }

    /// Returns its service as a future of a known type, since a worker may run others.
    fn boxed(self) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send>> {
        Box::pin(self.serve())
    }
}

fn refuse(why: impl Into<String>) -> WorkerReply {
    WorkerReply::Refused(why.into())
}
