//! A plan as plain data, and the policies that follow from it: the next task ([`Schedule`]), the scenario of each
//! user (`Deal`), the number of users ([`Shape`]) or iterations ([`Arrivals`]) over time, the pauses ([`Wait`]).
//!
//! The Lua layer builds these values and the engine follows them. Nothing here knows Lua, clocks or sockets: policies
//! are pure functions that get the elapsed time and a random number generator as arguments.
//!
//! Used by `lua`, `engine`, `gaggle`, the outputs and the program.
//!
//! ```
//! use lgoose_plan::Shape;
//! use std::time::Duration;
//!
//! let shape = Shape::ramp(12, 4.0, None);
//! assert_eq!(shape.users_at(Duration::from_millis(600)), 3);
//! assert_eq!(shape.users_at(Duration::from_secs(60)), 12);
//! ```

mod announcement;
mod arrivals;
pub mod config;
mod deal;
mod lanes;
mod outline;
mod paths;
mod scenario;
mod schedule;
mod select;
mod shape;
pub mod shared_state;
mod wait;

use crate::config::{Load, OwnLoad, RunConfig};
pub use announcement::announcement;
pub use arrivals::{Arrivals, RateLine};
pub(crate) use deal::Deal;
pub use lanes::Lanes;
use lgoose_base::error::Diagnostic;
use lgoose_base::tags::{SCENARIO, Tags, split_selector};
use lgoose_base::threshold::Threshold;
use lgoose_base::units::counted;
pub use outline::{list, outline};
pub use paths::{are_alike, path_of, without_ids};
pub use scenario::{Hook, PlanEvent, Scenario, Task, TaskOrder};
pub(crate) use schedule::TaskGroup;
pub use schedule::{Schedule, ScheduleCursor};
pub use select::{leave_out_unweighted, select};
pub use shape::Shape;
use std::collections::BTreeMap;
pub use wait::{TaskPause, TaskTiming, Wait, scaled, standard_exponential, standard_normal};

/// A whole test plan: the kinds of users there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The events of a test for which it has functions.
    pub events: Vec<PlanEvent>,
    /// The hooks for which it has functions.
    pub hooks: Vec<Hook>,
    /// The scenarios in the order of their declaration.
    pub scenarios: Vec<Scenario>,
    /// The counters that its top level makes: they are 0 until something is added.
    pub counters: Vec<String>,
}

impl Plan {
    /// Gives each task the tags of its requests: its own, those of its scenario and those of the whole plan, of which
    /// the nearest wins; and the name of the scenario, if there are several. Tags with a key also become words that
    /// choose the task.
    pub fn tag_requests(&mut self, of_plan: &Tags) {
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

    /// Gives the requests of each task the name of their scenario, even if there is only one: some threshold requires
    /// it.
    pub fn name_scenarios(&mut self) {
        for scenario in &mut self.scenarios {
            for task in &mut scenario.tasks {
                task.request_tags.put(SCENARIO, &scenario.name);
            }
        }
    }

    /// Returns the own loads of scenarios, by name.
    pub fn own_loads(&self) -> BTreeMap<String, OwnLoad> {
        let own = self.scenarios.iter().filter_map(|scenario| {
            let load = scenario.load.clone()?;
            Some((scenario.name.clone(), load))
        });
        own.collect()
    }

    /// Returns its lanes; scenarios without a load of their own share `users` users.
    pub fn lanes(&self, users: u64) -> Lanes {
        Lanes::new(&self.scenarios, users)
    }

    /// Returns whether a run of the plan ends without a command: every load has a run time, or users who play all of
    /// their iterations. At a rate, there are always more unless their number is limited.
    pub fn ends_by_itself(&self, config: &RunConfig) -> bool {
        self.scenarios.iter().all(|scenario| {
            let (load, run_time, ceiling) = match &scenario.load {
                Some(own) => {
                    let run_time = own.run_time(config.run_time);
                    (&own.load, run_time, scenario.shared_iterations)
                }
                None => (&config.load, config.run_time, config.shared_iterations),
            };
            let limits = [
                scenario.iterations,
                scenario.shared_iterations,
                config.iterations,
                config.shared_iterations,
            ];
            run_time.is_some()
                || match load {
                    Load::Rate(..) => ceiling.is_some(),
                    _ => limits.iter().any(Option::is_some),
                }
        })
    }

    /// Returns the sum of the users that the scenarios state which share the load of the run; `None` if one states none.
    pub fn fixed_users(&self) -> Option<u64> {
        let shared = self.scenarios.iter().filter(|one| one.load.is_none());
        let users: Option<u64> = shared.map(|one| one.users.map(u64::from)).sum();
        users.filter(|users| *users > 0)
    }

    /// Returns a mistake if the run has a run time, and each scenario has a load with a length of its own.
    pub fn run_time_without_effect(&self, config: &RunConfig) -> Option<Diagnostic> {
        let has_length = |scenario: &Scenario| {
            let own = scenario.load.as_ref();
            own.is_some_and(|own| own.run_time(None).is_some())
        };
        let message = "'run_time' has no effect: each scenario has a load with a length of its own";
        let help = "leave it out, or change 'run_time' or 'stages' of the scenarios";
        (config.run_time.is_some() && self.scenarios.iter().all(has_length))
            .then(|| Diagnostic::new(message).help(help))
    }

    /// Returns a mistake that names a scenario whose number of iterations is limited although it shares a rate with others.
    pub fn limited_at_a_shared_rate(&self, config: &RunConfig) -> Option<Diagnostic> {
        let is_limited =
            |scenario: &&Scenario| scenario.load.is_none() && scenario.shared_iterations.is_some();
        let limited = self.scenarios.iter().find(is_limited)?;
        let message = format!(
            "scenario '{}' has 'shared_iterations', but it shares the rate of the run, whose iterations start on schedule",
            limited.name
        );
        let help = "give the scenario a 'rate' of its own, or limit the iterations of all with '--shared-iterations'";
        matches!(config.load, Load::Rate(..)).then(|| Diagnostic::new(message).help(help))
    }

    /// Returns a warning that names the scenarios that nobody plays in a run of these lanes, if there are any. At a
    /// rate there are none: every scenario gets its turn in time.
    pub fn idle_scenarios(&self, lanes: &Lanes, config: &RunConfig) -> Option<String> {
        const NAMED: usize = 3;
        if matches!(config.load, Load::Rate(..)) {
            return None;
        }
        let idle = lanes.without_users();
        if idle.is_empty() {
            return None;
        }
        let names = idle.iter().take(NAMED);
        let names = names.map(|place| format!("'{}'", self.scenarios[*place].name));
        let mut names = names.collect::<Vec<_>>().join(", ");
        if idle.len() > NAMED {
            names += &format!(" and {} more", idle.len() - NAMED);
        }
        let users = counted(config.users, "user");
        Some(format!(
            "no user plays {names}: {users} are too few for their share; raise '--users', or give them more 'weight' or \
             a number of 'users'"
        ))
    }

    /// Returns a warning for each threshold whose name is that of a task, too, in which requests without a name count
    /// under it: the requests that the threshold is about, and the way to choose others.
    pub fn ambiguous_thresholds(&self, thresholds: &[Threshold]) -> Vec<String> {
        let mut warnings = Vec::new();
        for threshold in thresholds.iter().filter(|one| one.can_be_of_tasks()) {
            let Some(whole) = threshold.name.as_deref() else {
                continue;
            };
            let (tags, name) = split_selector(whole).unwrap_or((Tags::default(), whole));
            let of_scenario = tags.only(SCENARIO);
            if of_scenario != tags {
                continue;
            }
            let mut scenarios = self.scenarios.iter().filter(|scenario| {
                of_scenario
                    .get(SCENARIO)
                    .is_none_or(|own| own == scenario.name)
            });
            let is_task = scenarios.any(|scenario| {
                let mut tasks = scenario.tasks.iter();
                tasks.any(|task| task.title() == name)
            });
            if is_task {
                let before = &whole[..whole.len() - name.len()];
                let warning = format!(
                    "the threshold '{whole}: {threshold}' is about the requests named '{name}', as requests without a name \
                     in that task are, and not about the task: '{before}task {name}: …' chooses the task, \
                     '{before}GET {name}: …' the requests"
                );
                warnings.push(warning);
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_can_be_shared_by_threads() {
        fn shareable<T: Clone + Send + Sync>() {}
        shareable::<Plan>();
        shareable::<Schedule>();
        shareable::<Deal>();
        shareable::<Shape>();
    }

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        let mut tags = Tags::default();
        for (key, value) in pairs {
            tags.put(key, value);
        }
        tags
    }

    #[test]
    fn the_nearest_tag_wins_and_several_scenarios_are_distinct() {
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
