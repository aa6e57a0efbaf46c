//! The view of runs with trouble, as an operator meets them at night.

use super::*;
use jiff::{SignedDuration, Timestamp};
use lgoose_metrics::fixture::{clocks, stories, unanswered};

#[test]
fn eighty_columns_show_at_a_glance_whether_all_is_well_and_else_where_since_when_and_why() {
    let facts = ViewContext {
        clock: true,
        ..facts()
    };
    let area = Rect::new(0, 0, 80, 24);
    let mut missing = Vec::new();
    for story in stories() {
        let snapshot = &story.snapshot;
        let mut state = ViewState::default();
        state.look(snapshot);
        state
            .figures
            .show_report(Some(Arc::new(story.report.clone())));
        let mut buffer = Buffer::empty(area);
        draw(&facts, &state, snapshot, area, &mut buffer);
        let shown = text_of(&buffer);
        let measured = SignedDuration::try_from(snapshot.progress.measured).expect("a time");
        let clocks = clocks(&story, Timestamp::now() - measured);
        let unanswered = unanswered(&story, &shown, &clocks);
        if !unanswered.is_empty() {
            missing.push(format!("{}: {unanswered:?}\n{shown}", story.title));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n\n"));
}
