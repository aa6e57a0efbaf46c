//! Metrics of a run: recorded on each shard, merged at ticks, read as snapshots and reports.
//!
//! A shard's [`Recorder`] turns each [`Sample`] into counters and latencies; every tick it delivers one [`Delta`]. The
//! [`Store`] merges deltas by name and publishes an immutable [`Snapshot`] for live views and, at the end, the
//! [`Report`], from which every output is made. Nothing here knows Lua, HTTP or a screen.
//!
//! Used by whatever counts (`protocols`, `lua`, `engine`, `gaggle`) and by whatever shows figures (`report`, `tui`, `web`, `otlp`).
//!
//! ```
//! use lgoose_metrics::{Recorder, labels_text};
//!
//! let mut recorder = Recorder::new(0);
//! let front = recorder.request("GET", "/");
//! assert_eq!(recorder.request("GET", "/"), front, "a name has one number");
//! assert_eq!(labels_text(&[("region".to_owned(), "eu".to_owned())].into()), "region=eu");
//! ```

mod arrivals;
mod axis;
mod by_name;
pub mod capacity;
mod columns;
pub mod compare;
pub mod control;
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
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
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

pub use columns::NameSeries;
pub use cycles::Cycles;
pub use delivery::Delivery;
pub use delta::Delta;
pub use detail::Detail;
pub(crate) use distribution::{Bucket, buckets};
pub use distribution::{percentile_ms, read as read_histogram};
pub use gathered::GatheredDelta;
pub use generator::Effort;
pub use identity::RunIdentity;
pub use join::join;
pub use lateness::Lateness;
pub use lgoose_base::phases::Phases;
pub use portable::PortableDelta;
pub use recorder::Recorder;
pub use report::{
    ArrivalsRow, Cadence, Capacity, CapacityOutcome, CapacityStep, Cause, Check, CoFigures,
    CoMitigation, CoRow, CpuLimitFile, CpuLimitRow, Ending, ErrorRow, Event, EventKind, Exemplar,
    Figures, GeneratorRow, HopRow, LabelRow, Latency, LatestTrace, LoadKind, LogRow, MOST_MISSING,
    MachineRow, Messages, Metric, MetricKind, PartRow, PhasesMs, PointGenerator, PointLatency,
    ReasonKind, Report, RequestRow, RunSettings, ScenarioArrivals, ScenarioRow, SeriesPoint,
    SlowRequest, StepResult, SubjectKind, SubjectRow, TagRow, TaskRow, ThresholdRow, TraceRow, Usl,
    Verdict, VerdictResult, WorkerRow, WorkerState,
};
pub use request_log::{
    Chunk, ExchangeMessages, LineCounts, LogEntry, LogKind, LogMessage, LogSelection, LogWorker,
    RequestEntry, RunLogs, TaskEntry, pack_entries, pieces,
};
pub use sample::{
    Context, ExchangeDetails, ProvisionalCounts, RequestId, Sample, SampleFailure, SampleResponse,
    TaskContext, TaskId, TaskRun, Traffic,
};
pub use snapshot::{
    Aim, LiveArrivals, LiveLoad, LiveRequests, LiveRow, LiveTag, LiveTask, LiveWorker, Progress,
    RunPhase, Snapshot,
};
pub use store::{Store, saturations};
pub use tagged_names::TagsId;
pub use traced::BORDERS;
pub use under_way::InFlightSlot;
pub use workers::{WorkerIdentity, label_texts, labels_text};
