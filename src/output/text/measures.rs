//! What a plan measured itself, as tables: its checks, and its metrics by kind.

use super::share;
use super::table::{Table, one_line};
use crate::metrics::{Metric, MetricKind, Report};
use crate::units::{show_count, three_digits};

/// The kinds in the order they are shown, and what the value of each is.
const KINDS: [(MetricKind, &str, &str); 4] = [
    (MetricKind::Counter, "Counters", "value: the sum"),
    (MetricKind::Gauge, "Gauges", "value: the latest"),
    (MetricKind::Rate, "Rates", "value: the share that was true"),
    (MetricKind::Trend, "Trends", "value: the mean"),
];

/// The tables of checks and of metrics, each only when it was used.
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

/// A metric's figures; those that its kind does not have stay empty.
pub(in crate::output) fn metric_cells(row: &Metric) -> Vec<String> {
    let value = match (row.kind, row.value) {
        // The mean of ones and zeros: the nearest whole number is how many there were.
        (MetricKind::Rate, Some(value)) => {
            share((value * row.count as f64).round() as u64, row.count)
        }
        (_, value) => figure(value),
    };
    let others = [row.min, row.max, row.p50, row.p90, row.p95, row.p99];
    let mut cells = vec![show_count(row.count), value];
    cells.extend(others.map(figure));
    cells
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// A number without a unit: whole ones exactly, others with three significant digits, and as powers of ten
/// what is too small or too large to be read.
pub(in crate::output) fn number(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    match value.abs() {
        v if v.fract() == 0.0 && v < 1e12 => format!("{sign}{}", show_count(v as u64)),
        v if (1.0..1e12).contains(&v) => format!("{sign}{}", three_digits(v)),
        v if (0.001..1.0).contains(&v) => {
            let leading_zeros = (-v.log10()).ceil() as usize;
            format!("{sign}{v:.*}", leading_zeros + 2)
        }
        v => format!("{sign}{v:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_readable() {
        for (value, text) in [
            (0.0, "0"),
            (13_192.0, "13,192"),
            (-5_210.0, "-5,210"),
            (0.48, "0.480"),
            (-0.012_25, "-0.0123"),
            (4.256, "4.26"),
            (-1_234.5, "-1,235"),
            (0.000_123, "1.23e-4"),
            (6.02e23, "6.02e23"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
