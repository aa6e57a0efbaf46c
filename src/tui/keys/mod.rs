//! What keys and the mouse do: to the view itself, and as a wish that is passed to the owner of the run.

mod dialogs;
mod mouse;

use super::listing::Order;
use super::pages::listing;
use super::screen::Typed;
use super::state::{Dialog, State, Subject, Tab};
use crate::control::{Command, Interrupt};
use crate::metrics::Snapshot;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the person at the keyboard wants of the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wish {
    /// A command to the run.
    Command(Command),
    /// Pause the run, or let it go on if it is paused.
    TogglePause,
    /// Write a report of the run so far.
    WriteReport,
    /// Give the terminal back until the process is continued (Ctrl-Z).
    Suspend,
    /// Leave the view of a run that is over.
    Leave,
}

impl State {
    /// Takes what was typed: changes what is shown, and returns what is wanted of the run. The next frame takes a
    /// change of size into account by itself.
    pub(crate) fn take(&mut self, typed: &Typed, snapshot: &Snapshot) -> Option<Wish> {
        // Keys are about what is on the screen.
        let moment = self.moment.clone();
        let shown = moment.as_deref().unwrap_or(snapshot);
        let before = self.tab;
        let wish = match typed {
            Typed::Key(key) => self.press(*key, shown),
            Typed::Mouse(event) => {
                self.point(*event, shown);
                None
            }
            Typed::Paste(text) => {
                self.paste(text, shown);
                None
            }
            _ => None,
        };
        if self.tab == Tab::Log && before != Tab::Log {
            self.log.follow();
        }
        self.show_message();
        wish
    }

    /// Takes a paste as text where text is typed, and ignores it elsewhere: nobody means it as keys.
    fn paste(&mut self, text: &str, snapshot: &Snapshot) {
        if self.typing || self.searching || self.dialog.takes_text() {
            for character in text.chars().filter(|one| !one.is_control()) {
                self.press(KeyCode::Char(character).into(), snapshot);
            }
        }
    }

    fn press(&mut self, key: KeyEvent, snapshot: &Snapshot) -> Option<Wish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::ALT) {
            // Esc and a key that came together: terminals send Alt with a key the same way.
            self.press(KeyCode::Esc.into(), snapshot);
            return self.press(key.code.into(), snapshot);
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c') if self.finished.is_some() => return Some(Wish::Leave),
                KeyCode::Char('c') => {
                    return Some(Wish::Command(Command::Interrupt(Interrupt::Key)));
                }
                KeyCode::Char('z') => return Some(Wish::Suspend),
                KeyCode::Char('l') => self.repaint = true,
                _ => {}
            }
            return None;
        }
        self.notice.clear();
        if self.typing {
            self.type_filter(key.code);
            return None;
        }
        match self.dialog {
            Dialog::None => self.press_on_page(key.code, snapshot),
            _ => self.press_in_dialog(key.code, snapshot),
        }
    }

    fn press_on_page(&mut self, key: KeyCode, snapshot: &Snapshot) -> Option<Wish> {
        let (tab, tabs) = (self.tab.index(), Tab::of(snapshot));
        let page = self.layout.rows.room.max(1) as isize;
        match key {
            KeyCode::Char(digit @ '1'..='9') => {
                let wanted = tabs.get(digit as usize - '1' as usize);
                self.tab = wanted.copied().unwrap_or(self.tab);
            }
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => {
                self.tab = tabs[(tab + 1) % tabs.len()]
            }
            KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => {
                self.tab = tabs[(tab + tabs.len() - 1) % tabs.len()]
            }
            KeyCode::Down | KeyCode::Char('j') => self.select(1, snapshot),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1, snapshot),
            KeyCode::PageDown => self.select(page, snapshot),
            KeyCode::PageUp => self.select(-page, snapshot),
            KeyCode::Home | KeyCode::Char('g') => self.select(isize::MIN / 2, snapshot),
            KeyCode::End | KeyCode::Char('G') => self.select(isize::MAX / 2, snapshot),
            KeyCode::Enter => self.open_details(snapshot),
            KeyCode::Esc if self.filter.is_empty() => self.choose_tag(None),
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('t') => self.go_by_tag(snapshot),
            KeyCode::Char('s') => self.sort_by_next(snapshot),
            KeyCode::Char('S') => self.reversed = !self.reversed,
            KeyCode::Char('n') => self.toggle_now(),
            KeyCode::Char('z') => self.whole = !self.whole,
            KeyCode::Char('v') => self.graph = self.graph.wrapping_add(1),
            KeyCode::Char('e') => self.go_to_errors(snapshot),
            KeyCode::Char('!') => self.open(Dialog::Warnings),
            KeyCode::Char('/') => {
                self.filter.clear();
                self.typing = true;
            }
            KeyCode::Char('?') => self.open(Dialog::Help),
            KeyCode::Char('w') => return Some(Wish::WriteReport),
            KeyCode::Char('q') if self.finished.is_some() => return Some(Wish::Leave),
            _ if self.finished.is_some() => {}
            KeyCode::Char('+' | '=') => return Some(Wish::Command(self.more(1, snapshot))),
            KeyCode::Char('-') => return Some(Wish::Command(self.more(-1, snapshot))),
            KeyCode::Char('>') => return Some(Wish::Command(Command::NextStage)),
            KeyCode::Char('u') => self.open(Dialog::Users(String::new())),
            KeyCode::Char('i') => match self.rate(snapshot) {
                Some(_) => self.open(Dialog::Rate(String::new())),
                None => self.notice = "this load has no rate: u sets its users".to_owned(),
            },
            KeyCode::Char('o') => self.next_load(snapshot),
            KeyCode::Char('p' | ' ') => return Some(Wish::TogglePause),
            KeyCode::Char('0') => self.open(Dialog::Reset),
            KeyCode::Char('r') => return Some(Wish::Command(Command::Reload)),
            KeyCode::Char('q') => self.open(Dialog::Quit),
            _ => {}
        }
        None
    }

    /// Asks for a tag, to show its requests alone, or shows all again.
    fn go_by_tag(&mut self, snapshot: &Snapshot) {
        if self.one_tag.is_some() {
            self.choose_tag(None);
            self.notice = "all requests".to_owned();
        } else if snapshot.tags.is_empty() {
            self.notice =
                "no request has a tag: 'tags' in a plan and several scenarios give some".to_owned();
        } else {
            self.open(Dialog::Tags(String::new(), 0));
        }
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(character) => self.filter.push(character),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            _ => {}
        }
    }

    fn select(&mut self, step: isize, snapshot: &Snapshot) {
        if self.tab == Tab::Log {
            let room = self.layout.rows.room.max(1);
            return self.log.scroll(step, &self.filter, room);
        }
        let rows = listing(self, snapshot);
        let from = rows.current(self.selected());
        if let Some(at) = rows.step(from, step) {
            self.selected[self.tab.index()] = Some(rows.rows[at].key.clone());
        }
    }

    /// Opens the details of the selected row, and keeps that row selected.
    fn open_details(&mut self, snapshot: &Snapshot) {
        let rows = listing(self, snapshot);
        if let Some(at) = rows.current(self.selected()) {
            let key = rows.rows[at].key.clone();
            self.selected[self.tab.index()] = Some(key.clone());
            let tab = self.tab;
            self.open(Dialog::Detail(Subject { tab, key }));
        }
    }

    /// Goes from a request to its errors.
    fn go_to_errors(&mut self, snapshot: &Snapshot) {
        if !matches!(self.tab, Tab::Requests | Tab::Latency | Tab::Codes) {
            return;
        }
        let rows = listing(self, snapshot);
        if let Some(at) = rows.current(self.selected()) {
            self.selected[self.tab.index()] = Some(rows.rows[at].key.clone());
            self.filter = rows.rows[at].name.clone();
            self.tab = Tab::Errors;
            self.notice = format!("errors of '{}'; Esc shows all", self.filter);
        }
    }

    fn toggle_now(&mut self) {
        self.now = !self.now;
        // The page has other columns now.
        let sorted = &mut self.sorted[Tab::Requests.index()];
        if matches!(sorted, Order::Column(_)) {
            *sorted = Order::Plan;
        }
        self.notice = match self.now {
            true if self.one_tag.is_some() => {
                "the last ten seconds; the worst second is not known by tag".to_owned()
            }
            true => "the last ten seconds, and the worst second of them".to_owned(),
            false => "since the beginning, or the last reset of the statistics".to_owned(),
        };
    }

    fn sort_by_next(&mut self, snapshot: &Snapshot) {
        let columns = listing(self, snapshot).columns;
        let sorted = &mut self.sorted[self.tab.index()];
        *sorted = match *sorted {
            Order::Plan if !columns.is_empty() => Order::Column(0),
            Order::Column(at) if at + 1 < columns.len() => Order::Column(at + 1),
            Order::Name => Order::Plan,
            _ => Order::Name,
        };
        self.notice = match *sorted {
            Order::Plan if self.tab == Tab::Workers => "those in trouble first".to_owned(),
            Order::Plan => "in the order of the plan".to_owned(),
            Order::Name => "sorted by name; S reverses".to_owned(),
            Order::Column(at) => format!("sorted by {}; S reverses", columns[at].title),
        };
    }
}

#[cfg(test)]
mod tests;
