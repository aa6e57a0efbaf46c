//! A run beside the access logs of the site: what agrees, what either side lacks, and how much of the latency was on the way.
//!
//! `format` reads lines of access logs, `run_log` the request log of a run, `matching` brings them together, `findings` counts, and
//! `text` draws. Used by the program for `lgoose audit`; costs nothing elsewhere. It knows neither the engine nor a plan.

mod access_log;
mod audit;
mod event;
mod findings;
mod format;
mod interned;
mod matching;
mod open_log;
mod run_log;
mod text;
mod totals;

pub use access_log::{AccessLogs, UnreadableLine};
pub use audit::{Audit, AuditInput, MatchedBy, RunSide, audit, json};
pub use findings::{
    BytesKind, BytesRow, ClockRow, Differences, DifferingLine, Findings, NoResponseRow, SecondsRow,
    SidesCount, SpreadMs, TravelRow,
};
pub use text::{outcome, text};
pub use totals::{Totals, UrlTotals};
