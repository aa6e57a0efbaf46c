//! Dialogs over the page: help, questions, messages, and pages of text that scroll and can be searched.

use super::super::by_tag::matching;
use super::super::layout::ScreenLayout;
use super::super::loads::{self, describe_load, whose};
use super::super::state::{Dialog, ViewState};
use super::super::style::TextMeaning;
use super::super::text::{broken, one_line};
use super::paint::{Painter, StyledLines};
use lgoose_base::line::cut_middle;
use lgoose_metrics::{LiveLoad, Snapshot};
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Paragraph, Widget as _, Wrap};
use unicode_width::UnicodeWidthStr as _;

/// Keys and their effects; drawn in two columns where there is room.
const KEYS: [(&str, &str); 24] = [
    ("⇥ ← →", "page"),
    ("↑ ↓ j k", "row; also PgUp PgDn g G"),
    ("↵", "details (/ search, y copy)"),
    ("e", "errors of the request"),
    ("/", "filter by name (Esc: all)"),
    ("t", "by tag, scenario (t: all)"),
    ("s S", "sort, reverse"),
    ("F P R N", "by fails, p95, reqs, name"),
    ("n", "last 10 s, or all"),
    ("z v", "whole run, another graph"),
    ("!", "all warnings"),
    ("?", "this"),
    ("q", "stop, with a report (asks)"),
    ("Ctrl-C", "stop; twice: abort"),
    ("Ctrl-Z", "suspend, 'fg' comes back"),
    ("Ctrl-L", "redraw the screen"),
    ("p", "pause and go on"),
    ("+ - u i >", "users, rate, next stage"),
    ("o", "whose load + - u i set"),
    ("0", "reset the statistics"),
    ("r", "reload the plan"),
    ("w", "write a report"),
    ("click", "select; again: details"),
    ("wheel", "scroll"),
];

/// Explanation of the figures.
const FIGURES: &str = "Figures count from the beginning or the last reset of the statistics; 'n' shows the last ten \
    seconds: rates over all of them, latencies of the worst second. The header's latencies are those of successes ('ok') \
    once something has failed. All times count from the beginning of the run.";

/// Width of one column of help.
const HALF: usize = 38;
/// The least width of the list of tags.
const MIN_TAGS_WIDTH: usize = 38;

/// Returns the help for a view with `pages` pages.
pub(super) fn help(width: u16, pages: usize) -> StyledLines {
    let key = |(key, what): &(&str, &str)| {
        let key = match *what {
            "page" => format!("1–{pages} {key}"),
            _ => (*key).to_owned(),
        };
        let padding = " ".repeat(10_usize.saturating_sub(key.width()));
        format!("{key}{padding} {what}")
    };
    let mut lines = StyledLines::new();
    if usize::from(width) >= 2 * HALF + 4 {
        let (left, right) = KEYS.split_at(KEYS.len() / 2);
        for (left, right) in left.iter().zip(right) {
            let left = key(left);
            let padding = " ".repeat(HALF.saturating_sub(left.width()) + 1);
            lines.push((TextMeaning::Plain, format!("{left}{padding}{}", key(right))));
        }
    } else {
        lines.extend(KEYS.iter().map(|both| (TextMeaning::Plain, key(both))))
    }
    lines.push((TextMeaning::Plain, String::new()));
    let room = usize::from(width).saturating_sub(4).clamp(20, 2 * HALF);
    let mut line = String::new();
    for word in FIGURES.split_whitespace() {
        if line.width() + word.width() + 1 > room {
            lines.push((TextMeaning::Faint, std::mem::take(&mut line)));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push((TextMeaning::Faint, line));
    lines
}

/// Returns all warnings about the run, in full.
pub(super) fn warnings(snapshot: &Snapshot) -> StyledLines {
    let mut lines = StyledLines::new();
    for warning in snapshot.warnings.iter() {
        lines.push((TextMeaning::Warning, format!("! {}", one_line(warning))));
        lines.push((TextMeaning::Plain, String::new()));
    }
    if lines.is_empty() {
        lines.push((TextMeaning::Faint, "lgoose has no warnings".to_owned()));
    }
    lines
}

pub(super) fn draw(state: &ViewState, snapshot: &Snapshot, area: Rect, painter: &mut Painter<'_>) {
    let (title, text) = match &state.dialog {
        Dialog::Quit => (
            "stop the run?".to_owned(),
            "Running tasks finish, then the report is there.\n\ny or ↵ stops, any other key goes on"
                .to_owned(),
        ),
        Dialog::Users(typed) => number("users", typed, loads::load(state, snapshot)),
        Dialog::Rate(typed) => number("iterations/s", typed, loads::load(state, snapshot)),
        Dialog::Reset => (
            "reset the statistics?".to_owned(),
            "The report keeps the earlier ones separately.\n\ny or ↵ resets, any other key cancels".to_owned(),
        ),
        Dialog::Message(text) => (String::new(), format!("{text}\n\nEsc closes this")),
        _ => return,
    };
    let lines: Vec<(TextMeaning, String)> = text
        .lines()
        .map(|line| (TextMeaning::Plain, line.to_owned()))
        .collect();
    let widest = lines
        .iter()
        .map(|(_, line)| line.width())
        .max()
        .unwrap_or(0) as u16;
    let width = (widest + 4).min(area.width);
    let inner = width.saturating_sub(4).max(1);
    let height: u16 = lines
        .iter()
        .map(|(_, line)| (line.width() as u16).div_ceil(inner).max(1))
        .sum();
    let height = (height + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    framed(&title, &lines, 0, place, painter);
}

/// Returns the title and the text of the question for a number of a load.
fn number(what: &str, typed: &str, load: Option<&LiveLoad>) -> (String, String) {
    match load {
        None => (
            what.to_owned(),
            format!("{typed}_\n\n↵ sets the number, Esc cancels"),
        ),
        Some(load) => (
            format!("{what} of {}", whose(load)),
            format!(
                "{typed}_\n\n{}\n↵ sets the number, ⇥ another load, Esc cancels",
                describe_load(load)
            ),
        ),
    }
}

/// Draws the tags to choose from, with the selected one in sight.
pub(super) fn tags(
    typed: &str,
    at: usize,
    snapshot: &Snapshot,
    area: Rect,
    layout: &mut ScreenLayout,
    painter: &mut Painter<'_>,
) {
    let tags = matching(snapshot, typed);
    let all = tags.iter().map(|tag| one_line(tag)).collect::<Vec<_>>();
    let widest = all.iter().map(|tag| tag.width()).max().unwrap_or(0);
    let width = (widest.max(MIN_TAGS_WIDTH) + 4).min(area.width.into()) as u16;
    let room = area.height.saturating_sub(8).max(1);
    let rows = (all.len() as u16).clamp(1, room);
    let from = (at + 1).saturating_sub(rows.into());
    let inner = usize::from(width.saturating_sub(4));
    let mut lines = vec![
        (TextMeaning::Strong, format!("find: {typed}_")),
        (TextMeaning::Plain, String::new()),
    ];
    let shown = all.iter().enumerate().skip(from).take(rows.into());
    lines.extend(shown.map(|(number, tag)| {
        let meaning = if number == at {
            TextMeaning::Selected
        } else {
            TextMeaning::Plain
        };
        (meaning, cut_middle(tag, inner))
    }));
    if all.is_empty() {
        lines.push((TextMeaning::Faint, "no tag matches".to_owned()));
    }
    let keys = "↑ ↓, ↵ shows only its requests, Esc";
    lines.extend([
        (TextMeaning::Plain, String::new()),
        (TextMeaning::Faint, keys.to_owned()),
    ]);
    layout.dialog_rows = rows;
    let height = (lines.len() as u16 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let title = if all.len() > usize::from(rows) {
        format!("by tag, {} of {}", at + 1, all.len())
    } else {
        "by tag".to_owned()
    };
    framed(&title, &lines, 0, place, painter);
}

/// Draws a text over nearly all of the screen, scrolled no further than to its end.
pub(super) fn page(
    state: &ViewState,
    lines: &[(TextMeaning, String)],
    area: Rect,
    layout: &mut ScreenLayout,
    painter: &mut Painter<'_>,
) {
    let place = Rect {
        y: area.y + 1.min(area.height),
        height: area.height.saturating_sub(2),
        ..area
    };
    let inner = usize::from(place.width.saturating_sub(4)).max(1);
    let mut lines: Vec<_> = lines
        .iter()
        .flat_map(|(meaning, line)| {
            let parts = broken(line, inner).into_iter();
            parts.map(|part| (*meaning, part))
        })
        .collect();
    let needle = state.search.to_lowercase();
    if !needle.is_empty() {
        for (at, (meaning, line)) in lines.iter_mut().enumerate() {
            if line.to_lowercase().contains(&needle) {
                layout.found.push(at.min(u16::MAX.into()) as u16);
                *meaning = TextMeaning::Selected;
            }
        }
    }
    let rows = place.height.saturating_sub(2);
    let all = lines.len().min(u16::MAX.into()) as u16;
    layout.dialog_rows = rows;
    layout.most_scroll = all.saturating_sub(rows);
    let from = state.scroll.min(layout.most_scroll);
    let title = match (&state.search, state.searching) {
        (text, true) => format!("search: {text}_"),
        (text, false) if !text.is_empty() => {
            format!("'{text}' in {} lines, n next", layout.found.len())
        }
        _ if !state.notice.is_empty() => state.notice.clone(),
        _ if layout.most_scroll > 0 => format!(
            "{}–{} of {all} · ↑ ↓ scroll · / search · y copy · Esc back",
            from + 1,
            (from + rows).min(all)
        ),
        _ => "/ search · y copy · Esc back".to_owned(),
    };
    framed(&title, &lines, from, place, painter);
}

fn framed(
    title: &str,
    lines: &[(TextMeaning, String)],
    from: u16,
    place: Rect,
    painter: &mut Painter<'_>,
) {
    Clear.render(place, painter.buffer);
    let block = Block::bordered().title(match title {
        "" => String::new(),
        title => format!(" {title} "),
    });
    let text: Vec<Line> = lines
        .iter()
        .map(|(meaning, line)| Line::styled(format!(" {line}"), painter.styles.of(*meaning)))
        .collect();
    Paragraph::new(Text::from(text))
        .block(block)
        .wrap(Wrap { trim: false })
        .scroll((from, 0))
        .render(place, painter.buffer);
}
