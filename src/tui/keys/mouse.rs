//! What the mouse does: a click selects a row or a tab, a click on the selected row opens it, the wheel scrolls.

use super::super::pages::listing;
use super::super::state::{Dialog, State, Tab};
use crate::metrics::Snapshot;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

/// Lines by which one step of the wheel scrolls.
const STEP: isize = 3;

impl State {
    pub(super) fn point(&mut self, event: MouseEvent, snapshot: &Snapshot) {
        match event.kind {
            MouseEventKind::ScrollDown => self.wheel(STEP, snapshot),
            MouseEventKind::ScrollUp => self.wheel(-STEP, snapshot),
            MouseEventKind::Down(MouseButton::Left) if self.dialog == Dialog::None => {
                self.click(event.column, event.row, snapshot);
            }
            MouseEventKind::Down(MouseButton::Left) if self.dialog.scrolls() => {
                self.dialog = Dialog::None;
            }
            _ => {}
        }
    }

    fn wheel(&mut self, by: isize, snapshot: &Snapshot) {
        if self.dialog.scrolls() {
            let to = usize::from(self.scroll).saturating_add_signed(by);
            self.scroll = to.min(self.layout.most_scroll.into()) as u16;
        } else if self.dialog == Dialog::None {
            self.select(by, snapshot);
        }
    }

    fn click(&mut self, x: u16, y: u16, snapshot: &Snapshot) {
        if y == self.layout.tabs_y {
            let tabs = self.layout.tabs.iter();
            let hit = tabs
                .clone()
                .position(|(from, to)| (*from..*to).contains(&x));
            if let Some(at) = hit {
                self.tab = Tab::ALL[at];
            }
            return;
        }
        let place = self.layout.rows;
        let line = y.checked_sub(place.y).map(usize::from);
        let Some(line) = line.filter(|line| *line < place.room && x < place.width) else {
            return;
        };
        let rows = listing(self, snapshot);
        let Some(row) = rows.rows.get(place.first + line).filter(|row| !row.heading) else {
            return;
        };
        if self.selected() == Some(row.key.as_str()) {
            self.open_details(snapshot)
        } else {
            self.selected[self.tab.index()] = Some(row.key.clone())
        }
    }
}
