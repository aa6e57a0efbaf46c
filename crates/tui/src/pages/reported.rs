//! The pages that need a report: tables of its document, and its errors.

use super::super::listing::{Listing, ListingRow, column};
use super::super::text::one_line;
use super::words::{error_key, moment, request_key};
use lgoose_base::units::{counted, show_count};
use lgoose_metrics::{Figures, Report, RequestRow, ScenarioRow, TaskRow};
use lgoose_report::document::{NamedFigures, Scope, Table, tasks as all_tasks, tasks_in_order};
use std::time::Duration;

/// Requests by name, and all of them together as far as they are known.
type ReportedRequests<'a> = (&'a [RequestRow], Option<&'a Figures>);

pub(super) fn latency(requests: ReportedRequests<'_>, empty: String) -> Listing {
    by_name(requests, "Latency", empty, |named| named.latencies())
}

pub(super) fn streams(report: &Report, requests: ReportedRequests<'_>, empty: String) -> Listing {
    let mut listing = by_name(requests, "Stream", empty, |named| {
        named.streams(report, Scope::Usual)
    });
    let is_stream = |row: &RequestRow| row.figures.messages.is_some();
    let mut shown = requests.0.iter().map(is_stream);
    listing.rows.retain(|_| shown.next().unwrap_or_default());
    listing
}

pub(super) fn codes(requests: ReportedRequests<'_>, empty: String) -> Listing {
    by_name(requests, "Status codes", empty, |named| {
        named.status_codes(Scope::Full)
    })
}

fn by_name(
    (rows, all): ReportedRequests<'_>,
    title: &'static str,
    empty: String,
    table: impl Fn(&NamedFigures<'_>) -> Table<'static>,
) -> Listing {
    let named = NamedFigures {
        rows: rows.iter().collect(),
        all,
    };
    let keys = rows.iter().map(|row| request_key(&row.method, &row.name));
    Listing {
        title,
        empty,
        ..Listing::of(&table(&named), keys)
    }
}

/// Returns the tasks of all scenarios, or of one.
pub(super) fn tasks(report: &Report, only: Option<&str>) -> Listing {
    let is_shown = |task: &&TaskRow| only.is_none_or(|only| task.scenario == only);
    let all = tasks_in_order(report);
    let mut table = all_tasks(report, Scope::Usual);
    let mut shown = all.iter().map(is_shown);
    table.rows.retain(|_| shown.next().unwrap_or_default());
    let tasks: Vec<&TaskRow> = all.iter().copied().filter(is_shown).collect();
    let keys = tasks
        .iter()
        .map(|task| format!("{}\n{}", task.scenario, task.name));
    let mut listing = Listing {
        title: "Task",
        empty: "no task has ended yet".to_owned(),
        ..Listing::of(&table, keys)
    };
    for heading in listing.rows.iter_mut().filter(|row| row.heading) {
        let of_row = |one: &&ScenarioRow| one_line(&one.name) == heading.name;
        if let Some(scenario) = report.scenarios.iter().find(of_row) {
            let users = counted(scenario.users, "user");
            let iterations = counted(scenario.iterations, "iteration");
            heading.name += &format!(" · {users} · {iterations}");
            let dropped = scenario.arrivals.map_or(0, |counts| counts.dropped);
            for (count, what) in [(dropped, "dropped"), (scenario.users_lost, "users lost")] {
                if count > 0 {
                    heading.name += &format!(" · {} {what}", show_count(count));
                }
            }
        }
    }
    let rows = listing.rows.iter_mut().filter(|row| !row.heading);
    for (row, task) in rows.zip(tasks) {
        row.bad = task.failures > 0;
        row.failing = task.failures as f64 / task.runs.max(1) as f64;
    }
    listing
}

/// Returns the place without its folders, such as `drupal.lua:41`: the message needs the room, and the error's
/// details show them.
fn file_and_line(place: &str) -> String {
    let start = place.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    one_line(&place[start..])
}

pub(super) fn errors(report: &Report, origin: Duration) -> Listing {
    let rows = report.errors.iter().map(|error| ListingRow {
        key: error_key(error),
        name: format!("{}: {}", one_line(&error.name), one_line(&error.message)),
        cells: vec![
            show_count(error.count),
            moment(origin, error.first_s),
            moment(origin, error.last_s),
            error
                .line
                .as_deref()
                .map_or_else(String::new, file_and_line),
        ],
        keys: vec![error.count as f64, error.first_s, error.last_s, 0.0],
        ..ListingRow::default()
    });
    Listing {
        title: "Error",
        columns: vec![
            column("count", 0),
            column("first", 2),
            column("last", 1),
            column("plan", 3),
        ],
        rows: rows.collect(),
        total: None,
        empty: "nothing has failed".to_owned(),
    }
}
