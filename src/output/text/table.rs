//! Layout of text in columns: figures are never cut, names are shortened in the middle.
//!
//! Widths are terminal columns, not characters: a CJK character takes two, a combining accent none.

use crate::output::display::{cut_apart, cut_middle};
use unicode_width::UnicodeWidthStr as _;

/// The gap between two columns of a table.
const GAP: usize = 2;
/// The width of the left margin.
const MARGIN: usize = 1;
/// The width that names should at least have: if less is left for them, figures are moved closer together.
const FAIR_NAME: usize = 24;
/// The smallest width of names.
const LEAST_NAME: usize = 10;

/// A name column and right-aligned columns of figures.
#[derive(Debug, Default)]
pub(super) struct TextTable {
    title: &'static str,
    columns: &'static [&'static str],
    rows: Vec<TextRow>,
}

#[derive(Debug)]
enum TextRow {
    Rule,
    Heading(String, String),
    Cells(String, Vec<String>),
}

impl TextTable {
    /// Creates an empty table; `title` heads the column of names.
    pub(super) fn new(title: &'static str, columns: &'static [&'static str]) -> Self {
        TextTable {
            title,
            columns,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, name: impl Into<String>, cells: Vec<String>) {
        self.rows.push(TextRow::Cells(name.into(), cells));
    }

    /// Adds a line across the table, with `note` at its right end.
    pub(super) fn heading(&mut self, name: impl Into<String>, note: impl Into<String>) {
        self.rows.push(TextRow::Heading(name.into(), note.into()));
    }

    pub(super) fn rule(&mut self) {
        self.rows.push(TextRow::Rule);
    }

    /// Returns the width at which nothing is cut.
    pub(super) fn natural_width(&self) -> usize {
        let figures: usize = self.widths(false).iter().map(|width| width + GAP).sum();
        MARGIN + self.longest_name() + figures
    }

    /// Appends the table, `page` columns wide; wider only if its figures need it.
    pub(super) fn render(&self, page: usize, out: &mut String) {
        let needed = self.longest_name().min(FAIR_NAME);
        let figures = |widths: &[usize], gap: usize| -> usize {
            widths.iter().map(|width| width + gap).sum()
        };
        let room =
            |widths: &[usize], gap: usize| page.saturating_sub(MARGIN + figures(widths, gap));
        let mut widths = self.widths(false);
        let tight = room(&widths, GAP) < needed;
        if tight {
            widths = self.widths(true);
        }
        let gap = if room(&widths, GAP) < needed { 1 } else { GAP };
        let name_width = room(&widths, gap).max(LEAST_NAME);
        let full = MARGIN + name_width + figures(&widths, gap);
        let line = |name: &str, cells: &[String]| {
            let mut line = " ".repeat(MARGIN);
            line.push_str(&pad_right(&cut_middle(name, name_width), name_width));
            for (cell, width) in cells.iter().zip(&widths) {
                line.push_str(&" ".repeat(gap));
                line.push_str(&pad_left(cell, *width));
            }
            format!("{}\n", line.trim_end())
        };
        let titles: Vec<String> = self
            .columns
            .iter()
            .map(|title| (*title).to_owned())
            .collect();
        let mut names = cut_apart(&self.names(), name_width).into_iter();
        let mut name = || names.next().unwrap_or_default();
        out.push_str(&line(self.title, &titles));
        out.push_str(&rule(full));
        for row in &self.rows {
            match row {
                TextRow::Rule => out.push_str(&rule(full)),
                TextRow::Heading(name, note) => {
                    out.push_str(spread(name, note, full).trim_end());
                    out.push('\n');
                }
                TextRow::Cells(_, cells) if tight => {
                    let cells: Vec<String> = cells.iter().map(|cell| tightened(cell)).collect();
                    out.push_str(&line(&name(), &cells));
                }
                TextRow::Cells(_, cells) => out.push_str(&line(&name(), cells)),
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        let names = self.rows.iter().filter_map(|row| match row {
            TextRow::Cells(name, _) => Some(name.as_str()),
            TextRow::Rule | TextRow::Heading(..) => None,
        });
        names.collect()
    }

    fn longest_name(&self) -> usize {
        let names = self.names().into_iter().map(|name| name.width());
        names.max().unwrap_or(0).max(self.title.width())
    }

    fn widths(&self, tight: bool) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|title| title.width()).collect();
        for row in &self.rows {
            if let TextRow::Cells(_, cells) = row {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    let cell = if tight { tightened(cell) } else { cell.clone() };
                    *width = (*width).max(cell.width());
                }
            }
        }
        widths
    }
}

/// Returns a figure without the space before its unit: `12.4ms`. A share in brackets keeps its space.
fn tightened(cell: &str) -> String {
    if cell.contains('(') {
        cell.to_owned()
    } else {
        cell.replace(' ', "")
    }
}

/// Returns a line across the page.
pub(super) fn rule(page: usize) -> String {
    format!("{}\n", "─".repeat(page))
}

/// Returns a line with one text at its left and one at its right end; the left one is cut to fit.
pub(super) fn spread(left: &str, right: &str, page: usize) -> String {
    let room = page
        .saturating_sub(MARGIN + GAP + right.width())
        .max(LEAST_NAME);
    let left = pad_right(&cut_middle(left, room), room);
    format!("{}{left}{}{right}\n", " ".repeat(MARGIN), " ".repeat(GAP))
}

pub(super) fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

pub(super) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stay_in_their_columns_when_the_page_is_too_narrow() {
        let mut table = TextTable::new("Requests", &["# reqs", "p99"]);
        table.row(
            "GET a page with a long name",
            vec!["1,234,567".into(), "12.4 ms".into()],
        );
        let mut text = String::new();
        table.render(20, &mut text);
        assert!(text.contains("1,234,567 12.4ms"), "{text}");
    }
}
