//! Deltas: figures on their way from a shard to the store, within a process and between processes.
//!
//! A shard hands over a [`Delta`]; other processes and files have a [`PortableDelta`], in which the deltas of any number
//! of shards are added up, and a gather sends a [`GatheredDelta`]. All consist of slices of time.

mod arrivals;
mod delivery;
mod gathered;
mod load_counts;
pub(crate) mod plausible;
mod portable;
mod request;
mod shard;
mod slice;

pub(crate) use arrivals::{ArrivalDelta, ArrivalLog, dropped_warning};
pub use delivery::Delivery;
pub use gathered::GatheredDelta;
pub(crate) use gathered::WorkerCounts;
pub(crate) use load_counts::LoadCounts;
pub(crate) use plausible::{Implausible, MOST_COUNT};
pub use portable::PortableDelta;
pub(crate) use portable::{ShardHandover, Slice};
pub(crate) use request::{PhaseSum, RequestCounts, RequestDelta};
pub use shard::Delta;
pub(crate) use shard::{Covered, UNDECIDED};
pub(crate) use slice::{
    ErrorDelta, MAX_ERRORS, NamedRow, ScenarioDelta, ShardErrorOrigin, SliceBorder, SliceDelta,
    TaskDelta,
};
