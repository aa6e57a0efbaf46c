//! Scenarios in the store: the users and iterations of each, and the users of all together.

use super::users::UserCounts;
use crate::delta::{LoadCounts, ScenarioDelta};
use crate::report::ScenarioArrivals;
use std::sync::Arc;

/// All scenarios, in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct Scenarios {
    pub(super) rows: Vec<ScenarioCounts>,
    /// Users of all of them.
    pub(super) users: UserCounts,
}

/// Counts of one scenario.
#[derive(Debug)]
pub(super) struct ScenarioCounts {
    pub(super) name: Arc<str>,
    pub(super) users: UserCounts,
    pub(super) iterations: u64,
    pub(super) load: LoadCounts,
}

impl Scenarios {
    /// Adds the users and iterations of one scenario on a shard.
    pub(super) fn merge(&mut self, row: &ScenarioDelta) {
        let at = self.rows.iter().position(|other| other.name == row.name);
        let at = at.unwrap_or_else(|| {
            self.rows.push(ScenarioCounts {
                name: row.name.clone(),
                users: UserCounts::default(),
                iterations: 0,
                load: LoadCounts::default(),
            });
            self.rows.len() - 1
        });
        let (source, counts) = ((row.shard, at), &row.counts);
        self.users.add(source, counts.change, counts.rise);
        let scenario = &mut self.rows[at];
        scenario.users.add(source, counts.change, counts.rise);
        scenario.iterations += counts.iterations;
        scenario.load.add(&counts.load);
    }

    /// Returns how many iterations of all scenarios were due.
    pub(super) fn arrivals(&self) -> ScenarioArrivals {
        let mut all = ScenarioArrivals::default();
        let rows = self.rows.iter();
        rows.for_each(|row| all.add(row.load.arrivals()));
        all
    }

    /// Returns the number of a scenario, 0 for one that was not seen.
    pub(super) fn number_of(&self, name: &str) -> usize {
        let place = self.rows.iter().position(|other| *other.name == *name);
        place.unwrap_or_default()
    }

    /// Leaves the users of a shard out until it is back.
    pub(super) fn lose(&mut self, shard: usize) {
        self.users.lose(shard);
        for scenario in &mut self.rows {
            scenario.users.lose(shard);
        }
    }

    /// Counts the users of a shard again.
    pub(super) fn find(&mut self, shard: usize) {
        self.users.find(shard);
        for scenario in &mut self.rows {
            scenario.users.find(shard);
        }
    }

    /// Ends a tick.
    pub(super) fn tick(&mut self) {
        self.users.tick();
        for scenario in &mut self.rows {
            scenario.users.tick();
        }
    }

    /// Forgets peaks and iterations; users at work stay.
    pub(super) fn reset(&mut self) {
        self.users.reset();
        for scenario in &mut self.rows {
            scenario.users.reset();
            scenario.iterations = 0;
            scenario.load.forget_iterations();
        }
    }
}
