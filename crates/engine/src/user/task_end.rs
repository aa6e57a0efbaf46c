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
}
