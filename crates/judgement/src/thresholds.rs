//! Thresholds as text: their names, figures and limits, and why one is broken.

use lgoose_base::figures::{moment, number, rate, time};
use lgoose_base::line::one_line;
use lgoose_base::units::three_digits;
use lgoose_metrics::ThresholdRow;

/// Returns why a threshold decides the exit code: `the threshold 'p95 < 300ms' is broken: 412 ms`.
pub fn broken_line(row: &ThresholdRow) -> String {
    let at = row.broken_s.map(moment);
    let at = at.map_or_else(String::new, |at| format!(" at {at}"));
    let text = threshold_name(row);
    match row.value {
        Some(_) => format!(
            "the threshold '{text}' is broken: {}{at}",
            threshold_figure(row)
        ),
        None => format!("the threshold '{text}' has no data"),
    }
}

/// Returns the threshold as on the command line: `GET /: p95 < 300ms`.
pub fn threshold_name(row: &ThresholdRow) -> String {
    let name = row.name.as_deref();
    let name = name.map_or_else(String::new, |name| format!("{name}: "));
    one_line(&format!("{name}{}", row.threshold))
}

/// Returns the figure that a threshold judges, and its limit: `GET /: ok p95 during 30s` and `< 300ms`.
pub fn threshold_parts(row: &ThresholdRow) -> (String, String) {
    let (figure, limit) = row.figure_and_limit();
    let name = row.name.as_deref();
    let name = name.map_or_else(String::new, |name| format!("{name}: "));
    (one_line(&format!("{name}{figure}")), one_line(&limit))
}

/// Returns the measured figure of a threshold, with more than three digits if it would otherwise look like the limit.
pub fn threshold_figure(row: &ThresholdRow) -> String {
    let Some(value) = row.value else {
        return "no data".to_owned();
    };
    let text = in_unit(value, &row.unit);
    if text == in_unit(row.limit, &row.unit) && value != row.limit {
        format!("{}{}", six_digits(value), one_line(&row.unit))
    } else {
        text
    }
}

fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "us" => time(value / 1e3),
        "ms" => time(value),
        "s" => time(value * 1e3),
        "%" if value == 0.0 => "0%".to_owned(),
        "%" if value < 0.01 => "<0.01%".to_owned(),
        "%" => format!("{}%", three_digits(value)),
        "/s" => format!("{}/s", rate(value)),
        _ => number(value),
    }
}

fn six_digits(value: f64) -> String {
    let whole = value.abs().max(1.0).log10() as usize + 1;
    let text = format!("{value:.*}", 6_usize.saturating_sub(whole));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(threshold: &str, unit: &str, limit: f64, value: Option<f64>) -> ThresholdRow {
        ThresholdRow {
            threshold: threshold.to_owned(),
            name: None,
            value,
            limit,
            unit: unit.to_owned(),
            passed: false,
            broken_s: None,
            subject: None,
        }
    }

    #[test]
    fn a_figure_has_the_unit_that_fits_and_never_looks_like_a_limit_that_it_is_not() {
        for (unit, limit, value, text) in [
            ("ms", 300.0, 412.0, "412 ms"),
            ("ms", 300.0, 300.2, "300.2ms"),
            ("ms", 300.0, 300.0, "300 ms"),
            ("s", 0.3, 0.012_4, "12.4 ms"),
            ("us", 1.0, 1_500.0, "1.50 ms"),
            ("%", 1.0, 1.004, "1.004%"),
            ("%", 1.0, 0.0, "0%"),
            ("%", 1.0, 0.000_1, "<0.01%"),
            ("/s", 100.0, 1_234.5, "1,235/s"),
            ("", 10.0, 41.0, "41"),
        ] {
            assert_eq!(threshold_figure(&row("", unit, limit, Some(value))), text);
        }
    }

    #[test]
    fn what_is_limited_stands_apart_from_the_limit() {
        for (text, what, limit) in [
            (
                "p95 < 300ms during 30s abort",
                "p95 during 30s abort",
                "< 300ms",
            ),
            ("ok p95 <= 1s", "ok p95", "<= 1s"),
            (
                "corrected p99 < 300ms after 5s",
                "corrected p99 after 5s",
                "< 300ms",
            ),
            ("first_byte p90 < 6000ms", "first_byte p90", "< 6000ms"),
        ] {
            let parts = threshold_parts(&row(text, "ms", 300.0, None));
            assert_eq!(parts, (what.to_owned(), limit.to_owned()));
        }
    }

    #[test]
    fn the_reason_for_the_exit_code_is_one_line() {
        let mut broken = row("p95 < 300ms abort", "ms", 300.0, Some(412.0));
        broken.name = Some("GET a\nb".to_owned());
        broken.broken_s = Some(12.0);
        assert_eq!(
            broken_line(&broken),
            "the threshold 'GET a b: p95 < 300ms abort' is broken: 412 ms at 12.0 s"
        );
        let silent = row("p95 < 300ms", "ms", 300.0, None);
        assert_eq!(
            broken_line(&silent),
            "the threshold 'p95 < 300ms' has no data"
        );
    }
}
