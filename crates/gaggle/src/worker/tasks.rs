//! Tasks of a worker that run while it serves its manager's requests, and the results of those requests.

use super::following::LoadedVersions;
use crate::clock::ClockOffset;
use lgoose_base::error::Error;
use lgoose_metrics::LogMessage;
use std::sync::mpsc;

/// Preparations of a run before its users begin.
#[derive(Default)]
pub(super) struct PreparedWorker {
    pub(super) run: Option<lgoose_engine::Run>,
    pub(super) versions: LoadedVersions,
    pub(super) offset: Option<ClockOffset>,
}

/// A task that has finished.
pub(super) enum FinishedTask {
    /// A version of the plan was loaded, or refused.
    Loading(Box<LoadedVersion>),
    /// A request that took time got its reply.
    Replied,
    /// The order was looked up.
    Order(Option<Vec<u8>>),
    /// Users have gone, or all figures were handed over.
    Work,
    /// The broker says that the run is over.
    RunOver,
}

/// Result of loading a version of the plan.
pub(super) struct LoadedVersion {
    pub(super) number: u64,
    pub(super) run: Result<lgoose_engine::Run, Error>,
    pub(super) offset: Option<ClockOffset>,
    /// Delivers log entries.
    pub(super) entered: mpsc::Receiver<LogMessage>,
    /// Subject of the reply.
    pub(super) inbox: String,
}
