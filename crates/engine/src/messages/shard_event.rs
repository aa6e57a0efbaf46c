//! Events that the participants of a run send to its director: shards of this process, or workers with several shards
//! each. They come in order, but may come late or stop coming; the directive, which goes the other way, is state.

use crate::messages::departures::Departures;
use crate::messages::plan_requests::PlanCommand;
use lgoose_base::error::Error;
use lgoose_metrics::{Delivery, WorkerIdentity};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An event of participant number `from`.
#[derive(Debug)]
pub struct ShardEvent {
    /// The number of the participant.
    pub from: usize,
    /// Its content.
    pub kind: ShardEventKind,
}

/// Content of an event.
#[derive(Debug)]
pub enum ShardEventKind {
    /// Figures since the last ones. Sequence numbers rise from 1, so that a repeat counts once.
    Delivery {
        /// Its number.
        sequence: u64,
        /// The figures.
        delivery: Delivery,
    },
    /// Figures of several workers since the last ones of this kind; the sender makes sure that each counts once.
    Gathered(Delivery),
    /// The participant has nothing left to do under that version of the directive.
    Idle {
        /// The version of the directive.
        version: u64,
        /// Departures of its users so far.
        departures: Departures,
    },
    /// It has started all users that it will have at a time.
    AllStarted,
    /// A request of the plan.
    PlanRequest(PlanCommand),
    /// The participant's last event: its last user has gone, and everything was handed over. A worker adds the time
    /// since the run began.
    Ended {
        /// Departures of its users so far.
        departures: Departures,
        /// Time of that since the run began.
        at: Option<Duration>,
    },
    /// The shard sends nothing any more, and its last figures are lost.
    Lost,
    /// A worker that takes part from now on, in the place of a lost one; the participant's number is the next one.
    Joined {
        /// The number of the lost one.
        in_place_of: usize,
        /// Its name, labels and machine.
        identity: WorkerIdentity,
        /// A sentence that says so.
        text: String,
    },
    /// The worker is silent; it may come back. Whether its users go on is not known.
    Away(String),
    /// The worker is ending on request: its users stop, and it hands its figures over.
    Leaving(String),
    /// The worker is back.
    Back(String),
    /// The worker's users paused, though the run went on.
    Paused(WorkerPause),
    /// A warning for views and the report.
    Warning(String),
    /// The participant cannot go on.
    Failed(Error),
    /// No worker can be reached, with the reason; `None` once they can be reached again.
    Unreachable(Option<String>),
    /// Another manager leads the run; the error says why.
    Superseded(Error),
}

/// Time in which a worker's users made no load, though the run went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerPause {
    /// The process stood still between these times since the run began.
    StoodStill { from: Duration, until: Duration },
    /// The machine was suspended for so long, and its clock stood still with it.
    Suspended(Duration),
}

impl WorkerPause {
    /// Returns for how long the machine was suspended.
    pub(crate) fn suspended(self) -> Duration {
        match self {
            WorkerPause::StoodStill { .. } => Duration::ZERO,
            WorkerPause::Suspended(time) => time,
        }
    }
}

impl ShardEventKind {
    /// Returns whether the event shows that a participant was at work until then.
    pub(crate) fn is_of_work(&self) -> bool {
        matches!(
            self,
            ShardEventKind::Delivery { .. }
                | ShardEventKind::Gathered(_)
                | ShardEventKind::Idle { .. }
                | ShardEventKind::AllStarted
                | ShardEventKind::PlanRequest(_)
                | ShardEventKind::Ended { .. }
        )
    }
}
