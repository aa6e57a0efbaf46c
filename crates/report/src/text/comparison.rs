//! A comparison as a table for a terminal: first why the runs are not comparable, then each figure with its change.

use super::table::{TextTable, rule, spread};
use super::{PLAIN_WIDTH, labelled};
use crate::display::{outcome, side};
use crate::document;
use lgoose_base::line::one_line;
use lgoose_metrics::compare::Comparison;

/// Renders a comparison; `width` is that of the terminal, in columns; 80 are always enough.
pub fn comparison(comparison: &Comparison, width: usize) -> String {
    let rows = document::comparison("figures", "Figures", &comparison.rows);
    let table = TextTable::from(&rows);
    let page = table.natural_width().max(PLAIN_WIDTH).min(width);
    let heavy = format!("{}\n", "━".repeat(page));
    let plan = comparison.after.first().map(|run| one_line(&run.plan));
    let title = spread("lgoose compare", &plan.unwrap_or_default(), page);
    let mut out = format!("{heavy}{title}{heavy}");
    let mut put_line = |label: &str, text: &str| {
        labelled(&format!(" {label:<7}  "), text, page, &mut out);
    };
    if !comparison.comparable {
        put_line("warning", "the runs are not comparable:");
        for reason in &comparison.reasons {
            put_line("", &format!("· {reason}"));
        }
    }
    for note in &comparison.notes {
        put_line("note", note);
    }
    put_line("before", &side(&comparison.before));
    put_line("after", &side(&comparison.after));
    out.push('\n');
    table.render(page, &mut out);
    out.push_str(&rule(page));
    labelled(" ", &outcome(comparison), page, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn a_comparison_fits_eighty_columns() {
        let text = comparison(&fixture::comparison(), 80);
        let widest = text.lines().map(|line| line.width()).max();
        assert!(widest <= Some(80), "{text}");
        fixture::golden("comparison.txt", &text);
    }

    #[test]
    fn names_and_reasons_cannot_harm_a_terminal() {
        fixture::assert_harmless(&comparison(&fixture::hostile_comparison(), 80));
    }
}
