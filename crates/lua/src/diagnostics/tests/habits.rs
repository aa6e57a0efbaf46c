//! The tables under `habits/`. A line is `KIND[LINE] CODE ⇒ PART`: the code, in which `⏎` breaks the line, stands at the top of a
//! file (`T`), in a task (`B`) or in `plan {}` (`P`), and `LINE` of it is the wrong one, unless it is the first.

use crate::loading::review;
use lgoose_plan::config::RequestNames;
use std::collections::BTreeMap;

/// The tables, each with its name.
const TABLES: [(&str, &str); 6] = [
    ("data_formats", include_str!("habits/data_formats.txt")),
    ("javascript", include_str!("habits/javascript.txt")),
    ("other_testers", include_str!("habits/other_testers.txt")),
    ("python", include_str!("habits/python.txt")),
    ("shell", include_str!("habits/shell.txt")),
    ("slips", include_str!("habits/slips.txt")),
];

/// A line of a table as the plan that it stands for.
struct WrongPlan<'a> {
    shown: &'a str,
    text: String,
    /// The line of the mistake.
    line: usize,
    /// What the message must have in it, or must not.
    part: &'a str,
}

fn plans(table: &'static str) -> impl Iterator<Item = WrongPlan<'static>> {
    let lines = table
        .lines()
        .filter_map(|line| Some((line, line.split_once(" ⇒")?)));
    lines.map(|(shown, (head, part))| {
        let (kind, code) = head.split_once(' ').expect("a kind and code");
        let code = code.replace('⏎', "\n");
        let (before, behind) = match &kind[..1] {
            "T" => (
                "plan { host = \"demo:api\" }\n",
                "\ntask { \"z\", function(user) user:get \"/\" end }",
            ),
            "P" => ("plan { ", " }\ntask { function(user) user:get \"/\" end }"),
            _ => (
                "task { \"a\", function(user)\n  user:get \"/z\"\n  ",
                "\nend }",
            ),
        };
        let code = match &kind[..1] {
            "B" => code.replace('\n', "\n  "),
            _ => code,
        };
        let own: usize = kind[1..].parse().unwrap_or(1);
        WrongPlan {
            shown,
            line: before.matches('\n').count() + own,
            text: format!("{before}{code}{behind}"),
            part: part.trim(),
        }
    })
}

/// Returns what `lgoose check` says about a plan.
fn messages(text: &str) -> String {
    let (program, plan, _) = match crate::load("p.lua", text, BTreeMap::new(), 0) {
        Ok(loaded) => loaded,
        Err(error) => return error.to_string(),
    };
    let warnings = review(&program, &plan, RequestNames::Path).into_iter();
    let warnings: Vec<String> = warnings.map(|warning| warning.as_warning()).collect();
    warnings.join("\n")
}

#[test]
fn wrong_lines_are_answered_with_their_place_and_the_habit() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, table) in TABLES {
        for plan in plans(table) {
            count += 1;
            let found = messages(&plan.text);
            let place = format!("p.lua:{}\n", plan.line);
            let is_placed = format!("{found}\n").contains(&place);
            if !is_placed || !found.contains(plan.part) {
                wrong.push(format!("{name}: {}\n{found}\n", plan.shown));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} lines are answered otherwise:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn right_and_other_lines_do_not_get_a_hint_that_is_not_theirs() {
    let mut wrong = Vec::new();
    for plan in plans(include_str!("habits/lookalikes.txt")) {
        let found = messages(&plan.text);
        // The line itself is quoted.
        let remarks: Vec<&str> = found
            .lines()
            .filter(|line| !line.contains(" | ") && !line.contains("makes no request"))
            .collect();
        let remarks = remarks.join("\n");
        if remarks.contains(plan.part) {
            wrong.push(format!("{}\n{found}\n", plan.shown));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines get a hint that is not theirs:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
