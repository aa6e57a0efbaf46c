//! The director's directive to all shards: one value that describes the run as it should be. It is state, not a
//! message: a shard that missed one in between has missed nothing. Its times are durations since the run began, with
//! or without pauses, and so mean the same to everyone who takes part.

use crate::load_model::clock::RunClock;
use crate::load_model::timetable::Timetable;
use crate::messages::plan_version::PlanVersion;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The run as it should be now.
#[derive(Debug, Clone)]
pub struct Directive {
    /// Phase of the users.
    pub phase: DirectivePhase,
    pub(crate) clock: RunClock,
    pub(crate) timetable: Arc<Timetable>,
    /// End of the run on the timetable's clock; `None` for never.
    pub end: Option<Duration>,
    /// The plan that users run from their next iteration on.
    pub plan_version: Arc<PlanVersion>,
    /// Number of the directive, raised by every change that may give idle shards something to do: a shard reports
    /// under which version it is idle.
    pub(crate) version: u64,
    /// Whether all users of the run have been started.
    pub(crate) all_started: bool,
    /// The measurement that figures belong to; earlier figures of a shard belong to an earlier one.
    pub(crate) measurement: Measurement,
}

/// The measurement that began last or is to begin next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// Number of the measurement; the first is 0.
    pub(crate) epoch: u64,
    pub(crate) start: MeasurementStart,
}

/// Beginning of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum MeasurementStart {
    WithTheRun,
    /// At this time of the timetable's clock.
    On(Duration),
    /// At this time since the run began.
    At(Duration),
}

impl Directive {
    /// Returns when its measurement begins, since the run began; `None` if it began with the run, or while a pause
    /// delays it.
    pub(crate) fn measured_from(&self) -> Option<Duration> {
        match self.measurement.start {
            MeasurementStart::WithTheRun => None,
            MeasurementStart::On(due) => self.clock.moment(due),
            MeasurementStart::At(moment) => Some(moment),
        }
    }
}

/// Phases of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirectivePhase {
    /// Users go on.
    Go,
    /// Users stop once their task has ended.
    Stop,
    /// Users are cut off.
    Abort,
}
