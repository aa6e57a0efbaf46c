//! Milestones of a run: its end by the timetable, the stages on the way, and whether a command has set the load
//! instead. Times are those of the timetable, without pauses.

use crate::load_model::timetable::{Timetable, own_loads, stages};
use lgoose_plan::config::RunConfig;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Moments of the timetable that are still ahead.
#[derive(Debug)]
pub(crate) struct Milestones {
    end: Option<Duration>,
    /// Stages to come: when each begins, and its description.
    to_come: VecDeque<(Duration, String)>,
    /// The number of stages, those that have begun included; 0 without stages.
    stages: u64,
    load_set: bool,
    /// Lanes of single scenarios whose load a command has set.
    own_set: BTreeSet<usize>,
    /// Beginnings and ends of the loads of single scenarios to come.
    own_loads: VecDeque<(Duration, String)>,
}

impl Milestones {
    /// Makes the milestones of a run with that timetable.
    pub(crate) fn new(config: &RunConfig, timetable: &Timetable) -> Milestones {
        let to_come = stages(config);
        Milestones {
            end: timetable.end(),
            own_loads: own_loads(timetable),
            stages: match to_come.len() {
                0 => 0,
                later => later as u64 + 1,
            },
            to_come,
            load_set: false,
            own_set: BTreeSet::new(),
        }
    }

    /// Returns the end of the timetable; `None` for never.
    pub(crate) fn end(&self) -> Option<Duration> {
        self.end
    }

    /// Returns the number of the current stage, counted from 1, and how many there are; `None` without stages, or once
    /// a command has set the load instead.
    pub(crate) fn stage(&self) -> Option<(u64, u64)> {
        let to_come = self.to_come.len() as u64;
        (self.stages > 0 && !self.load_set).then(|| (self.stages - to_come, self.stages))
    }

    /// Takes the next stage that has begun by `elapsed`, or the next own load of a scenario that has begun or ended:
    /// returns when it did, and its description.
    pub(crate) fn take_due(&mut self, elapsed: Duration) -> Option<(Duration, String)> {
        let mut queues = [&mut self.own_loads, &mut self.to_come].into_iter();
        let due = queues.find(|queue| queue.front().is_some_and(|(due, _)| *due <= elapsed));
        due?.pop_front()
    }

    /// Moves all stages to come forward by `skipped`; the run then ends at `end`.
    pub(crate) fn skip(&mut self, skipped: Duration, end: Option<Duration>) {
        self.end = end;
        for (due, _) in &mut self.to_come {
            *due = due.saturating_sub(skipped);
        }
    }

    /// Records that a command has set the users or the rate: they hold from now on, and no stage is to come.
    pub(crate) fn set_load(&mut self) {
        self.load_set = true;
        self.to_come.clear();
    }

    /// Records that a command has set the load of that lane, which is a scenario's own.
    pub(crate) fn set_own_load(&mut self, lane: usize) {
        self.own_set.insert(lane);
    }

    /// Returns whether a command has set the users or the rate of that lane; `is_own` says whether it is a scenario's
    /// own.
    pub(crate) fn is_load_set(&self, lane: usize, is_own: bool) -> bool {
        if is_own {
            self.own_set.contains(&lane)
        } else {
            self.load_set
        }
    }
}
