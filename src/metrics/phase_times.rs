//! Times of single phases, kept only for the phases that a threshold looks at: sums are enough for everything else.

use super::latency::{self, Burst, ExactFigures, nanoseconds};
use super::timed::Timed;
use crate::phases::{Phase, Phases};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times that phases took within a slice, of the requests that had them; `L` is their form, as in
/// [`RequestDelta`](super::request::RequestDelta).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PhaseDeltas<L = Burst>(pub(super) BTreeMap<Phase, Timed<L>>);

impl PhaseDeltas {
    /// Records the `wanted` phases that the request had. A request that was `answered` had the last three, even if
    /// one took no time because the whole response came with its first byte.
    pub(super) fn record(&mut self, phases: &Phases, responded: bool, watched: &[Phase]) {
        for phase in watched {
            let ns = nanoseconds(phases.of(*phase));
            if ns > 0 || responded && *phase >= Phase::Send {
                self.0.entry(*phase).or_default().record_many(ns, 1);
            }
        }
    }
}

/// Times that phases took over a whole run.
#[derive(Debug, Default)]
pub(super) struct PhaseTallies(BTreeMap<Phase, (ExactFigures, Histogram<u64>)>);

impl PhaseTallies {
    pub(super) fn merge(&mut self, slice: &PhaseDeltas) {
        for (phase, more) in slice.0.iter().filter(|(_, more)| !more.is_empty()) {
            let empty = || (ExactFigures::default(), latency::histogram());
            let (exact, histogram) = self.0.entry(*phase).or_insert_with(empty);
            *exact = exact.merged(&more.exact);
            more.latencies.add_to(histogram);
        }
    }

    /// Returns the times of a phase, if any request had it.
    pub(super) fn of(&self, phase: Phase) -> Option<&(ExactFigures, Histogram<u64>)> {
        self.0.get(&phase)
    }
}
