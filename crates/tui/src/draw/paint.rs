//! The basis of all drawing: parts of the screen, and styled text.

use super::super::style::{Styles, TextMeaning};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

/// Lines of text with their meanings.
pub(super) type StyledLines = Vec<(TextMeaning, String)>;

/// Takes lines from the top.
pub(super) fn cut(rest: &mut Rect, height: u16) -> Rect {
    let height = height.min(rest.height);
    let taken = Rect { height, ..*rest };
    rest.y += height;
    rest.height -= height;
    taken
}

/// Takes lines from the bottom.
pub(super) fn cut_below(rest: &mut Rect, height: u16) -> Rect {
    let height = height.min(rest.height);
    rest.height -= height;
    Rect {
        y: rest.y + rest.height,
        height,
        ..*rest
    }
}

/// Returns a line of an area by its place from the top.
pub(super) fn line(area: Rect, at: u16) -> Rect {
    Rect {
        y: area.y + at,
        height: 1,
        ..area
    }
}

/// The screen that is drawn, and the looks of meanings on it.
pub(crate) struct Painter<'b> {
    pub(crate) buffer: &'b mut Buffer,
    pub(crate) styles: Styles,
}

impl Painter<'_> {
    /// Writes a text into a line, from column `x` on, and returns the column after it.
    pub(super) fn put(&mut self, area: Rect, x: u16, text: &str, meaning: TextMeaning) -> u16 {
        if area.height == 0 || x >= area.right() {
            return x;
        }
        let room = (area.right() - x) as usize;
        let style = self.styles.of(meaning);
        self.buffer.set_stringn(x, area.y, text, room, style).0
    }

    /// Writes a text at the right end of a line.
    pub(super) fn put_right(&mut self, area: Rect, text: &str, meaning: TextMeaning) {
        let x = area.right().saturating_sub(text.width() as u16);
        self.put(area, x, text, meaning);
    }
}
