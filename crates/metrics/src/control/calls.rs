//! The run's receiving ends for the calls of its handles.

use crate::control::command::Command;
use crate::control::result::CommandResult;
use crate::{Detail, LiveTag, Report, Store};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A call to a run, with the channel for its result.
#[derive(Debug)]
pub enum ControlCall {
    /// A command. [`Command::Reload`] goes to [`Reloads`] instead.
    Command(Command, ReplySender),
    /// Requests the report so far.
    Report(Detail, oneshot::Sender<Arc<Report>>),
    /// Requests the figures of a tag; `None` if there are none.
    Tag(TagQuery, oneshot::Sender<Option<LiveTag>>),
}

/// A tag whose figures a caller requests.
#[derive(Debug)]
pub struct TagQuery {
    /// The tag with its value.
    pub tag: Arc<str>,
    /// Whether to return all figures, which cost more than those of a snapshot.
    pub in_full: bool,
}

impl TagQuery {
    /// Returns the requests so far.
    pub fn look_up(&self, store: &mut Store) -> Option<LiveTag> {
        store.live_tag(&self.tag, self.in_full)
    }
}

/// The channel to the caller.
#[derive(Debug)]
pub struct ReplySender(pub(super) oneshot::Sender<CommandResult>);

impl ReplySender {
    /// Sends the result, which the caller may ignore.
    pub fn send(self, result: CommandResult) {
        let _ignored = self.0.send(result);
    }
}

/// The calls of all handles, in order of arrival.
#[derive(Debug)]
pub struct ControlCalls {
    inbox: mpsc::UnboundedReceiver<ControlCall>,
}

impl ControlCalls {
    pub(super) fn new(inbox: mpsc::UnboundedReceiver<ControlCall>) -> ControlCalls {
        ControlCalls { inbox }
    }

    /// Waits for the next call; `None` when no handle is left. Cancel safe.
    pub async fn next(&mut self) -> Option<ControlCall> {
        self.inbox.recv().await
    }
}

/// Calls to reload the plan.
#[derive(Debug)]
pub struct Reloads(pub(super) mpsc::UnboundedReceiver<ReplySender>);

impl Reloads {
    /// Waits for the next call; `None` when no handle is left.
    pub async fn next(&mut self) -> Option<ReplySender> {
        self.0.recv().await
    }
}
