//! The page of requests, from figures of a snapshot: over the whole measurement, or the last ten seconds.

use super::super::history::History;
use super::super::listing::{Listing, ListingRow, column};
use super::words::{label, rate, request_key, tight};
use lgoose_base::units::show_count;
use lgoose_metrics::{LiveRequests, LiveRow};
use std::time::Duration;

/// The share of failures from which on a row is in trouble.
const BAD: f64 = 0.01;
/// The columns of percentiles over the whole measurement.
const PERCENTILES: std::ops::Range<usize> = 3..6;
/// Width of a trend.
const TREND: usize = 8;

/// Returns the page; its last line is about the requests whose names `matches` accepts.
pub(super) fn requests(
    requests: &LiveRequests,
    history: &History,
    now: bool,
    empty: String,
    matches: impl Fn(&str) -> bool,
) -> Listing {
    let row = |row: &LiveRow| {
        let trend = history.trend(&row.method, &row.name, TREND);
        ListingRow {
            key: request_key(&row.method, &row.name),
            name: label(&row.method, &row.name),
            ..entry(row, now, trend)
        }
    };
    let matching: Vec<&LiveRow> = requests
        .rows
        .iter()
        .filter(|row| matches(&label(&row.method, &row.name)))
        .collect();
    let are_all = matching.len() == requests.rows.len();
    let mut total = if are_all {
        requests.total.clone()
    } else {
        sum(&matching)
    };
    // The worst of all requests is the worst of any name.
    for row in &matching {
        for (most, here) in total.worst_now.iter_mut().zip(row.worst_now) {
            *most = (*most).max(here);
        }
    }
    let mut total = entry(&total, now, String::new());
    total.name = "Aggregated".to_owned();
    if !are_all {
        total.name = "Aggregated, of these".to_owned();
        if !now {
            // The percentiles of several names are not those of each.
            total.cells[PERCENTILES].fill(String::new());
        }
    }
    let columns = if now {
        vec![
            column("req/s", 0),
            column("failed/s", 0),
            column("worst p50", 3),
            column("worst p95", 1),
            column("worst p99", 2),
            column("max", 4),
            column("trend", 5),
        ]
    } else {
        vec![
            column("requests", 0),
            column("failed", 0),
            column("req/s", 0),
            column("p50", 3),
            column("p95", 1),
            column("p99", 2),
            column("max", 4),
            column("trend", 5),
        ]
    };
    Listing {
        title: if now { "Request, last 10 s" } else { "Request" },
        columns,
        rows: requests.rows.iter().map(row).collect(),
        total: Some(total),
        empty,
    }
}

/// Adds up the figures that can be added up over names; the maximum is the largest.
fn sum(rows: &[&LiveRow]) -> LiveRow {
    let mut sum = LiveRow::default();
    for row in rows {
        sum.count += row.count;
        sum.failures += row.failures;
        sum.rate += row.rate;
        sum.rate_now += row.rate_now;
        sum.failures_now += row.failures_now;
        sum.max = sum.max.max(row.max);
    }
    sum
}

/// Leaves out the columns of the worst second, which is not known for a tag.
pub(super) fn without_worst(listing: &mut Listing) {
    const WORST: std::ops::Range<usize> = 2..6;
    listing.columns.drain(WORST);
    for row in listing.rows.iter_mut().chain(&mut listing.total) {
        row.cells.drain(WORST);
        row.keys.drain(WORST);
    }
}

fn entry(row: &LiveRow, now: bool, trend: String) -> ListingRow {
    let [p50, p95, p99, max] = if now {
        row.worst_now
    } else {
        [row.p50, row.p95, row.p99, row.max]
    };
    let times = [p50, p95, p99, max];
    let (mut cells, mut keys) = if now {
        (
            vec![rate(row.rate_now), rate(row.failures_now)],
            vec![row.rate_now, row.failures_now],
        )
    } else {
        (
            vec![
                show_count(row.count),
                show_count(row.failures),
                rate(row.rate),
            ],
            vec![row.count as f64, row.failures as f64, row.rate],
        )
    };
    cells.extend(times.map(tight));
    keys.extend(times.iter().map(Duration::as_secs_f64));
    cells.push(trend);
    keys.push(row.rate_now);
    let (failed, all) = if now {
        (row.failures_now, row.rate_now)
    } else {
        (row.failures as f64, row.count as f64)
    };
    let bad = failed > 0.0 && failed >= all * BAD;
    ListingRow {
        cells,
        keys,
        bad,
        failing: if bad { failed / all } else { 0.0 },
        ..ListingRow::default()
    }
}
