//! Counts the starts of iterations in a run at a rate: how many happened, how late, and how many found no free
//! user.

use crate::latencies::{Burst, Counted, ExactFigures, histogram, nanoseconds, summary};
use crate::report::{ArrivalsRow, ScenarioArrivals, ScenarioRow};
use hdrhistogram::Histogram;
use lgoose_base::error::printable;
use lgoose_base::units::show_count;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Starts of iterations within one slice; `L` is the form of the latencies, as in
/// [`RequestDelta`](super::request::RequestDelta).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArrivalDelta<L = Burst> {
    delays: ExactFigures,
    pub(crate) all: L,
}

impl<L> ArrivalDelta<L> {
    /// Returns the same starts with latencies in another form.
    pub(crate) fn map<M>(&self, form: impl Fn(&L) -> M) -> ArrivalDelta<M> {
        ArrivalDelta {
            delays: self.delays,
            all: form(&self.all),
        }
    }
}

impl ArrivalDelta<Counted> {
    pub(crate) fn merge(&mut self, other: &ArrivalDelta<Counted>) {
        self.delays = self.delays.merged(&other.delays);
        self.all.merge(&other.all);
    }
}

impl ArrivalDelta {
    pub(crate) fn started(&mut self, delay: Duration) {
        let ns = nanoseconds(delay);
        self.delays.record(ns);
        self.all.record(ns);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.delays.count == 0
    }

    /// Clears the counters and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.delays = ExactFigures::default();
        self.all.clear();
    }
}

/// Starts of iterations over the whole run: how late they were. How many there were is counted by scenario.
#[derive(Debug, Default)]
pub(crate) struct ArrivalLog {
    /// All of them, with latencies once there were any.
    sums: ArrivalDelta<Option<Histogram<u64>>>,
    /// Iterations of which nothing is known, since lost workers were to start them.
    missing: u64,
}

impl ArrivalLog {
    pub(crate) fn merge(&mut self, delta: &ArrivalDelta) {
        if !delta.is_empty() {
            self.sums.delays = self.sums.delays.merged(&delta.delays);
            let all = self.sums.all.get_or_insert_with(histogram::empty);
            delta.all.add_to(all);
        }
    }

    /// Sets the number of iterations of which nothing is known.
    pub(crate) fn set_missing(&mut self, missing: u64) {
        self.missing = missing;
    }

    /// Returns the delay that 99 % of the starts did not exceed; zero in a run of users.
    pub(crate) fn late_p99(&self) -> Duration {
        let (late, delays) = (self.sums.all.as_ref(), &self.sums.delays);
        late.map_or(Duration::ZERO, |all| delays.quantiles(all, [0.99])[0])
    }

    /// Returns the row of the report; `None` in a run of users.
    pub(crate) fn row(&self, counts: ScenarioArrivals) -> Option<ArrivalsRow> {
        let all = self.sums.all.as_ref();
        let is_empty = counts.due() + self.missing == 0 && all.is_none();
        (!is_empty).then(|| ArrivalsRow {
            started: counts.started,
            dropped: counts.dropped,
            missing: self.missing,
            delay_ms: all.and_then(|all| summary(&self.sums.delays, all)),
        })
    }

    /// Returns a warning about iterations of which nothing is known.
    pub(crate) fn missing(&self, counts: ScenarioArrivals) -> Option<String> {
        (self.missing > 0).then(|| {
            format!(
                "nothing is known of {} of {} iterations: they were due on workers that were lost, which may have started them",
                show_count(self.missing),
                show_count(counts.due() + self.missing)
            )
        })
    }
}

/// Returns a warning about the percentiles if starts were dropped, given the counts of each scenario.
pub(crate) fn dropped_warning(scenarios: &[ScenarioRow]) -> Option<String> {
    let rows = || {
        scenarios
            .iter()
            .filter_map(|row| Some((&row.name, row.arrivals?)))
    };
    let mut all = ScenarioArrivals::default();
    rows().for_each(|(_, counts)| all.add(counts));
    let of = |counts: ScenarioArrivals| {
        format!(
            "{} of {}",
            show_count(counts.dropped),
            show_count(counts.due())
        )
    };
    let by_scenario: Vec<String> = rows()
        .filter(|(_, counts)| counts.dropped > 0)
        .map(|(name, counts)| format!("{} of '{}'", of(counts), printable(name)))
        .collect();
    let which = match rows().count() {
        0 | 1 => String::new(),
        _ => format!(" ({})", by_scenario.join(", ")),
    };
    (all.dropped > 0).then(|| {
        format!(
            "{} iterations found no free user, or no turn under a limit on the rate, and were dropped{which}, so the percentiles are too low: the dropped ones would have waited longest; raise '--max-users' or that limit",
            of(all)
        )
    })
}
