//! What flows back to a run that is under way: commands, each with its answer, from any number of views, signals and
//! programs. A [`Handle`] is what all of them hold; a `Control` is the run's end of it.
//!
//! Whoever asks and whoever answers are found elsewhere: this module knows neither the engine nor a screen.

mod answer;
mod calls;
mod command;
mod handle;
mod reader;

pub use answer::{Answer, Done, News, Refusal};
pub(crate) use calls::{Call, Calls, Reloads, Reply};
pub use command::{Command, Interrupt};
pub(crate) use handle::Control;
pub use handle::{Asked, Handle};
pub use reader::{Heard, Reader};

use crate::metrics::Verdict;

/// Stage of a process that runs one test after another.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Stage {
    /// There has been no test.
    Idle,
    /// A test is under way, or about to be.
    Running(Handle),
    /// The last test has ended with that verdict, or could not be run for that reason.
    Done(Result<Verdict, String>),
}
