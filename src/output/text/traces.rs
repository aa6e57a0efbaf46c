//! The table of the slowest requests whose traces the site was asked to keep.

use super::table::TextTable;
use crate::metrics::Report;
use crate::output::display::{slowest_traces, status_text, time, trace_text};

/// The most rows: more are in the other outputs.
const MOST: usize = 10;

/// Returns the table, if there are such requests.
pub(super) fn table(report: &Report) -> Option<TextTable> {
    let slowest = slowest_traces(report);
    let mut table = TextTable::new("Slowest traces", &["latency", "status", "trace id"]);
    for (name, one) in slowest.iter().take(MOST) {
        let latency = time(one.latency_ms + one.delay_ms);
        let cells = vec![latency, status_text(one.status), trace_text(&one.trace)];
        table.row(name.clone(), cells);
    }
    (!slowest.is_empty()).then_some(table)
}
