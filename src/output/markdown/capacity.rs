//! A search for the greatest load as Markdown.

use super::{LONGEST_MESSAGE, cut, prose, table};
use crate::metrics::Report;
use crate::output::display::Column::{Number, Text};
use crate::output::display::{
    capacity_facts, load_unit, scalability_facts, step_cells, step_result,
};

/// Appends the result of a search, if the report is that of a search.
pub(super) fn section(report: &Report, out: &mut String) {
    let Some(found) = &report.capacity else {
        return;
    };
    out.push('\n');
    for (label, text) in capacity_facts(found)
        .into_iter()
        .chain(scalability_facts(found))
    {
        *out += &format!("- {label}: {}\n", prose(&cut(&text, LONGEST_MESSAGE)));
    }
    let rows = found.steps.iter().map(|step| {
        let mut cells = step_cells(found.by, step).to_vec();
        cells.push(step_result(step).to_owned());
        cells.push(prose(&cut(
            step.reason.as_deref().unwrap_or(""),
            LONGEST_MESSAGE,
        )));
        cells
    });
    let columns = [
        Text(load_unit(found.by)),
        Number("requests/s"),
        Number("p95"),
        Number("failed"),
        Number("judged"),
        Text("result"),
        Text("why"),
    ];
    table(&columns, rows, out);
}
