//! The report as a document: tables of typed cells in reading order, for every format that people read. The contents,
//! their order, words and extent are decided here; text, Markdown and HTML only draw it.
//!
//! A new figure of requests is a line in `requests.rs`; a new table is a function in the file of its subject and a line in
//! `tables`.

mod capacity;
mod cell;
mod comparison;
mod errors;
mod events;
mod head;
mod measures;
mod requests;
mod scope;
mod table;
mod tasks;
mod workers;

pub use cell::Cell;
pub(crate) use cell::Mark;
pub(crate) use comparison::comparison;
pub(crate) use errors::STACK;
pub(crate) use head::{Head, Outcome, Statement};
use lgoose_metrics::Report;
pub use requests::NamedFigures;
pub(crate) use requests::once;
pub use scope::Scope;
pub(crate) use table::Row;
pub use table::{Column, ColumnKind, Table};
pub use tasks::{tasks, tasks_in_order};

/// Returns the tables of a report in reading order; those without rows are left out.
pub(super) fn tables(report: &Report, scope: Scope) -> Vec<Table<'_>> {
    let mut all: Vec<Table<'_>> = capacity::steps(report, scope).into_iter().collect();
    all.push(measures::thresholds(report));
    all.push(errors::errors(report, scope));
    all.push(events::events(report, scope));
    all.extend(requests::requests(report, scope));
    all.push(errors::slow(report, scope));
    all.push(tasks::scenarios(report));
    all.push(tasks::tasks(report, scope));
    all.push(requests::start_stop(report));
    all.push(measures::checks(report));
    all.push(measures::metrics(report));
    all.extend(measures::omission(report, scope));
    all.push(requests::tags(report, scope));
    all.push(requests::labels(report, scope));
    all.push(workers::workers(report, scope));
    all.retain(|table| !table.rows.is_empty());
    all
}

/// The tables of a summary that fits a screen, by their ids.
const SHORT: [&str; 11] = [
    "steps",
    "thresholds",
    "errors",
    "events",
    "requests",
    "start_stop",
    "checks",
    "metrics",
    "streams",
    "status",
    "workers",
];

/// Leaves of the tables of a report those that a summary of one screen has, the tasks only if some have failed; returns how many
/// went.
pub(super) fn shorten(tables: &mut Vec<Table<'_>>, report: &Report) -> usize {
    let all = tables.len();
    let tasks_failed = report.tasks.iter().any(|task| task.failures > 0);
    tables.retain(|table| SHORT.contains(&table.id) || tasks_failed && table.id == "tasks");
    all - tables.len()
}

/// Returns the tables of a run of one iteration, without percentiles, rates and shares, which mean nothing there.
pub(super) fn tables_of_once(report: &Report) -> Vec<Table<'_>> {
    let mut all = vec![
        once(report),
        requests::start_stop(report),
        errors::errors(report, Scope::Usual),
        measures::checks(report),
        measures::metrics(report),
    ];
    all.retain(|table| !table.rows.is_empty());
    all
}
