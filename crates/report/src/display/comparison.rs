//! Rows of a comparison in words and figures, the same in every format.

use lgoose_base::figures::time;
use lgoose_base::line::{one_line, request_name};
use lgoose_base::units::{counted, show_count, show_long, three_digits};
use lgoose_metrics::compare::{Comparison, Figure, Row, RowVerdict, RunFacts};
use std::time::Duration;

/// Returns whether a row is the first of another name.
pub(crate) fn starts_name(rows: &[Row], at: usize) -> bool {
    let label = |row: &Row| (row.method.clone(), row.name.clone());
    at == 0 || label(&rows[at - 1]) != label(&rows[at])
}

/// Returns the subject of the row: a request's method and name, or all requests.
pub(crate) fn row_name(row: &Row) -> String {
    match &row.name {
        None => "All requests".to_owned(),
        Some(name) => request_name(row.method.as_deref().unwrap_or_default(), name),
    }
}

/// Returns the requests of a row's name, before and after the change.
pub(crate) fn row_requests(row: &Row) -> String {
    let [before, after] = row.requests.map(show_count);
    format!("{before} → {after} requests")
}

/// Formats a value before or after; `–` without one.
pub(crate) fn row_value(figure: Figure, value: Option<f64>) -> String {
    match (figure, value) {
        (_, None) => "–".to_owned(),
        (Figure::Failures, Some(0.0)) => "0%".to_owned(),
        (Figure::Failures, Some(share)) if share < 0.000_1 => "<0.01%".to_owned(),
        (Figure::Failures, Some(share)) => format!("{}%", three_digits(share * 100.0)),
        (Figure::Rate, Some(rate)) => format!("{}/s", three_digits(rate)),
        (_, Some(ms)) => time(ms),
    }
}

/// Formats the change: `+4.8%` or, for failures, `+0.52 pp` for percentage points; `–` without one.
pub(crate) fn row_change(row: &Row) -> String {
    match row.change {
        None => "–".to_owned(),
        Some(change) => format!("{}{}", signed(row, change), unit(row)),
    }
}

/// Formats the change's confidence interval: `+3.1 … +6.5%`; `–` without one.
pub(crate) fn row_interval(row: &Row) -> String {
    match row.low.zip(row.high) {
        None => "–".to_owned(),
        Some((low, high)) => {
            let [low, high] = [low, high].map(|end| signed(row, end));
            format!("{low} … {high}{}", unit(row))
        }
    }
}

fn unit(row: &Row) -> &'static str {
    if row.figure.is_ratio() { "%" } else { " pp" }
}

fn signed(row: &Row, change: f64) -> String {
    let percent = change * 100.0;
    match (percent.abs(), row.figure.is_ratio()) {
        (size, _) if size >= 100.0 => format!("{percent:+.0}"),
        (size, true) if size < 0.05 => "0.0".to_owned(),
        (_, true) => format!("{percent:+.1}"),
        (size, false) if size < 0.005 => "0.00".to_owned(),
        (_, false) => format!("{percent:+.2}"),
    }
}

/// Returns the runs of a side in a line: files, time and requests.
pub(crate) fn side(runs: &[RunFacts]) -> String {
    let files: Vec<String> = runs.iter().map(|run| one_line(&run.file)).collect();
    let seconds: f64 = runs.iter().map(|run| run.elapsed_s).sum();
    let requests: u64 = runs.iter().map(|run| run.requests).sum();
    let length = show_long(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let hosts = if runs.iter().all(|run| run.host == runs[0].host) {
        runs.first().map(|run| one_line(&run.host))
    } else {
        Some("several hosts".to_owned())
    };
    format!(
        "{} · {} · {length} · {}",
        files.join(", "),
        hosts.unwrap_or_default(),
        counted(requests, "request"),
    )
}

/// Returns the result in a sentence.
pub(crate) fn outcome(comparison: &Comparison) -> String {
    let rows = &comparison.rows;
    let beyond: Vec<String> = comparison
        .regressions()
        .map(|row| {
            let (name, figure) = (row_name(row), row.figure.name());
            format!("{name}: {figure} {}", row_change(row))
        })
        .collect();
    let worse = rows.iter().filter(|row| row.verdict.is_worse()).count() as u64;
    let better = rows.iter().filter(|row| row.verdict.is_better()).count() as u64;
    let few_runs = |row: &&Row| row.verdict == RowVerdict::TooFewRuns;
    let few_runs = rows.iter().filter(few_runs).count() as u64;
    let judged = match (worse, better) {
        (0, 0) if few_runs > 0 => format!("too few runs to tell {}", counted(few_runs, "figure")),
        (0, 0) => "no difference seen".to_owned(),
        (worse, 0) => format!("{} worse, none better", counted(worse, "figure")),
        (0, better) => format!("{} better, none worse", counted(better, "figure")),
        (worse, better) => format!(
            "{} worse, {} better",
            counted(worse, "figure"),
            show_count(better)
        ),
    };
    let limits = match (comparison.limits.is_empty(), &beyond[..]) {
        (true, _) => String::new(),
        (false, []) => "; no regression beyond the limits".to_owned(),
        (false, [first, rest @ ..]) => {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("; beyond the limits: {first}{more}")
        }
    };
    let but = if comparison.comparable {
        ""
    } else {
        "not comparable: "
    };
    format!("{but}{judged}{limits}")
}
