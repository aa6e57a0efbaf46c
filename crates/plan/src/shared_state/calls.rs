//! Calls of users to the state that all processes of a run share: requests, replies, and the way there. The state
//! itself is in one process, which performs them in the order in which they come.

use super::map::PendingValue;
use super::{SharedState, SharedValue};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// A user's call of one counter, queue or map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedCall {
    /// The name of the counter, queue or map.
    pub name: String,
    /// The action to perform.
    pub action: SharedAction,
}

/// Values are JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SharedAction {
    /// Adds to a counter; replied to with the sum.
    Add(i64),
    /// Reads a counter.
    Count,
    /// Puts a value at the end of a queue.
    Push(String),
    /// Takes the first value of a queue, and waits for one at most this long.
    Take(Duration),
    /// Returns the number of values in a queue.
    QueueSize,
    /// Keeps a value in a map under a key, for so long if a time is given.
    Set(String, String, Option<Duration>),
    /// The same, if the key has no value; replied to with the one that it has then.
    Keep(String, String, Option<Duration>),
    /// Returns the value of a key.
    Get(String),
    /// Removes a key, or only if it has that value.
    Remove(String, Option<String>),
    /// Returns the number of keys of a map.
    MapSize,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SharedReply {
    /// There is no value.
    Nothing,
    /// Whether it was done.
    Truth(bool),
    /// A number.
    Number(i64),
    /// A value, as JSON.
    Value(String),
    /// The reason why it failed, to be raised at the plan's line.
    Failed(String),
}

/// The way of calls to the process that has the state of the run.
pub type SharedLink = mpsc::UnboundedSender<PendingCall>;

/// A call on its way. Its caller goes on when this is dropped.
#[derive(Debug)]
pub struct PendingCall {
    /// The call.
    pub call: SharedCall,
    reply: Arc<OnceLock<SharedReply>>,
    _over: watch::Sender<()>,
}

/// The reply to a call, once it is there.
#[derive(Debug)]
pub struct PendingReply {
    /// The place for its reply.
    pub pending: PendingValue,
    reply: Arc<OnceLock<SharedReply>>,
}

impl PendingCall {
    /// Makes a call, and the reply that its caller waits for.
    pub fn new(call: SharedCall) -> (PendingCall, PendingReply) {
        let (over, pending) = watch::channel(());
        let reply = Arc::new(OnceLock::new());
        let made = PendingCall {
            call,
            reply: reply.clone(),
            _over: over,
        };
        let pending = PendingValue::until(pending);
        (made, PendingReply { pending, reply })
    }

    /// Gives the caller its reply.
    pub fn reply(self, reply: SharedReply) {
        // It is the only reply: the call is gone then.
        let _first = self.reply.set(reply);
    }
}

impl PendingReply {
    /// Returns the reply, or that there is none.
    pub fn get(&self) -> SharedReply {
        let lost = || SharedReply::Failed("the run is over".to_owned());
        self.reply.get().cloned().unwrap_or_else(lost)
    }
}

impl SharedAction {
    /// Returns how long the call may wait for another user's value.
    pub fn wait(&self) -> Duration {
        match self {
            SharedAction::Take(wait) => *wait,
            _ => Duration::ZERO,
        }
    }
}

impl SharedCall {
    /// Performs it on a state.
    pub async fn perform(self, state: &SharedState) -> SharedReply {
        match self.try_perform(state).await {
            Ok(reply) => reply,
            Err(problem) => SharedReply::Failed(problem),
        }
    }

    async fn try_perform(self, state: &SharedState) -> Result<SharedReply, String> {
        let SharedCall { name, action } = self;
        let number = |size: usize| SharedReply::Number(i64::try_from(size).unwrap_or(i64::MAX));
        Ok(match action {
            SharedAction::Add(by) => {
                let sum = state.counter(&name)?.add(by);
                let problem = || format!("the counter '{name}' would not fit into 64 bits");
                SharedReply::Number(sum.ok_or_else(problem)?)
            }
            SharedAction::Count => SharedReply::Number(state.counter(&name)?.get()),
            SharedAction::Push(json) => {
                state.queue(&name)?.put(read(&json)?, json.len())?;
                SharedReply::Nothing
            }
            SharedAction::Take(wait) => {
                let queue = state.queue(&name)?;
                let taken = match queue.try_take() {
                    None if !wait.is_zero() => tokio::time::timeout(wait, queue.take()).await.ok(),
                    taken => taken,
                };
                written(taken)
            }
            SharedAction::QueueSize => number(state.queue(&name)?.count()),
            SharedAction::Set(key, json, expires) => {
                state
                    .map(&name)?
                    .put(&key, read(&json)?, json.len(), expires)?;
                SharedReply::Nothing
            }
            SharedAction::Keep(key, json, expires) => {
                let kept = state
                    .map(&name)?
                    .keep(&key, read(&json)?, json.len(), expires)?;
                written(Some(kept))
            }
            SharedAction::Get(key) => written(state.map(&name)?.get(&key)),
            SharedAction::Remove(key, only) => {
                let only = only.map(|json| read(&json)).transpose()?;
                SharedReply::Truth(state.map(&name)?.remove(&key, only.as_deref()))
            }
            SharedAction::MapSize => number(state.map(&name)?.count()),
        })
    }
}

fn read(json: &str) -> Result<SharedValue, String> {
    let value = serde_json::from_str(json);
    value
        .map(Arc::new)
        .map_err(|error| format!("the value is not JSON: {error}"))
}

fn written(value: Option<SharedValue>) -> SharedReply {
    value.map_or(SharedReply::Nothing, |value| {
        SharedReply::Value(value.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_do_to_a_state_what_its_users_would() {
        use SharedAction::*;
        let state = SharedState::default();
        let text = |text: &str| text.to_owned();
        let value = |json: &str| SharedReply::Value(text(json));
        for (action, expected) in [
            (Add(2), SharedReply::Number(2)),
            (Add(-5), SharedReply::Number(-3)),
            (Count, SharedReply::Number(-3)),
            (Push(text("[1,null]")), SharedReply::Nothing),
            (Push(text("\"b\"")), SharedReply::Nothing),
            (QueueSize, SharedReply::Number(2)),
            (Take(Duration::ZERO), value("[1,null]")),
            (Take(Duration::from_secs(5)), value("\"b\"")),
            (Take(Duration::ZERO), SharedReply::Nothing),
            (Take(Duration::from_millis(1)), SharedReply::Nothing),
            (Get(text("k")), SharedReply::Nothing),
            (
                Set(text("k"), text("{\"a\":1}"), None),
                SharedReply::Nothing,
            ),
            (Get(text("k")), value("{\"a\":1}")),
            (Keep(text("k"), text("2"), None), value("{\"a\":1}")),
            (
                Keep(text("new"), text("2"), Some(Duration::ZERO)),
                value("2"),
            ),
            (
                Keep(text("new"), text("3"), Some(Duration::ZERO)),
                value("3"),
            ),
            (MapSize, SharedReply::Number(1)),
            (
                Remove(text("k"), Some(text("2"))),
                SharedReply::Truth(false),
            ),
            (
                Remove(text("k"), Some(text("{\"a\":1}"))),
                SharedReply::Truth(true),
            ),
            (
                Set(text("k"), text("1"), Some(Duration::ZERO)),
                SharedReply::Nothing,
            ),
            (Get(text("k")), SharedReply::Nothing),
            (
                Add(i64::MIN),
                SharedReply::Failed(text("the counter 'n' would not fit into 64 bits")),
            ),
        ] {
            let name = text("n");
            let call = SharedCall {
                name,
                action: action.clone(),
            };
            assert_eq!(call.perform(&state).await, expected, "{action:?}");
        }
    }

    #[tokio::test]
    async fn whoever_waits_for_a_call_that_is_lost_goes_on() {
        let call = SharedCall {
            name: "n".to_owned(),
            action: SharedAction::Count,
        };
        let (made, pending) = PendingCall::new(call.clone());
        drop(made);
        pending.pending.clone().over().await;
        assert_eq!(
            pending.get(),
            SharedReply::Failed("the run is over".to_owned())
        );
        let (made, pending) = PendingCall::new(call);
        made.reply(SharedReply::Number(7));
        pending.pending.clone().over().await;
        assert_eq!(pending.get(), SharedReply::Number(7));
    }
}
