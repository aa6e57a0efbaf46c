//! Everything that a store counts in one measurement; a reset forgets it.

use super::errors::ErrorLog;
use super::requests::MeasuredRequests;
use super::scenarios::Scenarios;
use super::table::RowTable;
use super::tally::TaskTally;
use super::time::MeasuredTime;
use super::warnings::Warnings;
use crate::delta::{ArrivalLog, Covered, NamedRow, SliceDelta};
use crate::generator::{Effort, GeneratorLog};
use crate::measures::MeasureLog;
use crate::record::{SECOND, TOO_MANY_MEASURES, TOO_MANY_TASKS};
use std::time::Duration;

/// Figures of the measurement under way.
#[derive(Debug)]
pub(super) struct MeasuredFigures {
    pub(super) requests: MeasuredRequests,
    pub(super) tasks: RowTable<TaskTally>,
    pub(super) scenarios: Scenarios,
    pub(super) measures: MeasureLog,
    pub(super) arrivals: ArrivalLog,
    pub(super) errors: ErrorLog,
    pub(super) generator: GeneratorLog,
}

impl MeasuredFigures {
    pub(super) fn new() -> Self {
        MeasuredFigures {
            requests: MeasuredRequests::new(),
            tasks: RowTable::new(),
            scenarios: Scenarios::default(),
            measures: MeasureLog::default(),
            arrivals: ArrivalLog::default(),
            errors: ErrorLog::default(),
            generator: GeneratorLog::default(),
        }
    }

    /// Adds a slice; `shard` is the one whose numbers the rows have, if they have any.
    pub(super) fn merge(
        &mut self,
        shard: Option<usize>,
        slice: &SliceDelta,
        warnings: &mut Warnings,
    ) {
        self.requests
            .merge(shard, slice, &mut self.generator, warnings);
        for (id, NamedRow { label, figures }) in slice.tasks.iter().enumerate() {
            if !figures.is_empty() {
                let (at, overflow) = self.tasks.row(shard, id, label);
                self.tasks.rows[at].merge(figures);
                if overflow {
                    warnings.add(TOO_MANY_TASKS.to_owned());
                }
            }
        }
        for row in &slice.scenarios {
            self.scenarios.merge(row);
        }
        let second = slice.span.from as f64 / SECOND as f64;
        if self.measures.merge(&slice.measures, second) {
            warnings.add(TOO_MANY_MEASURES.to_owned());
        }
        self.arrivals.merge(&slice.arrivals);
        self.errors.merge(slice, second);
        if let Some(border) = slice
            .border
            .filter(|_| slice.span.to.is_multiple_of(SECOND))
        {
            self.requests.series.stood(slice.span.second(), &border);
        }
    }

    /// Adds the effort of a shard in a tick that ended when it had handed over as far as `covered`.
    pub(super) fn merge_effort(
        &mut self,
        shard: usize,
        covered: Covered,
        effort: &Effort,
        time: &MeasuredTime,
    ) {
        let ended = covered.at(time.now_ns()).saturating_sub(time.origin_ns());
        self.generator.add_tick(ended, shard, effort);
    }

    /// Ends a tick at `now` since the start of the run.
    pub(super) fn tick(&mut self, now: Duration) {
        self.scenarios.tick();
        self.requests.recent.tick(now);
        self.requests.by_tag.tick(now);
    }

    /// Closes the seconds of which everything is known.
    pub(super) fn close(&mut self, time: &MeasuredTime) {
        let lasted = |from, to| time.lasted(from, to);
        let until = time.complete_of_measurement_ns();
        self.requests.close(until, lasted, &mut self.generator);
    }

    /// Forgets everything but names and users at work; `now` is the moment since the start of the run.
    pub(super) fn reset(&mut self, now: Duration) {
        self.requests.reset(now);
        self.tasks.clear();
        self.scenarios.reset();
        self.measures.clear();
        self.arrivals = ArrivalLog::default();
        self.errors = ErrorLog::default();
        self.generator = GeneratorLog::default();
    }
}
