//! The end of a run of one iteration (`--once`), with which people look for mistakes: each request with its status and its
//! time, what failed and why. Percentiles of one request, rates and shares say nothing.

use super::sections::{self, request_status};
use super::table::TextTable;
use super::{PLAIN_WIDTH, fact_lines, title};
use crate::metrics::Report;
use crate::output::display::{facts, request_name, time};
use crate::units::show_count;

/// Labels of the facts that the page shows.
const FACTS: [&str; 8] = [
    "users",
    "requests",
    "redirects",
    "seed",
    "log",
    "remark",
    "ending",
    "verdict",
];

/// Returns the page.
pub(super) fn page(report: &Report, width: usize) -> String {
    let mut tables: Vec<TextTable> = requests(report).into_iter().collect();
    tables.extend(sections::start_stop_table(report));
    let measures = sections::measures(report);
    let widths = tables.iter().chain(&measures).map(TextTable::natural_width);
    let page = widths.max().unwrap_or(0).max(PLAIN_WIDTH).min(width);
    let mut out = title(report, page);
    sections::warnings(report, page, &mut out);
    for table in &tables {
        out.push('\n');
        table.render(page, &mut out);
    }
    sections::errors(report, page, &mut out);
    for table in &measures {
        out.push('\n');
        table.render(page, &mut out);
    }
    out.push('\n');
    let mut facts = facts(report);
    facts.retain(|(label, _)| FACTS.contains(label));
    fact_lines(facts, page, &mut out);
    out
}

/// Returns a row for each name, with the longest time if it has more than one request.
fn requests(report: &Report) -> Option<TextTable> {
    let mut table = TextTable::new("Requests", &["# reqs", "# fails", "status", "time"]);
    for row in &report.requests {
        let figures = &row.figures;
        let longest = figures.latency_ms.as_ref();
        let longest = longest.map_or_else(|| "-".to_owned(), |latency| time(latency.max));
        table.row(
            request_name(&row.method, &row.name),
            vec![
                show_count(figures.count),
                show_count(figures.failures),
                request_status(figures),
                match figures.count {
                    0 | 1 => longest,
                    _ => format!("≤ {longest}"),
                },
            ],
        );
    }
    (!report.requests.is_empty()).then_some(table)
}
