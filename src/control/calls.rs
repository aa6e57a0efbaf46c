//! The ends of a run at which the wishes of its handles arrive.

use crate::control::answer::Answer;
use crate::control::command::{Command, Interrupt};
use crate::metrics::Report;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Something that is wanted of a run, with the way back for the answer.
#[derive(Debug)]
pub(crate) enum Call {
    /// A command. [`Command::Reload`] goes to [`Reloads`] instead.
    Command(Command, Reply),
    /// A report of now.
    Report(oneshot::Sender<Arc<Report>>),
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
    /// The run was asked to stop.
    stopped: bool,
}

impl Calls {
    pub(super) fn new(inbox: mpsc::UnboundedReceiver<Call>) -> Calls {
        Calls {
            inbox,
            stopped: false,
        }
    }

    /// The next one; `None` when no handle is left. Of interrupts only the first comes as one: a further one, or one
    /// after a stop, is an abort. Nothing is lost when it is dropped before it is ready.
    pub(crate) async fn next(&mut self) -> Option<Call> {
        match self.inbox.recv().await? {
            Call::Command(Command::Interrupt(from), reply) => {
                Some(Call::Command(self.interrupt(from), reply))
            }
            Call::Command(Command::Stop, reply) => {
                self.stopped = true;
                Some(Call::Command(Command::Stop, reply))
            }
            call => Some(call),
        }
    }

    fn interrupt(&mut self, from: Interrupt) -> Command {
        match std::mem::replace(&mut self.stopped, true) {
            false => Command::Interrupt(from),
            true => Command::Abort,
        }
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
