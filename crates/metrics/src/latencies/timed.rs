//! Latencies with their exact figures beside them, within one slice: times of one phase, and latencies filled in for
//! late users.

use super::burst::Burst;
use super::counted::Counted;
use super::exact::ExactFigures;
use serde::{Deserialize, Serialize};

/// Latencies with their exact figures; `L` is the form of the latencies, as in
/// [`RequestDelta`](crate::delta::RequestDelta).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Timed<L = Burst> {
    pub(crate) exact: ExactFigures,
    pub(crate) latencies: L,
}

impl<L> Timed<L> {
    pub(crate) fn is_empty(&self) -> bool {
        self.exact.count == 0
    }

    /// Returns the same with latencies in another form.
    pub(crate) fn map<M>(&self, form: impl Fn(&L) -> M) -> Timed<M> {
        Timed {
            exact: self.exact,
            latencies: form(&self.latencies),
        }
    }
}

impl Timed {
    /// Records a latency in nanoseconds as if it had been measured that many times.
    pub(crate) fn record_many(&mut self, ns: u64, times: u64) {
        self.exact.record_many(ns, times);
        self.latencies.record_many(ns, times);
    }

    /// Clears the latencies and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.exact = ExactFigures::default();
        self.latencies.clear();
    }
}

impl Timed<Counted> {
    pub(crate) fn merge(&mut self, other: &Timed<Counted>) {
        self.exact = self.exact.merged(&other.exact);
        self.latencies.merge(&other.latencies);
    }
}
