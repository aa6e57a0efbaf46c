//! The places of the last drawing, for keys that move by pages and for the mouse. Drawing writes it; keys and mouse
//! read it.

use super::listing::DrawnRows;

/// The places of one drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScreenLayout {
    /// The rows of the page.
    pub(super) rows: DrawnRows,
    /// The line of the tabs, and from which column to which each goes.
    pub(super) tabs_y: u16,
    pub(super) tabs: Vec<(u16, u16)>,
    /// Whether details are shown beside the page.
    pub(super) has_pane: bool,
    /// Lines by which the dialog can be scrolled, lines of it that fit, and lines that were found.
    pub(super) most_scroll: u16,
    pub(super) dialog_rows: u16,
    pub(super) found: Vec<u16>,
}
