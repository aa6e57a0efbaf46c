//! Times of parts of requests: of the phases that a threshold looks at, for which sums are enough otherwise, and of the
//! messages of streams.

use super::burst::Burst;
use super::exact::{ExactFigures, nanoseconds, summary};
use super::sum::LatencySum;
use super::timed::Timed;
use crate::report::Latency;
use lgoose_base::phases::{Phase, Phases, TimedPart};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times that parts took within a slice, of the requests that had them; `L` is their form, as in
/// [`RequestDelta`](crate::delta::RequestDelta).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartDeltas<L = Burst>(pub(crate) BTreeMap<TimedPart, Timed<L>>);

impl PartDeltas {
    /// Records the `watched` phases that the request had. One that was `responded` to had the last three, even if one
    /// took no time because the whole response came with its first byte.
    pub(crate) fn record(&mut self, phases: &Phases, responded: bool, watched: &[Phase]) {
        for phase in watched {
            let ns = nanoseconds(phases.of(*phase));
            if ns > 0 || responded && *phase >= Phase::Send {
                self.record_part(TimedPart::Phase(*phase), ns);
            }
        }
    }

    /// Records the time of a part in nanoseconds.
    pub(crate) fn record_part(&mut self, part: TimedPart, ns: u64) {
        self.0.entry(part).or_default().record_many(ns, 1);
    }
}

impl<L> PartDeltas<L> {
    /// Returns whether no part was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.values().all(Timed::is_empty)
    }
}

/// Times that parts took over a whole run.
#[derive(Debug, Default)]
pub(crate) struct PartTallies(BTreeMap<TimedPart, (ExactFigures, LatencySum)>);

impl PartTallies {
    pub(crate) fn merge(&mut self, slice: &PartDeltas) {
        for (part, more) in slice.0.iter().filter(|(_, more)| !more.is_empty()) {
            let (exact, latencies) = self.0.entry(*part).or_default();
            *exact = exact.merged(&more.exact);
            latencies.add(&more.latencies);
        }
    }

    /// Returns the times of a part, if any request had it.
    pub(crate) fn of(&self, part: TimedPart) -> Option<&(ExactFigures, LatencySum)> {
        self.0.get(&part)
    }

    /// Summarizes them for a report; `None` if no request had the part.
    pub(crate) fn summary(&self, part: TimedPart) -> Option<Latency> {
        let (exact, times) = self.of(part)?;
        summary(exact, &times.histogram())
    }
}
