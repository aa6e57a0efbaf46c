//! The page below the tabs with its rows or the log, the details beside it, and the line of keys.

use super::super::layout::ScreenLayout;
use super::super::listing::DrawnRows;
use super::super::loads::{self, whose};
use super::super::log::{LineLevel, time};
use super::super::pages::listing;
use super::super::state::{RowReference, Tab, ViewState};
use super::super::style::TextMeaning;
use super::super::text::broken;
use super::detail;
use super::paint::{self, Painter, cut_below, line};
use lgoose_base::line::cut_middle;
use lgoose_base::units::counted;
use lgoose_metrics::Snapshot;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

/// Width of the screen from which details are shown beside the page.
const WITH_PANE: u16 = 140;
/// The least width of the details.
const PANE: u16 = 50;
/// Lines for the whole text of the selected error.
const MESSAGE: u16 = 3;
/// The greatest width of the name of the load that the keys set.
const WHOSE: usize = 18;

pub(super) fn tabs(
    state: &ViewState,
    snapshot: &Snapshot,
    area: Rect,
    layout: &mut ScreenLayout,
    painter: &mut Painter<'_>,
) {
    let tabs = Tab::of(snapshot);
    let mut titles: Vec<String> = tabs
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
    let wide = |titles: &[String]| titles.iter().map(|title| title.width()).sum::<usize>();
    if wide(&titles) > area.width as usize {
        for title in &mut titles {
            title.pop();
        }
    }
    if wide(&titles) > area.width as usize {
        // Tabs show their numbers only, except for the current one.
        for (at, title) in titles.iter_mut().enumerate() {
            if tabs[at] != state.tab {
                *title = format!(" {} ", at + 1);
            }
        }
    }
    layout.tabs_y = area.y;
    let mut x = area.x;
    for (at, title) in titles.iter().enumerate() {
        let meaning = if tabs[at] == state.tab {
            TextMeaning::Selected
        } else {
            TextMeaning::Faint
        };
        let from = x;
        x = painter.put(area, x, title, meaning);
        layout.tabs.push((from, x));
    }
}

pub(super) fn draw(
    state: &ViewState,
    snapshot: &Snapshot,
    mut area: Rect,
    layout: &mut ScreenLayout,
    painter: &mut Painter<'_>,
) {
    if state.tab == Tab::Log {
        layout.rows = log(state, area, painter);
        return;
    }
    let rows = listing(state, snapshot);
    let current = rows.current(state.selected());
    let key = current.map(|at| rows.rows[at].key.clone());
    if area.width >= WITH_PANE && area.height > 4 {
        let natural = rows.natural_width().min(u16::MAX.into()) as u16;
        let list = natural.clamp(area.width / 3, area.width - PANE - 2);
        let pane = Rect {
            x: area.x + list + 2,
            width: area.width - list - 2,
            ..area
        };
        area.width = list;
        layout.has_pane = true;
        let subject = key.map(|key| RowReference {
            tab: state.tab,
            key,
        });
        beside(state, snapshot, subject, pane, painter);
    } else if state.tab == Tab::Errors && area.height > MESSAGE + 3 {
        let message = current.map(|at| rows.rows[at].name.as_str());
        let below = cut_below(&mut area, MESSAGE);
        let lines = broken(message.unwrap_or_default(), below.width.into());
        for (at, text) in lines.iter().take(MESSAGE.into()).enumerate() {
            painter.put(line(below, at as u16), below.x, text, TextMeaning::Bad);
        }
    }
    let (sorted, reversed) = (state.sorted(), state.reversed);
    layout.rows = rows.draw(area, painter, current, sorted, reversed);
}

/// Draws the details of the selected row, as many lines as there is room for.
fn beside(
    state: &ViewState,
    snapshot: &Snapshot,
    subject: Option<RowReference>,
    area: Rect,
    painter: &mut Painter<'_>,
) {
    let lines = subject.map(|subject| detail::lines(state, snapshot, &subject));
    let inner = usize::from(area.width).saturating_sub(2);
    let lines = lines.into_iter().flatten();
    let all: Vec<_> = lines
        .flat_map(|(meaning, text)| {
            let parts = broken(&text, inner).into_iter();
            parts.map(move |part| (meaning, part))
        })
        .collect();
    let room = usize::from(area.height);
    for y in 0..area.height {
        let line = line(area, y);
        let x = painter.put(line, line.x, "│ ", TextMeaning::Faint);
        let last = usize::from(y) + 1 == room && all.len() > room;
        match all.get(usize::from(y)) {
            Some(_) if last => {
                painter.put(line, x, "… ↵ shows all", TextMeaning::Faint);
            }
            Some((meaning, text)) => {
                painter.put(line, x, text, *meaning);
            }
            None => {}
        }
    }
}

/// Draws the log, with the newest line at the bottom.
fn log(state: &ViewState, mut area: Rect, painter: &mut Painter<'_>) -> DrawnRows {
    let foot = cut_below(&mut area, 1);
    let room = usize::from(area.height);
    let (lines, newer) = state.log.page(&state.filter, room);
    if lines.is_empty() {
        let text = match state.filter.as_str() {
            "" => "nothing has been logged".to_owned(),
            filter => format!("no line matches '{filter}'"),
        };
        painter.put(area, area.x, &text, TextMeaning::Faint);
    }
    for (at, line) in lines.iter().enumerate() {
        let place = paint::line(area, at as u16);
        let x = painter.put(place, place.x, &time(line.at), TextMeaning::Faint) + 1;
        let meaning = match line.level {
            LineLevel::Error => TextMeaning::Bad,
            LineLevel::Warning => TextMeaning::Warning,
            LineLevel::Plain => TextMeaning::Plain,
        };
        painter.put(place, x, &line.text, meaning);
    }
    let count = state.log.count();
    if count > lines.len() as u64 {
        // Rounded: the exact number changes with every line of a noisy plan.
        let text = if state.log.stands() && newer > 0 {
            "newer lines below: End or G follows them".to_owned()
        } else {
            format!(
                "the last of more than {}; G shows the newest at once",
                counted(rounded(count), "line")
            )
        };
        painter.put_right(foot, &text, TextMeaning::Faint);
    }
    DrawnRows {
        y: area.y,
        room,
        ..DrawnRows::default()
    }
}

/// Rounds down to one significant digit.
fn rounded(count: u64) -> u64 {
    let power = 10_u64.pow(count.max(1).ilog10());
    count / power * power
}

/// Draws the bottom line: the latest notice, the filter, or the keys.
pub(super) fn last_line(
    state: &ViewState,
    snapshot: &Snapshot,
    area: Rect,
    painter: &mut Painter<'_>,
) {
    const KEYS: [&str; 12] = [
        "? help",
        "q stop",
        "p pause",
        "+/- users",
        "↵ details",
        "r reload",
        "/ filter",
        "s sort",
        "n now",
        "z whole run",
        "w write",
        "0 reset",
    ];
    const AFTERWARDS: [&str; 8] = [
        "q quit",
        "? help",
        "↵ details",
        "/ filter",
        "s sort",
        "z whole run",
        "e errors",
        "w write",
    ];
    if state.typing || !state.filter.is_empty() && state.notice.is_empty() {
        let hint = if state.typing {
            "_  (↵ keeps, Esc drops it)"
        } else {
            "  (Esc drops it)"
        };
        let text = format!("filter: {}{hint}", state.filter);
        painter.put(area, area.x, &text, TextMeaning::Strong);
    } else if state.notice.is_empty() {
        let mut keys: Vec<String> = match state.figures.finished {
            Some(_) => AFTERWARDS.map(str::to_owned).to_vec(),
            None => KEYS.map(str::to_owned).to_vec(),
        };
        let mut after = |what: &str, more: &[String]| {
            if let Some(at) = keys.iter().position(|key| key.ends_with(what)) {
                keys.splice(at..=at, more.iter().cloned());
            }
        };
        if state.figures.one_tag.is_some() {
            after("details", &["↵ details".to_owned(), "t all".to_owned()]);
        } else if !snapshot.tags.is_empty() {
            after("details", &["↵ details".to_owned(), "t by tag".to_owned()]);
        }
        if let Some(load) = loads::load(state, snapshot) {
            let whose = cut_middle(&whose(load), WHOSE);
            after("users", &[format!("+/- {whose}"), "o whose".to_owned()]);
        }
        let mut x = area.x;
        for key in &keys {
            if (x as usize) + key.width() <= area.right() as usize {
                x = painter.put(area, x, key, TextMeaning::Faint) + 2;
            }
        }
    } else {
        let text = cut_middle(&state.notice, area.width as usize);
        painter.put(area, area.x, &text, TextMeaning::Strong);
    }
}
