//! A comparison as one HTML page, with the style of reports and without scripts.

use super::escape::text;
use super::{STYLE, content_hash, table};
use crate::display::{outcome, row_change, row_name, side};
use crate::document;
use lgoose_base::line::cut_apart;
use lgoose_base::units::{counted, show_percent};
use lgoose_metrics::compare::{Comparison, Row};

/// Renders a comparison as one page that can be opened from a file.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let style_hash = content_hash(STYLE);
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
        figures(comparison),
    )
}

/// Renders the figures that changed, drawn and in a table, and folded below them those that did not.
fn figures(comparison: &Comparison) -> String {
    let (mut changed, others): (Vec<&Row>, Vec<&Row>) =
        comparison.rows.iter().partition(|row| is_change(row));
    // The worst first, then the improvements.
    changed.sort_by_key(|row| (!row.beyond_limit, !row.verdict.is_worse()));
    let mut out = String::new();
    let has_changes = !changed.is_empty();
    if has_changes {
        out.push_str(&forest(&changed));
        let changed = document::comparison("changes", "What changed", changed);
        out.push_str(&table::section(&changed));
    }
    if !others.is_empty() {
        out.push_str(&format!(
            "<details{}><summary>{} without a change that is beyond chance</summary>{}</details>\n",
            if has_changes { "" } else { " open" },
            counted(others.len() as u64, "figure"),
            table::section(&document::comparison("others", "Other figures", others))
        ));
    }
    out
}

fn is_change(row: &Row) -> bool {
    row.beyond_limit || row.verdict.is_worse() || row.verdict.is_better()
}

/// Draws changes with their intervals around zero, a row each (a forest plot). Differences of shares are in percentage
/// points, on the same scale as per cent.
fn forest(rows: &[&Row]) -> String {
    /// The most rows that are drawn, and the columns of a name.
    const MAX_ROWS: usize = 40;
    const NAME: usize = 32;
    /// The width of the drawing, its borders, and the height of a row.
    const WIDTH: f64 = 640.0;
    const LEFT: f64 = 240.0;
    const RIGHT: f64 = 76.0;
    const ROW: f64 = 24.0;
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let ends = |row: &Row| {
        let change = row.change.unwrap_or_default();
        (
            row.low.unwrap_or(change),
            change,
            row.high.unwrap_or(change),
        )
    };
    let far = shown
        .iter()
        .map(|row| ends(row))
        .fold(0.0, |far: f64, (low, _, high)| {
            far.max(low.abs()).max(high.abs())
        });
    // A bar far beyond all others ends at the border.
    let far = far.clamp(0.01, 2.0);
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let x = |change: f64| middle + (change / far).clamp(-1.0, 1.0) * (WIDTH - RIGHT - LEFT) / 2.0;
    let height = ROW * (shown.len() as f64 + 1.0);
    let names: Vec<String> = shown
        .iter()
        .map(|row| format!("{} {}", row_name(row), row.figure.name()))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lines = shown.iter().zip(cut_apart(&names, NAME)).enumerate();
    let lines = lines.map(|(at, (row, name))| {
        let (low, change, high) = ends(row);
        let (y, text_y) = (ROW * (at as f64 + 0.5), ROW * (at as f64 + 0.5) + 4.0);
        let look = if row.verdict.is_worse() || row.beyond_limit {
            "worse"
        } else {
            "better"
        };
        format!(
            "<text x=\"{:.0}\" y=\"{text_y:.1}\" text-anchor=\"end\">{}</text>\
             <path class=\"whisker {look}\" d=\"M{:.1} {y:.1}H{:.1}\"/>\
             <circle class=\"{look}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>\
             <text x=\"{:.0}\" y=\"{text_y:.1}\">{}</text>",
            LEFT - 14.0,
            text(&name),
            x(low),
            x(high),
            x(change),
            WIDTH - RIGHT + 10.0,
            text(&row_change(row)),
        )
    });
    format!(
        "<figure class=\"chart wide\" id=\"forest\"><figcaption><h3>Changes</h3><p class=\"note\">a dot is the change, the line \
         its interval; left of the middle is less than before</p></figcaption><div class=\"plot\">\
         <svg viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"Changes with their intervals\">\
         <path class=\"axis\" d=\"M{middle:.1} 0V{:.1}\"/>{}<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">no change</text>\
         <text x=\"{LEFT:.0}\" y=\"{:.1}\">-{}</text><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">+{}</text></svg></div></figure>\n",
        height - ROW,
        lines.collect::<String>(),
        height - 6.0,
        height - 6.0,
        show_percent(far * 100.0),
        WIDTH - RIGHT,
        height - 6.0,
        show_percent(far * 100.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

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
        // Rows with a change are drawn, and come before those without.
        let place = |text: &str| {
            page.find(text)
                .unwrap_or_else(|| panic!("{text} in\n{page}"))
        };
        assert!(place("id=\"forest\"") < place("id=\"changes\""));
        assert!(place("id=\"changes\"") < place("<details>"));
        let drawn = page.matches("<path class=\"whisker").count();
        let changes = fixture::comparison()
            .rows
            .iter()
            .filter(|row| is_change(row))
            .count();
        assert!(changes > 0 && drawn == changes, "{drawn} of {changes}");
        fixture::assert_harmless(&comparison(&fixture::hostile_comparison()));
    }
}
