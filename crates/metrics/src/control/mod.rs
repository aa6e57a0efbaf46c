//! Control of a running test: commands of any number of views, signals and programs, and their results. Each of them
//! holds a [`Handle`]; a `Control` is the run's end of it.
//!
//! The senders and the receivers of commands are elsewhere: this module knows neither the engine nor a screen.

mod calls;
mod command;
mod handle;
mod reader;
mod result;

pub use calls::{ControlCall, ControlCalls, Reloads, ReplySender};
pub use command::{Command, Interrupt};
pub use handle::{Control, Handle, PendingCommand};
pub use reader::{Reader, ReaderMessage};
pub use result::{CommandResult, Done, Refusal, ReloadResult};

use crate::Verdict;

/// Stage of a process that runs one test after another.
#[derive(Debug, Clone)]
pub enum Stage {
    /// No test has run yet.
    Idle,
    /// A test is running, or about to start.
    Running(Handle),
    /// The last test ended with this verdict, or could not run for this reason.
    Done(Result<Verdict, String>),
}
