//! The table of the steps of a search for the greatest load.

use super::{Cell, Column, Scope, Table};
use crate::display::{load_unit, step_result};
use lgoose_metrics::{CapacityStep, Report};

/// Returns the steps, if the report is that of a search.
pub(super) fn steps(report: &Report, scope: Scope) -> Option<Table<'_>> {
    let found = report.capacity.as_deref()?;
    let mut columns = vec![Column::number(load_unit(found.by))];
    columns.extend(Column::numbers([
        "req/s",
        "under way",
        "p50",
        "p95",
        "p99",
        "failed",
        "left out",
        "judged",
    ]));
    columns.push(Column::text("result"));
    columns.push(Column::prose("why"));
    columns.push(Column::number("pause after"));
    let rows = found.steps.iter().map(|step| {
        let load = match scope {
            // Its column has no title there.
            Scope::Usual => found.shown(step.load),
            Scope::Brief | Scope::Full => found.by.number(step.load),
        };
        cells(Cell::Figure(step.load, load, false), step)
    });
    let table = Table::new("steps", "Steps of the search", columns).with(rows).note(
        "Each step is one load. What came before its figures were steady is left out. Under way: requests at a time, by Little’s law.",
    );
    Some(match scope {
        Scope::Full => table,
        Scope::Usual | Scope::Brief => {
            let more = ["under way", "p50", "p99", "left out", "pause after"];
            more.into_iter().fold(table, Table::without)
        }
    })
}

fn cells(load: Cell, step: &CapacityStep) -> Vec<Cell> {
    let seconds = |value: f64| Cell::Figure(value, format!("{value:.0} s"), false);
    let failed = Cell::share(step.failures, step.count).bad_if(step.failures > 0);
    vec![
        load,
        Cell::rate(step.throughput),
        Cell::number(step.concurrency),
        Cell::of(step.p50_ms, Cell::duration),
        Cell::of(step.p95_ms, Cell::duration),
        Cell::of(step.p99_ms, Cell::duration),
        if step.count > 0 { failed } else { Cell::None },
        seconds(step.settling_s),
        seconds(step.measured_s),
        Cell::words(step_result(step)),
        Cell::of(step.reason.as_deref(), Cell::words),
        seconds(step.pause_s),
    ]
}
