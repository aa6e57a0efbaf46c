//! Offers of another version of the plan to a run that is under way; each gets a reply.

use crate::messages::plan_version::PlanVersion;
use lgoose_metrics::control::Refusal;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A version of the plan, with the channel for the reply.
#[derive(Debug)]
pub struct VersionOffer {
    /// The version that is offered.
    pub plan_version: Arc<PlanVersion>,
    /// Channel for the reply.
    pub reply: oneshot::Sender<Result<(), Refusal>>,
}

/// Sender of versions of the plan to a run.
#[derive(Debug, Clone)]
pub struct PlanVersions(mpsc::UnboundedSender<VersionOffer>);

/// The run's receiver of the offers of [`PlanVersions`].
#[derive(Debug)]
pub struct VersionOffers(mpsc::UnboundedReceiver<VersionOffer>);

impl PlanVersions {
    /// Makes both ends for a run to come.
    pub fn open() -> (PlanVersions, VersionOffers) {
        let (sender, offers) = mpsc::unbounded_channel();
        (PlanVersions(sender), VersionOffers(offers))
    }

    /// Offers a version and waits for the reply. The run takes it once users are at work.
    ///
    /// # Errors
    /// A refusal when the run is stopping or over.
    pub async fn offer(&self, plan_version: Arc<PlanVersion>) -> Result<(), Refusal> {
        let (reply, taken) = oneshot::channel();
        let offer = VersionOffer {
            plan_version,
            reply,
        };
        // An offer that cannot be sent comes back with its reply channel, which nobody would use.
        if self.0.send(offer).is_err() {
            return Err(Refusal::Over);
        }
        taken.await.unwrap_or(Err(Refusal::Over))
    }
}

impl VersionOffers {
    /// Waits for the next offer; `None` if no more can come.
    pub async fn next(&mut self) -> Option<VersionOffer> {
        self.0.recv().await
    }
}
