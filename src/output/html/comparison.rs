//! A comparison as one HTML page, with the style of reports and without scripts.

use super::escape::text;
use super::table::{Cell, HtmlTable};
use super::{STYLE, hash};
use crate::compare::{Comparison, Row};
use crate::output::display::Column::{Number, Text};
use crate::output::display::{
    outcome, row_change, row_interval, row_name, row_requests, row_value, side,
};

/// Renders a comparison as one page that can be opened from a file.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let style_hash = hash(STYLE);
    let plan = comparison.after.first().map(|run| text(&run.plan));
    let plan = plan.unwrap_or_default();
    let (class, mark, word) = match (comparison.comparable, comparison.regressions().next()) {
        (false, _) => ("failed", "✗", "Not comparable"),
        (true, Some(_)) => ("failed", "✗", "Slower than allowed"),
        (true, None) if comparison.limits.is_empty() => ("open", "○", "Compared"),
        (true, None) => ("passed", "✓", "No regression"),
    };
    let list = |class: &str, sentences: &[String]| match sentences {
        [] => String::new(),
        sentences => {
            let items = sentences
                .iter()
                .map(|one| format!("<li>{}</li>", text(one)));
            format!("<ul class=\"{class}\">{}</ul>", items.collect::<String>())
        }
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{style_hash}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>lgoose compare · {plan}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<p class=\"brand\">lgoose</p>\n<h1><bdi>{plan}</bdi> <span>before and after</span></h1>\n\
         <p class=\"facts\">before: {}</p>\n<p class=\"facts\">after: {}</p>\n</header>\n\
         <section class=\"verdict {class}\" aria-label=\"Verdict\"><p><span class=\"mark\" aria-hidden=\"true\">{mark}</span>\
         <strong>{word}</strong> <span>{}</span></p>{}{}</section>\n<main>\n{}</main>\n</body>\n</html>\n",
        text(&side(&comparison.before)),
        text(&side(&comparison.after)),
        text(&outcome(comparison)),
        list("reasons", &comparison.reasons),
        list("remarks", &comparison.notes),
        table(comparison).html(),
    )
}

fn table(comparison: &Comparison) -> HtmlTable {
    let columns = [
        Text("Requests"),
        Text("Figure"),
        Number("Before"),
        Number("After"),
        Number("Change"),
        Number("interval"),
        Text("Verdict"),
    ];
    let mut table = HtmlTable::new("comparison", "Figures before and after", &columns).note(
        "The interval is where the true change lies in 19 of 20 comparisons. A verdict allows for the number of figures, so it \
         asks for more than an interval without 0.",
    );
    for row in &comparison.rows {
        table.row(&cells(row));
    }
    table
}

fn cells(row: &Row) -> [Cell; 7] {
    let number = |value: Option<f64>, shown: String| match value {
        None => Cell::None,
        Some(value) if row.beyond_limit => Cell::Bad(value, shown),
        Some(value) => Cell::Number(value, shown),
    };
    let plain = |value: Option<f64>| match value {
        None => Cell::None,
        Some(value) => Cell::Number(value, row_value(row.figure, Some(value))),
    };
    [
        Cell::Text(format!("{} ({})", row_name(row), row_requests(row))),
        Cell::Text(row.figure.name().to_owned()),
        plain(row.before),
        plain(row.after),
        number(row.change, row_change(row)),
        number(row.low, row_interval(row)),
        Cell::Text(row.verdict.text().to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    #[test]
    fn the_page_is_whole_and_harmless() {
        let page = comparison(&fixture::comparison());
        for text in [
            "All requests",
            "slower",
            "p95",
            "+9.8%",
            "Slower than allowed",
        ] {
            assert!(page.contains(text), "{text} in\n{page}");
        }
        assert!(!page.contains("<script"));
        fixture::assert_harmless(&comparison(&fixture::hostile_comparison()));
    }
}
