//! How much of the load that a scenario was to have has come about: iterations of a run at a rate, and users. A recorder
//! counts, stores add up.

use super::plausible;
use crate::report::ScenarioArrivals;
use serde::{Deserialize, Serialize};

/// Counts of one scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadCounts {
    /// Iterations of a run at a rate that were started.
    #[serde(deserialize_with = "plausible::count")]
    started: u64,
    /// Those among them that ended before their first request.
    #[serde(deserialize_with = "plausible::count")]
    given_up: u64,
    /// Iterations that found no free user.
    #[serde(deserialize_with = "plausible::count")]
    dropped: u64,
    /// Iterations that have ended in which a request or task failed.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) failed: u64,
    /// Users that were started, as often as they were.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) users: u64,
    /// Users that an error ended in `on_start`.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) lost: u64,
}

impl LoadCounts {
    /// Counts an iteration that was started.
    pub(crate) fn start(&mut self) {
        self.started += 1;
    }

    /// Counts an iteration that found no free user.
    pub(crate) fn drop_one(&mut self) {
        self.dropped += 1;
    }

    /// Takes the start of an iteration back that has led to no request.
    pub(crate) fn give_up(&mut self) {
        self.given_up += 1;
    }

    /// Adds counts of the same scenario, or of another one.
    pub(crate) fn add(&mut self, other: &LoadCounts) {
        self.started += other.started;
        self.given_up += other.given_up;
        self.dropped += other.dropped;
        self.failed += other.failed;
        self.users += other.users;
        self.lost += other.lost;
    }

    /// Returns how many iterations were started, and how many were dropped.
    pub(crate) fn arrivals(&self) -> ScenarioArrivals {
        ScenarioArrivals {
            started: self.started.saturating_sub(self.given_up),
            dropped: self.dropped + self.given_up,
        }
    }

    /// Forgets iterations, but not users: one that is lost stays so.
    pub(crate) fn forget_iterations(&mut self) {
        *self = LoadCounts {
            users: self.users,
            lost: self.lost,
            ..LoadCounts::default()
        };
    }
}
