//! Latencies with their exact figures beside them, within one slice: times of one phase, and latencies filled in for
//! late users.

use super::counted::Counted;
use super::latency::{Burst, ExactFigures};
use serde::{Deserialize, Serialize};

/// Latencies with their exact figures; `L` is the form of the latencies, as in
/// [`RequestDelta`](super::request::RequestDelta).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Timed<L = Burst> {
    pub(super) exact: ExactFigures,
    pub(super) latencies: L,
}

impl<L> Timed<L> {
    pub(super) fn is_empty(&self) -> bool {
        self.exact.count == 0
    }

    /// Returns the same with latencies in another form.
    pub(super) fn map<M>(&self, form: impl Fn(&L) -> M) -> Timed<M> {
        Timed {
            exact: self.exact,
            latencies: form(&self.latencies),
        }
    }
}

impl Timed {
    /// Records a latency in nanoseconds as if it had been measured that many times.
    pub(super) fn record_many(&mut self, ns: u64, times: u64) {
        self.exact.record_many(ns, times);
        self.latencies.record_many(ns, times);
    }

    /// Clears the latencies and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.exact = ExactFigures::default();
        self.latencies.clear();
    }
}

impl Timed<Counted> {
    pub(super) fn merge(&mut self, other: &Timed<Counted>) {
        self.exact = self.exact.merged(&other.exact);
        self.latencies.merge(&other.latencies);
    }
}
