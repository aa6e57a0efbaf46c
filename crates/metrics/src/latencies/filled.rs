//! Exact figures and a histogram of latencies over more than a slice: those filled in for requests that late users
//! could not make, and, for the delays of lgoose itself, those from the actual start in a run at a rate.

use super::exact::ExactFigures;
use super::histogram;
use super::timed::Timed;
use hdrhistogram::Histogram;

/// Latencies in a histogram, with their exact figures.
#[derive(Debug, Clone)]
pub(crate) struct FilledLatencies {
    pub(crate) exact: ExactFigures,
    pub(crate) histogram: Histogram<u64>,
}

impl Default for FilledLatencies {
    fn default() -> Self {
        FilledLatencies {
            exact: ExactFigures::default(),
            histogram: histogram::empty(),
        }
    }
}

impl FilledLatencies {
    /// Adds those of a slice.
    pub(crate) fn add_slice(&mut self, slice: &Timed) {
        self.exact = self.exact.merged(&slice.exact);
        slice.latencies.add_to(&mut self.histogram);
    }

    pub(crate) fn merge(&mut self, other: &FilledLatencies) {
        self.exact = self.exact.merged(&other.exact);
        histogram::add(&mut self.histogram, &other.histogram);
    }
}
