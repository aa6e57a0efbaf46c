//! The outline of a plan for `lgoose check`: its scenarios, their shares, and one iteration of each.

use super::{Plan, Scenario, Schedule, Task, TaskGroup};
use lgoose_base::error::one_line;
use lgoose_base::units::counted;
use std::fmt::Write as _;

/// Returns the outline of a plan as text: shares of users, and the tasks of one iteration in the order of their
/// sequence groups, with the number of runs of each.
pub fn outline(plan: &Plan) -> String {
    let total: u64 = plan
        .scenarios
        .iter()
        .filter(|scenario| scenario.load.is_none())
        .map(|scenario| u64::from(scenario.weight))
        .sum();
    let texts: Vec<String> = plan
        .scenarios
        .iter()
        .map(|scenario| of_scenario(scenario, total))
        .collect();
    texts.join("\n")
}

/// Returns the names of a plan's scenarios and, indented below each, of its tasks, one per line.
pub fn list(plan: &Plan) -> String {
    let mut text = String::new();
    for scenario in &plan.scenarios {
        text.push_str(&one_line(&scenario.name));
        text.push('\n');
        for task in &scenario.tasks {
            line(&mut text, &one_line(&task.title()));
        }
    }
    text
}

fn of_scenario(scenario: &Scenario, total: u64) -> String {
    let schedule = Schedule::new(scenario);
    let share = match (&scenario.load, scenario.users) {
        (Some(own), _) => own.to_string(),
        (None, Some(users)) => format!("{users} users"),
        (None, None) => format!(
            "weight {} ({:.0} % of the users)",
            scenario.weight,
            f64::from(scenario.weight) * 100.0 / total as f64
        ),
    };
    let mut text = format!(
        "{}: {share}, {} order\n",
        one_line(&scenario.name),
        scenario.order.name()
    );
    once(&mut text, "at the start", scenario, |task| task.on_start);
    if schedule.iteration_len() > 0 {
        line(
            &mut text,
            &format!(
                "an iteration of {}",
                counted(schedule.iteration_len(), "task")
            ),
        );
    }
    for group in schedule.groups() {
        of_group(&mut text, scenario, &schedule, group);
    }
    once(&mut text, "at the end", scenario, |task| task.on_stop);
    text
}

fn once(text: &mut String, when: &str, scenario: &Scenario, belongs: fn(&Task) -> bool) {
    let mut tasks = scenario
        .tasks
        .iter()
        .filter(|task| belongs(task))
        .peekable();
    if tasks.peek().is_some() {
        line(text, when);
    }
    for task in tasks {
        slot(text, task.weight, task);
    }
}

fn of_group(text: &mut String, scenario: &Scenario, schedule: &Schedule, group: &TaskGroup) {
    if schedule.groups().len() > 1 {
        match group.sequence {
            Some(sequence) => line(text, &format!("  sequence {sequence}")),
            None => line(text, "  then"),
        }
    }
    for each in &group.slots {
        slot(text, each.weight, &scenario.tasks[each.task]);
    }
}

fn slot(text: &mut String, weight: u32, task: &Task) {
    let title = one_line(&task.title());
    line(text, &format!("{weight:>6} × {title}"));
}

fn line(text: &mut String, content: &str) {
    // Writing to a String cannot fail.
    let _never = writeln!(text, "  {content}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_on_their_line() {
        let plan = Plan {
            scenarios: vec![Scenario {
                tasks: vec![Task::new(Some("two\nlines".to_owned()), 0, 1)],
                ..Scenario::new("a\tb\x1b[2J")
            }],
            ..Plan::default()
        };
        assert_eq!(list(&plan), "a b\\x1b[2J\n  two lines\n");
        let outlined = outline(&plan);
        assert!(outlined.contains("1 × two lines\n"), "{outlined}");
        assert!(outlined.starts_with("a b\\x1b[2J: weight 1"), "{outlined}");
    }

    #[test]
    fn an_outline_shows_shares_and_one_iteration() {
        let task = |name: &str, weight, on_start| Task {
            weight,
            on_start,
            ..Task::new(Some(name.to_owned()), 0, 1)
        };
        let scenario = |name: &str, weight, tasks| Scenario {
            weight,
            tasks,
            ..Scenario::new(name)
        };
        let plan = Plan {
            scenarios: vec![
                scenario("visitor", 4, vec![task("front page", 15, false)]),
                scenario(
                    "member",
                    1,
                    vec![task("log in", 1, true), task("read", 2, false)],
                ),
            ],
            ..Plan::default()
        };
        let expected = "visitor: weight 4 (80 % of the users), shuffled order
  an iteration of 15 tasks
      15 × front page

member: weight 1 (20 % of the users), shuffled order
  at the start
       1 × log in
  an iteration of 2 tasks
       2 × read
";
        assert_eq!(outline(&plan), expected);
        assert_eq!(
            list(&plan),
            "visitor\n  front page\nmember\n  log in\n  read\n"
        );
    }
}
