//! What the director tells all shards: one value that says how things are to be now. It is state, not a message: a
//! shard that missed one in between has missed nothing. Its times are durations since the run began, which mean the
//! same to everyone who takes part.

use crate::engine::load_model::clock::Clock;
use crate::engine::load_model::timetable::Timetable;
use crate::engine::protocol::plan_version::PlanVersion;
use std::sync::Arc;
use std::time::Duration;

/// How things are to be.
#[derive(Debug, Clone)]
pub(crate) struct Directive {
    pub(crate) phase: Phase,
    pub(crate) clock: Clock,
    pub(crate) timetable: Arc<Timetable>,
    /// What users run from their next iteration on.
    pub(crate) plan_version: Arc<PlanVersion>,
    /// Counts what was steered, so that a shard's word that it has nothing left to do is about this.
    pub(crate) version: u64,
    /// The figures begin anew then; what a shard measured before belongs to an earlier measurement.
    pub(crate) measurement: Measurement,
}

/// The measurement that began last or is to begin next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measurement {
    /// Counts them; the first is 0.
    pub(crate) epoch: u64,
    pub(crate) begins: Begins,
}

/// When a measurement begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Begins {
    WithTheRun,
    /// When the timetable's clock shows so much.
    On(Duration),
    /// So long after the run began.
    At(Duration),
}

impl Directive {
    /// When its measurement begins, since the run did; `None` if it began with the run, or as long as a pause puts
    /// it off.
    pub(crate) fn measured_from(&self) -> Option<Duration> {
        match self.measurement.begins {
            Begins::WithTheRun => None,
            Begins::On(due) => self.clock.moment(due),
            Begins::At(moment) => Some(moment),
        }
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Go,
    Stop,
    Abort,
}
