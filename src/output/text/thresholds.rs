//! The table of thresholds: which held, their figures and their limits.

use super::table::Table;
use crate::metrics::Report;
use crate::output::display::{moment, threshold_figure, threshold_parts};

/// Returns the table, if there are thresholds.
pub(super) fn table(report: &Report) -> Option<Table> {
    let rows = &report.thresholds;
    let when = rows.iter().any(|row| row.broken_s.is_some());
    let mut table = match when {
        _ if rows.is_empty() => return None,
        true => Table::new("Thresholds", &["limit", "figure", "broken at"]),
        false => Table::new("Thresholds", &["limit", "figure"]),
    };
    for row in rows {
        let mark = if row.passed { '✓' } else { '✗' };
        let (figure, limit) = threshold_parts(row);
        let mut cells = vec![limit, threshold_figure(row)];
        if when {
            cells.push(row.broken_s.map_or_else(String::new, moment));
        }
        table.row(format!("{mark} {figure}"), cells);
    }
    Some(table)
}
