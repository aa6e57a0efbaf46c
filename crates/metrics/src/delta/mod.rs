//! Deltas: figures on their way from a shard to the store, within a process and between processes.
//!
//! The store merges a [`Delta`], which a shard of its process hands over. Other processes and files have a
//! [`PortableDelta`], in which the deltas of any number of shards are added up, and a gather sends a [`GatheredDelta`];
//! both are converted to a [`Delta`] to be merged.

mod arrivals;
mod delivery;
mod gathered;
mod handover;
mod load_counts;
mod measured;
pub(crate) mod plausible;
mod portable;
mod request;
mod share;
mod slice;

pub(crate) use arrivals::{ArrivalDelta, ArrivalLog, dropped_warning};
pub use delivery::Delivery;
pub use gathered::GatheredDelta;
pub(crate) use handover::{Covered, ShardHandover, UNDECIDED};
pub(crate) use load_counts::LoadCounts;
pub use measured::Delta;
pub(crate) use measured::DeltaSource;
pub(crate) use plausible::{Implausible, MOST_COUNT};
pub use portable::PortableDelta;
pub(crate) use request::{LatencyKind, PhaseSum, RequestCounts, RequestDelta};
pub(crate) use share::WorkerCounts;
pub(crate) use slice::{
    ErrorDelta, MAX_ERRORS, NamedRow, Population, ScenarioDelta, ShardErrorOrigin, SliceBorder,
    SliceDelta, TaskDelta,
};
