//! A gather: adds up the figures of workers with certain labels, so that a manager merges one delivery per second
//! instead of one from each worker. It serves any number of runs at the same time, and all its state is in their
//! streams: if it is killed or cut off, nothing is lost, and another gather continues where it stopped.

mod record;
mod slot;
mod work;

use super::broker::Broker;
use super::clock::ProcessClock;
use super::messages::{self, GatherPresence, WorkerReply};
use super::names;
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use lgoose_metrics::control::{Command, ControlCall, ControlCalls, Done, Refusal};
pub(super) use record::{GatherRequest, RecordKind, SignalProgress, SlotRecord};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};
use work::{GatherEnd, gather};

/// Time limit for the replies of gathers.
const HELLO: Duration = Duration::from_millis(400);

/// Returns all gathers that respond now.
///
/// # Errors
/// Trouble with the broker.
pub async fn gathers(broker: &Broker) -> Result<Vec<GatherPresence>, Error> {
    let replies = broker.request_all(names::GATHERS, HELLO).await?;
    let all = replies.into_iter();
    let mut all: Vec<_> = all
        .filter_map(|(reply, _)| messages::decode::<GatherPresence>(&reply).ok())
        .collect();
    all.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    Ok(all)
}

/// Serves runs as a gather until a signal ends the process.
///
/// # Errors
/// Trouble with the broker.
pub async fn serve_gather(
    broker: Broker,
    presence: GatherPresence,
    mut calls: ControlCalls,
) -> Result<(), Error> {
    for other in gathers(&broker).await? {
        for label in presence.labels.intersection(&other.labels) {
            tracing::warn!(
                target: "lgoose::gaggle",
                "gather '{}' has the label '{label}', too: the first of the two by name adds up its workers, the other stands by",
                other.name
            );
        }
    }
    let mut hellos = broker.listen(names::GATHERS.to_owned()).await?;
    let mut requests = broker.listen(names::gather(&presence.id)).await?;
    let clock = ProcessClock::start();
    let mut slots: BTreeMap<(String, String), AbortHandle> = BTreeMap::new();
    let mut tasks: JoinSet<GatherEnd> = JoinSet::new();
    loop {
        tokio::select! {
            Some(ended) = tasks.join_next() => if let Ok(GatherEnd { run, why }) = ended {
                tracing::info!(target: "lgoose::gaggle", "run {run}: {why}");
            },
            Some(hello) = hellos.next() => if let Some(inbox) = hello.reply {
                slots.retain(|_, task| !task.is_finished());
                let mut runs: Vec<String> = slots.keys().map(|(run, _)| run.clone()).collect();
                runs.dedup();
                let presence = GatherPresence { runs, wall: clock.read().wall, ..presence.clone() };
                broker.send(inbox.to_string(), messages::encode(&presence)).await;
            },
            Some(message) = requests.next() => {
                let Some(inbox) = message.reply else {
                    continue;
                };
                let reply = match messages::decode(&message.payload) {
                    Ok(GatherRequest::Gather { run, slot }) => {
                        let task = tasks.spawn(gather(broker.clone(), run.clone(), slot.clone()));
                        // A gather task already at work may know less than the stream, which has everything that matters.
                        if let Some(before) = slots.insert((run, slot), task) {
                            before.abort();
                        }
                        WorkerReply::Done
                    }
                    Ok(GatherRequest::Release { run }) => {
                        for (_, task) in slots.extract_if(.., |(one, _), _| *one == run) {
                            task.abort();
                        }
                        WorkerReply::Done
                    }
                    Err(error) => WorkerReply::Refused(error.text()),
                };
                broker.send(inbox.to_string(), messages::encode(&reply)).await;
            }
            Some(call) = calls.next() => if let ControlCall::Command(command, reply) = call {
                match command {
                    Command::Interrupt(_) | Command::Stop | Command::Abort => {
                        reply.send(Ok(Done::Stopping));
                        return Ok(());
                    }
                    _ => reply.send(Err(Refusal::NotStarted)),
                }
            },
        }
    }
}
