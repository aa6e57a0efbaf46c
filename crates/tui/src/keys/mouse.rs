//! The mouse: a click selects a row or a tab, a click on the selected row opens it, the wheel scrolls.

use super::super::pages::listing;
use super::super::state::{Dialog, Tab, ViewState};
use super::{open_details, select};
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use lgoose_metrics::Snapshot;

/// Lines by which one step of the wheel scrolls.
const STEP: isize = 3;

pub(super) fn point(state: &mut ViewState, event: MouseEvent, snapshot: &Snapshot) {
    match event.kind {
        MouseEventKind::ScrollDown => wheel(state, STEP, snapshot),
        MouseEventKind::ScrollUp => wheel(state, -STEP, snapshot),
        MouseEventKind::Down(MouseButton::Left) if state.dialog == Dialog::None => {
            click(state, event.column, event.row, snapshot);
        }
        MouseEventKind::Down(MouseButton::Left) if state.dialog.scrolls() => {
            state.dialog = Dialog::None;
        }
        _ => {}
    }
}

fn wheel(state: &mut ViewState, by: isize, snapshot: &Snapshot) {
    if state.dialog.scrolls() {
        let to = usize::from(state.scroll).saturating_add_signed(by);
        state.scroll = to.min(state.layout.most_scroll.into()) as u16;
    } else if state.dialog == Dialog::None {
        select(state, by, snapshot);
    }
}

fn click(state: &mut ViewState, x: u16, y: u16, snapshot: &Snapshot) {
    if y == state.layout.tabs_y {
        let tabs = state.layout.tabs.iter();
        let hit = tabs
            .clone()
            .position(|(from, to)| (*from..*to).contains(&x));
        if let Some(at) = hit {
            state.tab = Tab::of(snapshot).get(at).copied().unwrap_or(state.tab);
        }
        return;
    }
    let place = state.layout.rows;
    let line = y.checked_sub(place.y).map(usize::from);
    let Some(line) = line.filter(|line| *line < place.room && x < place.width) else {
        return;
    };
    let rows = listing(state, snapshot);
    let Some(row) = rows.rows.get(place.first + line).filter(|row| !row.heading) else {
        return;
    };
    if state.selected() == Some(row.key.as_str()) {
        open_details(state, snapshot)
    } else {
        state.selected[state.tab.index()] = Some(row.key.clone())
    }
}
