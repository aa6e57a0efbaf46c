//! The table of coordinated omission: measured figures, and next to them the figures that include the filled-in
//! requests, which late users could not make.

use super::sections::times;
use super::table::TextTable;
use crate::metrics::{Cadence, CoFigures, CoMitigation, Figures, Latency, Report};
use crate::output::display::{request_name, time};
use crate::units::{counted, show_count};

/// Returns the table, if it was requested.
pub(super) fn table(report: &Report) -> Option<TextTable> {
    let filled = report.co_mitigation.as_ref()?;
    let columns = &["# reqs", "Avg", "p50", "p95", "p99", "p99.9", "Max"];
    let mut table = TextTable::new("Coordinated omission", columns);
    let (head, note) = heading(filled);
    table.heading(head, note);
    for row in &filled.requests {
        let same =
            |raw: &&crate::metrics::RequestRow| raw.method == row.method && raw.name == row.name;
        let raw = report.requests.iter().find(same).map(|raw| &raw.figures);
        pair(
            &mut table,
            request_name(&row.method, &row.name),
            raw,
            &row.figures,
        );
    }
    if filled.aggregated.filled > 0 {
        table.rule();
        pair(
            &mut table,
            "Aggregated".to_owned(),
            Some(&report.aggregated),
            &filled.aggregated,
        );
    }
    Some(table)
}

fn heading(filled: &CoMitigation) -> (String, String) {
    let cadence = match filled.cadence {
        Cadence::Average => "average",
        Cadence::Minimum => "shortest",
        Cadence::Maximum => "longest",
    };
    match filled.cadence_ms {
        None => {
            let none = format!("no iteration took twice its user's {cadence}");
            (none, String::new())
        }
        Some(ms) => (
            counted(filled.late_cycles, "late iteration"),
            format!("over twice the {cadence}, {}", time(ms)),
        ),
    }
}

/// Adds a row as measured, and one with the requests filled in.
fn pair(table: &mut TextTable, name: String, raw: Option<&Figures>, filled: &CoFigures) {
    if let Some(raw) = raw {
        table.row(name, cells(raw.count, raw.latency_ms.as_ref()));
    }
    table.row(
        format!("  with {} filled in", show_count(filled.filled)),
        cells(filled.count, filled.latency_ms.as_ref()),
    );
}

fn cells(count: u64, latency: Option<&Latency>) -> Vec<String> {
    let values = |l: &Latency| [l.avg, l.p50, l.p95, l.p99, l.p99_9, l.max];
    let mut cells = vec![show_count(count)];
    cells.extend(times(latency, values));
    cells
}
