//! Version of the plan that users run: compiled, with the base URL and the users of each scenario. Reloading the plan
//! during a run replaces it as a whole.

use lgoose_base::phases::Phase;
use lgoose_base::tags::{SCENARIO, split_selector};
use lgoose_lua::Program;
use lgoose_plan::config::RunConfig;
use lgoose_plan::{Lanes, Plan, Task};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// One version of the plan.
#[derive(Debug)]
pub struct PlanVersion {
    /// Its number, from 0 for the first of a run.
    pub number: u64,
    /// The compiled plan.
    pub program: Arc<Program>,
    /// Digest of the plan that this version stands in for, if it is a stand-in.
    pub(crate) stands_for: Option<String>,
    /// The plan as declared.
    pub plan: Plan,
    /// Base URL of each scenario, in their order.
    pub hosts: Vec<String>,
    /// Assignment of users to scenarios, by lane of the timetable.
    pub lanes: Lanes,
    /// The configuration by which it is judged.
    pub config: Arc<RunConfig>,
}

impl PlanVersion {
    /// Makes version 0; `hosts` has the base URL of each scenario of the plan, in their order. Reads the users and
    /// the thresholds of `config`.
    pub fn new(
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

    /// Returns this version under another number.
    pub fn numbered(self, number: u64) -> PlanVersion {
        PlanVersion { number, ..self }
    }

    /// Returns the SHA-256 of the plan's text and of the files read so far, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        let stands_for = self.stands_for.clone();
        stands_for.unwrap_or_else(|| self.program.digest())
    }

    /// Returns the moments since a measurement began at which figures have to be cut: the ends of the parts that
    /// thresholds leave out.
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
        let phases: BTreeSet<Phase> = thresholds.filter_map(|one| one.part?.phase()).collect();
        phases.into_iter().collect()
    }

    /// Returns the names of scenarios and tasks, a pair for each task, in the order of the plan.
    pub(crate) fn order(&self) -> Vec<(String, String)> {
        let tasks = self.plan.scenarios.iter().flat_map(|scenario| {
            let row = |task: &Task| (scenario.name.clone(), task.title());
            scenario.tasks.iter().map(row).collect::<Vec<_>>()
        });
        tasks.collect()
    }
}
