//! The page of workers, from a snapshot alone: those in trouble come first.

use super::super::listing::{Listing, ListingRow, column};
use super::super::text::one_line;
use super::words::{ms_text, rate, tight};
use lgoose_base::units::show_count;
use lgoose_metrics::{LiveWorker, Snapshot, WorkerState};
use std::collections::{BTreeSet, HashMap};

/// The columns of texts, and that of the state.
const TEXTS: [usize; 2] = [0, 1];
const STATE: usize = 8;

pub(super) fn workers(snapshot: &Snapshot) -> Listing {
    let mut rows: Vec<ListingRow> = snapshot
        .workers
        .iter()
        .enumerate()
        .map(|(at, row)| entry(at, row))
        .collect();
    for column in TEXTS {
        let texts: BTreeSet<&String> = rows.iter().map(|row| &row.cells[column]).collect();
        // Rows are sorted with the largest value first: for texts, that is the first in the alphabet.
        let ranks = texts.into_iter().cloned().zip(0..);
        let ranks: HashMap<String, i32> = ranks.map(|(text, at)| (text, -at)).collect();
        for row in &mut rows {
            row.keys[column] = f64::from(ranks[&row.cells[column]]);
        }
    }
    rows.sort_by(|a, b| b.keys[STATE].total_cmp(&a.keys[STATE]));
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
        rows,
        total: None,
        empty: "all users are in this process".to_owned(),
    }
}

/// Returns the worker of a row's key.
pub(in super::super) fn worker_of<'a>(snapshot: &'a Snapshot, key: &str) -> Option<&'a LiveWorker> {
    let number: usize = key.parse().ok()?;
    snapshot.workers.get(number)
}

/// Returns the worker's state in a word; of one that is saturated, only that it is lost goes before that.
pub(in super::super) fn state(row: &LiveWorker) -> &'static str {
    match row.state {
        WorkerState::Lost => row.state.text(),
        _ if row.saturated => "saturated",
        _ => row.state.text(),
    }
}

/// Returns how far a worker's clock is ahead, such as `-3.25ms`.
pub(in super::super) fn offset(row: &LiveWorker) -> String {
    match ms_text(row.offset_ms.abs()) {
        none if row.offset_ms == 0.0 => none,
        text if row.offset_ms < 0.0 => format!("-{text}"),
        text => text,
    }
}

/// Returns the urgency of a worker: a lost one first, then a saturated one.
fn urgency(row: &LiveWorker) -> u8 {
    match row.state {
        WorkerState::Lost => 2,
        _ if row.saturated => 1,
        _ => 0,
    }
}

fn entry(at: usize, row: &LiveWorker) -> ListingRow {
    ListingRow {
        key: at.to_string(),
        name: one_line(&row.name),
        cells: vec![
            one_line(&row.labels_text()),
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
            f64::from(urgency(row)),
        ],
        bad: urgency(row) > 0,
        ..ListingRow::default()
    }
}
