//! A worker follows the order of its run: state at the broker, which is looked at anew whenever contact was lost.

use crate::engine::{Directive, Order, Phase, PlanVersion};
use crate::gaggle::messages::Revised;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Versions of the plan that the worker has loaded, by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Versions(Arc<Mutex<BTreeMap<u64, Arc<PlanVersion>>>>);

impl Versions {
    pub(super) fn add(&self, version: Arc<PlanVersion>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(version.number, version);
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<PlanVersion>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&number).cloned()
    }
}

/// The order as this worker follows it.
#[derive(Debug)]
pub(super) struct Following {
    directives: watch::Sender<Directive>,
    versions: Versions,
    revision: u64,
    has_end: bool,
    /// Whether users stop whatever the order says.
    leaving: bool,
}

impl Following {
    /// Begins to follow an order; `None` if it is of a version of the plan that was not loaded.
    pub(super) fn begin(revision: u64, order: &Order, versions: Versions) -> Option<Following> {
        let directive = order.directive(versions.get(order.plan_version)?);
        Some(Following {
            directives: watch::channel(directive).0,
            versions,
            revision,
            has_end: order.has_end(),
            leaving: false,
        })
    }

    pub(super) fn directives(&self) -> watch::Sender<Directive> {
        self.directives.clone()
    }

    /// Follows the order if it is newer.
    pub(super) fn follow(&mut self, revised: &Revised) {
        let Revised { revision, order } = revised;
        if *revision <= self.revision {
            return;
        }
        let Some(version) = self.versions.get(order.plan_version) else {
            tracing::warn!(target: "lgoose::gaggle", "an order is of a version of the plan that was not loaded here");
            return;
        };
        self.revision = *revision;
        self.has_end = order.has_end();
        let mut directive = order.directive(version);
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

    /// Cuts off what still runs.
    pub(super) fn abort(&mut self) {
        self.leaving = true;
        self.directives
            .send_modify(|directive| directive.phase = Phase::Abort);
    }

    /// Whether the run has an end by its timetable, which the worker keeps by itself.
    pub(super) fn has_end(&self) -> bool {
        self.has_end
    }

    /// Whether users are to run.
    pub(super) fn goes_on(&self) -> bool {
        self.directives.borrow().phase == Phase::Go
    }
}
