//! The lines below the header of a run in which something fails: since when, where, why, and whether it is lgoose itself.

use super::super::ViewContext;
use super::super::style::{Styles, TextMeaning};
use super::paint::{cut, put};
use crate::metrics::Snapshot;
use crate::output::{Diagnosis, measured_until_now};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Draws at most so many lines at the top of `rest`, and takes them from it; nothing if nothing fails.
pub(super) fn draw(
    facts: &ViewContext,
    snapshot: &Snapshot,
    most: usize,
    rest: &mut Rect,
    buffer: &mut Buffer,
    styles: Styles,
) {
    let Some(diagnosis) = Diagnosis::of_snapshot(snapshot) else {
        return;
    };
    let measured = facts.clock.then(|| measured_until_now(snapshot));
    let (mark, meaning) = if diagnosis.is_failing {
        ("✗", TextMeaning::Bad)
    } else {
        ("!", TextMeaning::Warning)
    };
    let mut heading = format!("{mark} {}", diagnosis.heading(measured));
    let mut answers = diagnosis.answers().into_iter();
    // Where it is comes first: the rest may have no room.
    if let Some((_, places)) = answers.next() {
        heading = format!("{heading} · {places}");
    }
    let answers = answers.map(|(question, text)| format!("  {question} {text}"));
    let lines = std::iter::once((heading, meaning));
    let lines = lines.chain(answers.map(|line| (line, TextMeaning::Plain)));
    for (line, meaning) in lines.take(most) {
        let area = cut(rest, 1);
        put(buffer, area, area.x, &line, meaning, styles);
    }
}
