//! Offers of another version of the plan to a run that is under way; each is answered.

use crate::control::Refusal;
use crate::engine::messages::plan_version::PlanVersion;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A version of the plan, with the channel for the answer.
#[derive(Debug)]
pub(crate) struct VersionOffer {
    pub(crate) plan_version: Arc<PlanVersion>,
    pub(crate) reply: oneshot::Sender<Result<(), Refusal>>,
}

/// Sender of versions of the plan to a run.
#[derive(Debug, Clone)]
pub(crate) struct PlanVersions(mpsc::UnboundedSender<VersionOffer>);

/// The run's receiver of what [`PlanVersions`] sends.
#[derive(Debug)]
pub(crate) struct VersionOffers(mpsc::UnboundedReceiver<VersionOffer>);

impl PlanVersions {
    /// Makes both ends for a run to come.
    pub(crate) fn open() -> (PlanVersions, VersionOffers) {
        let (sender, offers) = mpsc::unbounded_channel();
        (PlanVersions(sender), VersionOffers(offers))
    }

    /// Offers a version and waits for the answer. The run takes it once users are at work.
    ///
    /// # Errors
    /// A refusal when the run is stopping or over.
    pub(crate) async fn offer(&self, plan_version: Arc<PlanVersion>) -> Result<(), Refusal> {
        let (reply, taken) = oneshot::channel();
        let offer = VersionOffer {
            plan_version,
            reply,
        };
        // What cannot be sent comes back with its reply, which nobody would ever give.
        if self.0.send(offer).is_err() {
            return Err(Refusal::Over);
        }
        taken.await.unwrap_or(Err(Refusal::Over))
    }
}

impl VersionOffers {
    pub(crate) async fn next(&mut self) -> Option<VersionOffer> {
        self.0.recv().await
    }
}
