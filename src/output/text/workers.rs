//! The tables of workers and of their labels.

use super::sections::times;
use super::table::TextTable;
use crate::metrics::{Latency, Report, WorkerState};
use crate::output::display::{
    is_saturated, labels_text, moment, offset_text, one_line, rate, time, with_share, workers_shown,
};
use crate::units::show_count;

/// Returns the tables; none for a run of one process.
pub(super) fn tables(report: &Report) -> Vec<TextTable> {
    let mut tables = Vec::new();
    if !report.by_label.is_empty() {
        tables.push(labels(report));
    }
    if !report.workers.is_empty() {
        tables.push(workers(report));
    }
    tables
}

/// Returns a table with a row for each label, for comparing labels.
fn labels(report: &Report) -> TextTable {
    let columns = &["workers", "# reqs", "# fails", "req/s", "p50", "p95", "p99"];
    let mut table = TextTable::new("Labels", columns);
    for row in &report.by_label {
        let all = &row.aggregated;
        let mut cells = vec![
            show_count(row.workers),
            show_count(all.count),
            with_share(all.failures, all.count),
            rate(all.rate),
        ];
        let percentiles = |l: &Latency| [l.p50, l.p95, l.p99];
        cells.extend(times(all.latency_ms.as_ref(), percentiles));
        table.row(one_line(&row.label), cells);
    }
    table
}

fn workers(report: &Report) -> TextTable {
    let (rows, more) = workers_shown(report);
    let was_lost = rows.iter().any(|row| row.lost_at_s.is_some());
    let columns: &[&str] = if was_lost {
        &[
            "users", "# reqs", "# fails", "p95", "busy", "lag", "offset", "lost at",
        ]
    } else {
        &["users", "# reqs", "# fails", "p95", "busy", "lag", "offset"]
    };
    let mut table = TextTable::new("Workers", columns);
    for row in &rows {
        let mark = match row.state {
            WorkerState::Lost => '✗',
            _ if is_saturated(row) => '!',
            _ => ' ',
        };
        let mut cells = vec![
            show_count(row.users),
            show_count(row.requests),
            show_count(row.failures),
            row.p95_ms.map_or_else(|| "-".to_owned(), time),
            format!("{:.0}%", row.busy * 100.0),
            time(row.lag_ms),
            offset_text(row.offset_ms, None),
        ];
        if was_lost {
            cells.push(
                row.lost_at_s
                    .map_or_else(String::new, |at| moment(at.max(0.0))),
            );
        }
        let name = format!("{mark} {} {}", one_line(&row.name), labels_text(row));
        table.row(name.trim_end().to_owned(), cells);
    }
    if more > 0 {
        table.heading(format!("… and {} more", show_count(more as u64)), "");
    }
    if rows.iter().any(|row| is_saturated(row)) {
        table.heading(
            "!  for a time the worker itself, not the target, set its latency",
            "",
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::{TableOptions, tables};
    use crate::output::fixture;
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn a_run_on_workers_ends_with_them_and_their_labels() {
        for width in [80, 120] {
            let text = tables(&fixture::gaggle(), width, TableOptions::default());
            fixture::golden(&format!("../text/golden_workers_{width}.txt"), &text);
            assert!(text.lines().all(|line| line.width() <= width), "{text}");
            fixture::assert_harmless(&text);
        }
    }

    #[test]
    fn of_many_workers_the_lost_and_the_saturated_are_shown() {
        let mut report = fixture::gaggle();
        let good = report.workers[0].clone();
        report.workers.splice(0..0, vec![good; 998]);
        let text = tables(&report, 80, TableOptions::default());
        assert!(text.contains("… and 981 more"), "{text}");
        let place = |name: &str| text.find(name);
        assert!(place("✗ bad") < place("! worker-2") && place("! worker-2") < place("worker-1"));
    }
}
