//! Keys while something lies over the page: questions, numbers, texts to scroll and search.

use super::super::by_tag::matching;
use super::super::draw::text_of;
use super::super::loads;
use super::super::state::{Dialog, ViewState};
use super::KeyAction;
use crossterm::event::KeyCode;
use lgoose_metrics::Snapshot;
use lgoose_metrics::control::Command;

pub(super) fn press_in_dialog(
    state: &mut ViewState,
    key: KeyCode,
    snapshot: &Snapshot,
) -> Option<KeyAction> {
    match state.dialog.clone() {
        Dialog::None => {}
        Dialog::Quit => {
            state.dialog = Dialog::None;
            if matches!(key, KeyCode::Char('y' | 'Y' | 'q') | KeyCode::Enter) {
                return Some(KeyAction::Command(Command::Stop));
            }
        }
        Dialog::Reset => {
            state.dialog = Dialog::None;
            if matches!(key, KeyCode::Char('y' | 'Y' | '0') | KeyCode::Enter) {
                return Some(KeyAction::Command(Command::ResetStatistics));
            }
        }
        Dialog::Users(text) => return type_number(state, key, text, false, snapshot),
        Dialog::Rate(text) => return type_number(state, key, text, true, snapshot),
        Dialog::Tags(typed, at) => choose_from_tags(state, key, typed, at, snapshot),
        // Only these keys close it: a person who was typing when it came has not read it.
        Dialog::Message(_) => match key {
            KeyCode::Esc => state.dialog = Dialog::None,
            // The mistake in the plan may be mended: reload it once more.
            KeyCode::Char('r') => {
                state.dialog = Dialog::None;
                return Some(KeyAction::Command(Command::Reload));
            }
            _ => {}
        },
        _ if state.searching => type_search(state, key),
        _ => read(state, key, snapshot),
    }
    None
}

/// Scrolls a text that is longer than the screen, or begins to search or copies it; other keys close it.
fn read(state: &mut ViewState, key: KeyCode, snapshot: &Snapshot) {
    let page = state.layout.dialog_rows.saturating_sub(1).max(1);
    let most = state.layout.most_scroll;
    state.scroll = match key {
        KeyCode::Down | KeyCode::Char('j') => state.scroll.saturating_add(1),
        KeyCode::Up | KeyCode::Char('k') => state.scroll.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => state.scroll.saturating_add(page),
        KeyCode::PageUp => state.scroll.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => most,
        KeyCode::Char('n') => next_found(state, state.scroll),
        KeyCode::Char('/') => {
            state.search.clear();
            state.searching = true;
            state.scroll
        }
        KeyCode::Char('y') => {
            state.copied = Some(text_of(state, snapshot));
            state.notice = "copied to the clipboard of the terminal".to_owned();
            state.scroll
        }
        _ => {
            state.dialog = Dialog::None;
            0
        }
    }
    .min(most);
}

fn type_search(state: &mut ViewState, key: KeyCode) {
    match key {
        KeyCode::Char(character) => state.search.push(character),
        KeyCode::Backspace => drop(state.search.pop()),
        KeyCode::Enter => {
            state.searching = false;
            let here = state.scroll.checked_sub(1);
            state.scroll = here.map_or_else(
                || state.layout.found.first().copied().unwrap_or(0),
                |here| next_found(state, here),
            );
            state.scroll = state.scroll.min(state.layout.most_scroll);
        }
        KeyCode::Esc => {
            state.searching = false;
            state.search.clear();
        }
        _ => {}
    }
}

/// Returns the next line that was found, after the last one the first. Scrolled to the end of the text, all
/// further ones are on the screen.
fn next_found(state: &ViewState, after: u16) -> u16 {
    let found = &state.layout.found;
    let more = after < state.layout.most_scroll;
    let next = found.iter().find(|line| more && **line > after);
    next.or(found.first()).copied().unwrap_or(state.scroll)
}

/// Takes a key of the question for a number of a load: its rate, or its users.
fn type_number(
    state: &mut ViewState,
    key: KeyCode,
    mut text: String,
    is_rate: bool,
    snapshot: &Snapshot,
) -> Option<KeyAction> {
    let most = if is_rate { 9 } else { 7 };
    let length = text.len();
    match key {
        KeyCode::Char(digit @ '0'..='9') if length < most => text.push(digit),
        KeyCode::Char('.') if is_rate && !text.contains('.') => text.push('.'),
        KeyCode::Enter => {
            state.dialog = Dialog::None;
            if text == "." {
                state.notice = "'.' is no rate".to_owned();
            }
            return Some(KeyAction::Command(if is_rate {
                loads::set_rate(state, text.parse().ok()?, snapshot)
            } else {
                loads::set_users(state, text.parse().ok()?, snapshot)
            }));
        }
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Tab | KeyCode::Char('o') => {
            loads::next_load(state, snapshot);
            state.notice.clear();
        }
        KeyCode::Esc => {
            state.dialog = Dialog::None;
            return None;
        }
        _ => {}
    }
    // The load that another key has chosen may have no rate.
    let is_typed = text.len() > length;
    state.dialog = if is_rate && (is_typed || loads::rate(state, snapshot).is_some()) {
        Dialog::Rate(text)
    } else {
        Dialog::Users(text)
    };
    None
}

/// Finds a tag by typing a part of it, or by moving to it.
fn choose_from_tags(
    state: &mut ViewState,
    key: KeyCode,
    typed: String,
    at: usize,
    snapshot: &Snapshot,
) {
    let tags = matching(snapshot, &typed);
    let last = tags.len().saturating_sub(1);
    let page = usize::from(state.layout.dialog_rows).max(1);
    let (mut typed, mut at) = (typed, at.min(last));
    match key {
        KeyCode::Enter => {
            state.dialog = Dialog::None;
            if let Some(tag) = tags.get(at) {
                state.figures.choose_tag(Some(tag.clone()));
            }
            return;
        }
        KeyCode::Esc => {
            state.dialog = Dialog::None;
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
    state.dialog = Dialog::Tags(typed, at.min(last));
}
