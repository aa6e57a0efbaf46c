//! The lines below the header of a run in which something fails: since when, where, why, and whether it is lgoose itself.

use super::super::ViewContext;
use super::super::style::TextMeaning;
use super::super::text::broken;
use super::paint::{Painter, cut};
use lgoose_judgement::{Diagnosis, measured_until_now};
use lgoose_metrics::Snapshot;
use ratatui::layout::Rect;

/// The columns of a question: `  where `.
const LABEL: usize = 8;

/// Draws at most so many lines at the top of `rest`, and takes them from it; nothing if nothing fails.
pub(super) fn draw(
    facts: &ViewContext,
    snapshot: &Snapshot,
    most: usize,
    rest: &mut Rect,
    painter: &mut Painter<'_>,
) {
    let Some(diagnosis) = Diagnosis::of_snapshot(snapshot) else {
        return;
    };
    let measured = facts.clock.then(|| measured_until_now(snapshot));
    let (mark, meaning) = if diagnosis.is_failing() {
        ("✗", TextMeaning::Bad)
    } else {
        ("!", TextMeaning::Warning)
    };
    let width = rest.width as usize;
    let mut lines = vec![(format!("{mark} {}", diagnosis.heading(measured)), meaning)];
    let room = width.saturating_sub(LABEL);
    // Where it is may take two lines if something else has room as well: a name and its share are seen whole.
    let room_of_places = if most > 3 { 2 * room - room / 4 } else { room };
    for (question, text) in diagnosis.findings_within(room_of_places, room) {
        for (at, line) in broken(&text, room).iter().enumerate() {
            let question = if at == 0 { question } else { "" };
            lines.push((format!("  {question:<5} {line}"), TextMeaning::Plain));
        }
    }
    for (line, meaning) in lines.into_iter().take(most) {
        let area = cut(rest, 1);
        painter.put(area, area.x, &line, meaning);
    }
}
