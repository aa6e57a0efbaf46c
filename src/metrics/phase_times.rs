//! Times of single phases, kept only for the phases that a threshold looks at: sums are enough for everything else.

use super::latency::{self, Burst, Exact, nanoseconds};
use crate::phases::{Phase, Phases};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Times that phases took within a slice, of the requests that had them.
#[derive(Debug, Default)]
pub(super) struct PhaseDeltas(pub(super) BTreeMap<Phase, (Exact, Burst)>);

impl PhaseDeltas {
    /// Records the `wanted` phases that the request had. A request that was `answered` had the last three, even if
    /// one took no time because the whole response came with its first byte.
    pub(super) fn record(&mut self, phases: &Phases, answered: bool, wanted: &[Phase]) {
        for phase in wanted {
            let ns = nanoseconds(phases.of(*phase));
            if ns > 0 || answered && *phase >= Phase::Send {
                let (exact, burst) = self.0.entry(*phase).or_default();
                exact.record(ns);
                burst.record(ns);
            }
        }
    }

    /// Clears the times and keeps their memory.
    pub(super) fn clear(&mut self) {
        for (exact, burst) in self.0.values_mut() {
            *exact = Exact::default();
            burst.clear();
        }
    }
}

/// Times that phases took over a whole run.
#[derive(Debug, Default)]
pub(super) struct PhaseTallies(BTreeMap<Phase, (Exact, Histogram<u64>)>);

impl PhaseTallies {
    pub(super) fn merge(&mut self, slice: &PhaseDeltas) {
        for (phase, (more, burst)) in slice.0.iter().filter(|(_, (more, _))| more.count > 0) {
            let empty = || (Exact::default(), latency::histogram());
            let (exact, histogram) = self.0.entry(*phase).or_insert_with(empty);
            *exact = exact.merged(more);
            burst.add_to(histogram);
        }
    }

    /// Returns the times of a phase, if any request had it.
    pub(super) fn of(&self, phase: Phase) -> Option<&(Exact, Histogram<u64>)> {
        self.0.get(&phase)
    }
}
