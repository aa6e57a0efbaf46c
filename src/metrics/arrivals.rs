//! Counts the starts of iterations in a run at a rate: how many happened, how late, and how many found no free
//! user.

use super::counted::Counted;
use super::latency::{self, Burst, ExactFigures, nanoseconds};
use super::plausible;
use super::report::ArrivalsRow;
use crate::units::show_count;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Starts of iterations within one slice; `L` is the form of the latencies, as in
/// [`RequestDelta`](super::request::RequestDelta).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ArrivalDelta<L = Burst> {
    delays: ExactFigures,
    pub(super) all: L,
    #[serde(deserialize_with = "plausible::count")]
    dropped: u64,
}

impl<L> ArrivalDelta<L> {
    /// Returns the same starts with latencies in another form.
    pub(super) fn map<M>(&self, form: impl Fn(&L) -> M) -> ArrivalDelta<M> {
        ArrivalDelta {
            delays: self.delays,
            all: form(&self.all),
            dropped: self.dropped,
        }
    }
}

impl ArrivalDelta<Counted> {
    pub(super) fn merge(&mut self, other: &ArrivalDelta<Counted>) {
        self.delays = self.delays.merged(&other.delays);
        self.all.merge(&other.all);
        self.dropped += other.dropped;
    }
}

impl ArrivalDelta {
    pub(super) fn started(&mut self, delay: Duration) {
        let ns = nanoseconds(delay);
        self.delays.record(ns);
        self.all.record(ns);
    }

    pub(super) fn dropped(&mut self) {
        self.dropped += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.delays.count + self.dropped == 0
    }

    /// Clears the counters and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.delays = ExactFigures::default();
        self.dropped = 0;
        self.all.clear();
    }
}

/// Starts of iterations over the whole run.
#[derive(Debug, Default)]
pub(super) struct ArrivalLog {
    delays: ExactFigures,
    all: Option<Histogram<u64>>,
    dropped: u64,
}

impl ArrivalLog {
    pub(super) fn merge(&mut self, delta: &ArrivalDelta) {
        if !delta.is_empty() {
            self.delays = self.delays.merged(&delta.delays);
            self.dropped += delta.dropped;
            delta
                .all
                .add_to(self.all.get_or_insert_with(latency::histogram));
        }
    }

    pub(super) fn dropped_count(&self) -> u64 {
        self.dropped
    }

    /// Returns the delay that 99 % of the starts did not exceed; zero in a run of users.
    pub(super) fn late_p99(&self) -> Duration {
        let late = self.all.as_ref();
        late.map_or(Duration::ZERO, |all| self.delays.quantiles(all, [0.99])[0])
    }

    /// Returns the row of the report; `None` in a run of users.
    pub(super) fn row(&self) -> Option<ArrivalsRow> {
        let all = self.all.as_ref()?;
        Some(ArrivalsRow {
            started: self.delays.count,
            dropped: self.dropped,
            delay_ms: latency::summary(&self.delays, all),
        })
    }
}

impl ArrivalsRow {
    /// Returns a warning about the percentiles if starts were dropped.
    pub(super) fn warning(&self) -> Option<String> {
        let (dropped, due) = (self.dropped, self.started + self.dropped);
        (dropped > 0).then(|| {
            format!(
                "{} of {} iterations found no free user and were dropped, so the percentiles are too low: the dropped ones would have waited longest; raise '--max-users'",
                show_count(dropped),
                show_count(due)
            )
        })
    }
}
