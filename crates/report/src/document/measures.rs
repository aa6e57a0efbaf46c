//! The tables of thresholds, checks and custom metrics, and of coordinated omission.

use super::requests::durations;
use super::{Cell, Column, Mark, Scope, Table};
use lgoose_base::figures::{moment, share, time};
use lgoose_base::line::request_name;
use lgoose_base::units::counted;
use lgoose_judgement::{threshold_figure, threshold_parts};
use lgoose_metrics::{Cadence, CoFigures, Latency, Metric, MetricKind, Report};

pub(super) fn thresholds(report: &Report) -> Table<'_> {
    let mut columns = vec![Column::mark(), Column::text("threshold")];
    columns.extend(Column::numbers(["limit", "figure", "broken at"]));
    let rows = report.thresholds.iter().map(|row| {
        let (figure, limit) = threshold_parts(row);
        vec![
            mark(row.passed),
            Cell::foreign(figure),
            Cell::Figure(row.limit, limit, false),
            Cell::Figure(
                row.value.unwrap_or(-1.0),
                threshold_figure(row),
                !row.passed,
            ),
            Cell::of(row.broken_s, |at| Cell::Figure(at, moment(at), false)),
        ]
    });
    Table::new("thresholds", "Thresholds", columns)
        .with(rows)
        .without_empty("broken at")
}

pub(super) fn checks(report: &Report) -> Table<'_> {
    let mut columns = vec![Column::mark(), Column::text("check")];
    columns.extend(Column::numbers(["held", "failed", "share"]));
    let rows = report.checks.iter().map(|check| {
        vec![
            mark(check.failures == 0),
            Cell::foreign(&*check.name),
            Cell::count(check.passes),
            Cell::count(check.failures).bad_if(check.failures > 0),
            Cell::share(check.passes, check.passes + check.failures),
        ]
    });
    Table::new("checks", "Checks", columns).with(rows)
}

pub(super) fn metrics(report: &Report) -> Table<'_> {
    let mut columns = vec![Column::group("kind"), Column::text("metric")];
    columns.extend(Column::numbers([
        "values", "value", "min", "p50", "p90", "p95", "p99", "max",
    ]));
    // In groups, each in the order of the plan.
    let kinds = [
        (MetricKind::Counter, "counter: the sum"),
        (MetricKind::Gauge, "gauge: the latest"),
        (MetricKind::Rate, "rate: the share that was true"),
        (MetricKind::Trend, "trend: the mean"),
    ];
    let rows = kinds.into_iter().flat_map(|(kind, words)| {
        let of_kind = report.metrics.iter().filter(move |row| row.kind == kind);
        of_kind.map(move |row| {
            let mut cells = vec![
                Cell::words(words),
                Cell::foreign(&*row.name),
                Cell::count(row.count),
                value(row),
            ];
            let others = [row.min, row.p50, row.p90, row.p95, row.p99, row.max];
            cells.extend(others.map(|value| Cell::of(value, Cell::number)));
            cells
        })
    });
    Table::new("metrics", "Custom metrics", columns).with(rows)
}

fn value(row: &Metric) -> Cell {
    match (row.kind, row.value) {
        // The mean of ones and zeros: the nearest whole number is how many there were.
        (MetricKind::Rate, Some(part)) => {
            let held = (part * row.count as f64).round() as u64;
            Cell::Figure(part, share(held, row.count), false)
        }
        (_, value) => Cell::of(value, Cell::number),
    }
}

/// Returns the latencies with the requests filled in that late users could not make, if they were requested.
pub(super) fn omission(report: &Report, scope: Scope) -> Option<Table<'_>> {
    let filled = report.co_mitigation.as_ref()?;
    let cells = |name: Cell, figures: &CoFigures| {
        let mut cells = vec![
            name,
            Cell::count(figures.count),
            Cell::count(figures.filled),
        ];
        let values = |all: &Latency| [all.avg, all.p50, all.p95, all.p99, all.p99_9, all.max];
        cells.extend(durations(figures.latency_ms.as_ref(), values));
        cells
    };
    let rows = filled.requests.iter().map(|row| {
        let name = Cell::foreign(request_name(&row.method, &row.name));
        cells(name, &row.figures)
    });
    let mut columns = vec![Column::text("name")];
    columns.extend(Column::numbers([
        "requests",
        "filled in",
        "avg",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "max",
    ]));
    let mut table = Table::new("omission", "Coordinated omission", columns)
        .with(rows)
        .note("Latencies with the requests filled in that users could not make while they waited for a slow response: compare with the percentiles.");
    table.total = Some(cells(Cell::words("Aggregated"), &filled.aggregated));
    let cadence = match filled.cadence {
        Cadence::Average => "average",
        Cadence::Minimum => "shortest",
        Cadence::Maximum => "longest",
    };
    table.remarks.push(match filled.cadence_ms {
        None => format!("no iteration took twice its user's {cadence}"),
        Some(ms) => format!(
            "{} took over twice the {cadence}, {}",
            counted(filled.late_cycles, "iteration"),
            time(ms)
        ),
    });
    Some(match scope {
        Scope::Full => table,
        Scope::Brief | Scope::Usual => table.without("avg").without("p99.9"),
    })
}

fn mark(is_good: bool) -> Cell {
    Cell::Mark(if is_good { Mark::Good } else { Mark::Bad })
}
