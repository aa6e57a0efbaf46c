//! How much of the document a format shows.

/// How much a format shows: as little as a comment on a pull request, as much as a terminal, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The most important rows and columns.
    Brief,
    /// The extent of a terminal.
    Usual,
    /// Everything.
    Full,
}
