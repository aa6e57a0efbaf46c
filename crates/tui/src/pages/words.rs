//! The notation of figures and names on pages, and the keys of rows.

use super::super::text::one_line;
use lgoose_base::units::{show_short_duration, three_digits};
use lgoose_metrics::{ErrorRow, Snapshot};
use std::time::Duration;

/// Returns when the statistics began, since the run did: with the last reset, or at once.
pub(in super::super) fn origin(snapshot: &Snapshot) -> Duration {
    snapshot.progress.measured_since()
}

/// Returns a request's name for people, without control characters.
pub(in super::super) fn label(method: &str, name: &str) -> String {
    one_line(format!("{method} {name}").trim_start())
}

/// Returns the key of a request.
pub(in super::super) fn request_key(method: &str, name: &str) -> String {
    format!("{method} {name}")
}

/// Returns the key of an error.
pub(in super::super) fn error_key(error: &ErrorRow) -> String {
    let line = error.line.as_deref().unwrap_or_default();
    format!("{}\n{}\n{line}", error.name, error.message)
}

/// Writes a rate per second; plain `0` for none.
pub(in super::super) fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        per_second => three_digits(per_second),
    }
}

/// Writes a time of a table, such as `4.1 ms`: room is scarce.
pub(in super::super) fn tight(time: Duration) -> String {
    match time {
        Duration::ZERO => "-".to_owned(),
        time => show_short_duration(time),
    }
}

/// Writes a time of a table that is given in milliseconds.
pub(in super::super) fn ms_text(ms: f64) -> String {
    tight(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default())
}

/// Writes a time into the run; `seconds` count from `origin`.
pub(in super::super) fn moment(origin: Duration, seconds: f64) -> String {
    let since = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    lgoose_base::units::show_long(origin + since)
}

/// Returns a sign that shows passed and failed without colours.
pub(in super::super) fn mark(passed: bool) -> char {
    if passed { '✓' } else { '✗' }
}
