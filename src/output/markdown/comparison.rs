//! A comparison as Markdown, short enough for a pull request.

use super::{LONGEST_MESSAGE, cut, name, prose, table};
use crate::compare::{Comparison, Row};
use crate::output::display::Column::{Number, Text};
use crate::output::display::{
    outcome, row_change, row_interval, row_name, row_value, side, starts_name,
};
use crate::units::counted;

/// The most rows, six for each name and three more where requests have failed.
const MOST_ROWS: usize = 54;

/// Renders a comparison as GitHub and GitLab Markdown.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let heading = match (comparison.comparable, comparison.regressions().next()) {
        (false, _) => "⚠️ not comparable",
        (true, Some(_)) => "❌ slower than allowed",
        (true, None) if comparison.limits.is_empty() => "⚪ compared",
        (true, None) => "✅ no regression",
    };
    let mut out = format!("### {heading}\n\n{}\n\n", prose(&outcome(comparison)));
    let reasons = comparison
        .reasons
        .iter()
        .map(|reason| ("⚠️", reason.clone()));
    let notes = comparison.notes.iter().map(|note| ("💬", note.clone()));
    let sides = [
        ("before:", side(&comparison.before)),
        ("after:", side(&comparison.after)),
    ];
    for (mark, text) in reasons.chain(notes).chain(sides) {
        out += &format!("- {mark} {}\n", prose(&cut(&text, LONGEST_MESSAGE)));
    }
    let all = &comparison.rows;
    // No name is cut in two.
    let mut borders = (0..=all.len().min(MOST_ROWS)).rev();
    let border = borders.find(|at| *at == all.len() || starts_name(all, *at));
    let rows = &all[..border.unwrap_or_default()];
    let cells = |(at, row): (usize, &Row)| {
        let first = match (starts_name(rows, at), &row.name) {
            (false, _) => String::new(),
            (true, None) => "**All requests**".to_owned(),
            (true, Some(_)) => name(&row_name(row)),
        };
        let mark = match (row.beyond_limit, row.verdict) {
            (true, _) => "❌ ",
            (false, verdict) if verdict.is_worse() => "🔺 ",
            (false, verdict) if verdict.is_better() => "✅ ",
            _ => "",
        };
        vec![
            first,
            row.figure.name().to_owned(),
            row_value(row.figure, row.before),
            row_value(row.figure, row.after),
            row_change(row),
            row_interval(row),
            format!("{mark}{}", row.verdict.text()),
        ]
    };
    let columns = [
        Text("requests"),
        Text("figure"),
        Number("before"),
        Number("after"),
        Number("change"),
        Number("interval"),
        Text("verdict"),
    ];
    table(&columns, rows.iter().enumerate().map(cells), &mut out);
    let others = &all[rows.len()..];
    let names = (0..others.len())
        .filter(|at| starts_name(others, *at))
        .count();
    if names > 0 {
        out += &format!(
            "\nand {} with fewer requests\n",
            counted(names as u64, "more name")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    #[test]
    fn the_fixed_comparison_is_the_checked_in_one() {
        let text = comparison(&fixture::comparison());
        fixture::golden("comparison.md", &text);
        fixture::assert_harmless(&comparison(&fixture::hostile_comparison()));
    }
}
