//! A worker: waits for runs at the broker and takes part in one after another.

mod clocks;
mod duty;
mod following;
mod logs;
mod outbox;
mod tasks;

use crate::allotment::Reservations;
use crate::config::LoadPart;
use crate::control::{Command, ControlCall, ControlCalls, Done, Refusal};
use crate::engine;
use crate::error::Error;
use crate::gaggle::broker::Broker;
use crate::gaggle::clock::ProcessClock;
use crate::gaggle::messages::{self, RequestKind, WorkerPresence, WorkerReply, WorkerRequest};
use crate::gaggle::names;
use crate::metrics::LogMessage;
pub(super) use clocks::compare_clocks;
use duty::WorkerDuty;
use futures_util::StreamExt as _;
use std::sync::{Arc, mpsc};

/// What a worker needs to load a plan.
#[derive(Debug)]
pub(crate) struct PlanOffer {
    /// The plan as the manager packed it.
    pub(crate) packed: Vec<u8>,
    /// This worker's part of the load.
    pub(crate) part: LoadPart,
    /// Number of the plan's version, 0 for the first.
    pub(crate) number: u64,
    /// What this worker reserves, if another may have to go on in its place; empty for the first version.
    pub(crate) reserves: bool,
    pub(crate) reservations: Option<Arc<Reservations>>,
    /// Takes log entries, if the run keeps any; `None` for later versions.
    pub(crate) logs: Option<mpsc::Sender<LogMessage>>,
}

/// Function that turns a packed plan into a run that is ready to begin; called on a thread that may block.
pub(crate) type PlanLoader = Arc<dyn Fn(PlanOffer) -> Result<engine::Run, Error> + Send + Sync>;

/// Serves runs until a signal ends the process; with `once`, until the first run that began or failed is over.
///
/// # Errors
/// Trouble with the broker.
pub(crate) async fn serve(
    broker: Broker,
    presence: WorkerPresence,
    load: PlanLoader,
    once: bool,
    mut calls: ControlCalls,
) -> Result<(), Error> {
    let mut hellos = broker.listen(names::HELLO.to_owned()).await?;
    let mut requests = broker.listen(names::worker(&presence.id)).await?;
    let clock = ProcessClock::start();
    let mut duty: Option<WorkerDuty> = None;
    let mut leaving = false;
    loop {
        if duty.is_none() && leaving {
            // Flush: somebody waits for the last reply.
            let _gone = broker.flush().await;
            return Ok(());
        }
        let working = async {
            match &mut duty {
                Some(duty) => duty.go_on().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = working => {
                let run = duty.take().map(|duty| duty.run().to_owned()).unwrap_or_default();
                leaving |= once && !matches!(ended, Ok(false));
                match ended {
                    Ok(true) => tracing::info!(target: "lgoose::gaggle", "run {run} is over"),
                    Ok(false) => tracing::info!(target: "lgoose::gaggle", "run {run} did not begin here"),
                    Err(error) => tracing::warn!(target: "lgoose::gaggle", "run {run}: {error}"),
                }
            }
            Some(hello) = hellos.next() => if let Some(inbox) = hello.reply {
                let presence = WorkerPresence {
                    run: duty.as_ref().map(|duty| duty.run().to_owned()),
                    wall: clock.read().wall,
                    ..presence.clone()
                };
                if !leaving {
                    broker.send(inbox.to_string(), messages::encode(&presence)).await;
                }
            },
            Some(message) = requests.next() => {
                let Some(inbox) = message.reply.map(|inbox| inbox.to_string()) else {
                    continue;
                };
                let reply = match messages::decode::<WorkerRequest>(&message.payload) {
                    Ok(request) => match (&mut duty, request.kind) {
                        (None, RequestKind::Claim) if leaving => refuse("it is about to end"),
                        (None, RequestKind::Claim) => {
                            match WorkerDuty::new(request.run, &broker, presence.clone(), load.clone(), clock).await {
                                Ok(new) => {
                                    duty = Some(new);
                                    WorkerReply::Done
                                }
                                Err(error) => refuse(error.text()),
                            }
                        }
                        (Some(duty), RequestKind::Claim) => refuse(format!("it works for run {}", duty.run())),
                        (Some(duty), kind) if duty.run() == request.run => match duty.take(kind, &inbox) {
                            Some(reply) => reply,
                            // The reply is sent later.
                            None => continue,
                        },
                        (_, RequestKind::Release | RequestKind::Dismiss) => WorkerReply::Done,
                        (_, _) => refuse(format!("it does not work for run {}", request.run)),
                    },
                    Err(error) => refuse(error.text()),
                };
                broker.send(inbox, messages::encode(&reply)).await;
            }
            Some(call) = calls.next() => if let ControlCall::Command(command, reply) = call {
                reply.send(match command {
                    Command::Interrupt(_) | Command::Stop => {
                        leaving = true;
                        if let Some(duty) = &mut duty {
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

fn refuse(why: impl Into<String>) -> WorkerReply {
    WorkerReply::Refused(why.into())
}
