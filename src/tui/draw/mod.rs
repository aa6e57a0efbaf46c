//! The screen: header, graphs, tabs, the page and the line of keys; a dialog over it.

mod detail;
mod dialogs;
mod header;

use super::ViewContext;
use super::listing::cut_middle;
use super::pages::listing;
use super::state::{Dialog, State, Tab};
use super::style::{Meaning, Styles};
use crate::metrics::Snapshot;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

/// Draws a run at one moment into an area of any size. How many rows of the page fit.
pub fn draw(
    facts: &ViewContext,
    state: &State,
    snapshot: &Snapshot,
    area: Rect,
    buffer: &mut Buffer,
) -> usize {
    let styles = Styles {
        colours: facts.colours,
    };
    let mut rest = area;
    header::draw(facts, snapshot, cut(&mut rest, 3), buffer, styles);
    let graphs = match area.height {
        ..18 => 0,
        18..34 => 4,
        _ => 8,
    };
    header::graphs(snapshot, cut(&mut rest, graphs), buffer, styles);
    tabs(state, snapshot, cut(&mut rest, 1), buffer, styles);
    let keys = cut_below(&mut rest, 1);
    let rows = match state.tab {
        Tab::Log => log(state, rest, buffer, styles),
        _ => listing(state, snapshot).draw(rest, buffer, state.selected(), state.sorted(), styles),
    };
    last_line(state, keys, buffer, styles);
    match &state.dialog {
        Dialog::None => {}
        Dialog::Detail(line) => {
            let lines = detail::lines(state, snapshot);
            dialogs::page(&lines, *line, area, buffer, styles);
        }
        dialog => dialogs::draw(dialog, area, buffer, styles),
    }
    rows
}

/// Takes lines from the top.
fn cut(rest: &mut Rect, height: u16) -> Rect {
    let height = height.min(rest.height);
    let taken = Rect { height, ..*rest };
    rest.y += height;
    rest.height -= height;
    taken
}

fn cut_below(rest: &mut Rect, height: u16) -> Rect {
    let height = height.min(rest.height);
    rest.height -= height;
    Rect {
        y: rest.y + rest.height,
        height,
        ..*rest
    }
}

/// Writes a text from the left end of a line on; where it ends.
fn put(
    buffer: &mut Buffer,
    area: Rect,
    x: u16,
    text: &str,
    meaning: Meaning,
    styles: Styles,
) -> u16 {
    if area.height == 0 || x >= area.right() {
        return x;
    }
    let room = (area.right() - x) as usize;
    let (end, _) = buffer.set_stringn(x, area.y, text, room, styles.of(meaning));
    end
}

fn tabs(state: &State, snapshot: &Snapshot, area: Rect, buffer: &mut Buffer, styles: Styles) {
    let mut titles: Vec<String> = Tab::ALL
        .iter()
        .enumerate()
        .map(|(at, tab)| {
            let count = match tab {
                Tab::Errors if !snapshot.errors.is_empty() => {
                    format!(" ({})", snapshot.errors.len())
                }
                _ => String::new(),
            };
            format!(" {} {}{count} ", at + 1, tab.title())
        })
        .collect();
    let wide: usize = titles.iter().map(|title| title.width()).sum();
    if wide > area.width as usize {
        // Names but for the one that is shown give way to their numbers.
        for (at, title) in titles.iter_mut().enumerate() {
            if at != state.tab.index() {
                *title = format!(" {} ", at + 1);
            }
        }
    }
    let mut x = area.x;
    for (at, title) in titles.iter().enumerate() {
        let meaning = match at == state.tab.index() {
            true => Meaning::Selected,
            false => Meaning::Faint,
        };
        x = put(buffer, area, x, title, meaning, styles);
    }
}

/// The newest line is the lowest; older ones are reached by moving up.
fn log(state: &State, area: Rect, buffer: &mut Buffer, styles: Styles) -> usize {
    let room = area.height as usize;
    if state.log.is_empty() {
        put(
            buffer,
            area,
            area.x,
            "nothing has been logged",
            Meaning::Faint,
            styles,
        );
    }
    let latest = state.log.len().saturating_sub(room);
    let from = match state.selected() {
        0 => latest,
        selected => selected.saturating_sub(room / 2).min(latest),
    };
    for (at, line) in state.log.iter().skip(from).take(room).enumerate() {
        let line_area = Rect {
            y: area.y + at as u16,
            height: 1,
            ..area
        };
        let meaning = match line {
            line if line.contains("ERROR") => Meaning::Bad,
            line if line.contains("WARN") => Meaning::Warning,
            _ => Meaning::Plain,
        };
        put(buffer, line_area, area.x, line, meaning, styles);
    }
    room
}

/// What was done last, the filter, or the keys.
fn last_line(state: &State, area: Rect, buffer: &mut Buffer, styles: Styles) {
    const KEYS: [&str; 10] = [
        "? help",
        "q stop",
        "p pause",
        "+/- users",
        "↵ more",
        "r reload",
        "/ filter",
        "s sort",
        "w write",
        "0 reset",
    ];
    if state.typing || !state.filter.is_empty() {
        let hint = match state.typing {
            true => "_  (↵ keeps, Esc drops it)",
            false => "  (Esc drops it)",
        };
        let text = format!("filter: {}{hint}", state.filter);
        put(buffer, area, area.x, &text, Meaning::Strong, styles);
    } else if state.notice.is_empty() {
        let mut x = area.x;
        for key in KEYS {
            if (x as usize) + key.width() <= area.right() as usize {
                x = put(buffer, area, x, key, Meaning::Faint, styles) + 2;
            }
        }
    } else {
        let text = cut_middle(&state.notice, area.width as usize);
        put(buffer, area, area.x, &text, Meaning::Strong, styles);
    }
}

#[cfg(test)]
mod tests;
