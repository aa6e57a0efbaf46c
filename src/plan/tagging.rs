//! Tags of requests in figures: those that the plan, a scenario and a task declare, put together.

use super::Plan;
use crate::tags::{SCENARIO, Tags};

impl Plan {
    /// Gives each task the tags of its requests: its own, those of its scenario and those of the whole plan, of which
    /// the nearest wins; and the name of the scenario, if there are several. Tags with a key also become words that
    /// choose the task.
    pub(crate) fn tag_requests(&mut self, of_plan: &Tags) {
        let several = self.scenarios.len() > 1;
        for scenario in &mut self.scenarios {
            let mut common = of_plan.with(&scenario.request_tags);
            if several {
                common.put(SCENARIO, &scenario.name);
            }
            for task in &mut scenario.tasks {
                task.request_tags = common.with(&task.request_tags);
                // `--tags` chooses tasks by these tags as it does by words.
                let tags = task
                    .request_tags
                    .pairs()
                    .filter(|(key, _)| *key != SCENARIO);
                task.tags
                    .extend(tags.map(|(key, value)| format!("{key}={value}")));
            }
        }
    }

    /// Gives the requests of each task the name of their scenario, even if there is only one: some threshold asks for
    /// it.
    pub(crate) fn name_scenarios(&mut self) {
        for scenario in &mut self.scenarios {
            for task in &mut scenario.tasks {
                task.request_tags.put(SCENARIO, &scenario.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scenario, Task};
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        let mut tags = Tags::default();
        for (key, value) in pairs {
            tags.put(key, value);
        }
        tags
    }

    #[test]
    fn the_nearest_tag_wins_and_several_scenarios_are_told_apart() {
        let mut plan = Plan::default();
        for name in ["a", "b"] {
            let mut scenario = Scenario::new(name);
            scenario.request_tags = tags(&[("region", "eu"), ("kind", name)]);
            let mut task = Task::new(None, 0, 1);
            task.request_tags = tags(&[("kind", "task")]);
            scenario.tasks = vec![task];
            plan.scenarios.push(scenario);
        }
        let mut alone = plan.clone();
        plan.tag_requests(&tags(&[("region", "us"), ("env", "x")]));
        let of_b = [
            ("env", "x"),
            ("kind", "task"),
            ("region", "eu"),
            ("scenario", "b"),
        ];
        assert_eq!(plan.scenarios[1].tasks[0].request_tags, tags(&of_b));
        assert_eq!(
            plan.scenarios[1].tasks[0].tags,
            ["env=x", "kind=task", "region=eu"]
        );
        alone.scenarios.truncate(1);
        alone.tag_requests(&Tags::default());
        assert_eq!(
            alone.scenarios[0].tasks[0].request_tags,
            tags(&[("kind", "task"), ("region", "eu")])
        );
        alone.name_scenarios();
        assert_eq!(
            alone.scenarios[0].tasks[0].request_tags,
            tags(&[("kind", "task"), ("region", "eu"), ("scenario", "a")])
        );
    }
}
