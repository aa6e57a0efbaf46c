//! What lies over the page: help, questions, messages, and pages of text.

use super::super::listing::broken;
use super::super::state::Dialog;
use super::super::style::{Meaning, Styles};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Paragraph, Widget as _, Wrap};
use unicode_width::UnicodeWidthStr as _;

const HELP: &str = "\
1–7 ⇥ ← →    page                  q        stop, with a report (asks)
↑ ↓ j k      row, PgUp PgDn g G    Ctrl-C   stop; twice: abort
↵            all about the row     Ctrl-Z   suspend, 'fg' comes back
/            filter, Esc drops it  p        pause and go on
s S          sort, turn round      + - u    users
0            figures start anew    r        load the plan anew
?            this                  w        write a report

Requests and their latencies count from the beginning or the last '0';
req/s and 'now' cover the last ten seconds.";

pub(super) fn draw(dialog: &Dialog, area: Rect, buffer: &mut Buffer, styles: Styles) {
    let (title, text) = match dialog {
        Dialog::Help => ("keys", HELP.to_owned()),
        Dialog::Quit => (
            "stop?",
            "Running tasks finish, then the report is printed.\n\ny or ↵ stops, any other key goes on".to_owned(),
        ),
        Dialog::Reset => (
            "start the figures anew?",
            "The report keeps those of before apart.\n\ny or ↵ does, any other key goes on".to_owned(),
        ),
        Dialog::Users(typed) => ("users", format!("{typed}_\n\n↵ sets the number, Esc leaves it")),
        Dialog::Message(text) => ("", format!("{text}\n\nany key closes this")),
        Dialog::None | Dialog::Detail(_) => return,
    };
    let lines: Vec<(Meaning, String)> = text
        .lines()
        .map(|line| (Meaning::Plain, line.to_owned()))
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
    framed(title, &lines, 0, place, buffer, styles);
}

/// A page of lines nearly as large as the screen.
pub(super) fn page(
    lines: &[(Meaning, String)],
    from: u16,
    area: Rect,
    buffer: &mut Buffer,
    styles: Styles,
) {
    let place = Rect {
        y: area.y + 1.min(area.height),
        height: area.height.saturating_sub(2),
        ..area
    };
    let inner = usize::from(place.width.saturating_sub(4)).max(1);
    let lines: Vec<_> = lines
        .iter()
        .flat_map(|(meaning, line)| {
            let parts = broken(line, inner).into_iter();
            parts.map(|part| (*meaning, part))
        })
        .collect();
    let most =
        (lines.len().min(u16::MAX.into()) as u16).saturating_sub(place.height.saturating_sub(2));
    framed(
        "↑ ↓ scroll, any other key goes back",
        &lines,
        from.min(most),
        place,
        buffer,
        styles,
    );
}

fn framed(
    title: &str,
    lines: &[(Meaning, String)],
    from: u16,
    place: Rect,
    buffer: &mut Buffer,
    styles: Styles,
) {
    Clear.render(place, buffer);
    let block = Block::bordered().title(match title {
        "" => String::new(),
        title => format!(" {title} "),
    });
    let text: Vec<Line> = lines
        .iter()
        .map(|(meaning, line)| Line::styled(format!(" {line}"), styles.of(*meaning)))
        .collect();
    Paragraph::new(Text::from(text))
        .block(block)
        .wrap(Wrap { trim: false })
        .scroll((from, 0))
        .render(place, buffer);
}
