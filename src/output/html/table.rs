//! A table of the page: sortable by script, static without.

use super::escape::text;
use crate::metrics::Latency;
use crate::output::display::{Column, time};
use crate::units::show_count;

/// A table with its heading.
#[derive(Debug)]
pub(super) struct HtmlTable {
    /// The anchor that links point to.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    note: String,
    /// The title of each column, and whether it has numbers.
    columns: Vec<(String, bool)>,
    body: String,
    foot: String,
}

/// One cell of a table.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// Foreign text.
    Text(String),
    /// A number for sorting and its text.
    Number(f64, String),
    /// A number that is bad news, and its text.
    Bad(f64, String),
    /// A mark: whether something passed.
    Mark(bool),
    /// No figure.
    None,
}

impl HtmlTable {
    /// Creates an empty table.
    pub(super) fn new(id: &'static str, title: &'static str, columns: &[Column<'_>]) -> Self {
        let columns = columns
            .iter()
            .map(|column| (column.title().to_owned(), column.is_numeric()));
        HtmlTable {
            id,
            title,
            note: String::new(),
            columns: columns.collect(),
            body: String::new(),
            foot: String::new(),
        }
    }

    /// Adds lgoose's own words below the heading.
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(super) fn row(&mut self, cells: &[Cell]) {
        let row = self.cells(cells);
        self.body
            .push_str(&format!("<tbody><tr>{row}</tr></tbody>\n"));
    }

    /// Adds a row with details, which unfold below it and stay with it when the table is sorted. `detail` is HTML.
    pub(super) fn row_with_detail(&mut self, cells: &[Cell], summary: &str, detail: &str) {
        let (row, width) = (self.cells(cells), self.columns.len());
        self.body.push_str(&format!(
            "<tbody><tr>{row}</tr><tr class=\"more\"><td colspan=\"{width}\"><details><summary>{summary}</summary>\
             {detail}</details></td></tr></tbody>\n"
        ));
    }

    /// Adds a row that stays at the end.
    pub(super) fn total(&mut self, cells: &[Cell]) {
        let row = self.cells(cells);
        self.foot.push_str(&format!("<tr>{row}</tr>\n"));
    }

    fn cells(&self, cells: &[Cell]) -> String {
        let cell = |(cell, (_, numeric)): (&Cell, &(String, bool))| cell.html(*numeric);
        cells.iter().zip(&self.columns).map(cell).collect()
    }

    pub(super) fn html(&self) -> String {
        let HtmlTable { id, title, .. } = self;
        let columns: String = self
            .columns
            .iter()
            .map(|(title, numeric)| {
                let class = if *numeric { " class=\"num\"" } else { "" };
                format!("<th scope=\"col\"{class}>{}</th>", text(title))
            })
            .collect();
        let note = if self.note.is_empty() {
            String::new()
        } else {
            format!("<p class=\"note\">{}</p>\n", self.note)
        };
        let foot = if self.foot.is_empty() {
            String::new()
        } else {
            format!("<tfoot>{}</tfoot>\n", self.foot)
        };
        format!(
            "<section id=\"{id}\">\n<h2 id=\"{id}-title\">{title}</h2>\n{note}<div class=\"scroll\" role=\"region\" tabindex=\"0\" \
             aria-labelledby=\"{id}-title\">\n<table>\n<thead><tr>{columns}</tr></thead>\n{}{foot}</table>\n</div>\n</section>\n",
            self.body
        )
    }
}

impl Cell {
    fn html(&self, numeric: bool) -> String {
        let number = |value: &f64, shown: &str, class: &str| {
            format!(
                "<td class=\"{class}\" data-v=\"{value}\">{}</td>",
                text(shown)
            )
        };
        match self {
            Cell::Text(foreign) => format!("<td><bdi>{}</bdi></td>", text(foreign)),
            Cell::Number(value, shown) => number(value, shown, "num"),
            Cell::Bad(value, shown) => number(value, shown, "num bad"),
            Cell::Mark(true) => {
                "<td data-v=\"1\"><span class=\"good\">✓ held</span></td>".to_owned()
            }
            Cell::Mark(false) => {
                "<td data-v=\"0\"><span class=\"bad\">✗ broken</span></td>".to_owned()
            }
            Cell::None if numeric => "<td class=\"num none\">–</td>".to_owned(),
            Cell::None => "<td></td>".to_owned(),
        }
    }
}

/// Returns a cell with a count.
pub(super) fn count(n: u64) -> Cell {
    Cell::Number(n as f64, show_count(n))
}

/// Returns a cell with a time in milliseconds.
pub(super) fn duration(ms: f64) -> Cell {
    Cell::Number(ms, time(ms))
}

/// Returns the cells of a latency; empty if there was none.
pub(super) fn times<const N: usize>(
    latency: Option<&Latency>,
    values: impl Fn(&Latency) -> [f64; N],
) -> Vec<Cell> {
    match latency {
        Some(latency) => values(latency).map(duration).to_vec(),
        None => vec![Cell::None; N],
    }
}
