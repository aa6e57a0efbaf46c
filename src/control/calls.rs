//! The ends of a run at which the wishes of its handles arrive.

use crate::control::answer::Answer;
use crate::control::command::Command;
use crate::metrics::{Detail, LiveTag, Report, Store};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Something that is wanted of a run, with the way back for the answer.
#[derive(Debug)]
pub(crate) enum Call {
    /// A command. [`Command::Reload`] goes to [`Reloads`] instead.
    Command(Command, Reply),
    /// A report of now.
    Report(Detail, oneshot::Sender<Arc<Report>>),
    /// The requests of a tag; `None` if there are none.
    Tag(TagWanted, oneshot::Sender<Option<LiveTag>>),
}

/// The tag whose requests are asked for.
#[derive(Debug)]
pub(crate) struct TagWanted {
    /// The tag with its value.
    pub tag: Arc<str>,
    /// Whether all figures are wanted, which cost more than those of a snapshot.
    pub in_full: bool,
}

impl TagWanted {
    /// Returns the requests of now.
    pub(crate) fn answer(&self, store: &mut Store) -> Option<LiveTag> {
        store.live_tag(&self.tag, self.in_full)
    }
}

/// The way back to whoever asked.
#[derive(Debug)]
pub(crate) struct Reply(pub(super) oneshot::Sender<Answer>);

impl Reply {
    /// Answers. Whoever asked may not care.
    pub(crate) fn answer(self, answer: Answer) {
        let _ignored = self.0.send(answer);
    }
}

/// The wishes of all handles, in their order.
#[derive(Debug)]
pub(crate) struct Calls {
    inbox: mpsc::UnboundedReceiver<Call>,
}

impl Calls {
    pub(super) fn new(inbox: mpsc::UnboundedReceiver<Call>) -> Calls {
        Calls { inbox }
    }

    /// The next one; `None` when no handle is left. Nothing is lost when it is dropped before it is ready.
    pub(crate) async fn next(&mut self) -> Option<Call> {
        self.inbox.recv().await
    }
}

/// Wishes for the plan to be loaded anew.
#[derive(Debug)]
pub(crate) struct Reloads(pub(super) mpsc::UnboundedReceiver<Reply>);

impl Reloads {
    /// The next one; `None` when no handle is left.
    pub(crate) async fn next(&mut self) -> Option<Reply> {
        self.0.recv().await
    }
}
