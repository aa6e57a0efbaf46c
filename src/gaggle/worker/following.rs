//! Following of a run's order by a worker. The order is state at the broker, which is read again after each lost
//! contact.

use crate::engine::{Directive, Order, Phase, PlanVersion};
use crate::gaggle::messages::Revised;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// Versions of the plan that the worker has loaded, by number.
pub(super) type Versions = BTreeMap<u64, Arc<PlanVersion>>;

/// The order as this worker follows it.
#[derive(Debug)]
pub(super) struct Following {
    directives: watch::Sender<Directive>,
    revision: u64,
    /// Whether users stop, whatever the order says.
    leaving: bool,
}

impl Following {
    /// Begins to follow an order; `None` if its version of the plan is not loaded.
    pub(super) fn begin(revision: u64, order: &Order, versions: &Versions) -> Option<Following> {
        let version = versions.get(&order.plan_version)?;
        let directive = order.directive(version.clone());
        Some(Following {
            directives: watch::channel(directive).0,
            revision,
            leaving: false,
        })
    }

    pub(super) fn directives(&self) -> watch::Sender<Directive> {
        self.directives.clone()
    }

    /// Follows the order if it is newer.
    pub(super) fn follow(&mut self, revised: &Revised, versions: &Versions) {
        let Revised { revision, order } = revised;
        if *revision <= self.revision {
            return;
        }
        let Some(version) = versions.get(&order.plan_version) else {
            tracing::warn!(target: "lgoose::gaggle", "an order is of a version of the plan that was not loaded here");
            return;
        };
        self.revision = *revision;
        let mut directive = order.directive(version.clone());
        if self.leaving && directive.phase == Phase::Go {
            directive.phase = Phase::Stop;
        }
        self.directives.send_replace(directive);
    }

    /// Stops users, whatever the order says.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
        self.directives.send_if_modified(|directive| {
            let going = directive.phase == Phase::Go;
            if going {
                directive.phase = Phase::Stop;
            }
            going
        });
    }

    /// Aborts what still runs.
    pub(super) fn abort(&mut self) {
        self.leaving = true;
        self.directives
            .send_modify(|directive| directive.phase = Phase::Abort);
    }

    /// Whether the run has an end by its timetable; the worker stops then on its own.
    pub(super) fn has_end(&self) -> bool {
        self.directives.borrow().end.is_some()
    }

    /// Whether users should run.
    pub(super) fn goes_on(&self) -> bool {
        self.directives.borrow().phase == Phase::Go
    }
}
