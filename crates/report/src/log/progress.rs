//! The progress of the thread that writes the logs, and the facts about the run that its files need.
//!
//! Shared by the thread, which counts, and the run's [`LogWriter`](super::LogWriter), which reads and ends it.

use lgoose_metrics::LogKind;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// The longest time that a file may block after the end of a run before it is given up.
pub(super) const STALL_LIMIT: Duration = Duration::from_secs(5);

/// The progress of the thread that writes the logs.
#[derive(Debug, Default)]
pub(super) struct LogProgress {
    /// Lines of each log that were written to its file.
    pub(super) lines: [AtomicU64; LogKind::ALL.len()],
    /// A counter of chunks taken and writes done, which separates a slow file from one that hangs.
    pub(super) steps: AtomicU64,
    /// Whether the run is over, so that a blocked file now delays its end.
    pub(super) over: AtomicBool,
    /// Whether writing has been abandoned.
    pub(super) abandoned: AtomicBool,
}
