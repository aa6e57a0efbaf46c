//! The tables of thresholds, checks, custom metrics and coordinated omission, and the overview.

use super::table::{Cell, HtmlTable, count, times};
use crate::metrics::{Cadence, CoFigures, Latency, Metric, MetricKind, Report};
use crate::output::display::Column::{Number, Text};
use crate::output::display::{
    facts, moment, number, request_name, share, threshold_figure, threshold_parts,
};

pub(super) fn thresholds(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Verdict"),
        Text("Threshold"),
        Number("Limit"),
        Number("Figure"),
        Number("Broken at"),
    ];
    let mut table = HtmlTable::new("thresholds", "Thresholds", &columns);
    for row in &report.thresholds {
        let (figure, limit) = threshold_parts(row);
        let shown = threshold_figure(row);
        table.row(&[
            Cell::Mark(row.passed),
            Cell::Text(figure),
            Cell::Number(row.limit, limit),
            match row.value {
                Some(value) if row.passed => Cell::Number(value, shown),
                Some(value) => Cell::Bad(value, shown),
                None => Cell::Bad(-1.0, shown),
            },
            row.broken_s
                .map_or(Cell::None, |at| Cell::Number(at, moment(at))),
        ]);
    }
    (!report.thresholds.is_empty()).then_some(table)
}

pub(super) fn checks(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Verdict"),
        Text("Check"),
        Number("Held"),
        Number("Did not"),
        Number("Share"),
    ];
    let mut table = HtmlTable::new("checks", "Checks", &columns);
    for check in &report.checks {
        let all = check.passes + check.failures;
        let part = check.passes as f64 / all.max(1) as f64;
        let shown = share(check.passes, all);
        table.row(&[
            Cell::Mark(check.failures == 0),
            Cell::Text(check.name.clone()),
            count(check.passes),
            match check.failures {
                0 => count(0),
                n => Cell::Bad(n as f64, crate::units::show_count(n)),
            },
            Cell::Number(part, shown),
        ]);
    }
    (!report.checks.is_empty()).then_some(table)
}

pub(super) fn metrics(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Metric"),
        Text("Kind"),
        Number("Values"),
        Number("Value"),
        Number("Minimum"),
        Number("p50"),
        Number("p90"),
        Number("p95"),
        Number("p99"),
        Number("Maximum"),
    ];
    let mut table = HtmlTable::new("metrics", "Custom metrics", &columns).note(
        "The value is the sum of a counter, the latest of a gauge, the share of a rate that was true, the mean of a trend.",
    );
    for row in &report.metrics {
        let figure = |value: Option<f64>| value.map_or(Cell::None, |v| Cell::Number(v, number(v)));
        let kind = match row.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Rate => "rate",
            MetricKind::Trend => "trend",
        };
        let mut cells = vec![
            Cell::Text(row.name.clone()),
            Cell::Text(kind.to_owned()),
            count(row.count),
            value(row),
        ];
        cells.extend([row.min, row.p50, row.p90, row.p95, row.p99, row.max].map(figure));
        table.row(&cells);
    }
    (!report.metrics.is_empty()).then_some(table)
}

fn value(row: &Metric) -> Cell {
    match (row.kind, row.value) {
        (_, None) => Cell::None,
        (MetricKind::Rate, Some(part)) => {
            let held = (part * row.count as f64).round() as u64;
            Cell::Number(part, share(held, row.count))
        }
        (_, Some(value)) => Cell::Number(value, number(value)),
    }
}

pub(super) fn omission(report: &Report) -> Option<HtmlTable> {
    let filled = report.co_mitigation.as_ref()?;
    let columns = [
        Text("Name"),
        Number("Requests"),
        Number("Filled in"),
        Number("Average"),
        Number("p50"),
        Number("p95"),
        Number("p99"),
        Number("p99.9"),
        Number("Maximum"),
    ];
    let cadence = match filled.cadence {
        Cadence::Average => "average",
        Cadence::Minimum => "shortest",
        Cadence::Maximum => "longest",
    };
    let mut table = HtmlTable::new("omission", "Coordinated omission", &columns).note(format!(
        "Latencies with the requests filled in that users could not make while they waited for a slow response: \
         {} iterations took more than twice their user’s {cadence}. Compare with the table of percentiles.",
        crate::units::show_count(filled.late_cycles)
    ));
    for row in &filled.requests {
        table.row(&corrected(
            request_name(&row.method, &row.name),
            &row.figures,
        ));
    }
    table.total(&corrected("Aggregated".to_owned(), &filled.aggregated));
    Some(table)
}

fn corrected(name: String, figures: &CoFigures) -> Vec<Cell> {
    let mut cells = vec![
        Cell::Text(name),
        count(figures.count),
        count(figures.filled),
    ];
    let values = |l: &Latency| [l.avg, l.p50, l.p95, l.p99, l.p99_9, l.max];
    cells.extend(times(figures.latency_ms.as_ref(), values));
    cells
}

pub(super) fn overview(report: &Report) -> HtmlTable {
    let mut table = HtmlTable::new("overview", "Overview", &[Text("Fact"), Text("")]);
    for (label, fact) in facts(report) {
        table.row(&[Cell::Text(label.to_owned()), Cell::Text(fact)]);
    }
    table
}
