//! What a plan asks of its run, with the functions of `run`.

use serde::{Deserialize, Serialize};

/// Something that a task or an event's function asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanCommand {
    /// End the run, for that reason.
    Stop(String),
    /// Fail the run for that reason; it goes on.
    Fail(String),
}
