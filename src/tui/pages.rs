//! The rows of each tab, from a snapshot and the latest report.

use super::history::History;
use super::listing::{Entry, Listing, column, one_line};
use super::state::{State, Tab};
use crate::metrics::{Latency, LiveRow, Metric, MetricKind, Report, Snapshot, ThresholdRow};
use crate::units::{counted, show_count, show_duration, three_digits};
use std::time::Duration;

/// Columns of a trend.
const TREND: usize = 8;

/// The rows of the state's tab, sorted and filtered as it says.
pub(super) fn listing(state: &State, snapshot: &Snapshot) -> Listing {
    let empty = Report::default();
    let report = state.report.as_deref().unwrap_or(&empty);
    let mut listing = match state.tab {
        Tab::Requests => requests(snapshot, &state.history),
        Tab::Latency => latency(report),
        Tab::Tasks => tasks(report),
        Tab::Errors => errors(report),
        Tab::Codes => codes(report),
        Tab::Checks => checks(snapshot),
        Tab::Log => Listing::default(),
    };
    listing.filter(&state.filter);
    listing.sort(state.sorted(), state.rising);
    listing
}

fn requests(snapshot: &Snapshot, history: &History) -> Listing {
    let entry = |row: &LiveRow, name: String, trend: String| Entry {
        name,
        cells: vec![
            show_count(row.count),
            show_count(row.failures),
            rate(row.rate_now),
            tight(row.p50),
            tight(row.p95),
            tight(row.p99),
            tight(row.max),
            trend,
        ],
        keys: vec![
            row.count as f64,
            row.failures as f64,
            row.rate_now,
            row.p50.as_secs_f64(),
            row.p95.as_secs_f64(),
            row.p99.as_secs_f64(),
            row.max.as_secs_f64(),
            row.rate_now,
        ],
        bad: row.failures_now > 0.0,
        heading: false,
    };
    let rows = snapshot.rows.iter();
    let row = |row: &LiveRow| {
        let trend = history.trend(&row.method, &row.name, TREND);
        entry(row, label(&row.method, &row.name), trend)
    };
    Listing {
        title: "Request",
        columns: vec![
            column("# reqs", 0),
            column("fails", 0),
            column("req/s", 0),
            column("p50", 3),
            column("p95", 1),
            column("p99", 2),
            column("max", 4),
            column("trend", 5),
        ],
        rows: rows.map(row).collect(),
        total: Some(entry(
            &snapshot.total,
            "Aggregated".to_owned(),
            String::new(),
        )),
        empty: "no request has been made yet",
    }
}

fn latency(report: &Report) -> Listing {
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
        Entry {
            name,
            cells: values.iter().map(|ms| ms_text(*ms)).collect(),
            keys: values,
            ..Entry::default()
        }
    };
    let rows = report.requests.iter();
    Listing {
        title: "Latency",
        columns: COLUMNS.map(|(title, rank)| column(title, rank)).to_vec(),
        rows: rows
            .map(|row| {
                entry(
                    label(&row.method, &row.name),
                    row.figures.latency_ms.as_ref(),
                )
            })
            .collect(),
        total: Some(entry(
            "Aggregated".to_owned(),
            report.aggregated.latency_ms.as_ref(),
        )),
        empty: "no request has been made yet",
    }
}

fn tasks(report: &Report) -> Listing {
    let mut rows = Vec::new();
    for scenario in &report.scenarios {
        rows.push(Entry {
            name: format!(
                "{} · {} · {}",
                one_line(&scenario.name),
                counted(scenario.users, "user"),
                counted(scenario.iterations, "iteration")
            ),
            heading: true,
            ..Entry::default()
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
            rows.push(Entry {
                name: format!("  {}", one_line(&task.name)),
                cells,
                keys,
                bad: task.failures > 0,
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
        empty: "no task has ended yet",
    }
}

/// `drupal.lua:41`: the message needs the columns that folders would take; the page of the error has them.
fn file_and_line(place: &str) -> String {
    let start = place.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    one_line(&place[start..])
}

fn errors(report: &Report) -> Listing {
    let rows = report.errors.iter().map(|error| Entry {
        name: format!("{}: {}", one_line(&error.name), one_line(&error.message)),
        cells: vec![
            show_count(error.count),
            moment(error.first_s),
            moment(error.last_s),
            error
                .line
                .as_deref()
                .map_or_else(String::new, file_and_line),
        ],
        keys: vec![error.count as f64, error.first_s, error.last_s, 0.0],
        ..Entry::default()
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
        empty: "nothing has failed",
    }
}

fn codes(report: &Report) -> Listing {
    let all: Vec<&String> = report.aggregated.status.keys().collect();
    let title = |code: &str| match code {
        "0" => "none".to_owned(),
        code => one_line(code),
    };
    let entry = |name: String, status: &std::collections::BTreeMap<String, u64>| {
        let counts: Vec<u64> = all
            .iter()
            .map(|code| status.get(*code).copied().unwrap_or(0))
            .collect();
        Entry {
            name,
            cells: counts.iter().map(|count| show_count(*count)).collect(),
            keys: counts.iter().map(|count| *count as f64).collect(),
            ..Entry::default()
        }
    };
    let rows = report.requests.iter();
    Listing {
        title: "Status codes (none: no response)",
        columns: all.iter().map(|code| column(&title(code), 1)).collect(),
        rows: rows
            .map(|row| entry(label(&row.method, &row.name), &row.figures.status))
            .collect(),
        total: Some(entry("Aggregated".to_owned(), &report.aggregated.status)),
        empty: "no request has been made yet",
    }
}

fn checks(snapshot: &Snapshot) -> Listing {
    let thresholds = snapshot.thresholds.iter().map(threshold);
    let checks = snapshot.checks.iter().map(|check| {
        let all = check.passes + check.failures;
        let share = 100.0 * check.passes as f64 / all.max(1) as f64;
        Entry {
            name: format!("{} {}", mark(check.failures == 0), one_line(&check.name)),
            cells: vec![
                format!("{share:.1}%"),
                "100%".to_owned(),
                format!("{} failed", show_count(check.failures)),
            ],
            keys: vec![share, 100.0, check.failures as f64],
            bad: check.failures > 0,
            heading: false,
        }
    });
    let metrics = snapshot.metrics.iter().map(metric);
    Listing {
        title: "Thresholds, checks, metrics",
        columns: vec![column("figure", 0), column("limit", 0), column("", 1)],
        rows: thresholds.chain(checks).chain(metrics).collect(),
        total: None,
        empty: "the plan has no thresholds, checks or metrics",
    }
}

fn threshold(row: &ThresholdRow) -> Entry {
    let name = row
        .name
        .as_deref()
        .map_or_else(String::new, |name| format!("{name}: "));
    let figure = |value: f64| format!("{}{}", three_digits(value), row.unit);
    // How much of the limit is used, as far as that can be said.
    let used = row
        .value
        .filter(|_| row.limit > 0.0)
        .map(|value| value / row.limit * 100.0);
    Entry {
        name: one_line(&format!("{} {name}{}", mark(row.passed), row.threshold)),
        cells: vec![
            row.value.map_or_else(|| "no data".to_owned(), figure),
            figure(row.limit),
            used.map_or_else(String::new, |used| format!("at {used:.0}% of it")),
        ],
        keys: vec![row.value.unwrap_or(0.0), row.limit, used.unwrap_or(0.0)],
        bad: !row.passed,
        heading: false,
    }
}

fn metric(metric: &Metric) -> Entry {
    let kind = match metric.kind {
        MetricKind::Counter => "sum",
        MetricKind::Gauge => "latest",
        MetricKind::Rate => "share",
        MetricKind::Trend => "mean",
    };
    let value = metric.value.map_or_else(
        || "-".to_owned(),
        |value| match metric.kind {
            MetricKind::Rate => format!("{:.1}%", value * 100.0),
            _ => three_digits(value),
        },
    );
    Entry {
        name: format!("  {}", one_line(&metric.name)),
        cells: vec![
            value,
            kind.to_owned(),
            format!("{} values", show_count(metric.count)),
        ],
        keys: vec![metric.value.unwrap_or(0.0), 0.0, metric.count as f64],
        ..Entry::default()
    }
}

/// Said by a sign, so that it can be told without colours.
fn mark(passed: bool) -> char {
    if passed { '✓' } else { '✗' }
}

pub(super) fn label(method: &str, name: &str) -> String {
    one_line(format!("{method} {name}").trim_start())
}

/// A rate per second; plain `0` for what does not happen.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        per_second => three_digits(per_second),
    }
}

/// `4.10ms`: columns are dear.
pub(super) fn tight(time: Duration) -> String {
    match time {
        Duration::ZERO => "-".to_owned(),
        time => show_duration(time).replace(' ', ""),
    }
}

pub(super) fn ms_text(ms: f64) -> String {
    tight(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default())
}

pub(super) fn moment(seconds: f64) -> String {
    crate::units::show_long(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}
