//! Version of the plan that users run: compiled, with the base URL and the users of each scenario. Replaced as a
//! whole when the plan is loaded anew in the middle of a run.

use crate::config::RunConfig;
use crate::lua::Program;
use crate::phases::Phase;
use crate::plan::{Lanes, Plan, Task};
use crate::tags::{SCENARIO, split_selector};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// One version of the plan.
#[derive(Debug)]
pub(crate) struct PlanVersion {
    /// Its number, from 0 for the first of a run.
    pub(crate) number: u64,
    /// The compiled plan.
    pub(crate) program: Arc<Program>,
    /// Digest of the plan for which a stand-in is run.
    pub(crate) stands_for: Option<String>,
    /// The plan as declared.
    pub(crate) plan: Plan,
    /// Base URL of each scenario, in their order.
    pub(crate) hosts: Vec<String>,
    /// Assignment of users to scenarios, by lane of the timetable.
    pub(crate) lanes: Lanes,
    /// The configuration by which it is judged.
    pub(crate) config: Arc<RunConfig>,
}

impl PlanVersion {
    /// Makes a version; `hosts` has the base URL of each scenario of the plan, in their order. Of `config`, users
    /// and thresholds count.
    pub(crate) fn new(
        program: Arc<Program>,
        mut plan: Plan,
        hosts: Vec<String>,
        config: Arc<RunConfig>,
    ) -> PlanVersion {
        let names = config.thresholds.iter();
        let mut tags = names.filter_map(|one| split_selector(one.name.as_deref()?));
        if tags.any(|(tags, _)| !tags.only(SCENARIO).is_empty()) {
            plan.name_scenarios();
        }
        PlanVersion {
            number: 0,
            stands_for: None,
            lanes: plan.lanes(config.users),
            config,
            program,
            plan,
            hosts,
        }
    }

    /// Returns the version with that number.
    pub(crate) fn numbered(self, number: u64) -> PlanVersion {
        PlanVersion { number, ..self }
    }

    /// Returns the SHA-256 of the plan's text and of the files read so far, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        let stands_for = self.stands_for.clone();
        stands_for.unwrap_or_else(|| self.program.digest())
    }

    /// Returns the moments since a measurement began at which figures have to be cut: the part that a threshold
    /// leaves out ends there.
    pub(crate) fn borders(&self) -> Vec<Duration> {
        let thresholds = self.config.thresholds.iter();
        let mut borders: Vec<Duration> = thresholds.filter_map(|one| one.after).collect();
        borders.sort_unstable();
        borders.dedup();
        borders
    }

    /// Returns the phases that thresholds look at.
    pub(crate) fn phases(&self) -> Vec<Phase> {
        let thresholds = self.config.thresholds.iter();
        let phases: BTreeSet<Phase> = thresholds.filter_map(|one| one.phase).collect();
        phases.into_iter().collect()
    }

    /// Returns scenarios and tasks in the order of the plan, as in the facts of a run.
    pub(crate) fn order(&self) -> Vec<(String, String)> {
        let tasks = self.plan.scenarios.iter().flat_map(|scenario| {
            let row = |task: &Task| (scenario.name.clone(), task.title());
            scenario.tasks.iter().map(row).collect::<Vec<_>>()
        });
        tasks.collect()
    }
}
