//! The table of a comparison: each figure of each name, before and after.

use super::{Cell, Column, Mark, Table};
use crate::display::{row_change, row_interval, row_name, row_requests, row_value};
use lgoose_metrics::compare::Row;

/// Returns the table of some rows of a comparison.
pub(crate) fn comparison<'a>(
    id: &'static str,
    title: &'static str,
    rows: impl IntoIterator<Item = &'a Row>,
) -> Table<'a> {
    let mut columns = vec![
        Column::group("requests"),
        Column::mark(),
        Column::text("figure"),
    ];
    columns.extend(Column::numbers(["before", "after", "change", "interval"]));
    columns.push(Column::text("verdict"));
    let rows = rows.into_iter().map(|row| {
        let mark = match (row.beyond_limit, row.verdict) {
            (true, _) => Mark::Bad,
            (false, verdict) if verdict.is_worse() => Mark::Doubtful,
            (false, verdict) if verdict.is_better() => Mark::Good,
            _ => Mark::Plain,
        };
        let figure = |value: Option<f64>, text: String| {
            Cell::of(value, |value| Cell::Figure(value, text.clone(), false))
        };
        vec![
            Cell::Foreign(format!("{} ({})", row_name(row), row_requests(row))),
            Cell::Mark(mark),
            Cell::words(row.figure.name()),
            figure(row.before, row_value(row.figure, row.before)),
            figure(row.after, row_value(row.figure, row.after)),
            figure(row.change, row_change(row)).bad_if(row.beyond_limit),
            figure(row.low, row_interval(row)),
            Cell::words(row.verdict.text()),
        ]
    });
    Table::new(id, title, columns).with(rows).note(
        "The interval is corrected for the number of figures: it excludes 0 just where a change is called.",
    )
}
