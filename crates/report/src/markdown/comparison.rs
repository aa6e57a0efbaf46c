//! A comparison as Markdown, short enough for a pull request.

use super::{list, prose, table};
use crate::display::{outcome, side, starts_name};
use crate::document;
use lgoose_base::units::counted;
use lgoose_metrics::compare::Comparison;

/// The most rows, six for each name and three more where requests have failed.
const MAX_ROWS: usize = 54;

/// Renders a comparison as GitHub and GitLab Markdown.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let heading = match (comparison.comparable, comparison.regressions().next()) {
        (false, _) => "⚠️ not comparable",
        (true, Some(_)) => "❌ slower than allowed",
        (true, None) if comparison.limits.is_empty() => "⚪ compared",
        (true, None) => "✅ no regression",
    };
    let mut out = format!("### {heading}\n\n{}\n", prose(&outcome(comparison)));
    let sides = [&comparison.before, &comparison.after].map(|runs| side(runs));
    let reasons = comparison.reasons.iter().map(|reason| ("⚠️", &**reason));
    let notes = comparison.notes.iter().map(|note| ("💬", &**note));
    let sides = ["before:", "after:"]
        .into_iter()
        .zip(sides.iter().map(|side| &**side));
    list(reasons.chain(notes).chain(sides), &mut out);
    let all = &comparison.rows;
    // No name is cut in two.
    let mut borders = (0..=all.len().min(MAX_ROWS)).rev();
    let border = borders.find(|at| *at == all.len() || starts_name(all, *at));
    let rows = &all[..border.unwrap_or_default()];
    table(&document::comparison("figures", "Figures", rows), &mut out);
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
    use crate::fixture;

    #[test]
    fn the_fixed_comparison_is_the_checked_in_one() {
        let text = comparison(&fixture::comparison());
        fixture::golden("comparison.md", &text);
        fixture::assert_harmless(&comparison(&fixture::hostile_comparison()));
    }
}
