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
mod distribution;
mod errors;
mod exemplars;
mod facts;
mod generator;
mod journal;
mod latency;
mod lateness;
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
pub use journal::{
    Chunk, Entry, Journals, LogKind, Messages, Parcel, RequestEntry, TaskEntry, Wanted,
};
pub use lateness::Lateness;
pub use recorder::Recorder;
pub use report::{
    ArrivalsRow, Cadence, Check, CoFigures, CoMitigation, CoRow, ErrorRow, Exemplar, Figures,
    GeneratorRow, Latency, LogRow, Metric, MetricKind, PhasesMs, Report, RequestRow, ScenarioRow,
    SeriesPoint, TaskRow, ThresholdRow,
};
pub use sample::{
    Account, Context, Failure, Phases, RequestId, Sample, TaskContext, TaskId, TaskRun,
};
pub use snapshot::{LiveRow, RunPhase, Snapshot};
pub use store::Store;
