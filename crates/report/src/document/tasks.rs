//! The tables of scenarios and of tasks.

use super::requests::durations;
use super::{Cell, Column, Scope, Table};
use lgoose_base::figures::per_second;
use lgoose_metrics::{Latency, Report, TaskRow};
use std::collections::HashMap;

pub(super) fn scenarios(report: &Report) -> Table<'_> {
    let mut scenarios = report.scenarios.iter();
    let at_rate = scenarios.any(|row| row.arrivals.is_some());
    let loses = report.scenarios.iter().any(|row| row.users_lost > 0);
    let mut columns = vec![Column::text("scenario")];
    columns.extend(Column::numbers(["users", "iterations"]));
    columns.extend(Column::numbers(["dropped"]).filter(|_| at_rate));
    columns.extend(Column::numbers(["users lost"]).filter(|_| loses));
    columns.extend(Column::numbers(["avg", "p50", "p95", "max"]));
    let rows = report.scenarios.iter().map(|row| {
        let mut cells = vec![
            Cell::foreign(&*row.name),
            Cell::count(row.users),
            Cell::count(row.iterations),
        ];
        let failures = |count, all| Cell::failures(count, all);
        cells.extend(at_rate.then(|| {
            let counts = row.arrivals.unwrap_or_default();
            failures(counts.dropped, counts.due())
        }));
        cells.extend(loses.then(|| failures(row.users_lost, row.users_started)));
        let values = |all: &Latency| [all.avg, all.p50, all.p95, all.max];
        cells.extend(durations(row.iteration_ms.as_ref(), values));
        cells
    });
    Table::new("scenarios", "Scenarios", columns).with(rows)
}

/// Returns the tasks of a report by their scenarios: transactions come to it when they are first run, behind the tasks of all.
pub fn tasks_in_order(report: &Report) -> Vec<&TaskRow> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, task) in report.tasks.iter().enumerate() {
        first.entry(&task.scenario).or_insert(at);
    }
    let mut tasks: Vec<&TaskRow> = report.tasks.iter().collect();
    tasks.sort_by_key(|task| first[&*task.scenario]);
    tasks
}

/// Returns the tasks of all scenarios.
pub fn tasks(report: &Report, scope: Scope) -> Table<'_> {
    let mut columns = vec![Column::group("scenario"), Column::text("task")];
    let figures = [
        ("runs", 0),
        ("failed", 0),
        ("runs/s", 1),
        ("avg", 2),
        ("min", 4),
        ("p50", 3),
        ("p95", 1),
        ("max", 2),
    ];
    columns.extend(figures.map(|(title, rank)| Column::number(title).rank(rank)));
    let rows = tasks_in_order(report).into_iter().map(|row| {
        let mut cells = vec![
            Cell::foreign(&*row.scenario),
            Cell::foreign(&*row.name),
            Cell::count(row.runs),
            Cell::failures(row.failures, row.runs),
            Cell::rate_of(row.runs, per_second(row.runs as f64, report.elapsed_s)),
        ];
        let values = |all: &Latency| [all.avg, all.min, all.p50, all.p95, all.max];
        cells.extend(durations(row.latency_ms.as_ref(), values));
        cells
    });
    let table = Table::new("tasks", "Tasks and transactions", columns).with(rows);
    match scope {
        Scope::Full => table,
        Scope::Brief | Scope::Usual => table.without("min").without("avg"),
    }
}
