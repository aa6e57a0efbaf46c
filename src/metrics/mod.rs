//! Metrics of a run: recorded on each shard, merged at ticks, read as snapshots and reports.
//!
//! A shard's [`Recorder`] turns each [`Sample`] into counters and latencies; every tick it delivers one [`Delta`]. The
//! [`Store`] merges deltas by name and publishes an immutable [`Snapshot`] for live views and, at the end, the
//! [`Report`], from which every output is made. Nothing here knows Lua, HTTP or a screen.

mod arrivals;
mod axis;
mod by_name;
mod columns;
mod counted;
mod cycles;
mod delivery;
mod delta;
mod detail;
mod distribution;
mod ended;
mod errors;
mod events;
mod exemplars;
mod filled;
#[cfg(test)]
pub(crate) mod fixture;
mod gathered;
mod generator;
mod identity;
mod join;
mod latency;
mod lateness;
mod load_counts;
mod measures;
mod names;
mod part_times;
mod plausible;
mod portable;
mod recent;
mod recorder;
mod recording;
mod report;
mod request;
mod request_log;
mod sample;
mod series;
mod silence;
mod sketch;
mod slices;
mod slowest;
mod snapshot;
mod spread;
mod store;
mod tagged_measures;
mod tagged_names;
mod tally;
mod threshold_figures;
mod thresholds;
mod timed;
mod traced;
mod under_way;
mod users;
mod workers;

pub(crate) use crate::phases::Phases;
pub(crate) use columns::NameSeries;
pub(crate) use cycles::Cycles;
pub(crate) use delivery::Delivery;
pub(crate) use delta::Delta;
pub(crate) use detail::Detail;
pub(crate) use distribution::{Bucket, buckets, percentile_ms, read as read_histogram};
pub(crate) use gathered::GatheredDelta;
pub(crate) use generator::Effort;
pub(crate) use identity::RunIdentity;
pub use join::join;
pub(crate) use lateness::Lateness;
pub(crate) use portable::PortableDelta;
pub use recorder::Recorder;
#[cfg(any(feature = "otlp", feature = "web"))]
pub(crate) use report::LatestTrace;
pub use report::{
    ArrivalsRow, Capacity, CapacityOutcome, CapacityStep, Cause, Check, CoFigures, CoMitigation,
    CoRow, CpuLimitFile, CpuLimitRow, Ending, ErrorRow, Event, EventKind, Exemplar, Figures,
    GeneratorRow, HopRow, LabelRow, Latency, LoadKind, LogRow, MachineRow, Messages, Metric,
    MetricKind, PartRow, PhasesMs, PointGenerator, PointLatency, Report, RequestRow, RunSettings,
    ScenarioArrivals, ScenarioRow, SeriesPoint, SlowRequest, StepResult, SubjectKind, SubjectRow,
    TagRow, TaskRow, ThresholdRow, TraceRow, Usl, Verdict, VerdictResult, WorkerRow, WorkerState,
};
pub(crate) use report::{Cadence, MOST_MISSING};
pub(crate) use request_log::{
    Chunk, ExchangeMessages, LogEntry, LogKind, LogMessage, LogWorker, RequestEntry, RunLogs,
    TaskEntry,
};
#[cfg(feature = "gaggle")]
pub(crate) use request_log::{LineCounts, LogSelection, pack_entries, pieces};
pub(crate) use sample::{
    Context, ExchangeDetails, ProvisionalCounts, RequestId, Sample, SampleFailure, SampleResponse,
    TaskContext, TaskId, TaskRun, Traffic,
};
pub use snapshot::{
    Aim, LiveArrivals, LiveLoad, LiveRequests, LiveRow, LiveTag, LiveTask, LiveWorker, Progress,
    RunPhase, Snapshot,
};
pub(crate) use store::{Store, saturations};
pub(crate) use tagged_names::TagsId;
#[cfg(any(feature = "otlp", feature = "web"))]
pub(crate) use traced::BORDERS;
pub(crate) use under_way::InFlightSlot;
pub(crate) use workers::{WorkerIdentity, label_texts, labels_text};
