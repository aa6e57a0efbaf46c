//! The table of scenarios and tags, with a switch that shows one at a time.

use super::table::{Cell, HtmlTable, count, times};
use super::workers::failures;
use crate::metrics::{Latency, Report};
use crate::output::display::Column::{Number, Text};
use crate::output::display::{rate, request_name};

/// Returns a row for each tag and for each request name of it.
pub(super) fn tags(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Tag"),
        Text("Name"),
        Number("Requests"),
        Number("Failures"),
        Number("Requests/s"),
        Number("p50"),
        Number("p95"),
        Number("p99"),
        Number("Maximum"),
    ];
    let mut table = HtmlTable::new("tags", "Scenarios and tags", &columns);
    for tag in &report.by_tag {
        let all = [("Aggregated".to_owned(), &tag.aggregated)];
        let names = tag.requests.iter();
        let names = names.map(|row| (request_name(&row.method, &row.name), &row.figures));
        for (name, figures) in all.into_iter().chain(names) {
            let mut cells = vec![
                Cell::Text(tag.tag.clone()),
                Cell::Text(name),
                count(figures.count),
                failures(figures.failures, figures.count),
                Cell::Number(figures.rate, rate(figures.rate)),
            ];
            let values = |l: &Latency| [l.p50, l.p95, l.p99, l.max];
            cells.extend(times(figures.latency_ms.as_ref(), values));
            table.row(&cells);
        }
    }
    (!report.by_tag.is_empty()).then_some(table)
}
