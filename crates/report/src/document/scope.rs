//! The extent of the document in a format.

/// The extent of a document: a comment on a pull request, a terminal, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The most important rows and columns.
    Brief,
    /// The extent of a terminal.
    Usual,
    /// All of the document.
    Full,
}
