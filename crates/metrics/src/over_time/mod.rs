//! Figures over time: points of the run, series of each name, the last ten seconds, events and silences.

pub(crate) mod by_name;
mod columns;
mod events;
mod recent;
pub(crate) mod series;
mod silence;

pub(crate) use by_name::ByName;
pub use columns::NameSeries;
pub use events::{Event, EventKind};
pub(crate) use events::{EventLog, Pauses};
pub(crate) use recent::{RecentCounts, RecentRates, RecentRequests};
pub(crate) use series::Series;
pub(crate) use silence::{Silence, Silences, least_silence};
