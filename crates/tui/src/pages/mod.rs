//! The rows of each tab, from a snapshot and the latest report.

mod checks;
mod reported;
mod requests;
mod words;
mod workers;

use super::listing::{Listing, is_match};
use super::state::{Tab, ViewState};
pub(super) use checks::is_broken;
use lgoose_metrics::{Report, Snapshot};
pub(super) use words::{error_key, moment, ms_text, origin, rate, request_key, tight};
pub(super) use workers::{offset as worker_offset, state as worker_state, worker_of};

/// Returns the rows of the state's tab, in its order and with its filter.
pub(super) fn listing(state: &ViewState, snapshot: &Snapshot) -> Listing {
    let mut listing = unsorted(state, state.tab, snapshot);
    listing.filter(&state.filter);
    listing.sort(state.sorted(), state.reversed);
    listing
}

/// Returns all rows of a tab.
pub(super) fn unsorted(state: &ViewState, tab: Tab, snapshot: &Snapshot) -> Listing {
    let empty = Report::default();
    let report = state.figures.report.as_deref().unwrap_or(&empty);
    match tab {
        Tab::Requests => {
            let one = state.tag_here();
            let history = one.map_or(&state.figures.history, |one| &one.history);
            let rows = state.requests(snapshot);
            let matches = |name: &str| is_match(name, &state.filter);
            let mut listing =
                requests::requests(rows, history, state.now, no_request(state), matches);
            if state.now && one.is_some() {
                requests::without_worst(&mut listing);
            }
            listing
        }
        Tab::Latency => reported::latency(state.request_rows(), no_request(state)),
        Tab::Tasks => {
            let only = state.tag_here().and_then(|one| one.scenario());
            reported::tasks(report, only)
        }
        Tab::Errors => reported::errors(report, origin(snapshot)),
        Tab::Streams => reported::streams(report, state.request_rows(), no_request(state)),
        Tab::Codes => reported::codes(state.request_rows(), no_request(state)),
        Tab::Checks => checks::checks(snapshot),
        Tab::Log => Listing::default(),
        Tab::Workers => workers::workers(snapshot),
    }
}

/// Returns the text for a page without requests.
fn no_request(state: &ViewState) -> String {
    match state.tag_here() {
        Some(one) => format!("no request with '{}' has been made yet", one.tag()),
        None => "no request has been made yet".to_owned(),
    }
}
