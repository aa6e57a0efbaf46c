//! The pages that need a report: all percentiles, tasks, errors and status codes.

use super::super::listing::{Listing, ListingRow, column};
use super::super::text::one_line;
use super::words::{error_key, label, moment, ms_text, rate, request_key};
use crate::metrics::{Figures, Latency, Report, RequestRow};
use crate::units::{counted, show_count};
use std::collections::BTreeMap;
use std::time::Duration;

/// Requests by name, and all of them together as far as they are known.
type ReportedRequests<'a> = (&'a [RequestRow], Option<&'a Figures>);

fn keyed(row: &RequestRow, entry: ListingRow) -> ListingRow {
    ListingRow {
        key: request_key(&row.method, &row.name),
        ..entry
    }
}

pub(super) fn latency((requests, all): ReportedRequests, empty: String) -> Listing {
    const COLUMNS: [(&str, u8); 11] = [
        ("avg", 5),
        ("min", 7),
        ("p50", 0),
        ("p75", 6),
        ("p90", 3),
        ("p95", 1),
        ("p98", 8),
        ("p99", 0),
        ("p99.9", 2),
        ("p99.99", 4),
        ("max", 1),
    ];
    let entry = |name: String, latency: Option<&Latency>| {
        let values = latency.map(|l| {
            [
                l.avg, l.min, l.p50, l.p75, l.p90, l.p95, l.p98, l.p99, l.p99_9, l.p99_99, l.max,
            ]
        });
        let values = values.map_or_else(Vec::new, Vec::from);
        ListingRow {
            name,
            cells: values.iter().map(|ms| ms_text(*ms)).collect(),
            keys: values,
            ..ListingRow::default()
        }
    };
    let rows = requests.iter();
    Listing {
        title: "Latency",
        columns: COLUMNS.map(|(title, rank)| column(title, rank)).to_vec(),
        rows: rows
            .map(|row| {
                keyed(
                    row,
                    entry(
                        label(&row.method, &row.name),
                        row.figures.latency_ms.as_ref(),
                    ),
                )
            })
            .collect(),
        total: Some(entry(
            "Aggregated".to_owned(),
            all.and_then(|all| all.latency_ms.as_ref()),
        )),
        empty,
    }
}

/// Returns the tasks of all scenarios, or of one.
pub(super) fn tasks(report: &Report, only: Option<&str>) -> Listing {
    let mut rows = Vec::new();
    let scenarios = report.scenarios.iter();
    for scenario in scenarios.filter(|one| only.is_none_or(|only| one.name == only)) {
        rows.push(ListingRow {
            name: format!(
                "{} · {} · {}",
                one_line(&scenario.name),
                counted(scenario.users, "user"),
                counted(scenario.iterations, "iteration")
            ),
            heading: true,
            ..ListingRow::default()
        });
        for task in report
            .tasks
            .iter()
            .filter(|task| task.scenario == scenario.name)
        {
            let values = task.latency_ms.map(|l| [l.avg, l.p50, l.p95, l.max]);
            let values = values.map_or_else(Vec::new, Vec::from);
            let per_second = task.runs as f64 / report.elapsed_s.max(0.001);
            let mut cells = vec![
                show_count(task.runs),
                show_count(task.failures),
                rate(per_second),
            ];
            cells.extend(values.iter().map(|ms| ms_text(*ms)));
            let mut keys = vec![task.runs as f64, task.failures as f64, per_second];
            keys.extend(values);
            rows.push(ListingRow {
                key: format!("{}\n{}", task.scenario, task.name),
                name: format!("  {}", one_line(&task.name)),
                cells,
                keys,
                bad: task.failures > 0,
                failing: task.failures as f64 / task.runs.max(1) as f64,
                heading: false,
            });
        }
    }
    Listing {
        title: "Task",
        columns: vec![
            column("# runs", 0),
            column("fails", 0),
            column("runs/s", 1),
            column("avg", 2),
            column("p50", 3),
            column("p95", 1),
            column("max", 2),
        ],
        rows,
        total: None,
        empty: "no task has ended yet".to_owned(),
    }
}

/// Returns the place without its folders, such as `drupal.lua:41`: the message needs the room, and the error's
/// details show them.
fn file_and_line(place: &str) -> String {
    let start = place.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    one_line(&place[start..])
}

pub(super) fn errors(report: &Report, origin: Duration) -> Listing {
    let rows = report.errors.iter().map(|error| ListingRow {
        key: error_key(error),
        name: format!("{}: {}", one_line(&error.name), one_line(&error.message)),
        cells: vec![
            show_count(error.count),
            moment(origin, error.first_s),
            moment(origin, error.last_s),
            error
                .line
                .as_deref()
                .map_or_else(String::new, file_and_line),
        ],
        keys: vec![error.count as f64, error.first_s, error.last_s, 0.0],
        ..ListingRow::default()
    });
    Listing {
        title: "Error",
        columns: vec![
            column("count", 0),
            column("first", 2),
            column("last", 1),
            column("plan", 3),
        ],
        rows: rows.collect(),
        total: None,
        empty: "nothing has failed".to_owned(),
    }
}

pub(super) fn codes((requests, total): ReportedRequests, empty: String) -> Listing {
    let none = BTreeMap::new();
    let status = total.map_or(&none, |total| &total.status);
    let all: Vec<&String> = status.keys().collect();
    let title = |code: &str| match code {
        "0" => "none".to_owned(),
        code => one_line(code),
    };
    let entry = |name: String, status: &BTreeMap<String, u64>| {
        let counts: Vec<u64> = all
            .iter()
            .map(|code| status.get(*code).copied().unwrap_or(0))
            .collect();
        ListingRow {
            name,
            cells: counts.iter().map(|count| show_count(*count)).collect(),
            keys: counts.iter().map(|count| *count as f64).collect(),
            ..ListingRow::default()
        }
    };
    let rows = requests.iter();
    Listing {
        title: "Status codes (none: no response)",
        columns: all.iter().map(|code| column(&title(code), 1)).collect(),
        rows: rows
            .map(|row| {
                keyed(
                    row,
                    entry(label(&row.method, &row.name), &row.figures.status),
                )
            })
            .collect(),
        total: Some(entry("Aggregated".to_owned(), status)),
        empty,
    }
}
