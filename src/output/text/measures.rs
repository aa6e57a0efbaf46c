//! Tables of a plan's own measurements: its checks, and its metrics by kind.

use super::table::Table;
use crate::metrics::{MetricKind, Report};
use crate::output::display::{metric_cells, one_line, share};
use crate::units::show_count;

/// The kinds in the order they are shown, with the meaning of each value.
const KINDS: [(MetricKind, &str, &str); 4] = [
    (MetricKind::Counter, "Counters", "value: the sum"),
    (MetricKind::Gauge, "Gauges", "value: the latest"),
    (MetricKind::Rate, "Rates", "value: the share that was true"),
    (MetricKind::Trend, "Trends", "value: the mean"),
];

/// Returns the tables of checks and of metrics, each only if it was used.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let mut tables = Vec::new();
    if !report.checks.is_empty() {
        tables.push(checks(report));
    }
    if !report.metrics.is_empty() {
        tables.push(metrics(report));
    }
    tables
}

fn checks(report: &Report) -> Table {
    let mut table = Table::new("Checks", &["# passed", "# failed", "share"]);
    for check in &report.checks {
        let mark = if check.failures == 0 { '✓' } else { '✗' };
        let all = check.passes + check.failures;
        table.row(
            format!("{mark} {}", one_line(&check.name)),
            vec![
                show_count(check.passes),
                show_count(check.failures),
                share(check.passes, all),
            ],
        );
    }
    table
}

fn metrics(report: &Report) -> Table {
    let columns = &[
        "# values", "Value", "Min", "Max", "50%", "90%", "95%", "99%",
    ];
    let mut table = Table::new("Metrics", columns);
    for (kind, title, note) in KINDS {
        let mut rows = report.metrics.iter().filter(|row| row.kind == kind);
        let Some(first) = rows.next() else { continue };
        table.heading(title, note);
        for row in std::iter::once(first).chain(rows) {
            table.row(format!("  {}", one_line(&row.name)), metric_cells(row));
        }
    }
    table
}
