//! The metrics of a plan: checks, thresholds, metrics of its own.

use super::family::{Family, FigureValue, counter, family, flag, with};
use lgoose_metrics::{Check, Metric, MetricKind, Report, ThresholdRow};

pub(super) fn judged(report: &Report) -> Vec<Family> {
    let check = |row: &Check| {
        let result = |result| {
            vec![
                ("check", row.name.clone()),
                ("result", String::from(result)),
            ]
        };
        [
            (result("pass"), counter(row.passes)),
            (result("fail"), counter(row.failures)),
        ]
    };
    let threshold = |row: &ThresholdRow| {
        vec![
            ("threshold", row.threshold.clone()),
            ("name", row.name.clone().unwrap_or_default()),
            ("unit", row.unit.clone()),
        ]
    };
    let rows = report.thresholds.iter();
    vec![
        family(
            "checks",
            "Named checks of the plan",
            report.checks.iter().flat_map(check),
        ),
        family(
            "threshold_passed",
            "Whether a threshold holds, 1 or 0",
            rows.clone().map(|row| (threshold(row), flag(row.passed))),
        ),
        family(
            "threshold_value",
            "The figure of a threshold in its unit",
            rows.clone()
                .filter_map(|row| Some((threshold(row), FigureValue::Gauge(row.value?)))),
        ),
        family(
            "threshold_limit",
            "The limit of a threshold in its unit",
            rows.map(|row| (threshold(row), FigureValue::Gauge(row.limit))),
        ),
    ]
}

pub(super) fn custom(metrics: &[Metric]) -> Vec<Family> {
    let labels = |row: &Metric| vec![("metric", row.name.clone())];
    let of = move |kind| metrics.iter().filter(move |row| row.kind == kind);
    let gauges = move |kind| {
        of(kind).filter_map(move |row| Some((labels(row), FigureValue::Gauge(row.value?))))
    };
    let quantiles = of(MetricKind::Trend).flat_map(move |row| {
        let each = [
            ("0.5", row.p50),
            ("0.9", row.p90),
            ("0.95", row.p95),
            ("0.99", row.p99),
        ];
        let each = each
            .into_iter()
            .filter_map(|(quantile, value)| Some((quantile, value?)));
        each.map(move |(quantile, value)| {
            (
                with(labels(row), "quantile", quantile),
                FigureValue::Gauge(value),
            )
        })
    });
    let sums = of(MetricKind::Counter).filter_map(move |row| Some((labels(row), row.value?)));
    vec![
        // A sum may fall where a plan adds less than nothing.
        family(
            "custom_counter",
            "Sums that the plan counts",
            sums.map(|(labels, sum)| (labels, FigureValue::Gauge(sum))),
        ),
        family(
            "custom_gauge",
            "Levels that the plan sets",
            gauges(MetricKind::Gauge),
        ),
        family(
            "custom_rate",
            "Shares that the plan counts, from 0 to 1",
            gauges(MetricKind::Rate),
        ),
        family(
            "custom_trend_mean",
            "Means of the plan's distributions",
            gauges(MetricKind::Trend),
        ),
        family(
            "custom_trend",
            "Quantiles of the plan's distributions",
            quantiles,
        ),
        family(
            "custom_values",
            "Values that the plan has added",
            metrics.iter().map(|row| (labels(row), counter(row.count))),
        ),
    ]
}
