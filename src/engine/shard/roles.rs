//! Roles of a shard's users: each scenario of the plan, with what the shard derives from it.

use crate::engine::protocol::context::RunContext;
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::user::Role;
use crate::metrics::Recorder;
use crate::plan::{Scenario, Schedule};
use std::rc::Rc;

/// Makes the role of each scenario of the plan, in their order.
pub(super) fn roles(
    context: &RunContext,
    plan_version: &PlanVersion,
    recorder: &mut Recorder,
) -> Vec<Rc<Role>> {
    recorder.mark(&plan_version.borders());
    recorder.watch_phases(plan_version.phases());
    let mut role = |scenario: &Scenario, host: &String| {
        let tasks = scenario
            .tasks
            .iter()
            .map(|task| (recorder.task(&scenario.name, &task.title()), task.title()));
        let tasks: Vec<_> = tasks.collect();
        let tags = scenario.tasks.iter();
        let tags = tags.map(|task| recorder.tags(&task.request_tags)).collect();
        Rc::new(Role {
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
        .collect::<Vec<_>>()
}
