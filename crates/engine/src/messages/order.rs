//! Order of a manager to its workers: the directive in a form that can be sent. Like the directive it is state: a
//! worker that missed some orders has missed nothing.

use crate::load_model::clock::RunClock;
use crate::load_model::timetable::Timetable;
use crate::messages::directive::{Directive, DirectivePhase, Measurement};
use crate::messages::plan_version::PlanVersion;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The run as it should be now, for other machines. Fields without a comment are those of [`Directive`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOrder {
    phase: DirectivePhase,
    clock: RunClock,
    timetable: Timetable,
    end: Option<Duration>,
    /// Number of the plan's version, which the worker was given before.
    pub plan_version: u64,
    version: u64,
    all_started: bool,
    measurement: Measurement,
}

impl From<&Directive> for RunOrder {
    fn from(directive: &Directive) -> RunOrder {
        RunOrder {
            phase: directive.phase,
            clock: directive.clock,
            timetable: Timetable::clone(&directive.timetable),
            end: directive.end,
            plan_version: directive.plan_version.number,
            version: directive.version,
            all_started: directive.all_started,
            measurement: directive.measurement,
        }
    }
}

impl RunOrder {
    /// Returns the directive for shards that have this version of the plan.
    pub fn directive(&self, plan_version: Arc<PlanVersion>) -> Directive {
        Directive {
            phase: self.phase,
            clock: self.clock,
            timetable: Arc::new(self.timetable.clone()),
            end: self.end,
            plan_version,
            version: self.version,
            all_started: self.all_started,
            measurement: self.measurement,
        }
    }

    /// Returns whether users are to run.
    pub fn goes_on(&self) -> bool {
        self.phase == DirectivePhase::Go
    }
}
