//! The page of thresholds, with how much of each limit is used, of checks and of custom metrics.

use super::super::listing::{Listing, ListingRow, column};
use super::super::text::one_line;
use super::words::mark;
use lgoose_base::units::{show_count, three_digits};
use lgoose_metrics::{Check, Metric, MetricKind, Snapshot, ThresholdRow};

pub(super) fn checks(snapshot: &Snapshot) -> Listing {
    let has_started = snapshot.requests.total.count > 0;
    let thresholds = snapshot
        .thresholds
        .iter()
        .map(|row| threshold(row, has_started));
    let rows = thresholds
        .chain(snapshot.checks.iter().map(check))
        .chain(snapshot.metrics.iter().map(metric));
    Listing {
        title: "Thresholds, checks, metrics",
        columns: vec![column("figure", 0), column("limit", 0), column("", 1)],
        rows: rows.collect(),
        total: None,
        empty: "the plan has no thresholds, checks or metrics".to_owned(),
    }
}

/// Returns the row of a check: how often it held and failed, without a limit.
fn check(check: &Check) -> ListingRow {
    let all = check.passes + check.failures;
    let share = 100.0 * check.passes as f64 / all.max(1) as f64;
    ListingRow {
        key: format!("check {}", check.name),
        name: format!("{} {}", mark(check.failures == 0), one_line(&check.name)),
        cells: vec![
            format!("{share:.1}%"),
            String::new(),
            match check.failures {
                0 => format!("{} held", show_count(check.passes)),
                failures => format!("{} of {} failed", show_count(failures), show_count(all)),
            },
        ],
        keys: vec![share, 0.0, check.failures as f64],
        bad: check.failures > 0,
        failing: check.failures as f64 / all.max(1) as f64,
        heading: false,
    }
}

/// Returns whether a threshold is broken as far as is known: before the first request, none is.
pub(in super::super) fn is_broken(row: &ThresholdRow, has_started: bool) -> bool {
    !row.passed && has_started
}

fn threshold(row: &ThresholdRow, has_started: bool) -> ListingRow {
    let name = row
        .name
        .as_deref()
        .map_or_else(String::new, |name| format!("{name}: "));
    let figure = |value: f64| format!("{}{}", three_digits(value), row.unit);
    let share = row.value.and_then(|value| share(row, value));
    let sign = match (has_started, row.passed) {
        (false, false) => '·',
        (_, passed) => mark(passed),
    };
    ListingRow {
        key: format!("threshold {name}{}", row.threshold),
        name: one_line(&format!("{sign} {name}{}", row.threshold)),
        cells: vec![
            row.value.map_or_else(|| "no data".to_owned(), figure),
            figure(row.limit),
            share.map_or_else(String::new, |(percent, words)| {
                format!("{percent:.0}% of {words}")
            }),
        ],
        keys: vec![
            row.value.unwrap_or(0.0),
            row.limit,
            share.map_or(0.0, |(percent, _)| percent),
        ],
        bad: is_broken(row, has_started),
        ..ListingRow::default()
    }
}

/// Returns how much of the limit is used up or, where the limit is the least, reached, in percent; with the word for
/// the limit.
fn share(row: &ThresholdRow, value: f64) -> Option<(f64, &'static str)> {
    if row.limit <= 0.0 {
        return None;
    }
    let is_least = row.parsed().is_some_and(|limit| !limit.is_upper());
    let words = if is_least { "the least" } else { "the limit" };
    Some((value / row.limit * 100.0, words))
}

fn metric(metric: &Metric) -> ListingRow {
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
    ListingRow {
        key: format!("metric {}", metric.name),
        name: format!("  {}", one_line(&metric.name)),
        cells: vec![
            value,
            String::new(),
            format!("{kind} of {} values", show_count(metric.count)),
        ],
        keys: vec![metric.value.unwrap_or(0.0), 0.0, metric.count as f64],
        ..ListingRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::{LiveRequests, LiveRow};

    fn row(threshold: &str, value: Option<f64>, limit: f64, passed: bool) -> ThresholdRow {
        ThresholdRow {
            threshold: threshold.to_owned(),
            name: None,
            value,
            limit,
            unit: "%".to_owned(),
            passed,
            broken_s: None,
            subject: None,
        }
    }

    fn shown(thresholds: Vec<ThresholdRow>, count: u64) -> Vec<(String, String, bool)> {
        let snapshot = Snapshot {
            requests: LiveRequests {
                total: LiveRow {
                    count,
                    ..LiveRow::default()
                },
                ..LiveRequests::default()
            },
            thresholds,
            ..Snapshot::default()
        };
        let rows = checks(&snapshot).rows.into_iter();
        rows.map(|row| (row.name, row.cells[2].clone(), row.bad))
            .collect()
    }

    #[test]
    fn the_share_of_a_limit_is_distinguished_from_that_of_a_least_figure() {
        let rows = vec![
            row("failures < 10%", Some(2.5), 10.0, true),
            row("checks > 80%", Some(40.0), 80.0, false),
        ];
        assert_eq!(
            shown(rows, 9),
            [
                (
                    "✓ failures < 10%".to_owned(),
                    "25% of the limit".to_owned(),
                    false
                ),
                (
                    "✗ checks > 80%".to_owned(),
                    "50% of the least".to_owned(),
                    true
                )
            ]
        );
    }

    #[test]
    fn nothing_is_broken_before_there_is_a_request() {
        let rows = vec![row("checks > 80%", None, 80.0, false)];
        assert_eq!(shown(rows.clone(), 0)[0].0, "· checks > 80%");
        assert!(!shown(rows.clone(), 0)[0].2 && shown(rows, 1)[0].2);
    }

    #[test]
    fn a_check_has_no_limit_that_nobody_has_set() {
        let entry = check(&Check {
            name: "title".to_owned(),
            passes: 3,
            failures: 1,
            ..Check::default()
        });
        assert_eq!(entry.cells, ["75.0%", "", "1 of 4 failed"]);
    }
}
