//! The page of workers, from a snapshot alone: those in trouble come first.

use super::super::listing::{Entry, Listing, column};
use super::super::text::one_line;
use super::words::{ms_text, rate, tight};
use crate::metrics::{LiveWorker, Snapshot, WorkerState};
use crate::units::show_count;

pub(super) fn workers(snapshot: &Snapshot) -> Listing {
    let workers = snapshot.workers.iter().enumerate();
    let mut rows: Vec<(u8, Entry)> = workers
        .map(|(at, row)| (urgency(row), entry(at, row)))
        .collect();
    rows.sort_by_key(|(urgency, _)| *urgency);
    Listing {
        title: "Worker",
        columns: vec![
            column("labels", 4),
            column("version", 6),
            column("users", 2),
            column("req/s", 0),
            column("p95", 1),
            column("busy", 1),
            column("lag", 3),
            column("offset", 5),
            column("state", 0),
        ],
        rows: rows.into_iter().map(|(_, entry)| entry).collect(),
        total: None,
        empty: "all users are in this process".to_owned(),
    }
}

/// Returns the worker of a row's key.
pub(in super::super) fn worker_of<'a>(snapshot: &'a Snapshot, key: &str) -> Option<&'a LiveWorker> {
    let number: usize = key.parse().ok()?;
    snapshot.workers.get(number)
}

/// Returns the worker's state in a word: also whether it is saturated.
pub(in super::super) fn state(row: &LiveWorker) -> &'static str {
    match row.saturated {
        true => "saturated",
        false => row.state.text(),
    }
}

/// Returns how much a worker's clock is ahead, `-3.25ms`.
pub(in super::super) fn offset(row: &LiveWorker) -> String {
    match ms_text(row.offset_ms.abs()) {
        none if row.offset_ms == 0.0 => none,
        text if row.offset_ms < 0.0 => format!("-{text}"),
        text => text,
    }
}

/// The lost come before the saturated, and both before the others.
fn urgency(row: &LiveWorker) -> u8 {
    match row.state {
        WorkerState::Lost => 0,
        _ if row.saturated => 1,
        _ => 2,
    }
}

fn entry(at: usize, row: &LiveWorker) -> Entry {
    Entry {
        key: at.to_string(),
        name: one_line(&row.name),
        cells: vec![
            one_line(&row.labels),
            one_line(&row.version),
            show_count(row.users),
            rate(row.rate_now),
            tight(row.p95),
            format!("{:.0}%", row.busy * 100.0),
            tight(row.lag),
            offset(row),
            state(row).to_owned(),
        ],
        keys: vec![
            0.0,
            0.0,
            row.users as f64,
            row.rate_now,
            row.p95.as_secs_f64(),
            row.busy,
            row.lag.as_secs_f64(),
            row.offset_ms,
            f64::from(2 - urgency(row)),
        ],
        bad: urgency(row) < 2,
        heading: false,
    }
}
