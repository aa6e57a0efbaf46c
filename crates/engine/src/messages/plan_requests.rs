//! Requests of a plan to its run, made with the functions of `run`.

use serde::{Deserialize, Serialize};

/// A request of a task or of an event's function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanCommand {
    /// End the run, for that reason.
    Stop(String),
    /// Fail the run for that reason; it goes on.
    Fail(String),
}
