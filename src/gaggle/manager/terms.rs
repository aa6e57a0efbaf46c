//! Terms of a run on workers: what is wanted of them, and what the manager is given for it.

use crate::engine::PlanVersion;
use crate::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What becomes of a run that loses a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum WorkerLoss {
    /// The others go on.
    #[default]
    Continue,
    /// A free worker takes its shards.
    Replace,
    /// The run ends.
    Stop,
}

/// What is wanted of workers.
#[derive(Debug, Clone)]
pub(crate) struct Recruitment {
    /// How many workers take part.
    pub(crate) workers: usize,
    /// How long they are waited for.
    pub(crate) timeout: Duration,
    pub(crate) on_loss: WorkerLoss,
    /// Whether any logs are kept.
    pub(crate) logs: bool,
}

/// How a run is named in views and reports.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// Name of the plan.
    pub(crate) name: String,
    /// The target as reports show it.
    pub(crate) target: String,
}

/// Function that packs a version of the plan for workers: what their [`Load`](super::super::Load) takes.
pub(crate) type Pack = Arc<dyn Fn(&PlanVersion) -> Result<Vec<u8>, Error> + Send + Sync>;

/// Function that says how recruiting goes on.
pub(crate) type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Value that a task waits for to change, for whoever needs the latest alone.
pub(super) type Latest<T> = watch::Receiver<T>;
