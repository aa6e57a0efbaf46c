//! Keys while something lies over the page: questions, numbers, texts to scroll and search.

use super::super::by_tag::matching;
use super::super::draw::text_of;
use super::super::state::{Dialog, State};
use super::Wish;
use crate::control::Command;
use crate::metrics::Snapshot;
use crossterm::event::KeyCode;

impl State {
    pub(super) fn press_in_dialog(&mut self, key: KeyCode, snapshot: &Snapshot) -> Option<Wish> {
        match self.dialog.clone() {
            Dialog::None => {}
            Dialog::Quit => {
                self.dialog = Dialog::None;
                if matches!(key, KeyCode::Char('y' | 'Y' | 'q') | KeyCode::Enter) {
                    return Some(Wish::Command(Command::Stop));
                }
            }
            Dialog::Reset => {
                self.dialog = Dialog::None;
                if matches!(key, KeyCode::Char('y' | 'Y' | '0') | KeyCode::Enter) {
                    return Some(Wish::Command(Command::ResetStatistics));
                }
            }
            Dialog::Users(text) => return self.type_users(key, text, snapshot),
            Dialog::Rate(text) => return self.type_rate(key, text, snapshot),
            Dialog::Tags(typed, at) => self.choose_from_tags(key, typed, at, snapshot),
            // Only these keys close it: somebody who was typing when it came has not read it.
            Dialog::Message(_) => match key {
                KeyCode::Esc => self.dialog = Dialog::None,
                // The mistake in the plan may be mended: reload it once more.
                KeyCode::Char('r') => {
                    self.dialog = Dialog::None;
                    return Some(Wish::Command(Command::Reload));
                }
                _ => {}
            },
            _ if self.searching => self.type_search(key),
            _ => self.read(key, snapshot),
        }
        None
    }

    /// Scrolls a text that is longer than the screen, or begins to search or copies it; other keys close it.
    fn read(&mut self, key: KeyCode, snapshot: &Snapshot) {
        let page = self.layout.dialog_rows.saturating_sub(1).max(1);
        let most = self.layout.most_scroll;
        self.scroll = match key {
            KeyCode::Down | KeyCode::Char('j') => self.scroll.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll.saturating_add(page),
            KeyCode::PageUp => self.scroll.saturating_sub(page),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => most,
            KeyCode::Char('n') => self.next_found(self.scroll),
            KeyCode::Char('/') => {
                self.search.clear();
                self.searching = true;
                self.scroll
            }
            KeyCode::Char('y') => {
                self.copied = Some(text_of(self, snapshot));
                self.notice = "copied to the clipboard of the terminal".to_owned();
                self.scroll
            }
            _ => {
                self.dialog = Dialog::None;
                0
            }
        }
        .min(most);
    }

    fn type_search(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(character) => self.search.push(character),
            KeyCode::Backspace => drop(self.search.pop()),
            KeyCode::Enter => {
                self.searching = false;
                let here = self.scroll.checked_sub(1);
                self.scroll = here.map_or_else(
                    || self.layout.found.first().copied().unwrap_or(0),
                    |here| self.next_found(here),
                );
                self.scroll = self.scroll.min(self.layout.most_scroll);
            }
            KeyCode::Esc => {
                self.searching = false;
                self.search.clear();
            }
            _ => {}
        }
    }

    /// Returns the next line that was found, after the last one the first. Scrolled to the end of the text, all
    /// further ones are on the screen.
    fn next_found(&self, after: u16) -> u16 {
        let found = &self.layout.found;
        let more = after < self.layout.most_scroll;
        let next = found.iter().find(|line| more && **line > after);
        next.or(found.first()).copied().unwrap_or(self.scroll)
    }

    fn type_users(&mut self, key: KeyCode, mut text: String, snapshot: &Snapshot) -> Option<Wish> {
        match key {
            KeyCode::Char(digit @ '0'..='9') if text.len() < 7 => text.push(digit),
            KeyCode::Enter => {
                self.dialog = Dialog::None;
                let users = text.parse().ok()?;
                return Some(Wish::Command(self.set_users(users, snapshot)));
            }
            _ => return self.type_number(key, text, Dialog::Users, snapshot),
        }
        self.dialog = Dialog::Users(text);
        None
    }

    fn type_rate(&mut self, key: KeyCode, mut text: String, snapshot: &Snapshot) -> Option<Wish> {
        match key {
            KeyCode::Char(digit @ '0'..='9') if text.len() < 9 => text.push(digit),
            KeyCode::Char('.') if !text.contains('.') => text.push('.'),
            KeyCode::Enter => {
                self.dialog = Dialog::None;
                if text == "." {
                    self.notice = "'.' is no rate".to_owned();
                }
                let rate = text.parse().ok()?;
                return Some(Wish::Command(self.set_rate(rate, snapshot)));
            }
            _ => return self.type_number(key, text, Dialog::Rate, snapshot),
        }
        self.dialog = Dialog::Rate(text);
        None
    }

    /// Handles the keys that all questions for a number have.
    fn type_number(
        &mut self,
        key: KeyCode,
        mut text: String,
        asked: fn(String) -> Dialog,
        snapshot: &Snapshot,
    ) -> Option<Wish> {
        match key {
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Tab | KeyCode::Char('o') => {
                self.next_load(snapshot);
                self.notice.clear();
            }
            KeyCode::Esc => {
                self.dialog = Dialog::None;
                return None;
            }
            _ => {}
        }
        self.dialog = match self.rate(snapshot) {
            // The other load has no rate.
            None => Dialog::Users(text),
            Some(_) => asked(text),
        };
        None
    }

    /// Finds a tag by typing a part of it, or by moving to it.
    fn choose_from_tags(&mut self, key: KeyCode, typed: String, at: usize, snapshot: &Snapshot) {
        let tags = matching(snapshot, &typed);
        let last = tags.len().saturating_sub(1);
        let page = usize::from(self.layout.dialog_rows).max(1);
        let (mut typed, mut at) = (typed, at.min(last));
        match key {
            KeyCode::Enter => {
                self.dialog = Dialog::None;
                if let Some(tag) = tags.get(at) {
                    self.choose_tag(Some(tag.clone()));
                }
                return;
            }
            KeyCode::Esc => {
                self.dialog = Dialog::None;
                return;
            }
            KeyCode::Down => at += 1,
            KeyCode::Up => at = at.saturating_sub(1),
            KeyCode::PageDown => at += page,
            KeyCode::PageUp => at = at.saturating_sub(page),
            KeyCode::Home => at = 0,
            KeyCode::End => at = last,
            KeyCode::Char(character) => {
                typed.push(character);
                at = 0;
            }
            KeyCode::Backspace => {
                typed.pop();
                at = 0;
            }
            _ => {}
        }
        self.dialog = Dialog::Tags(typed, at.min(last));
    }
}
