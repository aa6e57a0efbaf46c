//! The table of events during the run, by the numbers that the charts of a page have.

use super::{Cell, Column, Scope, Table};
use crate::display::marked_events;
use lgoose_base::figures::moment;
use lgoose_judgement::clock_of;
use lgoose_metrics::{EventKind, Report};

/// The most events where not all are shown.
const MAX_EVENTS: usize = 10;

pub(super) fn events(report: &Report, scope: Scope) -> Table<'_> {
    let mut columns = vec![Column::text("what")];
    columns.extend(Column::numbers(["mark", "at", "lasted"]));
    // Planned events are of use beside a chart only.
    let planned = [EventKind::Stage, EventKind::Stop];
    let events = (1..).zip(marked_events(report));
    let events = events.filter(|(_, event)| scope == Scope::Full || !planned.contains(&event.kind));
    let rows = events.map(|(number, event)| {
        let at = clock_of(report, event.at_s);
        vec![
            Cell::words(&*event.text),
            Cell::count(number),
            Cell::Figure(event.at_s, at, false),
            Cell::of(event.lasted_s, |s| Cell::Figure(s, moment(s), false)),
        ]
    });
    let table = Table::new("events", "What happened", columns).with(rows);
    match scope {
        Scope::Full => table,
        Scope::Usual | Scope::Brief => table
            .without("mark")
            .without_empty("lasted")
            .at_most(MAX_EVENTS),
    }
}
