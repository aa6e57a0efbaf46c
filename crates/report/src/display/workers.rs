//! Workers in a report for people: those that need attention first, with their state in words.

use lgoose_base::figures::{moment, time};
use lgoose_base::line::one_line;
use lgoose_base::units::{counted, show_count};
use lgoose_metrics::{Report, WorkerRow, WorkerState};

/// Returns the workers for a table: the lost first, then the saturated.
pub(crate) fn workers_in_order(report: &Report) -> Vec<&WorkerRow> {
    let mut rows: Vec<&WorkerRow> = report.workers.iter().collect();
    rows.sort_by_key(|row| (row.state != WorkerState::Lost, !is_saturated(row)));
    rows
}

/// Returns whether the worker itself set the latency for some time.
pub(crate) fn is_saturated(row: &WorkerRow) -> bool {
    row.saturated_s > 0.0
}

/// Returns the labels on one line: `region=eu zone=a`.
pub(crate) fn labels_text(row: &WorkerRow) -> String {
    one_line(&lgoose_metrics::labels_text(&row.labels))
}

/// Returns the state in words: `done`, `lost at 31.5 s, saturated for 12.0 s`.
pub(crate) fn worker_state(row: &WorkerRow) -> String {
    let mut text = match (row.state, row.lost_at_s) {
        (WorkerState::Lost, Some(at)) => format!("lost at {}", moment(at.max(0.0))),
        (state, Some(at)) => format!("{}, was lost at {}", state.text(), moment(at.max(0.0))),
        (state, None) => state.text().to_owned(),
    };
    if is_saturated(row) {
        text += &format!(", saturated for {}", moment(row.saturated_s));
    }
    text
}

/// Returns the offset of a clock: `-3.25 ms ±125 µs`; the error is left out where there is little room.
pub(crate) fn offset_text(offset_ms: f64, within_ms: Option<f64>) -> String {
    let sign = if offset_ms < 0.0 { "-" } else { "" };
    let within = within_ms.map_or_else(String::new, |ms| format!(" ±{}", time(ms)));
    format!("{sign}{}{within}", time(offset_ms.abs()))
}

/// Returns the number of workers and their fates: `3 · 1 lost · 1 saturated`.
pub(super) fn fact(report: &Report) -> Option<String> {
    if report.workers.is_empty() {
        return None;
    }
    let workers = || report.workers.iter();
    let threads = workers().map(|row| row.threads).sum();
    let mut text = format!(
        "{} · {}",
        show_count(report.workers.len() as u64),
        counted(threads, "thread")
    );
    let lost = workers().filter(|row| row.state == WorkerState::Lost);
    let saturated = workers().filter(|row| is_saturated(row));
    for (count, word) in [(lost.count(), "lost"), (saturated.count(), "saturated")] {
        if count > 0 {
            text += &format!(" · {} {word}", show_count(count as u64));
        }
    }
    Some(text)
}
