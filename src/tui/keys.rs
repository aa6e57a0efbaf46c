//! What keys do: to the view itself, and as a wish to whoever owns the run.

use super::pages::listing;
use super::screen::Typed;
use super::state::{Dialog, State, Tab};
use crate::control::{Command, Interrupt};
use crate::metrics::Snapshot;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What somebody at the keys wants of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wish {
    /// Something that a run can be asked for.
    Command(Command),
    /// Go on and stand still in turns.
    TogglePause,
    /// Write a report of the run so far.
    WriteReport,
    /// Give the terminal back until the process is continued (Ctrl-Z).
    Suspend,
}

impl State {
    /// Takes what was typed: changes what is shown, and gives what is wanted of the run. A change of size is seen
    /// by the next drawing.
    pub fn take(&mut self, typed: &Typed, snapshot: &Snapshot) -> Option<Wish> {
        match typed {
            Typed::Key(key) => self.press(*key, snapshot),
            Typed::Paste(text) => {
                self.paste(text, snapshot);
                None
            }
            _ => None,
        }
    }

    /// What was pasted is text where one is typed, and nothing elsewhere: nobody means it as keys.
    fn paste(&mut self, text: &str, snapshot: &Snapshot) {
        if self.typing || matches!(self.dialog, Dialog::Users(_)) {
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
            // Esc and a key that came together: that is how terminals send both.
            self.press(KeyCode::Esc.into(), snapshot);
            return self.press(key.code.into(), snapshot);
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Wish::Command(Command::Interrupt(Interrupt::Key))),
                KeyCode::Char('z') => Some(Wish::Suspend),
                _ => None,
            };
        }
        self.notice.clear();
        match self.dialog.clone() {
            _ if self.typing => self.type_filter(key.code),
            Dialog::None => return self.press_on_page(key.code, snapshot),
            Dialog::Quit => {
                self.dialog = Dialog::None;
                if matches!(key.code, KeyCode::Char('y' | 'Y' | 'q') | KeyCode::Enter) {
                    return Some(Wish::Command(Command::Stop));
                }
            }
            Dialog::Reset => {
                self.dialog = Dialog::None;
                if matches!(key.code, KeyCode::Char('y' | 'Y' | '0') | KeyCode::Enter) {
                    return Some(Wish::Command(Command::ResetStatistics));
                }
            }
            Dialog::Users(text) => return self.type_users(key.code, text),
            Dialog::Detail(line) => match key.code {
                KeyCode::Down | KeyCode::Char('j') => {
                    self.dialog = Dialog::Detail(line.saturating_add(1))
                }
                KeyCode::Up | KeyCode::Char('k') => {
                    self.dialog = Dialog::Detail(line.saturating_sub(1))
                }
                KeyCode::PageDown => self.dialog = Dialog::Detail(line.saturating_add(10)),
                KeyCode::PageUp => self.dialog = Dialog::Detail(line.saturating_sub(10)),
                _ => self.dialog = Dialog::None,
            },
            // What was wrong with the plan is mended: once more.
            Dialog::Message(_) if key.code == KeyCode::Char('r') => {
                self.dialog = Dialog::None;
                return Some(Wish::Command(Command::Reload));
            }
            Dialog::Help | Dialog::Message(_) => self.dialog = Dialog::None,
        }
        None
    }

    fn press_on_page(&mut self, key: KeyCode, snapshot: &Snapshot) -> Option<Wish> {
        let tab = self.tab.index();
        match key {
            KeyCode::Char(digit @ '1'..='7') => self.tab = Tab::ALL[digit as usize - '1' as usize],
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => {
                self.tab = Tab::ALL[(tab + 1) % 7]
            }
            KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => {
                self.tab = Tab::ALL[(tab + 6) % 7]
            }
            KeyCode::Down | KeyCode::Char('j') => self.select(1, snapshot),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1, snapshot),
            KeyCode::PageDown => self.select(self.page_rows as isize, snapshot),
            KeyCode::PageUp => self.select(-(self.page_rows as isize), snapshot),
            KeyCode::Home | KeyCode::Char('g') => self.select(isize::MIN / 2, snapshot),
            KeyCode::End | KeyCode::Char('G') => self.select(isize::MAX / 2, snapshot),
            KeyCode::Enter if !listing(self, snapshot).rows.is_empty() => {
                self.dialog = Dialog::Detail(0);
            }
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('s') => self.sort_by_next(snapshot),
            KeyCode::Char('S') => self.rising = !self.rising,
            KeyCode::Char('/') => {
                self.filter.clear();
                self.typing = true;
            }
            KeyCode::Char('+' | '=') => return Some(Wish::Command(more(1, snapshot))),
            KeyCode::Char('-') => return Some(Wish::Command(more(-1, snapshot))),
            KeyCode::Char('n') => return Some(Wish::Command(Command::NextStage)),
            KeyCode::Char('u') => self.dialog = Dialog::Users(String::new()),
            KeyCode::Char('p' | ' ') => return Some(Wish::TogglePause),
            KeyCode::Char('0') => self.dialog = Dialog::Reset,
            KeyCode::Char('r') => return Some(Wish::Command(Command::Reload)),
            KeyCode::Char('w') => return Some(Wish::WriteReport),
            KeyCode::Char('?') => self.dialog = Dialog::Help,
            KeyCode::Char('q') => self.dialog = Dialog::Quit,
            _ => {}
        }
        None
    }

    fn type_users(&mut self, key: KeyCode, mut text: String) -> Option<Wish> {
        match key {
            KeyCode::Char(digit @ '0'..='9') if text.len() < 6 => text.push(digit),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Enter => {
                self.dialog = Dialog::None;
                let users = text.parse().ok()?;
                return Some(Wish::Command(Command::SetUsers(users)));
            }
            KeyCode::Esc => {
                self.dialog = Dialog::None;
                return None;
            }
            _ => {}
        }
        self.dialog = Dialog::Users(text);
        None
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
        self.selected = [0; 7];
    }

    fn select(&mut self, step: isize, snapshot: &Snapshot) {
        let rows = match self.tab {
            Tab::Log => self.log.len(),
            _ => listing(self, snapshot).rows.len(),
        };
        let at = self.selected().saturating_add_signed(step);
        self.selected[self.tab.index()] = at.min(rows.saturating_sub(1));
    }

    fn sort_by_next(&mut self, snapshot: &Snapshot) {
        let columns = listing(self, snapshot).columns;
        let sorted = &mut self.sorted[self.tab.index()];
        *sorted = (*sorted + 1) % (columns.len() + 1);
        self.notice = match sorted.checked_sub(1).and_then(|at| columns.get(at)) {
            Some(column) => format!("sorted by {}; S turns it round", column.title),
            None => "in the order of the plan".to_owned(),
        };
    }
}

/// One step of the load: a user, or about a tenth of the rate in a run at a rate.
fn more(steps: i64, snapshot: &Snapshot) -> Command {
    match snapshot.wanted.rate {
        None => Command::AddUsers(steps),
        Some(rate) => {
            let step = match rate {
                10.0.. => 10_f64.powf(rate.log10().floor() - 1.0),
                1.0.. => 1.0,
                _ => 0.1,
            };
            Command::AddRate(step * steps as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::LiveRow;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn run() -> (State, Snapshot) {
        let row = |name: &str, count| LiveRow {
            method: "GET".into(),
            name: name.into(),
            count,
            ..LiveRow::default()
        };
        let snapshot = Snapshot {
            rows: vec![row("/a", 1), row("/b", 2), row("/ab", 3)],
            ..Snapshot::default()
        };
        (State::default(), snapshot)
    }

    /// Presses the keys of a text, `\n` for Enter and `\x1b` for Esc; the last wish.
    fn press(state: &mut State, snapshot: &Snapshot, keys: &str) -> Option<Wish> {
        let codes = keys.chars().map(|c| match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            c => KeyCode::Char(c),
        });
        codes
            .map(|code| state.press(key(code), snapshot))
            .last()
            .flatten()
    }

    #[test]
    fn tabs_are_reached_by_number_and_in_turn() {
        let (mut state, snapshot) = run();
        press(&mut state, &snapshot, "4");
        assert_eq!(state.tab, Tab::Errors);
        press(&mut state, &snapshot, "\t\t\t\t");
        assert_eq!(state.tab, Tab::Requests);
        press(&mut state, &snapshot, "h");
        assert_eq!(state.tab, Tab::Log);
    }

    #[test]
    fn the_selection_stays_on_the_page() {
        let (mut state, snapshot) = run();
        press(&mut state, &snapshot, "jjjjj");
        assert_eq!(state.selected(), 2);
        press(&mut state, &snapshot, "kkkkk");
        assert_eq!(state.selected(), 0);
        press(&mut state, &snapshot, "G");
        assert_eq!(state.selected(), 2);
        press(&mut state, &snapshot, "g");
        assert_eq!(state.selected(), 0);
    }

    #[test]
    fn a_filter_is_typed_kept_and_taken_away() {
        let (mut state, snapshot) = run();
        press(&mut state, &snapshot, "/b\n");
        assert_eq!(state.filter, "b");
        assert_eq!(listing(&state, &snapshot).rows.len(), 2);
        assert_eq!(
            press(&mut state, &snapshot, "q\x1b"),
            None,
            "not typed any more"
        );
        press(&mut state, &snapshot, "\x1b");
        assert_eq!(state.filter, "");
        state.filter = "b".to_owned();
        let together = KeyEvent::new(KeyCode::Char('s'), KeyModifiers::ALT);
        state.press(together, &snapshot);
        assert_eq!((state.filter.as_str(), state.sorted()), ("", 1));
        press(&mut state, &snapshot, "/q\x1b");
        assert_eq!((state.filter.as_str(), state.typing), ("", false));
    }

    #[test]
    fn users_are_asked_for_one_by_one_or_by_number() {
        let (mut state, snapshot) = run();
        let wish = |command| Some(Wish::Command(command));
        for (keys, wanted) in [
            ("+", wish(Command::AddUsers(1))),
            ("-", wish(Command::AddUsers(-1))),
            ("u4x0\n", wish(Command::SetUsers(40))),
            ("u7\x1b", None),
            ("u\n", None),
        ] {
            assert_eq!(press(&mut state, &snapshot, keys), wanted, "{keys:?}");
        }
    }

    #[test]
    fn stopping_asks_once_and_the_rest_goes_to_the_run() {
        let (mut state, snapshot) = run();
        assert_eq!(press(&mut state, &snapshot, "qn"), None);
        let stop = Some(Wish::Command(Command::Stop));
        assert_eq!(press(&mut state, &snapshot, "qy"), stop);
        assert_eq!(press(&mut state, &snapshot, "p"), Some(Wish::TogglePause));
        assert_eq!(press(&mut state, &snapshot, "w"), Some(Wish::WriteReport));
        let reset = Some(Wish::Command(Command::ResetStatistics));
        assert_eq!(press(&mut state, &snapshot, "0n"), None, "it asks");
        assert_eq!(press(&mut state, &snapshot, "0y"), reset);
        let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(
            state.press(control('c'), &snapshot),
            Some(Wish::Command(Command::Interrupt(Interrupt::Key)))
        );
        state.dialog = Dialog::Help;
        assert_eq!(state.press(control('z'), &snapshot), Some(Wish::Suspend));
    }

    #[test]
    fn plus_and_minus_are_about_the_rate_where_there_is_one() {
        let (mut state, mut snapshot) = run();
        for (rate, step) in [
            (0.5, 0.1),
            (7.0, 1.0),
            (10.0, 1.0),
            (50.0, 1.0),
            (840.0, 10.0),
        ] {
            snapshot.wanted.rate = Some(rate);
            let wish = |more| Some(Wish::Command(Command::AddRate(more)));
            assert_eq!(press(&mut state, &snapshot, "+"), wish(step));
            assert_eq!(press(&mut state, &snapshot, "-"), wish(-step));
        }
        let next = Some(Wish::Command(Command::NextStage));
        assert_eq!(press(&mut state, &snapshot, "n"), next);
    }

    #[test]
    fn a_paste_is_text_where_one_is_typed_and_no_keys() {
        let (mut state, snapshot) = run();
        let paste = |text: &str| Typed::Paste(text.to_owned());
        assert_eq!(state.take(&paste("q0y\n+p"), &snapshot), None);
        assert_eq!(state.dialog, Dialog::None);
        press(&mut state, &snapshot, "/");
        state.take(&paste("b\nq"), &snapshot);
        assert_eq!((state.filter.as_str(), state.typing), ("bq", true));
        press(&mut state, &snapshot, "\nu");
        state.take(&paste("12"), &snapshot);
        let users = Some(Wish::Command(Command::SetUsers(12)));
        assert_eq!(press(&mut state, &snapshot, "\n"), users);
    }

    #[test]
    fn columns_are_sorted_by_in_turn() {
        let (mut state, snapshot) = run();
        press(&mut state, &snapshot, "s");
        assert_eq!(listing(&state, &snapshot).rows[0].name, "GET /ab");
        press(&mut state, &snapshot, "S");
        assert_eq!(listing(&state, &snapshot).rows[0].name, "GET /a");
        press(&mut state, &snapshot, "ssssssss");
        assert_eq!(state.sorted(), 0, "round to the order of the plan");
    }
}
