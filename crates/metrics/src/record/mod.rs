//! Recording: counts of one shard, made without locks while its users run.
//!
//! The shard owns a [`Recorder`] and hands it a [`Sample`] of each request. Moments become slices of time, names become
//! numbers, and every tick the recorder hands over a [`Delta`](crate::Delta).

mod axis;
mod cycles;
mod names;
mod recorder;
mod sample;
mod slices;
mod tagged_measures;
mod tagged_names;
mod under_way;

pub(crate) use axis::{AxisSpan, GRID, SECOND};
pub use cycles::Cycles;
pub(crate) use names::{GroupedName, ITERATION, NameInterner, OTHER};
pub use recorder::Recorder;
pub(crate) use recorder::{TOO_MANY_MEASURES, TOO_MANY_TASKS, too_many_requests};
pub use sample::{
    Context, ExchangeDetails, ProvisionalCounts, RequestId, Sample, SampleFailure, SampleResponse,
    TaskContext, TaskId, TaskRun, Traffic,
};
pub use tagged_names::TagsId;
pub use under_way::InFlightSlot;
pub(crate) use under_way::{QuietTime, WaitingRequests};
