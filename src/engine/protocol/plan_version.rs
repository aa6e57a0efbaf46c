//! What users run: the plan, compiled, and whom each of its scenarios goes to. Replaced as a whole when the plan is
//! loaded anew in the middle of a run.

use crate::config::RunConfig;
use crate::lua::Program;
use crate::plan::{Deal, Plan, Task};
use std::sync::Arc;
use std::time::Duration;

/// One version of the plan.
#[derive(Debug)]
pub struct PlanVersion {
    /// The compiled plan.
    pub(crate) program: Arc<Program>,
    /// What it declares.
    pub(crate) plan: Plan,
    /// The base URL of each scenario, in their order.
    pub(crate) hosts: Vec<String>,
    /// Which user runs which scenario.
    pub(crate) deal: Deal,
    /// How it is to be judged.
    pub(crate) config: Arc<RunConfig>,
}

impl PlanVersion {
    /// `hosts` has the base URL of each scenario of the plan, in their order. Of `config` users and thresholds count.
    pub fn new(
        program: Arc<Program>,
        plan: Plan,
        hosts: Vec<String>,
        config: Arc<RunConfig>,
    ) -> PlanVersion {
        PlanVersion {
            deal: Deal::new(&plan.scenarios, config.users),
            config,
            program,
            plan,
            hosts,
        }
    }

    /// Moments since a measurement began at which figures have to be cut: what a threshold leaves out ends there.
    pub(crate) fn borders(&self) -> Vec<Duration> {
        let thresholds = self.config.thresholds.iter();
        let mut borders: Vec<Duration> = thresholds.filter_map(|one| one.after).collect();
        borders.sort_unstable();
        borders.dedup();
        borders
    }

    /// Scenarios and tasks in the order of the plan, as the facts of a run have them.
    pub(crate) fn order(&self) -> Vec<(String, String)> {
        let tasks = self.plan.scenarios.iter().flat_map(|scenario| {
            let row = |task: &Task| (scenario.name.clone(), task.title());
            scenario.tasks.iter().map(row).collect::<Vec<_>>()
        });
        tasks.collect()
    }
}
