//! Columns of tables: the title of each, and on which side its cells are aligned.

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column<'a> {
    /// Text, which begins at the left.
    Text(&'a str),
    /// Numbers, which end at the right.
    Number(&'a str),
}

impl<'a> Column<'a> {
    /// Returns the title.
    pub(crate) fn title(self) -> &'a str {
        match self {
            Column::Text(title) | Column::Number(title) => title,
        }
    }

    /// Returns whether it has numbers.
    pub(crate) fn is_numeric(self) -> bool {
        matches!(self, Column::Number(_))
    }
}
