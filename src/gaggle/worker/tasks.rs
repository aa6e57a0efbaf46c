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
    Loading {
        number: u64,
        loaded: Box<Result<engine::Run, Error>>,
        offset: Option<Offset>,
        /// Gives what is entered into logs.
        entered: mpsc::Receiver<LogMessage>,
        inbox: String,
    },
    Event,
    /// The order was looked up.
    Order(Option<Vec<u8>>),
    /// Users have gone, or all figures were handed over.
    Work,
}
