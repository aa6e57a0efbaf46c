//! State that the workers of a run share: the manager has it, and performs the calls that they send.

use super::broker::Broker;
use super::messages;
use super::names;
use async_nats::Subscriber;
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use lgoose_plan::shared_state::{PendingCall, SharedCall, SharedReply, SharedState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

/// Time limit for a reply of the manager, beyond the wait of the call.
const REPLY: Duration = Duration::from_secs(10);

/// The reply where the manager that had the state is gone.
const LOST: &str = "what the workers of the run shared was with the manager that is lost";

/// The state of a run as its manager has it.
#[derive(Debug)]
pub(super) enum ManagedState {
    Here(Arc<SharedState>),
    /// It was with another manager, which is lost: a new one would give the same numbers again.
    Lost,
}

impl ManagedState {
    /// Performs calls of workers until the runtime ends.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn serve(self, broker: &Broker, run: &str) -> Result<(), Error> {
        let calls = broker.listen(names::shared(run)).await?;
        tokio::spawn(self.perform(broker.clone(), calls));
        Ok(())
    }

    async fn perform(self, broker: Broker, mut calls: Subscriber) {
        let mut waiting = JoinSet::new();
        loop {
            let message = tokio::select! {
                message = calls.next() => message,
                Some(_) = waiting.join_next() => continue,
            };
            let Some(message) = message else {
                return;
            };
            let Some(inbox) = message.reply.map(|inbox| inbox.to_string()) else {
                continue;
            };
            let reply = match (&self, messages::decode::<SharedCall>(&message.payload)) {
                (_, Err(error)) => SharedReply::Failed(error.text()),
                (ManagedState::Lost, _) => SharedReply::Failed(LOST.to_owned()),
                (ManagedState::Here(state), Ok(call)) if call.action.wait().is_zero() => {
                    call.perform(state).await
                }
                (ManagedState::Here(state), Ok(call)) => {
                    let (state, broker) = (state.clone(), broker.clone());
                    waiting.spawn(async move {
                        let reply = call.perform(&state).await;
                        broker.send(inbox, messages::encode(&reply)).await;
                    });
                    continue;
                }
            };
            broker.send(inbox, messages::encode(&reply)).await;
        }
    }
}

/// Sends the calls of a worker's users to the manager, until there can be no more. None is sent twice: it may have been
/// performed although no reply came.
pub(super) async fn forward(
    broker: Broker,
    run: String,
    mut calls: UnboundedReceiver<PendingCall>,
) {
    let mut sent = JoinSet::new();
    loop {
        let pending = tokio::select! {
            pending = calls.recv() => pending,
            Some(_) = sent.join_next() => continue,
        };
        let Some(pending) = pending else {
            return;
        };
        let (broker, subject) = (broker.clone(), names::shared(&run));
        sent.spawn(async move {
            let call = &pending.call;
            let within = REPLY + call.action.wait();
            let bytes = messages::encode(call);
            let reply = match broker.request_bytes(subject, bytes, within).await {
                Ok(reply) => messages::decode(&reply).map_err(|error| error.text()),
                Err(why) => Err(format!(
                    "'{}' of the run is with the manager: {why} (may workers publish lgoose.shared.*, and may it listen?)",
                    call.name
                )),
            };
            pending.reply(reply.unwrap_or_else(SharedReply::Failed));
        });
    }
}
