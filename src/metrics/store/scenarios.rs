//! Counts users and iterations of a run's scenarios.

use super::super::delta::ScenarioDelta;
use super::super::report::ScenarioRow;
use super::super::users::Users;
use super::{Scenario, Store};

impl Store {
    pub(super) fn scenario(&mut self, shard: usize, row: &ScenarioDelta) {
        let at = self
            .scenarios
            .iter()
            .position(|known| known.name == row.name);
        let at = at.unwrap_or_else(|| {
            self.scenarios.push(Scenario {
                name: row.name.clone(),
                users: Users::default(),
                iterations: 0,
            });
            self.scenarios.len() - 1
        });
        let source = (shard, at);
        self.users.add(source, row.change, row.rise);
        let scenario = &mut self.scenarios[at];
        scenario.users.add(source, row.change, row.rise);
        scenario.iterations += row.iterations;
    }

    pub(super) fn scenario_rows(&self, users: fn(&Users) -> u64) -> Vec<ScenarioRow> {
        let row = |scenario: &Scenario| ScenarioRow {
            name: scenario.name.to_string(),
            users: users(&scenario.users),
            iterations: scenario.iterations,
        };
        let mut rows: Vec<ScenarioRow> = self.scenarios.iter().map(row).collect();
        rows.sort_by_key(|row| self.identity.place_of_scenario(row));
        rows
    }
}
