//! The table of errors, and that of the slowest requests.

use super::{Cell, Column, Row, Scope, Table};
use crate::display::{slowest, status_text, trace_text};
use lgoose_base::figures::moment;
use lgoose_base::units::{counted, show_count};
use lgoose_judgement::{clock_of, describe_response, latest_response, listed_errors};
use lgoose_metrics::{Report, RequestRow, SlowRequest};

/// The column of the plan's calls at an error.
pub(crate) const STACK: &str = "stack";

/// The most kinds of errors in a brief document and in a usual one; the rest is counted.
const MAX_BRIEF: usize = 50;
const MAX_USUAL: usize = 20;
/// The most rows of slow requests where not all are shown.
const MAX_SLOW: usize = 10;

/// Returns the errors, the most frequent first.
pub(super) fn errors(report: &Report, scope: Scope) -> Table<'_> {
    let mut columns = vec![Column::text("name")];
    columns.extend(Column::numbers(["count", "first seen", "last seen"]));
    columns.extend(["message", "response", "plan", STACK].map(Column::prose));
    let mut table = Table::new("errors", "Errors", columns);
    let all = listed_errors(report);
    let at = |seconds: f64| {
        let text = match scope {
            Scope::Full => clock_of(report, seconds),
            Scope::Brief | Scope::Usual => moment(seconds),
        };
        Cell::Figure(seconds, text, false)
    };
    let most = match scope {
        Scope::Brief => MAX_BRIEF,
        Scope::Usual => MAX_USUAL,
        Scope::Full => all.len(),
    };
    for listed in all.iter().take(most) {
        let error = listed.row;
        let excerpt = describe_response(error).map(|(how, excerpt)| format!("{how}: {excerpt}"));
        let response = [latest_response(error), excerpt].into_iter().flatten();
        let response = response.reduce(|latest, excerpt| format!("{latest} · {excerpt}"));
        let stack =
            (!error.stack.is_empty()).then(|| format!("stack: {}", error.stack.join(" ← ")));
        let mut row = Row::of(vec![
            Cell::foreign(&*error.name),
            Cell::count(error.count).bad_if(true),
            at(error.first_s),
            at(error.last_s),
            Cell::foreign(&*listed.message),
            Cell::of(response, Cell::Foreign),
            Cell::of(error.line.as_deref(), Cell::foreign),
            Cell::of(stack, Cell::Foreign),
        ]);
        row.error = Some(error);
        table.rows.push(row);
    }
    let rest = all.get(most..).unwrap_or_default();
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|listed| listed.row.count).sum();
        table.remarks.push(format!(
            "… and {} with {} in all",
            counted(rest.len() as u64, "more kind"),
            show_count(count)
        ));
    }
    let table = table.without_empty("response").without_empty("plan");
    match scope {
        Scope::Full | Scope::Usual => table.without_empty(STACK),
        Scope::Brief => table.without(STACK),
    }
}

/// Returns the slowest requests of each name, the slowest first: all that are known or, where there is less room, those
/// whose trace the site was to keep.
pub(super) fn slow(report: &Report, scope: Scope) -> Table<'_> {
    let mut columns = vec![Column::text("name")];
    columns.extend(Column::numbers(["latency", "status", "at", "user"]));
    columns.push(Column::text("trace"));
    let (title, all) = match scope {
        Scope::Full => ("Slowest requests", slowest(report, known)),
        Scope::Usual | Scope::Brief => {
            let traced = slowest(report, |row| row.traced.iter().collect());
            ("Slowest traces", traced)
        }
    };
    let mut table = Table::new("slowest", title, columns)
        .note("The slowest requests of each name. A trace that the site was asked to keep is found in the site’s tracing.");
    for (name, one) in all {
        let at = one.start_ns.saturating_sub(report.origin_ns) as f64 / 1e9;
        let mut row = Row::of(vec![
            Cell::foreign(name),
            Cell::duration(one.latency_ms + one.delay_ms),
            Cell::words(status_text(one.status)),
            Cell::Figure(at, clock_of(report, at), false),
            Cell::count(one.user),
            Cell::of(one.trace.as_ref(), |trace| Cell::foreign(trace_text(trace))),
        ]);
        row.request = Some(one);
        table.rows.push(row);
    }
    match scope {
        Scope::Full => table.without_empty("trace"),
        Scope::Brief | Scope::Usual => table.without("at").without("user").at_most(MAX_SLOW),
    }
}

/// Returns the requests of a name that are known to be slow, each once.
fn known(row: &RequestRow) -> Vec<&SlowRequest> {
    let id = |one: &SlowRequest| (one.start_ns, one.user);
    let others = row.slowest.iter();
    let others = others.filter(|one| row.traced.iter().all(|traced| id(traced) != id(one)));
    row.traced.iter().chain(others).collect()
}
