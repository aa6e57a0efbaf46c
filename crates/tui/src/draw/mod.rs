//! The screen: header, graphs, tabs, the page and the line of keys; details next to the page if there is room, or a
//! dialog on top of it.

mod ascii;
mod detail;
mod diagnosis;
mod dialogs;
mod distribution;
mod graphs;
mod header;
mod page;
mod paint;
mod worker;

use super::ViewContext;
use super::layout::ScreenLayout;
use super::state::{Dialog, Tab, ViewState};
use super::style::Styles;
use lgoose_metrics::Snapshot;
pub(crate) use paint::Painter;
use paint::{StyledLines, cut, cut_below};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub use ascii::speaks_unicode;

/// Draws a run at one moment into an area of any size, and returns where things are.
pub(crate) fn draw(
    facts: &ViewContext,
    state: &ViewState,
    snapshot: &Snapshot,
    area: Rect,
    buffer: &mut Buffer,
) -> ScreenLayout {
    let painter = &mut Painter {
        buffer,
        styles: Styles {
            colours: facts.colours,
        },
    };
    let shown = state.figures.moment.as_deref().unwrap_or(snapshot);
    let mut layout = ScreenLayout::default();
    let mut rest = area;
    let head = cut(&mut rest, 3);
    header::draw(facts, state, snapshot, shown, head, painter);
    let most = match area.height {
        ..18 => 2,
        18..28 => 4,
        _ => 5,
    };
    diagnosis::draw(facts, snapshot, most, &mut rest, painter);
    let graphs = match area.height {
        ..18 => 0,
        18..28 => 5,
        28..34 => 6,
        34..50 => 10,
        _ => 12,
    };
    graphs::graphs(state, snapshot, cut(&mut rest, graphs), painter);
    page::tabs(state, shown, cut(&mut rest, 1), &mut layout, painter);
    let keys = cut_below(&mut rest, 1);
    page::draw(state, shown, rest, &mut layout, painter);
    page::last_line(state, shown, keys, painter);
    match &state.dialog {
        Dialog::None => {}
        dialog if dialog.scrolls() => {
            let lines = scrolled_text(state, shown, area.width);
            dialogs::page(state, &lines, area, &mut layout, painter);
        }
        Dialog::Tags(typed, at) => {
            dialogs::tags(typed, *at, shown, area, &mut layout, painter);
        }
        _ => dialogs::draw(state, shown, area, painter),
    }
    if facts.ascii {
        ascii::replace(painter.buffer, area);
    }
    layout
}

/// Returns the text of a dialog that scrolls.
fn scrolled_text(state: &ViewState, snapshot: &Snapshot, width: u16) -> StyledLines {
    match &state.dialog {
        Dialog::Detail(subject) => detail::lines(state, snapshot, subject),
        Dialog::Warnings => dialogs::warnings(snapshot),
        _ => dialogs::help(width, Tab::of(snapshot).len()),
    }
}

/// Returns the text of the dialog, to be copied.
pub(super) fn text_of(state: &ViewState, snapshot: &Snapshot) -> String {
    let lines = scrolled_text(state, snapshot, 80);
    let texts: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
