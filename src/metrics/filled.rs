//! Exact figures and a histogram of latencies: those filled in for requests that late users could not make, and, for
//! the delays of lgoose itself, those from the actual start in a run at a rate.

use super::latency::{Exact, add, each_recorded, histogram, record_many};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Latencies in a histogram, with their exact figures.
#[derive(Debug, Clone)]
pub(super) struct Filled {
    pub(super) exact: Exact,
    pub(super) histogram: Histogram<u64>,
}

impl Default for Filled {
    fn default() -> Self {
        Filled {
            exact: Exact::default(),
            histogram: histogram(),
        }
    }
}

impl Filled {
    /// Rebuilds the latencies from exact figures and the counts of [`Filled::counted`].
    pub(super) fn of(exact: Exact, counted: &BTreeMap<u64, u64>) -> Filled {
        let mut filled = Filled {
            exact,
            ..Filled::default()
        };
        for (us, times) in counted {
            record_many(&mut filled.histogram, *us, *times);
        }
        filled
    }

    /// Returns counts by latency in microseconds, as the histogram tells them apart.
    pub(super) fn counted(&self) -> BTreeMap<u64, u64> {
        let mut counted = BTreeMap::new();
        each_recorded(&self.histogram, |us, count| {
            *counted.entry(us).or_default() += count;
        });
        counted
    }

    /// Records a latency in nanoseconds as if it had been measured that many times.
    pub(super) fn record(&mut self, ns: u64, times: u64) {
        self.exact.record_many(ns, times);
        record_many(&mut self.histogram, ns.saturating_add(500) / 1_000, times);
    }

    pub(super) fn merge(&mut self, other: &Filled) {
        self.exact = self.exact.merged(&other.exact);
        add(&mut self.histogram, &other.histogram);
    }

    /// Clears the latencies and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.exact = Exact::default();
        self.histogram.reset();
    }
}
