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
    /// Those among the dropped ones that were started, and ended before their first request.
    #[serde(deserialize_with = "plausible::count")]
    given_up: u64,
}

impl<L> ArrivalDelta<L> {
    /// Returns the same starts with latencies in another form.
    pub(super) fn map<M>(&self, form: impl Fn(&L) -> M) -> ArrivalDelta<M> {
        ArrivalDelta {
            delays: self.delays,
            all: form(&self.all),
            dropped: self.dropped,
            given_up: self.given_up,
        }
    }

    /// Returns how many iterations were started, and how many found no free user.
    pub(super) fn counts(&self) -> (u64, u64) {
        let started = self.delays.count.saturating_sub(self.given_up);
        (started, self.dropped)
    }

    /// Adds everything but the latencies.
    fn add<M>(&mut self, other: &ArrivalDelta<M>) {
        self.delays = self.delays.merged(&other.delays);
        self.dropped += other.dropped;
        self.given_up += other.given_up;
    }
}

impl ArrivalDelta<Counted> {
    pub(super) fn merge(&mut self, other: &ArrivalDelta<Counted>) {
        self.add(other);
        self.all.merge(&other.all);
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

    /// Takes a start back that has led to no request.
    pub(super) fn given_up(&mut self) {
        self.dropped += 1;
        self.given_up += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.delays.count + self.dropped == 0
    }

    /// Clears the counters and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.delays = ExactFigures::default();
        (self.dropped, self.given_up) = (0, 0);
        self.all.clear();
    }
}

/// Starts of iterations over the whole run.
#[derive(Debug, Default)]
pub(super) struct ArrivalLog {
    /// All of them, with latencies once there were any.
    sums: ArrivalDelta<Option<Histogram<u64>>>,
    /// Those among the dropped ones that lost workers were to start.
    missing: u64,
}

impl ArrivalLog {
    pub(super) fn merge(&mut self, delta: &ArrivalDelta) {
        if !delta.is_empty() {
            self.sums.add(delta);
            let all = self.sums.all.get_or_insert_with(latency::histogram);
            delta.all.add_to(all);
        }
    }

    /// Counts as dropped what lost workers were to start: `due` were to be started in all.
    pub(super) fn drop_missing(&mut self, due: u64) {
        let (started, dropped) = self.counts();
        self.missing = due.saturating_sub(started + dropped);
        self.sums.dropped += self.missing;
        // A run whose workers started nothing has a row, too.
        self.sums.all.get_or_insert_with(latency::histogram);
    }

    /// Returns how many iterations were started, and how many were not.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.sums.counts()
    }

    /// Returns the delay that 99 % of the starts did not exceed; zero in a run of users.
    pub(super) fn late_p99(&self) -> Duration {
        let (late, delays) = (self.sums.all.as_ref(), &self.sums.delays);
        late.map_or(Duration::ZERO, |all| delays.quantiles(all, [0.99])[0])
    }

    /// Returns the row of the report; `None` in a run of users.
    pub(super) fn row(&self) -> Option<ArrivalsRow> {
        let all = self.sums.all.as_ref()?;
        let (started, dropped) = self.counts();
        Some(ArrivalsRow {
            started,
            dropped,
            delay_ms: latency::summary(&self.sums.delays, all),
        })
    }
}

impl ArrivalLog {
    /// Returns a warning about iterations that lost workers were to start.
    pub(super) fn missing(&self) -> Option<String> {
        let (started, dropped) = self.counts();
        (self.missing > 0).then(|| {
            format!(
                "{} of {} iterations count as dropped: they were due on workers that were lost",
                show_count(self.missing),
                show_count(started + dropped)
            )
        })
    }

    /// Returns a warning about the percentiles if starts were dropped.
    pub(super) fn warning(&self) -> Option<String> {
        let (started, dropped) = self.counts();
        let (due, dropped) = (started + dropped, dropped - self.missing);
        (dropped > 0).then(|| {
            format!(
                "{} of {} iterations found no free user, or no turn under a limit on the rate, and were dropped, so the percentiles are too low: the dropped ones would have waited longest; raise '--max-users' or that limit",
                show_count(dropped),
                show_count(due)
            )
        })
    }
}
