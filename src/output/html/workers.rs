//! The tables of workers and of their labels, and the charts of labels.

use super::charts;
use super::table::{Cell, HtmlTable, count, duration, times};
use crate::metrics::{Latency, Report};
use crate::output::display::Column::{Number, Text};
use crate::output::display::{
    is_saturated, labels_text, offset_text, rate, request_name, time, with_share, worker_state,
};

pub(super) fn workers(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Worker"),
        Text("Labels"),
        Text("Version"),
        Number("Threads"),
        Number("Users"),
        Number("Requests"),
        Number("Failures"),
        Number("p95"),
        Number("Busy"),
        Number("Lag"),
        Number("Clock offset"),
        Text("State"),
    ];
    let mut table = HtmlTable::new("workers", "Workers", &columns).note(
        "Users: the most at one time. Saturated: the time in which the worker itself, not the target, set the latency.",
    );
    for row in &report.workers {
        let percent = format!("{:.0}%", row.busy * 100.0);
        let offset = offset_text(row.offset_ms, Some(row.offset_within_ms));
        table.row(&[
            Cell::Text(row.name.clone()),
            Cell::Text(labels_text(row)),
            Cell::Text(row.version.clone()),
            count(row.threads),
            count(row.users),
            count(row.requests),
            failures(row.failures, row.requests),
            row.p95_ms.map_or(Cell::None, duration),
            if is_saturated(row) {
                Cell::Bad(row.busy, percent)
            } else {
                Cell::Number(row.busy, percent)
            },
            duration(row.lag_ms),
            Cell::Number(row.offset_ms, offset),
            Cell::Text(worker_state(row)),
        ]);
    }
    (!report.workers.is_empty()).then_some(table)
}

/// Returns a row for each label and for each request name of it.
pub(super) fn labels(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Label"),
        Text("Name"),
        Number("Workers"),
        Number("Requests"),
        Number("Failures"),
        Number("Requests/s"),
        Number("p50"),
        Number("p95"),
        Number("p99"),
        Number("Maximum"),
    ];
    let mut table = HtmlTable::new("labels", "Labels", &columns);
    for label in &report.by_label {
        let all = [("Aggregated".to_owned(), &label.aggregated)];
        let names = label.requests.iter();
        let names = names.map(|row| (request_name(&row.method, &row.name), &row.figures));
        for (name, figures) in all.into_iter().chain(names) {
            let mut cells = vec![
                Cell::Text(label.label.clone()),
                Cell::Text(name),
                count(label.workers),
                count(figures.count),
                failures(figures.failures, figures.count),
                Cell::Number(figures.rate, rate(figures.rate)),
            ];
            let values = |l: &Latency| [l.p50, l.p95, l.p99, l.max];
            cells.extend(times(figures.latency_ms.as_ref(), values));
            table.row(&cells);
        }
    }
    (!report.by_label.is_empty()).then_some(table)
}

/// Returns the charts in which each label is a line, with their identifiers and titles.
pub(super) fn label_charts(report: &Report) -> Vec<(&'static str, &'static str, String)> {
    if report.by_label.is_empty() {
        return Vec::new();
    }
    let latency = charts::labels(report, |point| point.latency.p95_ms, &time);
    let per_second = |value: f64| format!("{}/s", rate(value));
    let rates = charts::labels(report, |point| point.rate(), &per_second);
    vec![
        ("chart-labels-latency", "p95 by label", latency),
        ("chart-labels-rate", "Requests per second by label", rates),
    ]
}

pub(super) fn failures(n: u64, of: u64) -> Cell {
    match n {
        0 => count(0),
        n => Cell::Bad(n as f64, with_share(n, of)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::to_html;
    use crate::output::fixture;
    use scraper::{Html, Selector};

    #[test]
    fn labels_stand_side_by_side_in_a_table_and_in_charts() {
        let page = Html::parse_document(&to_html(&fixture::gaggle()));
        let texts = |selector: &str| -> Vec<String> {
            let selector = Selector::parse(selector).expect("a selector");
            page.select(&selector)
                .map(|found| found.text().collect())
                .collect()
        };
        for chart in ["chart-labels-latency", "chart-labels-rate"] {
            assert_eq!(texts(&format!("#{chart} .key")), ["region=eu", "region=us"]);
            assert_eq!(texts(&format!("#{chart} path.line")).len(), 2);
        }
        let rows = texts("#labels tbody tr");
        assert_eq!(rows.len(), 4);
        assert!(rows[2].starts_with("region=usAggregated12,000"), "{rows:?}");
        let rows = texts("#workers tbody tr");
        assert!(rows[1].contains("done, saturated for 12.0 s"), "{rows:?}");
        assert!(rows[2].contains("lost at 31.5 s"), "{rows:?}");
    }
}
