//! Roles of users: a scenario of the plan with values derived from it once per shard. Made by shards and by events.

use crate::messages::context::{OwnLimits, RunContext};
use crate::messages::plan_version::PlanVersion;
use lgoose_lua::Program;
use lgoose_metrics::{Recorder, TagsId, TaskId};
use lgoose_plan::{PlanEvent, Scenario, Schedule};
use std::rc::Rc;
use std::sync::Arc;

/// A scenario with values derived from it once per shard.
#[derive(Debug)]
pub(crate) struct ScenarioContext {
    pub(crate) scenario: Scenario,
    pub(crate) schedule: Schedule,
    /// Number and name under which each task is counted.
    pub(crate) tasks: Vec<(TaskId, String)>,
    /// Number under which durations of iterations are counted.
    pub(crate) iterations: TaskId,
    /// Tags of the requests of each task, as they are declared.
    pub(crate) tags: Vec<TagsId>,
    pub(crate) host: String,
    /// Compiled code of its tasks.
    pub(crate) program: Arc<Program>,
    /// Limits that its users share.
    pub(crate) limits: OwnLimits,
}

impl ScenarioContext {
    /// Makes the role of each scenario of the plan, in their order.
    pub(crate) fn of_scenarios(
        context: &RunContext,
        plan_version: &PlanVersion,
        recorder: &mut Recorder,
    ) -> Vec<Rc<ScenarioContext>> {
        recorder.mark(&plan_version.borders());
        recorder.watch_phases(plan_version.phases());
        recorder.watch_tagged_measures(&plan_version.config.thresholds);
        let mut role = |scenario: &Scenario, host: &String| {
            let tasks = scenario
                .tasks
                .iter()
                .map(|task| (recorder.task(&scenario.name, &task.title()), task.title()));
            let tasks: Vec<_> = tasks.collect();
            let tags = scenario.tasks.iter();
            let tags = tags.map(|task| recorder.tags(&task.request_tags)).collect();
            Rc::new(ScenarioContext {
                tags,
                iterations: recorder.iterations(&scenario.name),
                tasks,
                schedule: Schedule::new(scenario),
                scenario: scenario.clone(),
                host: host.clone(),
                program: plan_version.program.clone(),
                limits: (context.own_limits.get(&scenario.name))
                    .cloned()
                    .unwrap_or_default(),
            })
        };
        plan_version
            .plan
            .scenarios
            .iter()
            .zip(&plan_version.hosts)
            .map(|(scenario, host)| role(scenario, host))
            .collect()
    }

    /// Makes the role of an event's user, which has no tasks of its own.
    pub(crate) fn of_event(
        event: PlanEvent,
        plan_version: &PlanVersion,
        recorder: &mut Recorder,
    ) -> Rc<ScenarioContext> {
        let scenario = Scenario::new(event.name());
        Rc::new(ScenarioContext {
            schedule: Schedule::new(&scenario),
            scenario,
            tasks: Vec::new(),
            tags: Vec::new(),
            iterations: recorder.iterations(event.name()),
            host: plan_version.hosts[0].clone(),
            program: plan_version.program.clone(),
            limits: OwnLimits::default(),
        })
    }
}
