//! Exact figures and counts of latencies over more than a slice: those filled in for requests that late users
//! could not make, and, for the delays of lgoose itself, those from the actual start in a run at a rate.

use super::exact::ExactFigures;
use super::sum::LatencySum;
use super::timed::Timed;

/// Latencies with their exact figures.
#[derive(Debug, Clone, Default)]
pub(crate) struct FilledLatencies {
    pub(crate) exact: ExactFigures,
    pub(crate) latencies: LatencySum,
}

impl FilledLatencies {
    /// Adds those of a slice.
    pub(crate) fn add_slice(&mut self, slice: &Timed) {
        self.exact = self.exact.merged(&slice.exact);
        self.latencies.add(&slice.latencies);
    }

    pub(crate) fn merge(&mut self, other: &FilledLatencies) {
        self.exact = self.exact.merged(&other.exact);
        self.latencies.merge(&other.latencies);
    }
}
