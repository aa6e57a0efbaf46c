//! What a run measured: recorded in place on each shard, merged by ticks, read as pictures.
//!
//! A shard's [`Recorder`] turns each [`Sample`] into counters and latencies; every tick it hands over one
//! [`Delta`]. The [`Store`] merges deltas by name and publishes an immutable [`Snapshot`] for live views
//! and, at the end, the [`Report`] that every output is made from. Nothing here knows Lua, HTTP or a screen.

mod arrivals;
mod by_name;
mod columns;
mod cycles;
mod delta;
mod errors;
mod facts;
mod generator;
mod latency;
mod measures;
mod names;
mod recent;
mod recorder;
mod report;
mod sample;
mod series;
mod sight;
mod snapshot;
mod spread;
mod store;
mod tally;
mod thresholds;
mod users;

pub use columns::NameSeries;
pub use cycles::Cycles;
pub use delta::Delta;
pub use facts::Facts;
pub use generator::Effort;
pub use recorder::Recorder;
pub use report::{
    ArrivalsRow, Cadence, Check, CoFigures, CoMitigation, CoRow, ErrorRow, Figures, GeneratorRow,
    Latency, Metric, MetricKind, PhasesMs, Report, RequestRow, ScenarioRow, SeriesPoint, TaskRow,
    ThresholdRow,
};
pub use sample::{Failure, Phases, RequestId, Sample, TaskId};
pub use snapshot::{LiveRow, Snapshot};
pub use store::Store;
