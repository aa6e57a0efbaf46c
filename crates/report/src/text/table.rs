//! Layout of a table of the document in columns of text: figures are never cut, names are shortened in the middle.
//!
//! Widths are terminal columns, not characters: a CJK character takes two, a combining accent none.

use crate::document::{Cell, ColumnKind, Mark, Table};
use lgoose_base::line::{cut_apart, cut_middle, one_line, wrapped};
use unicode_width::UnicodeWidthStr as _;

/// The gap between two columns of a table.
const GAP: usize = 2;
/// The width of the left margin.
const MARGIN: usize = 1;
/// The width that names should at least have: if less is left for them, figures are moved closer together.
const FAIR_NAME: usize = 24;
/// The smallest width of names.
const MIN_NAME_WIDTH: usize = 10;
/// The most columns of a word beside a name, and the most lines of a sentence.
const MAX_WORD_WIDTH: usize = 44;
const MAX_LINES: usize = 4;

/// A table as text: a column of names, and figures at the right ends of their columns.
#[derive(Debug)]
pub(super) struct TextTable<'a> {
    title: &'a str,
    /// The title of each column after that of names, and whether its cells begin at the left.
    columns: Vec<(&'a str, bool)>,
    rows: Vec<TextRow>,
    remarks: &'a [String],
}

#[derive(Debug)]
enum TextRow {
    Rule,
    /// The name of the group of the rows below.
    Heading(String),
    Cells(String, Vec<TextCell>),
    /// Sentences about the row above.
    Below(Vec<String>),
}

/// The text of a cell, and the one for a table that has little room.
#[derive(Debug)]
struct TextCell {
    usual: String,
    short: String,
}

impl TextCell {
    fn text(&self, tight: bool) -> &str {
        if tight { &self.short } else { &self.usual }
    }
}

impl<'a> From<&'a Table<'a>> for TextTable<'a> {
    fn from(table: &'a Table<'a>) -> Self {
        let of = |kind: ColumnKind| table.columns.iter().position(|column| column.kind == kind);
        let (marks, groups) = (of(ColumnKind::Mark), of(ColumnKind::Group));
        let is_beside = |kind: ColumnKind| matches!(kind, ColumnKind::Text | ColumnKind::Number);
        let beside = table.columns.iter().enumerate();
        let mut beside = beside.filter(|(_, column)| is_beside(column.kind));
        let name_at = beside.next().map_or(0, |(at, _)| at);
        let beside: Vec<usize> = beside.map(|(at, _)| at).collect();
        let text_row = |cells: &[Cell]| {
            let mark = marks.map_or("", |at| mark(&cells[at]));
            let indent = groups.map_or("", |_| "  ");
            let name = format!("{indent}{mark}{}", text(&cells[name_at]));
            let cell = |at: &usize| {
                let cell = &cells[*at];
                let usual = match cell {
                    Cell::Foreign(_) | Cell::Words(_) => cut_middle(&text(cell), MAX_WORD_WIDTH),
                    figure => text(figure),
                };
                let short = cell.short_figure().unwrap_or_else(|| usual.clone());
                TextCell { usual, short }
            };
            TextRow::Cells(name, beside.iter().map(cell).collect())
        };
        let mut rows = Vec::new();
        let mut group = None;
        for row in &table.rows {
            if let Some(at) = groups.filter(|at| group != Some(&row.cells[*at])) {
                group = Some(&row.cells[at]);
                rows.push(TextRow::Heading(text(&row.cells[at])));
            }
            rows.push(text_row(&row.cells));
            let columns = table.columns.iter().zip(&row.cells);
            let prose = columns.filter(|(column, _)| column.kind == ColumnKind::Prose);
            let prose = prose.filter(|(_, cell)| **cell != Cell::None);
            let prose: Vec<String> = prose.map(|(_, cell)| text(cell)).collect();
            if !prose.is_empty() {
                rows.push(TextRow::Below(prose));
            }
        }
        if let Some(total) = &table.total {
            rows.extend([TextRow::Rule, text_row(total)]);
        }
        let columns = beside.iter().map(|at| {
            let column = &table.columns[*at];
            (&*column.title, column.kind == ColumnKind::Text)
        });
        TextTable {
            title: table.title,
            columns: columns.collect(),
            rows,
            remarks: &table.remarks,
        }
    }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Foreign(text) | Cell::Words(text) | Cell::Figure(_, text, _) => one_line(text),
        Cell::Mark(_) => mark(cell).to_owned(),
        Cell::None => "–".to_owned(),
    }
}

fn mark(cell: &Cell) -> &'static str {
    match cell {
        Cell::Mark(Mark::Good) => "✓ ",
        Cell::Mark(Mark::Bad) => "✗ ",
        Cell::Mark(Mark::Doubtful) => "! ",
        _ => "  ",
    }
}

impl TextTable<'_> {
    /// Returns the width at which nothing is cut.
    pub(super) fn natural_width(&self) -> usize {
        let figures: usize = self.widths(false).iter().map(|width| width + GAP).sum();
        MARGIN + self.longest_name() + figures
    }

    /// Appends the table, `page` columns wide; wider only if its figures need it.
    pub(super) fn render(&self, page: usize, out: &mut String) {
        let needed = self.longest_name().clamp(MIN_NAME_WIDTH, FAIR_NAME);
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
        let name_width = room(&widths, gap).max(MIN_NAME_WIDTH);
        let full = MARGIN + name_width + figures(&widths, gap);
        let line = |name: &str, cells: &[&str]| {
            let mut line = " ".repeat(MARGIN);
            line.push_str(&pad_right(&cut_middle(name, name_width), name_width));
            for ((cell, width), (_, begins_left)) in cells.iter().zip(&widths).zip(&self.columns) {
                line.push_str(&" ".repeat(gap));
                let pad = if *begins_left { pad_right } else { pad_left };
                line.push_str(&pad(cell, *width));
            }
            format!("{}\n", line.trim_end())
        };
        let titles: Vec<&str> = self.columns.iter().map(|(title, _)| *title).collect();
        let mut names = cut_apart(&self.names(), name_width).into_iter();
        let mut name = || names.next().unwrap_or_default();
        out.push_str(&line(self.title, &titles));
        out.push_str(&rule(full));
        for row in &self.rows {
            match row {
                TextRow::Rule => out.push_str(&rule(full)),
                TextRow::Heading(name) => {
                    out.push_str(&format!(" {}\n", cut_middle(name, full - MARGIN)))
                }
                TextRow::Cells(_, cells) => {
                    let cells: Vec<&str> = cells.iter().map(|cell| cell.text(tight)).collect();
                    out.push_str(&line(&name(), &cells));
                }
                TextRow::Below(sentences) => {
                    let width = full.saturating_sub(MARGIN + 4).max(MIN_NAME_WIDTH);
                    let cut = |text: &String| cut_middle(text, width * MAX_LINES);
                    let sentences: Vec<String> = sentences.iter().map(cut).collect();
                    for line in wrapped(&sentences.join(" · "), width) {
                        out.push_str(&format!("     {line}\n"));
                    }
                }
            }
        }
        for remark in self.remarks {
            for text in wrapped(&one_line(remark), full.saturating_sub(MARGIN)) {
                out.push_str(&format!(" {text}\n"));
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        let names = self.rows.iter().filter_map(|row| match row {
            TextRow::Cells(name, _) => Some(name.as_str()),
            TextRow::Rule | TextRow::Heading(_) | TextRow::Below(_) => None,
        });
        names.collect()
    }

    fn longest_name(&self) -> usize {
        let names = self.names().into_iter().map(|name| name.width());
        names.max().unwrap_or(0).max(self.title.width())
    }

    fn widths(&self, tight: bool) -> Vec<usize> {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .map(|(title, _)| title.width())
            .collect();
        for row in &self.rows {
            if let TextRow::Cells(_, cells) = row {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.text(tight).width());
                }
            }
        }
        widths
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
        .max(MIN_NAME_WIDTH);
    let left = pad_right(&cut_middle(left, room), room);
    format!("{}{left}{}{right}\n", " ".repeat(MARGIN), " ".repeat(GAP))
}

fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}
