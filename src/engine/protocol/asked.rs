//! What a plan asks of its run, by the calls of `run`.

use serde::{Deserialize, Serialize};

/// A wish of the plan, from a task or an event's function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// End the run, for that reason.
    Stop(String),
    /// Let the run fail for that reason; it goes on.
    Fail(String),
}
