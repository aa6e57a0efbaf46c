//! Metrics of a run: recorded on each shard, merged at ticks, read as snapshots and reports.
//!
//! A shard's [`Recorder`] turns each [`Sample`] into counters and latencies; every tick it delivers one [`Delta`]. The
//! [`Store`] merges deltas by name and publishes an immutable [`Snapshot`] for live views and, at the end, the
//! [`Report`], from which every output is made. Nothing here knows Lua, HTTP or a screen.
//!
//! Used by the crates that count (`protocols`, `lua`, `engine`, `gaggle`) and by those that show figures (`report`, `tui`,
//! `web`, `otlp`).
//!
//! ```
//! use lgoose_metrics::{Recorder, labels_text};
//!
//! let mut recorder = Recorder::new(0);
//! let front = recorder.request("GET", "/");
//! assert_eq!(recorder.request("GET", "/"), front, "a name has one number");
//! assert_eq!(labels_text(&[("region".to_owned(), "eu".to_owned())].into()), "region=eu");
//! ```

pub mod capacity;
pub mod compare;
pub mod control;
mod delta;
mod exemplars;
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
mod generator;
mod latencies;
mod measures;
mod over_time;
mod parts;
mod record;
mod report;
mod request_log;
mod snapshot;
mod store;
mod thresholds;
mod workers;

pub use delta::{Delivery, Delta, GatheredDelta, PortableDelta};
pub use exemplars::BORDERS;
pub use generator::{Effort, Lateness};
pub use latencies::{percentile_ms, read_histogram};
pub use lgoose_base::phases::Phases;
pub use over_time::NameSeries;
pub use parts::join;
pub use record::{
    Context, Cycles, ExchangeDetails, InFlightSlot, ProvisionalCounts, Recorder, RequestId, Sample,
    SampleFailure, SampleResponse, TagsId, TaskContext, TaskId, TaskRun, Traffic,
};
pub use report::{
    ArrivalsRow, Cadence, Capacity, CapacityOutcome, CapacityStep, Cause, Check, CoFigures,
    CoMitigation, CoRow, CpuLimitFile, CpuLimitRow, Detail, Ending, ErrorRow, Event, EventKind,
    Exemplar, Figures, GeneratorRow, HopRow, LabelRow, Latency, LatestTrace, LoadKind, LogRow,
    MOST_MISSING, MachineRow, Messages, Metric, MetricKind, PartRow, PhasesMs, PointGenerator,
    PointLatency, Report, RequestRow, RunIdentity, RunSettings, ScenarioArrivals, ScenarioRow,
    SeriesPoint, SlowRequest, StepResult, SubjectKind, SubjectRow, TagRow, TaskRow, ThresholdRow,
    TraceRow, Usl, Verdict, VerdictResult, WorkerRow, WorkerState,
};
pub use request_log::{
    Chunk, ExchangeMessages, LineCounts, LogEntry, LogKind, LogMessage, LogSelection, LogWorker,
    RequestEntry, RunLogs, TaskEntry, pack_entries, pieces,
};
pub use snapshot::{
    Aim, LiveArrivals, LiveLoad, LiveRequests, LiveRow, LiveTag, LiveTask, LiveWorker, Progress,
    RunPhase, Snapshot,
};
pub use store::{Store, saturations};
pub use workers::{WorkerIdentity, label_texts, labels_text};
