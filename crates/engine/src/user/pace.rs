//! When a user's task or iteration was due and when it began: pacing and throughput go by the first, so that
//! late timers do not add up, and measurements go by the second.

use lgoose_plan::{TaskPause, TaskTiming};
use std::time::Duration;
use tokio::time::Instant;

/// The beginning of a task or an iteration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskStart {
    due: Instant,
    pub(crate) at: Instant,
}

impl TaskStart {
    /// Makes a beginning that is now and on time.
    pub(crate) fn now() -> TaskStart {
        TaskStart::at(Instant::now())
    }

    /// Makes a beginning at `at`, on time.
    pub(crate) fn at(at: Instant) -> TaskStart {
        TaskStart { due: at, at }
    }

    /// Makes a beginning at `at`, after work that ended at `end` and the rest that followed.
    pub(crate) fn after(end: Instant, rest: TaskPause, at: Instant) -> TaskStart {
        let due = end.checked_add(rest.pause).unwrap_or(at);
        TaskStart {
            due: due.checked_sub(rest.late).unwrap_or(due),
            at,
        }
    }

    /// Shifts the beginning by a pause of the whole run, which is no part of the work.
    pub(crate) fn shifted(self, pause: Duration) -> TaskStart {
        TaskStart {
            due: self.due + pause,
            at: self.at + pause,
        }
    }

    /// Returns the work that ended at `end`.
    pub(crate) fn work(self, end: Instant) -> TaskTiming {
        TaskTiming {
            late: self.at.saturating_duration_since(self.due),
            took: end.saturating_duration_since(self.at),
        }
    }
}
