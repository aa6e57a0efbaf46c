//! What a worker does beside the requests of its manager, and what it has prepared by them.

use super::following::Versions;
use crate::engine;
use crate::error::Error;
use crate::gaggle::clock::Offset;
use crate::metrics::LogMessage;
use std::sync::mpsc;

/// What was prepared before users begin.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) run: Option<engine::Run>,
    pub(super) versions: Versions,
    pub(super) offset: Option<Offset>,
}

/// A task beside requests that has finished.
pub(super) enum Finished {
    /// A version of the plan was loaded, or refused.
    Loading(Box<Loaded>),
    Event,
    /// The order was looked up.
    Order(Option<Vec<u8>>),
    /// Users have gone, or all figures were handed over.
    Work,
}

/// What became of a version of the plan.
pub(super) struct Loaded {
    pub(super) number: u64,
    pub(super) run: Result<engine::Run, Error>,
    pub(super) offset: Option<Offset>,
    /// Gives what is entered into logs.
    pub(super) entered: mpsc::Receiver<LogMessage>,
    /// Where the reply goes.
    pub(super) inbox: String,
}
