//! Following of a run's order by a worker. The order is state at the broker, which is read again after each lost
//! contact.

use crate::messages::RevisedOrder;
use lgoose_engine::{Directive, DirectivePhase, PlanVersion, RunOrder};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// Versions of the plan that the worker has loaded, by number.
pub(super) type LoadedVersions = BTreeMap<u64, Arc<PlanVersion>>;

/// The order as this worker follows it.
#[derive(Debug)]
pub(super) struct OrderFollower {
    directives: watch::Sender<Directive>,
    revision: u64,
    /// Whether users stop despite the order.
    leaving: bool,
}

impl OrderFollower {
    /// Begins to follow an order; `None` if its version of the plan is not loaded.
    pub(super) fn start(
        revision: u64,
        order: &RunOrder,
        versions: &LoadedVersions,
    ) -> Option<OrderFollower> {
        let version = versions.get(&order.plan_version)?;
        let directive = order.directive(version.clone());
        Some(OrderFollower {
            directives: watch::channel(directive).0,
            revision,
            leaving: false,
        })
    }

    pub(super) fn directives(&self) -> watch::Sender<Directive> {
        self.directives.clone()
    }

    /// Follows the order if it is newer.
    pub(super) fn follow(&mut self, revised: &RevisedOrder, versions: &LoadedVersions) {
        let RevisedOrder { revision, order } = revised;
        if *revision <= self.revision {
            return;
        }
        let Some(version) = versions.get(&order.plan_version) else {
            tracing::warn!(target: "lgoose::gaggle", "an order is of a version of the plan that was not loaded here");
            return;
        };
        self.revision = *revision;
        let mut directive = order.directive(version.clone());
        if self.leaving && directive.phase == DirectivePhase::Go {
            directive.phase = DirectivePhase::Stop;
        }
        self.directives.send_replace(directive);
    }

    /// Stops users despite the order.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
        self.directives.send_if_modified(|directive| {
            let going = directive.phase == DirectivePhase::Go;
            if going {
                directive.phase = DirectivePhase::Stop;
            }
            going
        });
    }

    /// Aborts the users.
    pub(super) fn abort(&mut self) {
        self.leaving = true;
        self.directives
            .send_modify(|directive| directive.phase = DirectivePhase::Abort);
    }

    /// Whether the run has an end by its timetable; the worker stops then on its own.
    pub(super) fn has_end(&self) -> bool {
        self.directives.borrow().end.is_some()
    }

    /// Whether users should run.
    pub(super) fn goes_on(&self) -> bool {
        self.directives.borrow().phase == DirectivePhase::Go
    }
}
