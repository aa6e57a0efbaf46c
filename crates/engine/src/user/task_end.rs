//! Why a task of a user has ended, which decides what of it counts and what the user does next.

/// The end of a task; of several ends, that of a task and those of its jobs, the greatest holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaskEnd {
    /// Its code has returned or raised an error.
    #[default]
    Over,
    /// A stop of the user has ended a wait, or somebody has cancelled the job.
    Stopped,
    /// A limit of the VM, which ends all code of the user.
    Limit,
    /// The plan has ended the iteration.
    Iteration,
    /// The user was told to stop while it waited for its turn under a limit on the rate: the task does not count.
    GivenUp,
    /// The plan has ended the user.
    User,
}
