//! The tables of the document on the page: sortable by script, static without.

use super::escape::text;
use super::exemplar;
use crate::document::{Cell, Column, ColumnKind, Mark, Row, Table};

/// The length in characters above which a sentence is shown whole only on demand.
const LONG: usize = 160;

/// Renders a table with its heading.
pub(super) fn section(table: &Table<'_>) -> String {
    let Table {
        id, title, note, ..
    } = table;
    let columns = table.columns.iter().map(|column| {
        let class = if is_number(column) {
            " class=\"num\""
        } else {
            ""
        };
        format!("<th scope=\"col\"{class}>{}</th>", text(&column.title))
    });
    let body: String = table
        .rows
        .iter()
        .map(|each| body(each, &table.columns))
        .collect();
    let foot = table.total.as_ref().map_or_else(String::new, |total| {
        format!("<tfoot><tr>{}</tr></tfoot>\n", cells(total, &table.columns))
    });
    let notes = [*note]
        .into_iter()
        .chain(table.remarks.iter().map(|remark| &**remark));
    let notes = notes.filter(|note| !note.is_empty());
    let notes: String = notes
        .map(|note| format!("<p class=\"note\">{}</p>\n", text(note)))
        .collect();
    format!(
        "<section id=\"{id}\">\n<h2 id=\"{id}-title\">{title}</h2>\n{notes}<div class=\"scroll\" role=\"region\" tabindex=\"0\" \
         aria-labelledby=\"{id}-title\">\n<table>\n<thead><tr>{}</tr></thead>\n{body}{foot}</table>\n</div>\n</section>\n",
        columns.collect::<String>()
    )
}

/// Renders facts: a label and a few words each.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let rows = facts.iter().map(|(label, fact)| {
        format!(
            "<tr><th scope=\"row\">{label}</th><td>{}</td></tr>",
            text(fact)
        )
    });
    let rows: String = rows.collect();
    format!("<div class=\"scroll\"><table class=\"facts\"><tbody>{rows}</tbody></table></div>")
}

fn is_number(column: &Column) -> bool {
    column.kind == ColumnKind::Number
}

/// Renders a row, and the part that unfolds below it.
fn body(row: &Row<'_>, columns: &[Column]) -> String {
    let shown = cells(&row.cells, columns);
    let prose = columns.iter().zip(&row.cells);
    let prose = prose.filter_map(|(column, cell)| match cell {
        Cell::Foreign(text) | Cell::Words(text) if column.kind == ColumnKind::Prose => Some(text),
        _ => None,
    });
    let long: Vec<&str> = prose
        .filter(|text| text.chars().nth(LONG).is_some())
        .map(String::as_str)
        .collect();
    let error = row.error.and_then(|error| exemplar::of_error(error, &long));
    let detail = error.or_else(|| row.request.map(exemplar::of_request));
    let more = detail.map_or_else(String::new, |(summary, detail)| {
        format!(
            "<tr class=\"more\"><td colspan=\"{}\"><details><summary>{summary}</summary>{detail}</details></td></tr>",
            columns.len()
        )
    });
    format!("<tbody><tr>{shown}</tr>{more}</tbody>\n")
}

fn cells(cells: &[Cell], columns: &[Column]) -> String {
    let columns = columns.iter().zip(cells);
    columns.map(|(column, each)| cell(each, column)).collect()
}

fn cell(cell: &Cell, column: &Column) -> String {
    match cell {
        Cell::Foreign(all) | Cell::Words(all) if column.kind == ColumnKind::Prose => {
            format!("<td><bdi>{}</bdi></td>", text(&start_of(all)))
        }
        Cell::Foreign(name) | Cell::Words(name) => {
            let class = if is_number(column) {
                " class=\"num\""
            } else {
                ""
            };
            format!("<td{class}><bdi>{}</bdi></td>", text(name))
        }
        Cell::Figure(value, shown, is_bad) => {
            let class = if *is_bad { "num bad" } else { "num" };
            format!(
                "<td class=\"{class}\" data-v=\"{value}\">{}</td>",
                text(shown)
            )
        }
        Cell::Mark(mark) => {
            let (value, class, sign) = match mark {
                Mark::Bad => (0, "bad", "✗"),
                Mark::Doubtful => (1, "bad", "!"),
                Mark::Plain => (2, "", ""),
                Mark::Good => (3, "good", "✓"),
            };
            format!(
                "<td class=\"mark\" data-v=\"{value}\"><span class=\"{class}\">{sign}</span></td>"
            )
        }
        Cell::None if is_number(column) => "<td class=\"num none\">–</td>".to_owned(),
        Cell::None => "<td></td>".to_owned(),
    }
}

fn start_of(text: &str) -> String {
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
