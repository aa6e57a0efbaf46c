//! A worker: waits for runs at the broker and takes part in one after another.

mod clocks;
mod duty;
mod following;
mod logs;
mod outbox;
mod tasks;

use crate::config::Part;
use crate::control::{Call, Calls, Command, Done, Refusal};
use crate::engine;
use crate::error::Error;
use crate::gaggle::broker::Broker;
use crate::gaggle::clock::Clock;
use crate::gaggle::messages::{self, Presence, Reply, Request, RequestKind};
use crate::gaggle::names;
use crate::metrics::LogMessage;
#[cfg(feature = "internals")]
pub(super) use clocks::compare_clocks;
use duty::Duty;
use futures_util::StreamExt as _;
use std::sync::{Arc, mpsc};

/// What a worker needs to load a plan.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The plan as the manager packed it.
    pub(crate) packed: Vec<u8>,
    /// This worker's part of the load.
    pub(crate) part: Part,
    /// Number of the plan's version, 0 for the first.
    pub(crate) number: u64,
    /// Takes log entries, if the run keeps any; `None` for later versions.
    pub(crate) logs: Option<mpsc::Sender<LogMessage>>,
}

/// Function that turns a packed plan into a run that is ready to begin; called on a thread that may block.
pub(crate) type Load = Arc<dyn Fn(Offer) -> Result<engine::Run, Error> + Send + Sync>;

/// Serves runs until a signal ends the process; with `once`, until the first run that began or failed is over.
///
/// # Errors
/// Trouble with the broker.
pub(crate) async fn serve(
    broker: Broker,
    presence: Presence,
    load: Load,
    once: bool,
    mut calls: Calls,
) -> Result<(), Error> {
    let mut hellos = broker.listen(names::HELLO.to_owned()).await?;
    let mut requests = broker.listen(names::worker(&presence.id)).await?;
    let clock = Clock::start();
    let mut duty: Option<Duty> = None;
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
                let presence = Presence {
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
                let reply = match messages::decode::<Request>(&message.payload) {
                    Ok(request) => match (&mut duty, request.kind) {
                        (None, RequestKind::Claim) if leaving => refuse("it is about to end"),
                        (None, RequestKind::Claim) => {
                            match Duty::new(request.run, &broker, presence.clone(), load.clone(), clock).await {
                                Ok(new) => {
                                    duty = Some(new);
                                    Reply::Done
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
                        (_, RequestKind::Release | RequestKind::Dismiss) => Reply::Done,
                        (_, _) => refuse(format!("it does not work for run {}", request.run)),
                    },
                    Err(error) => refuse(error.text()),
                };
                broker.send(inbox, messages::encode(&reply)).await;
            }
            Some(call) = calls.next() => if let Call::Command(command, reply) = call {
                reply.answer(match command {
                    Command::Interrupt(_) | Command::Stop => {
                        leaving = true;
                        if let Some(duty) = &mut duty {
                            duty.leave();
                        }
                        Ok(Done::Stopping)
                    }
                    Command::Abort => return Ok(()),
                    _ => Err(Refusal::NotBegun),
                });
            },
        }
    }
}

fn refuse(why: impl Into<String>) -> Reply {
    Reply::Refused(why.into())
}
