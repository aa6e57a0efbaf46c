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

/// Writes a text into a line, from column `x` on, and returns the column after it.
pub(super) fn put(
    buffer: &mut Buffer,
    area: Rect,
    x: u16,
    text: &str,
    meaning: TextMeaning,
    styles: Styles,
) -> u16 {
    if area.height == 0 || x >= area.right() {
        return x;
    }
    let room = (area.right() - x) as usize;
    let (end, _) = buffer.set_stringn(x, area.y, text, room, styles.of(meaning));
    end
}

/// Writes a text at the right end of a line.
pub(super) fn put_right(
    buffer: &mut Buffer,
    area: Rect,
    text: &str,
    meaning: TextMeaning,
    styles: Styles,
) {
    let x = area.right().saturating_sub(text.width() as u16);
    put(buffer, area, x, text, meaning, styles);
}
