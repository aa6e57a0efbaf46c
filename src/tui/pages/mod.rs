//! The rows of each tab, from a snapshot and the latest report.

mod checks;
mod reported;
mod requests;
mod words;
mod workers;

use super::listing::Listing;
use super::state::{State, Tab};
use crate::metrics::{Report, Snapshot};
pub(super) use checks::is_broken;
pub(super) use words::{error_key, moment, ms_text, origin, rate, request_key, tight};
pub(super) use workers::{offset as worker_offset, state as worker_state, worker_of};

/// The rows of the state's tab, sorted and filtered as it says.
pub(super) fn listing(state: &State, snapshot: &Snapshot) -> Listing {
    let mut listing = unsorted(state, state.tab, snapshot);
    listing.filter(&state.filter);
    listing.sort(state.sorted(), state.reversed);
    listing
}

/// Returns all rows of a tab.
pub(super) fn unsorted(state: &State, tab: Tab, snapshot: &Snapshot) -> Listing {
    let empty = Report::default();
    let report = state.report.as_deref().unwrap_or(&empty);
    match tab {
        Tab::Requests => requests::requests(snapshot, &state.history, state.now),
        Tab::Latency => reported::latency(report),
        Tab::Tasks => reported::tasks(report),
        Tab::Errors => reported::errors(report, origin(snapshot)),
        Tab::Codes => reported::codes(report),
        Tab::Checks => checks::checks(snapshot),
        Tab::Log => Listing::default(),
        Tab::Workers => workers::workers(snapshot),
    }
}
