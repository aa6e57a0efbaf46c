//! A cell of a table: its text in every format, and the value that rows are sorted by.

use lgoose_base::figures::{number, rate, share, short_time, time, with_share};
use lgoose_base::units::{show_count, show_short_size, show_size};

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A name or a message from a plan or a target.
    Foreign(String),
    /// lgoose's own words, which may contain names.
    Words(String),
    /// A figure: its value, its text with the unit, and whether it is bad news.
    Figure(f64, String, bool),
    /// A mark of a good or a bad value.
    Mark(Mark),
    /// No figure.
    None,
}

/// Marks of good and bad values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Bad,
    Doubtful,
    Plain,
    Good,
}

impl Cell {
    pub(super) fn foreign(text: impl Into<String>) -> Cell {
        Cell::Foreign(text.into())
    }

    pub(super) fn words(text: impl Into<String>) -> Cell {
        Cell::Words(text.into())
    }

    pub(super) fn count(count: u64) -> Cell {
        Cell::Figure(count as f64, show_count(count), false)
    }

    /// Returns how many of something failed, with their share.
    pub(super) fn failures(failed: u64, of: u64) -> Cell {
        Cell::Figure(failed as f64, with_share(failed, of), failed > 0)
    }

    /// Returns a share of all.
    pub(super) fn share(part: u64, of: u64) -> Cell {
        let value = part as f64 / of.max(1) as f64;
        Cell::Figure(value, share(part, of), false)
    }

    /// Returns a share from 0 to 1 that is no count of anything, as that of a time.
    pub(super) fn percent(part: f64) -> Cell {
        Cell::Figure(part, format!("{:.0}%", part * 100.0), false)
    }

    pub(super) fn rate(per_second: f64) -> Cell {
        Cell::Figure(per_second, rate(per_second), false)
    }

    /// Returns the rate of so many events, of which a single one has none.
    pub(super) fn rate_of(count: u64, per_second: f64) -> Cell {
        match count {
            1 => Cell::None,
            _ => Cell::rate(per_second),
        }
    }

    pub(super) fn bytes(bytes: f64) -> Cell {
        Cell::Figure(bytes, show_size(bytes), false)
    }

    pub(super) fn duration(ms: f64) -> Cell {
        Cell::Figure(ms, time(ms), false)
    }

    /// Returns a number without a unit.
    pub(super) fn number(value: f64) -> Cell {
        Cell::Figure(value, number(value), false)
    }

    /// Returns the cell that `cell` makes of a value, or an empty one.
    pub(super) fn of<T>(value: Option<T>, cell: impl Fn(T) -> Cell) -> Cell {
        value.map_or(Cell::None, cell)
    }

    /// Returns the text of a figure for little room: a time or a size has a decimal less. `None` for other cells.
    pub fn short_figure(&self) -> Option<String> {
        let Cell::Figure(value, text, _) = self else {
            return None;
        };
        Some(match text {
            text if *text == time(*value) => short_time(*value),
            text if *text == format!("-{}", time(-value)) => format!("-{}", short_time(-value)),
            text if *text == show_size(*value) => show_short_size(*value),
            text => text.clone(),
        })
    }

    /// Marks a figure as bad news if it is.
    pub(super) fn bad_if(self, is_bad: bool) -> Cell {
        match self {
            Cell::Figure(value, text, _) => Cell::Figure(value, text, is_bad),
            other => other,
        }
    }
}
