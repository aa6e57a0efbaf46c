//! A table of the document, and how many of its rows a format shows.

use super::Cell;
use lgoose_base::units::show_count;
use lgoose_metrics::{ErrorRow, SlowRequest};

/// A table of the document.
#[derive(Debug)]
pub struct Table<'a> {
    /// The anchor that links point to.
    pub(crate) id: &'static str,
    /// The title.
    pub title: &'static str,
    /// The meaning of the figures, where there is room for it.
    pub(crate) note: &'static str,
    /// The columns, from left to right.
    pub columns: Vec<Column>,
    /// The rows, from top to bottom.
    pub rows: Vec<Row<'a>>,
    /// The row of all rows.
    pub total: Option<Vec<Cell>>,
    /// Lines below the table, in every format.
    pub(crate) remarks: Vec<String>,
    /// Whether it has more figures of the rows of another table.
    pub(crate) is_more: bool,
}

/// A row of a table.
#[derive(Debug)]
pub struct Row<'a> {
    pub cells: Vec<Cell>,
    /// The error that the row is about.
    pub(crate) error: Option<&'a ErrorRow>,
    /// The request that the row is about.
    pub(crate) request: Option<&'a SlowRequest>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The title.
    pub title: String,
    /// The kind of its cells.
    pub kind: ColumnKind,
    /// The order in which columns are left out where lines are short, the highest rank first; rank 0 stays.
    pub rank: u8,
}

/// The contents of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Marks of the cells beside them.
    Mark,
    /// The name that several rows in succession share.
    Group,
    /// Names or a few words, which begin at the left.
    Text,
    /// Numbers, which end at the right.
    Number,
    /// Sentences, which need a line of their own where lines are short.
    Prose,
}

impl<'a> Table<'a> {
    pub(super) fn new(id: &'static str, title: &'static str, columns: Vec<Column>) -> Table<'a> {
        Table {
            id,
            title,
            note: "",
            columns,
            rows: Vec::new(),
            total: None,
            remarks: Vec::new(),
            is_more: false,
        }
    }

    /// Adds the meaning of the figures.
    pub(super) fn note(self, note: &'static str) -> Self {
        Table { note, ..self }
    }

    /// Adds rows.
    pub(super) fn with(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        self.rows.extend(rows.into_iter().map(Row::of));
        self
    }

    /// Counts the rows beyond so many instead of showing them.
    pub(super) fn at_most(mut self, rows: usize) -> Self {
        let more = self.rows.len().saturating_sub(rows);
        if more > 0 {
            self.rows.truncate(rows);
            let more = show_count(more as u64);
            self.remarks
                .push(format!("… and {more} more {}", self.title.to_lowercase()));
        }
        self
    }

    /// Removes a column.
    pub(crate) fn without(mut self, title: &str) -> Self {
        if let Some(at) = self.columns.iter().position(|column| column.title == title) {
            self.columns.remove(at);
            let rows = self.rows.iter_mut().map(|row| &mut row.cells);
            for cells in rows.chain(&mut self.total) {
                cells.remove(at);
            }
        }
        self
    }

    /// Removes a column that has nothing in it.
    pub(super) fn without_empty(self, title: &str) -> Self {
        let at = self.columns.iter().position(|column| column.title == title);
        let is_empty = |cell: &Cell| match cell {
            Cell::None => true,
            Cell::Foreign(text) | Cell::Words(text) => text.is_empty(),
            Cell::Figure(..) | Cell::Mark(_) => false,
        };
        match at {
            Some(at) if self.rows.iter().all(|row| is_empty(&row.cells[at])) => self.without(title),
            _ => self,
        }
    }
}

impl Row<'_> {
    pub(super) fn of(cells: Vec<Cell>) -> Self {
        Row {
            cells,
            error: None,
            request: None,
        }
    }
}

impl Column {
    fn new(title: impl Into<String>, kind: ColumnKind) -> Column {
        let title = title.into();
        Column {
            title,
            kind,
            rank: 0,
        }
    }

    /// Sets how soon it is left out where lines are short.
    pub(super) fn rank(self, rank: u8) -> Column {
        Column { rank, ..self }
    }

    pub(super) fn mark() -> Column {
        Column::new("ok", ColumnKind::Mark)
    }

    pub(super) fn group(title: &str) -> Column {
        Column::new(title, ColumnKind::Group)
    }

    pub(super) fn text(title: &str) -> Column {
        Column::new(title, ColumnKind::Text)
    }

    pub(super) fn number(title: impl Into<String>) -> Column {
        Column::new(title, ColumnKind::Number)
    }

    pub(super) fn prose(title: &str) -> Column {
        Column::new(title, ColumnKind::Prose)
    }

    pub(super) fn numbers<const N: usize>(titles: [&str; N]) -> impl Iterator<Item = Column> {
        titles.into_iter().map(Column::number)
    }
}
