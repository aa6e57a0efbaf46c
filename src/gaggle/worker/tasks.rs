//! Tasks of a worker that run while it serves its manager's requests, and what those requests have prepared.

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

/// A task that has finished.
pub(super) enum Finished {
    /// A version of the plan was loaded, or refused.
    Loading(Box<Loaded>),
    Event,
    /// The order was looked up.
    Order(Option<Vec<u8>>),
    /// Users have gone, or all figures were handed over.
    Work,
}

/// Result of loading a version of the plan.
pub(super) struct Loaded {
    pub(super) number: u64,
    pub(super) run: Result<engine::Run, Error>,
    pub(super) offset: Option<Offset>,
    /// Delivers log entries.
    pub(super) entered: mpsc::Receiver<LogMessage>,
    /// Subject of the reply.
    pub(super) inbox: String,
}
