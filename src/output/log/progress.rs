//! The progress of the thread that writes the logs, and what its files have to know about the run.
//!
//! Shared by the thread, which counts, and the run's [`LogWriter`](super::LogWriter), which reads and ends it.

use crate::metrics::LogKind;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// The longest time for which a file may take nothing after the end of a run before it is given up.
pub(super) const STALL_LIMIT: Duration = Duration::from_secs(5);

/// The progress of the thread that writes the logs.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Lines of each log that its file has taken.
    pub(super) lines: [AtomicU64; LogKind::ALL.len()],
    /// A counter of chunks taken and writes done, to tell a slow file from one that hangs.
    pub(super) steps: AtomicU64,
    /// Whether the run is over, so that a file which takes nothing delays its end.
    pub(super) over: AtomicBool,
    /// Whether nothing more is to be written.
    pub(super) abandoned: AtomicBool,
}
