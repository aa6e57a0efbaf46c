//! The table of scenarios and tags.

use super::sections::times;
use super::table::TextTable;
use crate::metrics::{Latency, Report};
use crate::output::display::{one_line, rate, with_share};
use crate::units::show_count;

/// The most tags that are shown; files contain all.
const MOST: usize = 30;

/// Returns a table with a row for each tag; `None` if requests have none.
pub(super) fn table(report: &Report) -> Option<TextTable> {
    if report.by_tag.is_empty() {
        return None;
    }
    let columns = &["# reqs", "# fails", "req/s", "p50", "p95", "p99"];
    let mut table = TextTable::new("Scenarios and tags", columns);
    for row in report.by_tag.iter().take(MOST) {
        let all = &row.aggregated;
        let mut cells = vec![
            show_count(all.count),
            with_share(all.failures, all.count),
            rate(all.rate),
        ];
        let percentiles = |l: &Latency| [l.p50, l.p95, l.p99];
        cells.extend(times(all.latency_ms.as_ref(), percentiles));
        table.row(one_line(&row.tag), cells);
    }
    let more = report.by_tag.len().saturating_sub(MOST);
    if more > 0 {
        let none = columns.iter().map(|_| String::new()).collect();
        table.row(
            format!("… {} more in the files", show_count(more as u64)),
            none,
        );
    }
    Some(table)
}
