//! The table of workers.

use super::{Cell, Column, Mark, Scope, Table};
use crate::display::{is_saturated, labels_text, offset_text, worker_state, workers_in_order};
use lgoose_base::figures::moment;
use lgoose_base::line::one_line;
use lgoose_metrics::{Report, WorkerRow, WorkerState};

/// The most workers where not all are shown.
const MAX_WORKERS: usize = 20;

/// Returns the workers: the lost first, then the saturated.
pub(super) fn workers(report: &Report, scope: Scope) -> Table<'_> {
    let rows = workers_in_order(report);
    let is_any_saturated = rows.iter().any(|row| is_saturated(row));
    let mut columns = vec![
        Column::mark(),
        Column::text("worker"),
        Column::text("labels"),
    ];
    columns.push(Column::text("version"));
    columns.extend(Column::numbers([
        "threads", "users", "requests", "failed", "p95", "busy", "lag", "offset", "lost at",
    ]));
    columns.push(Column::text("state"));
    let table = Table::new("workers", "Workers", columns)
        .note("Users: the most at one time. Saturated: the time in which the worker itself, not the target, set the latency.")
        .with(rows.into_iter().map(|row| cells(row, scope)));
    let mut table = match scope {
        Scope::Full => table.without("ok").without("lost at"),
        Scope::Usual => {
            let others = ["labels", "threads", "version", "state"];
            let table = others.into_iter().fold(table, Table::without);
            table.without_empty("lost at").at_most(MAX_WORKERS)
        }
        Scope::Brief => {
            let others = ["ok", "threads", "version", "offset", "lost at"];
            others
                .into_iter()
                .fold(table, Table::without)
                .at_most(MAX_WORKERS)
        }
    };
    if is_any_saturated && scope == Scope::Usual {
        let what = "!  for a time the worker itself, not the target, set its latency";
        table.remarks.push(what.to_owned());
    }
    table
}

fn cells(row: &WorkerRow, scope: Scope) -> Vec<Cell> {
    let mark = match row.state {
        WorkerState::Lost => Mark::Bad,
        _ if is_saturated(row) => Mark::Doubtful,
        _ => Mark::Plain,
    };
    let (name, within, failures) = match scope {
        // Names and labels share a column where lines are short.
        Scope::Usual => {
            let name = format!("{} {}", one_line(&row.name), labels_text(row));
            (name, None, Cell::count(row.failures))
        }
        Scope::Brief | Scope::Full => {
            let failures = Cell::failures(row.failures, row.requests);
            (row.name.clone(), Some(row.offset_within_ms), failures)
        }
    };
    vec![
        Cell::Mark(mark),
        Cell::foreign(name.trim_end()),
        Cell::foreign(labels_text(row)),
        Cell::foreign(&*row.version),
        Cell::count(row.threads),
        Cell::count(row.users),
        Cell::count(row.requests),
        failures.bad_if(row.failures > 0),
        Cell::of(row.p95_ms, Cell::duration),
        Cell::percent(row.busy).bad_if(is_saturated(row)),
        Cell::duration(row.lag_ms),
        Cell::Figure(row.offset_ms, offset_text(row.offset_ms, within), false),
        Cell::of(row.lost_at_s, |at| {
            Cell::Figure(at, moment(at.max(0.0)), true)
        }),
        Cell::words(worker_state(row)),
    ]
}
