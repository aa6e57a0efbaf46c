//! The run's receiving ends for the calls of its handles.

use crate::control::answer::Answer;
use crate::control::command::Command;
use crate::metrics::{Detail, LiveTag, Report, Store};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A call to a run, with the channel for the answer.
#[derive(Debug)]
pub(crate) enum Call {
    /// A command. [`Command::Reload`] goes to [`Reloads`] instead.
    Command(Command, Reply),
    /// Asks for the report so far.
    Report(Detail, oneshot::Sender<Arc<Report>>),
    /// Asks for the requests of a tag; `None` if there are none.
    Tag(TagWanted, oneshot::Sender<Option<LiveTag>>),
}

/// A tag whose requests a caller asks for.
#[derive(Debug)]
pub(crate) struct TagWanted {
    /// The tag with its value.
    pub tag: Arc<str>,
    /// Whether to return all figures, which cost more than those of a snapshot.
    pub in_full: bool,
}

impl TagWanted {
    /// Returns the requests so far.
    pub(crate) fn answer(&self, store: &mut Store) -> Option<LiveTag> {
        store.live_tag(&self.tag, self.in_full)
    }
}

/// The channel to the caller.
#[derive(Debug)]
pub(crate) struct Reply(pub(super) oneshot::Sender<Answer>);

impl Reply {
    /// Sends the answer, which the caller may ignore.
    pub(crate) fn answer(self, answer: Answer) {
        let _ignored = self.0.send(answer);
    }
}

/// The calls of all handles, in order of arrival.
#[derive(Debug)]
pub(crate) struct Calls {
    inbox: mpsc::UnboundedReceiver<Call>,
}

impl Calls {
    pub(super) fn new(inbox: mpsc::UnboundedReceiver<Call>) -> Calls {
        Calls { inbox }
    }

    /// Waits for the next call; `None` when no handle is left. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Call> {
        self.inbox.recv().await
    }
}

/// Calls to reload the plan.
#[derive(Debug)]
pub(crate) struct Reloads(pub(super) mpsc::UnboundedReceiver<Reply>);

impl Reloads {
    /// Waits for the next call; `None` when no handle is left.
    pub(crate) async fn next(&mut self) -> Option<Reply> {
        self.0.recv().await
    }
}
