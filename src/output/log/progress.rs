//! What the writer of the logs has done so far, and what its files have to know about the run.
//!
//! Shared by the log writer's thread, which counts, and the handle of the run, which reads and ends.

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
    /// Grows with every chunk taken and every write.
    pub(super) steps: AtomicU64,
    /// Whether the run is over, so that a file which takes nothing holds up its end.
    pub(super) over: AtomicBool,
    /// Whether nothing more is to be written.
    pub(super) abandoned: AtomicBool,
}
