//! The charts of the labels of workers.

use super::charts;
use lgoose_base::figures::{rate, time};
use lgoose_metrics::Report;

/// Returns the charts in which each label is a line, with their identifiers and titles.
pub(super) fn label_charts(report: &Report) -> Vec<(&'static str, &'static str, String)> {
    if report.by_label.is_empty() {
        return Vec::new();
    }
    let latency = charts::labels(report, |point| point.latency.p95_ms, &time);
    let per_second = |value: f64| format!("{}/s", rate(value));
    let rates = charts::labels(report, |point| point.rate(), &per_second);
    vec![
        ("chart-labels-latency", "p95 by label", latency),
        ("chart-labels-rate", "Requests per second by label", rates),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::to_html;
    use crate::fixture;
    use scraper::{Html, Selector};

    #[test]
    fn labels_stand_side_by_side_in_a_table_and_in_charts() {
        let page = Html::parse_document(&to_html(&fixture::gaggle()));
        let texts = |selector: &str| -> Vec<String> {
            let selector = Selector::parse(selector).expect("a selector");
            page.select(&selector)
                .map(|found| found.text().collect())
                .collect()
        };
        for chart in ["chart-labels-latency", "chart-labels-rate"] {
            assert_eq!(texts(&format!("#{chart} .key")), ["region=eu", "region=us"]);
            assert_eq!(texts(&format!("#{chart} path.line")).len(), 2);
        }
        let rows = texts("#labels tbody tr");
        assert_eq!(rows.len(), 4);
        assert!(rows[2].starts_with("region=usAggregated12,000"), "{rows:?}");
        let rows = texts("#workers tbody tr");
        assert!(rows[0].contains("lost at 31.5 s"), "{rows:?}");
        assert!(rows[1].contains("done, saturated for 12.0 s"), "{rows:?}");
    }
}
