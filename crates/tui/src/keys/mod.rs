//! The effects of keys and mouse: on the view itself, and as an action that is passed to the owner of the run.

mod dialogs;
mod mouse;

use super::listing::SortOrder;
use super::loads;
use super::pages::listing;
use super::screen::TerminalEvent;
use super::state::{Dialog, RowReference, Tab, ViewState};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use dialogs::press_in_dialog;
use lgoose_metrics::Snapshot;
use lgoose_metrics::control::{Command, Interrupt};
use mouse::point;

/// Actions on the run that the person at the keyboard requests.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyAction {
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

/// Handles an input: changes the view, and returns the action on the run. The next frame takes a change of size into
/// account by itself.
pub fn handle_input(
    state: &mut ViewState,
    typed: &TerminalEvent,
    snapshot: &Snapshot,
) -> Option<KeyAction> {
    // Keys refer to the moment on the screen.
    let moment = state.figures.moment.clone();
    let shown = moment.as_deref().unwrap_or(snapshot);
    let before = state.tab;
    let wish = match typed {
        TerminalEvent::Key(key) => press(state, *key, shown),
        TerminalEvent::Mouse(event) => {
            point(state, *event, shown);
            None
        }
        TerminalEvent::Paste(text) => {
            paste(state, text, shown);
            None
        }
        _ => None,
    };
    if state.tab == Tab::Log && before != Tab::Log {
        state.log.follow();
    }
    state.show_message();
    wish
}

/// Takes a paste as text where text is typed, and ignores it elsewhere: it is not meant as keys.
fn paste(state: &mut ViewState, text: &str, snapshot: &Snapshot) {
    if state.typing || state.searching || state.dialog.takes_text() {
        for character in text.chars().filter(|one| !one.is_control()) {
            press(state, KeyCode::Char(character).into(), snapshot);
        }
    }
}

fn press(state: &mut ViewState, key: KeyEvent, snapshot: &Snapshot) -> Option<KeyAction> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        // Esc and a key that came together: terminals send Alt with a key the same way.
        press(state, KeyCode::Esc.into(), snapshot);
        return press(state, key.code.into(), snapshot);
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        match key.code {
            KeyCode::Char('c') if state.figures.finished.is_some() => {
                return Some(KeyAction::Leave);
            }
            KeyCode::Char('c') => {
                return Some(KeyAction::Command(Command::Interrupt(Interrupt::Key)));
            }
            KeyCode::Char('z') => return Some(KeyAction::Suspend),
            KeyCode::Char('l') => state.repaint = true,
            _ => {}
        }
        return None;
    }
    state.notice.clear();
    if state.typing {
        type_filter(state, key.code);
        return None;
    }
    match state.dialog {
        Dialog::None => press_on_page(state, key.code, snapshot),
        _ => press_in_dialog(state, key.code, snapshot),
    }
}

fn press_on_page(state: &mut ViewState, key: KeyCode, snapshot: &Snapshot) -> Option<KeyAction> {
    let tabs = Tab::of(snapshot);
    let place = tabs.iter().position(|tab| *tab == state.tab);
    let tab = place.unwrap_or_default();
    let page = state.layout.rows.room.max(1) as isize;
    match key {
        KeyCode::Char(digit @ '1'..='9') => {
            let chosen = tabs.get(digit as usize - '1' as usize);
            state.tab = chosen.copied().unwrap_or(state.tab);
        }
        KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => {
            state.tab = tabs[(tab + 1) % tabs.len()]
        }
        KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => {
            state.tab = tabs[(tab + tabs.len() - 1) % tabs.len()]
        }
        KeyCode::Down | KeyCode::Char('j') => select(state, 1, snapshot),
        KeyCode::Up | KeyCode::Char('k') => select(state, -1, snapshot),
        KeyCode::PageDown => select(state, page, snapshot),
        KeyCode::PageUp => select(state, -page, snapshot),
        KeyCode::Home | KeyCode::Char('g') => select(state, isize::MIN / 2, snapshot),
        KeyCode::End | KeyCode::Char('G') => select(state, isize::MAX / 2, snapshot),
        KeyCode::Enter => open_details(state, snapshot),
        KeyCode::Esc if state.filter.is_empty() => state.figures.choose_tag(None),
        KeyCode::Esc => state.filter.clear(),
        KeyCode::Char('t') => go_by_tag(state, snapshot),
        KeyCode::Char('s') => sort_by_next(state, snapshot),
        KeyCode::Char('F') => sort_by_title(state, "fail", snapshot),
        KeyCode::Char('P') => sort_by_title(state, "p95", snapshot),
        KeyCode::Char('R') => sort_by_title(state, "req", snapshot),
        KeyCode::Char('N') => sort_by(state, SortOrder::Name, snapshot),
        KeyCode::Char('S') => state.reversed = !state.reversed,
        KeyCode::Char('n') => toggle_now(state),
        KeyCode::Char('z') => state.whole = !state.whole,
        KeyCode::Char('v') => state.graph = state.graph.wrapping_add(1),
        KeyCode::Char('e') => go_to_errors(state, snapshot),
        KeyCode::Char('!') => state.open(Dialog::Warnings),
        KeyCode::Char('/') => {
            state.filter.clear();
            state.typing = true;
        }
        KeyCode::Char('?') => state.open(Dialog::Help),
        KeyCode::Char('w') => return Some(KeyAction::WriteReport),
        KeyCode::Char('q') if state.figures.finished.is_some() => return Some(KeyAction::Leave),
        _ if state.figures.finished.is_some() => {}
        KeyCode::Char('+' | '=') => {
            return Some(KeyAction::Command(loads::more(state, 1, snapshot)));
        }
        KeyCode::Char('-') => return Some(KeyAction::Command(loads::more(state, -1, snapshot))),
        KeyCode::Char('>') => return Some(KeyAction::Command(Command::NextStage)),
        KeyCode::Char('u') => state.open(Dialog::Users(String::new())),
        KeyCode::Char('i') => match loads::rate(state, snapshot) {
            Some(_) => state.open(Dialog::Rate(String::new())),
            None => state.notice = "this load has no rate: u sets its users".to_owned(),
        },
        KeyCode::Char('o') => loads::next_load(state, snapshot),
        KeyCode::Char('p' | ' ') => return Some(KeyAction::TogglePause),
        KeyCode::Char('0') => state.open(Dialog::Reset),
        KeyCode::Char('r') => return Some(KeyAction::Command(Command::Reload)),
        KeyCode::Char('q') => state.open(Dialog::Quit),
        _ => {}
    }
    None
}

/// Opens the choice of a tag, to show its requests alone, or shows all again.
fn go_by_tag(state: &mut ViewState, snapshot: &Snapshot) {
    if state.figures.one_tag.is_some() {
        state.figures.choose_tag(None);
        state.notice = "all requests".to_owned();
    } else if snapshot.tags.is_empty() {
        state.notice =
            "no request has a tag: 'tags' in a plan and several scenarios give some".to_owned();
    } else {
        state.open(Dialog::Tags(String::new(), 0));
    }
}

fn type_filter(state: &mut ViewState, key: KeyCode) {
    match key {
        KeyCode::Char(character) => state.filter.push(character),
        KeyCode::Backspace => drop(state.filter.pop()),
        KeyCode::Enter => state.typing = false,
        KeyCode::Esc => {
            state.typing = false;
            state.filter.clear();
        }
        _ => {}
    }
}

fn select(state: &mut ViewState, step: isize, snapshot: &Snapshot) {
    if state.tab == Tab::Log {
        let room = state.layout.rows.room.max(1);
        return state.log.scroll(step, &state.filter, room);
    }
    let rows = listing(state, snapshot);
    let from = rows.current(state.selected());
    if let Some(at) = rows.step(from, step) {
        state.selected[state.tab.index()] = Some(rows.rows[at].key.clone());
    }
}

/// Opens the details of the selected row, and keeps that row selected.
fn open_details(state: &mut ViewState, snapshot: &Snapshot) {
    let rows = listing(state, snapshot);
    if let Some(at) = rows.current(state.selected()) {
        let key = rows.rows[at].key.clone();
        state.selected[state.tab.index()] = Some(key.clone());
        let tab = state.tab;
        state.open(Dialog::Detail(RowReference { tab, key }));
    }
}

/// Opens the errors of a request.
fn go_to_errors(state: &mut ViewState, snapshot: &Snapshot) {
    if !matches!(
        state.tab,
        Tab::Requests | Tab::Latency | Tab::Codes | Tab::Streams
    ) {
        return;
    }
    let rows = listing(state, snapshot);
    if let Some(at) = rows.current(state.selected()) {
        state.selected[state.tab.index()] = Some(rows.rows[at].key.clone());
        state.filter = rows.rows[at].name.clone();
        state.tab = Tab::Errors;
        state.notice = format!("errors of '{}'; Esc shows all", state.filter);
    }
}

fn toggle_now(state: &mut ViewState) {
    state.now = !state.now;
    // The page has other columns now.
    let sorted = &mut state.sorted[Tab::Requests.index()];
    if matches!(sorted, SortOrder::Column(_)) {
        *sorted = SortOrder::Plan;
    }
    let notice = if !state.now {
        "since the beginning, or the last reset of the statistics"
    } else if state.figures.one_tag.is_some() {
        "the last ten seconds; the worst second is not known by tag"
    } else {
        "the last ten seconds, and the worst second of them"
    };
    state.notice = notice.to_owned();
}

fn sort_by_next(state: &mut ViewState, snapshot: &Snapshot) {
    let columns = listing(state, snapshot).columns;
    let next = match state.sorted() {
        SortOrder::Plan if !columns.is_empty() => SortOrder::Column(0),
        SortOrder::Column(at) if at + 1 < columns.len() => SortOrder::Column(at + 1),
        SortOrder::Name => SortOrder::Plan,
        _ => SortOrder::Name,
    };
    sort_by(state, next, snapshot);
}

/// Sorts by the first column of the page whose title contains a word.
fn sort_by_title(state: &mut ViewState, word: &str, snapshot: &Snapshot) {
    let columns = listing(state, snapshot).columns;
    match columns
        .iter()
        .position(|column| column.title.contains(word))
    {
        Some(at) => sort_by(state, SortOrder::Column(at), snapshot),
        None => state.notice = "this page has no such column".to_owned(),
    }
}

fn sort_by(state: &mut ViewState, order: SortOrder, snapshot: &Snapshot) {
    state.sorted[state.tab.index()] = order;
    state.notice = match order {
        SortOrder::Plan if state.tab == Tab::Workers => "those in trouble first".to_owned(),
        SortOrder::Plan => "those that fail first, then in the order of the plan".to_owned(),
        SortOrder::Name => "sorted by name; S reverses".to_owned(),
        SortOrder::Column(at) => {
            let title = &listing(state, snapshot).columns[at].title;
            format!("sorted by {title}; S reverses")
        }
    };
}

#[cfg(test)]
mod tests;
