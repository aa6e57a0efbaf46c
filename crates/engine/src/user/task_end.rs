//! Reasons why tasks end: they decide whether the task counts, and the next step of the user.

/// Why a task or a job has ended. The greatest reason of a task and its jobs holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaskEnd {
    /// Its code has returned or raised an error.
    #[default]
    Over,
    /// A stop of the user ended a wait, or the job was cancelled.
    Stopped,
    /// A limit of the VM, which ends all code of the user.
    Limit,
    /// The plan has ended the iteration.
    Iteration,
    /// A stop came while a limit on the rate held the user back: the task does not count.
    GivenUp,
    /// The plan has ended the user.
    User,
    /// A row that the task needs is not there, which ends the user: neither the task nor its iteration counts.
    OutOfRows,
}

impl TaskEnd {
    /// Returns whether the user is over, too.
    pub(super) fn ends_user(self) -> bool {
        matches!(self, TaskEnd::User | TaskEnd::OutOfRows)
    }

    /// Returns whether the task was broken off such that it does not count.
    pub(super) fn is_uncounted(self) -> bool {
        matches!(self, TaskEnd::GivenUp | TaskEnd::OutOfRows)
    }
}
