//! Terms of a run on workers: its requirements, and its title.

use lgoose_base::error::Error;
use lgoose_engine::PlanVersion;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Time limit for a worker or gather to reply.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Policy of a run that loses a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkerLoss {
    /// The others go on.
    #[default]
    Continue,
    /// A free worker takes over its part of the load.
    Replace,
    /// The others share its part of the load.
    Spread,
    /// The run ends.
    Stop,
}

impl WorkerLoss {
    /// Returns whether other workers take over the part of a lost one.
    pub(super) fn fills_places(self) -> bool {
        matches!(self, WorkerLoss::Replace | WorkerLoss::Spread)
    }
}

/// Requirements of a run on workers.
#[derive(Debug, Clone)]
pub struct Recruitment {
    /// Number of workers that take part.
    pub workers: usize,
    /// Time limit for them to come.
    pub timeout: Duration,
    /// Policy for the loss of a worker.
    pub on_loss: WorkerLoss,
    /// Whether any logs are kept.
    pub logs: bool,
}

/// Name and target of a run in views and reports.
#[derive(Debug, Clone)]
pub struct RunTitle {
    /// Name of the plan.
    pub name: String,
    /// The target as reports show it.
    pub target: String,
}

/// Function that packs a version of the plan for the [`Load`](super::super::Load) of workers.
pub(crate) type PlanPacker = Arc<dyn Fn(&PlanVersion) -> Result<Vec<u8>, Error> + Send + Sync>;

/// Function that reports progress of recruiting in a sentence.
pub(crate) type ProgressReporter = Box<dyn Fn(&str) + Send + Sync>;

/// Receiver of a value of which only the latest state matters.
pub(super) type LatestReceiver<T> = watch::Receiver<T>;
