//! Selection of a part of a plan: the scenarios that `--scenario` names, the tasks that have one of `--tags`.

use super::{Plan, Scenario, Task};
use crate::config::RunConfig;
use lgoose_base::error::{Diagnostic, nearest};
use lgoose_base::tags::{SCENARIO, Tags, split_selector};
use lgoose_base::threshold::Threshold;
use lgoose_base::wildcard::fits;
use std::collections::{BTreeMap, BTreeSet};

/// Keeps the part of the plan that the configuration of a run chooses: scenarios by name, tasks by tags. Returns the
/// part that is left out.
///
/// # Errors
/// A name or a tag that nothing in the plan has, or a choice that leaves nothing to run.
pub fn select(plan: &mut Plan, config: &RunConfig) -> Result<LeftOut, Diagnostic> {
    let before = titles(plan);
    retain_scenarios(plan, &config.scenarios)?;
    leave_out_unweighted(plan)?;
    exclude_tags(plan, &config.exclude_tags)?;
    retain_tags(plan, &config.tags)?;
    let rest = titles(plan);
    Ok(LeftOut { before, rest })
}

/// Titles of tasks by scenario.
type Titles = BTreeMap<String, BTreeSet<String>>;

fn titles(plan: &Plan) -> Titles {
    let of = |scenario: &Scenario| {
        let tasks = scenario.tasks.iter().map(|task| task.title().to_owned());
        (scenario.name.clone(), tasks.collect())
    };
    plan.scenarios.iter().map(of).collect()
}

/// The part that a selection has left out of a plan.
#[derive(Debug)]
pub struct LeftOut {
    before: Titles,
    rest: Titles,
}

impl LeftOut {
    /// Takes the thresholds away that are about a scenario or task that is left out, and returns notes about them. One whose
    /// name may also be that of requests stays, and is judged if there are some.
    pub fn take_thresholds(&self, thresholds: &mut Vec<Threshold>) -> Vec<String> {
        let mut notes = Vec::new();
        thresholds.retain_mut(|threshold| {
            let whole = threshold.name.clone().unwrap_or_default();
            let (tags, name) = split_selector(&whole).unwrap_or((Tags::default(), &*whole));
            let scenario = tags.get(SCENARIO);
            let is_left_out = |scenario: &str| {
                self.before.contains_key(scenario) && !self.rest.contains_key(scenario)
            };
            if let Some(scenario) = scenario.filter(|scenario| is_left_out(scenario)) {
                notes.push(format!(
                    "the threshold '{whole}: {threshold}' is left out with the scenario '{scenario}'"
                ));
                return false;
            }
            let has = |titles: &Titles, title: &str| {
                let mut of = titles
                    .iter()
                    .filter(|(name, _)| scenario.is_none_or(|one| one == *name));
                of.any(|(_, titles)| titles.contains(title))
            };
            let lacks = |title: &str| has(&self.before, title) && !has(&self.rest, title);
            if let Some(title) = name.strip_prefix("task ").filter(|title| lacks(title)) {
                notes.push(format!(
                    "the threshold '{whole}: {threshold}' is left out with the task '{title}'"
                ));
                return false;
            }
            threshold.of_left_out = lacks(name);
            true
        });
        notes
    }
}

/// Keeps the scenarios whose name matches one of the patterns, in which `*` stands for any text; all if there
/// is no pattern.
///
/// # Errors
/// A pattern that matches no scenario, with the nearest name and all there are.
fn retain_scenarios(plan: &mut Plan, names: &[String]) -> Result<(), Diagnostic> {
    let existing: Vec<&str> = plan.scenarios.iter().map(|s| &*s.name).collect();
    for name in names {
        if !existing.iter().any(|scenario| fits(name, scenario)) {
            let near = nearest(name, existing.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
            let message = format!("no scenario is named '{name}' ('--scenario')");
            let all = format!("{hint}scenarios of this plan: {}", existing.join(", "));
            return Err(Diagnostic::new(message).help(all));
        }
    }
    if !names.is_empty() {
        plan.scenarios
            .retain(|scenario| names.iter().any(|name| fits(name, &scenario.name)));
    }
    Ok(())
}

/// Leaves out scenarios and tasks with the weight 0, and scenarios of which only `on_start` and `on_stop` are left.
///
/// # Errors
/// Weights that leave nothing to run.
pub fn leave_out_unweighted(plan: &mut Plan) -> Result<(), Diagnostic> {
    plan.scenarios.retain_mut(|scenario| {
        retain_tasks(scenario, |task| task.weight > 0) && scenario.weight > 0
    });
    if plan.scenarios.is_empty() {
        Err(
            Diagnostic::new("the weights of this plan leave no task to run: they are 0")
                .help("give a task and its scenario a weight from 1"),
        )
    } else {
        Ok(())
    }
}

/// Keeps some of the tasks, and returns whether these are all, or more than `on_start` and `on_stop`.
fn retain_tasks(scenario: &mut Scenario, is_kept: impl Fn(&Task) -> bool) -> bool {
    let before = scenario.tasks.len();
    scenario.tasks.retain(is_kept);
    let mut tasks = scenario.tasks.iter();
    tasks.len() == before || tasks.any(|task| !task.on_start && !task.on_stop)
}

/// Keeps the tasks that have one of the tags, or whose scenario has one; all if there is no tag. A scenario that
/// keeps a task also keeps its `on_start` and `on_stop` tasks; one that keeps none is left out.
///
/// # Errors
/// A tag that nothing has, with the nearest one and all there are.
fn retain_tags(plan: &mut Plan, tags: &[String]) -> Result<(), Diagnostic> {
    check_tags(plan, tags, "--tags")?;
    if tags.is_empty() {
        return Ok(());
    }
    let chosen = |own: &[String]| own.iter().any(|tag| tags.contains(tag));
    plan.scenarios.retain_mut(|scenario| {
        if chosen(&scenario.tags) {
            return true;
        }
        let is_selected = scenario.tasks.iter().any(|task| chosen(&task.tags));
        let frames = |task: &Task| task.on_start || task.on_stop;
        scenario
            .tasks
            .retain(|task| is_selected && (frames(task) || chosen(&task.tags)));
        is_selected
    });
    Ok(())
}

/// Leaves out the tasks that have one of the tags, or whose scenario has one, and scenarios of which only
/// `on_start` and `on_stop` are left.
///
/// # Errors
/// A tag that nothing has, with the nearest one and all there are; or tags that leave nothing to run.
fn exclude_tags(plan: &mut Plan, tags: &[String]) -> Result<(), Diagnostic> {
    check_tags(plan, tags, "--exclude-tags")?;
    if tags.is_empty() {
        return Ok(());
    }
    let is_excluded = |own: &[String]| own.iter().any(|tag| tags.contains(tag));
    plan.scenarios.retain_mut(|scenario| {
        retain_tasks(scenario, |task| !is_excluded(&task.tags)) && !is_excluded(&scenario.tags)
    });
    if plan.scenarios.is_empty() {
        Err(Diagnostic::new("'--exclude-tags' leaves no task to run")
            .help("leave one of the tags out"))
    } else {
        Ok(())
    }
}

/// Checks that something has each of the tags that a flag names.
fn check_tags(plan: &Plan, tags: &[String], flag: &str) -> Result<(), Diagnostic> {
    let existing = tags_of(plan);
    let Some(tag) = tags.iter().find(|tag| !existing.contains(tag)) else {
        return Ok(());
    };
    let near = nearest(tag, existing.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    let all = if existing.is_empty() {
        "no task has tags: give some, as in task { tags = { \"smoke\" }, … }".to_owned()
    } else {
        format!("{hint}tags of this plan: {}", existing.join(", "))
    };
    let message = format!("nothing has the tag '{tag}' ('{flag}')");
    Err(Diagnostic::new(message).help(all))
}

/// Returns every tag once, in the order of the plan.
fn tags_of(plan: &Plan) -> Vec<String> {
    let of_scenario = |scenario: &Scenario| {
        let of_tasks = scenario.tasks.iter().flat_map(|task| task.tags.clone());
        let own = scenario.tags.iter().cloned();
        own.chain(of_tasks).collect::<Vec<_>>()
    };
    let mut tags: Vec<String> = Vec::new();
    for tag in plan.scenarios.iter().flat_map(of_scenario) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            scenarios: ["visitor", "member", "admin"].map(Scenario::new).into(),
            ..Plan::default()
        }
    }

    #[test]
    fn the_named_scenarios_stay_in_the_order_of_the_plan() {
        let mut plan = plan();
        let names = ["a*", "visitor"].map(str::to_owned);
        assert_eq!(retain_scenarios(&mut plan, &names), Ok(()));
        let selected: Vec<&str> = plan.scenarios.iter().map(|s| &*s.name).collect();
        assert_eq!(selected, ["visitor", "admin"]);
    }

    #[test]
    fn what_has_the_weight_0_is_left_out() {
        let mut plan = plan();
        let weighted = |weight| Task {
            weight,
            ..task("t", &[], false)
        };
        plan.scenarios[0].tasks = vec![weighted(0), weighted(3)];
        plan.scenarios[1].tasks = vec![weighted(0), task("log in", &[], true)];
        plan.scenarios[2].tasks = vec![weighted(1)];
        plan.scenarios[2].weight = 0;
        assert_eq!(leave_out_unweighted(&mut plan), Ok(()));
        let kept: Vec<(&str, usize)> = plan
            .scenarios
            .iter()
            .map(|one| (&*one.name, one.tasks.len()))
            .collect();
        assert_eq!(kept, [("visitor", 1)]);
        plan.scenarios[0].weight = 0;
        assert!(leave_out_unweighted(&mut plan).is_err());
    }

    fn task(name: &str, tags: &[&str], on_start: bool) -> Task {
        Task {
            on_start,
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Task::new(Some(name.to_owned()), 0, 1)
        }
    }

    #[test]
    fn tasks_with_an_excluded_tag_go_and_scenarios_of_which_nothing_remains() {
        let remaining = |tags: &[&str]| {
            let mut plan = plan();
            plan.scenarios[0].tasks = vec![
                task("log in", &[], true),
                task("buy", &["shop", "slow"], false),
            ];
            plan.scenarios[1].tags = vec!["slow".to_owned()];
            plan.scenarios[1].tasks = vec![task("import", &[], false)];
            plan.scenarios[2].tasks = vec![task("visit", &[], true)];
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let names = |plan: Plan| -> Vec<String> {
                plan.scenarios.into_iter().map(|one| one.name).collect()
            };
            exclude_tags(&mut plan, &tags).map(|()| names(plan))
        };
        let names = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(remaining(&[]), names(&["visitor", "member", "admin"]));
        assert_eq!(remaining(&["shop"]), names(&["member", "admin"]));
        assert_eq!(remaining(&["slow"]), names(&["admin"]));
        assert!(
            remaining(&["slo"])
                .is_err_and(|error| error.to_string().contains("did you mean 'slow'"))
        );
    }

    #[test]
    fn tasks_with_a_tag_stay_and_with_them_what_starts_their_users() {
        let tagged = || {
            let mut plan = plan();
            plan.scenarios[0].tasks = vec![
                task("log in", &[], true),
                task("buy", &["shop", "slow"], false),
                task("read", &[], false),
            ];
            plan.scenarios[1].tags = vec!["slow".to_owned()];
            plan.scenarios[1].tasks = vec![task("import", &[], false)];
            plan.scenarios[2].tasks = vec![task("log in", &[], true)];
            plan
        };
        let selected = |tags: &[&str]| -> Vec<String> {
            let mut plan = tagged();
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            retain_tags(&mut plan, &tags).expect("known tags");
            let titles = |scenario: &Scenario| {
                let tasks = scenario.tasks.iter().map(Task::title);
                format!(
                    "{}: {}",
                    scenario.name,
                    tasks.collect::<Vec<_>>().join(", ")
                )
            };
            plan.scenarios.iter().map(titles).collect()
        };
        assert_eq!(selected(&[]).len(), 3);
        assert_eq!(selected(&["shop"]), ["visitor: log in, buy"]);
        assert_eq!(
            selected(&["slow"]),
            ["visitor: log in, buy", "member: import"]
        );
        let message = retain_tags(&mut tagged(), &["shp".to_owned()]).expect_err("unknown");
        let message = message.to_string();
        assert!(
            message.contains("did you mean 'shop'?") && message.contains("shop, slow"),
            "{message}"
        );
        let message = retain_tags(&mut plan(), &["a".to_owned()]).expect_err("there is none");
        assert!(
            message.to_string().contains("no task has tags"),
            "{message}"
        );
    }

    #[test]
    fn a_name_that_fits_none_is_reported_with_the_nearest() {
        let message = retain_scenarios(&mut plan(), &["visitr".to_owned()])
            .expect_err("there is none")
            .to_string();
        for words in [
            "'visitr'",
            "did you mean 'visitor'?",
            "visitor, member, admin",
        ] {
            assert!(message.contains(words), "{message}");
        }
    }
}
