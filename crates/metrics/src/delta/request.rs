//! Counters and latencies of one request name within a slice.
//!
//! A request is *entered* when it ends and *concluded* when its verdict is final; most are both at once. In between
//! the plan may overrule the verdict, so the exact figures of successes and failures wait for the conclusion.

use super::plausible;
use crate::exemplars::{NameTraces, Slowest};
use crate::latencies::{Burst, Counted, ExactFigures, PartDeltas, Timed, nanoseconds};
use crate::record::{Sample, SampleResponse, Traffic, WaitingRequests};
use lgoose_base::phases::Phase;
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::{Index, IndexMut};
use std::time::Instant;

/// Kinds of latencies that the requests of one name have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LatencyKind {
    All,
    /// Those of the failed requests, so that those of the successful ones can be found by subtracting.
    Failed,
    /// Those of the requests that had failed when they ended, whatever the plan says later: points over time cannot
    /// wait.
    FailedAtOnce,
    /// Those of the requests that the plan has failed since they ended.
    FailedLater,
    /// Those of the requests that the plan has passed since they ended.
    PassedLater,
    /// Those of all requests from their actual start, where `All` counts from the scheduled one; else none.
    Service,
}

/// Requests of one name within one slice. `L` is the form of the latencies: a shard counts in bursts; figures that
/// are added up over shards, sent and stored have [`Counted`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestDelta<L = Burst> {
    pub(crate) counts: RequestCounts,
    /// Streams that were opened, each of which is counted as a request when it ends.
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) opened: u64,
    /// Latencies by [`LatencyKind`].
    latencies: [L; 6],
    /// Latencies filled in for late users; allocated with the first.
    pub(crate) filled: Option<Box<Timed<L>>>,
    /// Those that had waited for long at the end of the slice.
    pub(crate) waiting: WaitingRequests,
    pub(crate) slowest: Slowest,
    /// Sampled traces; allocated with the first.
    pub(crate) traced: Option<Box<NameTraces>>,
    /// Times of the phases that thresholds look at, and of the messages of streams.
    pub(crate) part_times: PartDeltas<L>,
}

impl<L> Index<LatencyKind> for RequestDelta<L> {
    type Output = L;

    fn index(&self, kind: LatencyKind) -> &L {
        &self.latencies[kind as usize]
    }
}

impl<L> IndexMut<LatencyKind> for RequestDelta<L> {
    fn index_mut(&mut self, kind: LatencyKind) -> &mut L {
        &mut self.latencies[kind as usize]
    }
}

impl<L> RequestDelta<L> {
    /// Returns whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        let filled = self.filled.as_ref();
        self.counts.is_empty()
            && filled.is_none_or(|filled| filled.is_empty())
            && self.part_times.is_empty()
            && self.counts.traffic == Traffic::default()
            && self.waiting.count == 0
            && self.opened == 0
    }

    /// Returns the same figures with latencies in another form.
    pub(crate) fn map<M>(&self, form: impl Fn(&L) -> M) -> RequestDelta<M> {
        let filled = self.filled.as_ref();
        let part_times = self.part_times.0.iter();
        let part_times = part_times.map(|(part, times)| (*part, times.map(&form)));
        RequestDelta {
            counts: self.counts.clone(),
            opened: self.opened,
            latencies: self.latencies.each_ref().map(&form),
            filled: filled.map(|filled| Box::new(filled.map(&form))),
            waiting: self.waiting,
            slowest: self.slowest.clone(),
            traced: self.traced.clone(),
            part_times: PartDeltas(part_times.collect()),
        }
    }
}

impl RequestDelta<Counted> {
    /// Converts the counts of a shard, and leaves out empty parts.
    pub(crate) fn of(row: &RequestDelta) -> Self {
        let mut counted = row.map(Burst::counted);
        counted.counts.status.sort_unstable();
        counted.filled = counted.filled.filter(|filled| !filled.is_empty());
        counted.traced = counted.traced.filter(|traced| !traced.is_empty());
        counted.part_times.0.retain(|_, times| !times.is_empty());
        counted
    }

    /// Adds the requests of other shards, or of the same at another time.
    pub(crate) fn merge(&mut self, other: &Self) {
        // Taken apart, so that no field can be forgotten.
        let RequestDelta {
            counts,
            opened,
            latencies,
            filled,
            waiting,
            slowest,
            traced,
            part_times,
        } = other;
        self.opened += opened;
        self.waiting.add(*waiting);
        self.counts.add(counts);
        self.counts.status.sort_unstable();
        for (sum, more) in self.latencies.iter_mut().zip(latencies) {
            sum.merge(more);
        }
        if let Some(filled) = filled {
            self.filled.get_or_insert_default().merge(filled);
        }
        self.slowest.merge(slowest);
        if let Some(traced) = traced {
            self.traced.get_or_insert_default().merge(traced);
        }
        for (part, times) in &part_times.0 {
            self.part_times.0.entry(*part).or_default().merge(times);
        }
    }

    /// Rounds latencies as [`Counted::condense`] does.
    pub(crate) fn condense(&mut self, most: usize) {
        let RequestDelta {
            counts: _,
            opened: _,
            latencies,
            filled,
            waiting: _,
            slowest: _,
            traced: _,
            part_times,
        } = self;
        for counted in latencies {
            counted.condense(most);
        }
        for timed in filled
            .as_deref_mut()
            .into_iter()
            .chain(part_times.0.values_mut())
        {
            timed.latencies.condense(most);
        }
    }
}

impl RequestDelta {
    /// Counts a request that has ended; the times of the phases that are `watched` are kept one by one.
    pub(crate) fn enter(&mut self, sample: &Sample<'_>, watched: &[Phase]) {
        let mut ns = nanoseconds(sample.latency);
        if sample.delay.is_some() {
            self[LatencyKind::Service].record(ns);
            self.counts.service.record(ns);
            ns = response_ns(sample);
        }
        self[LatencyKind::All].record(ns);
        if sample.failure.is_some() {
            self[LatencyKind::FailedAtOnce].record(ns);
        }
        let counts = &mut self.counts;
        counts.all.record(ns);
        counts.failures += i64::from(sample.failure.is_some());
        counts.traffic += sample.traffic;
        counts.redirects += u64::from(sample.redirects);
        counts.retries += u64::from(sample.retries);
        if sample.response != SampleResponse::WithoutStatus {
            counts.add_status(sample.response.status(), 1);
        }
        for (sum, phase) in counts.phases.iter_mut().zip(sample.phases.in_order()) {
            sum.ns += nanoseconds(phase);
            sum.count += u64::from(!phase.is_zero());
        }
        let responded = sample.response != SampleResponse::Missing;
        self.part_times.record(&sample.phases, responded, watched);
    }

    /// Corrects a request that was entered as `failed` or not to the verdict that the sample has now.
    pub(crate) fn revise(&mut self, sample: &Sample<'_>, failed: bool) {
        let fails = sample.failure.is_some();
        if fails != failed {
            self.counts.failures += i64::from(fails) - i64::from(failed);
            self.counts.revised = true;
            let later = if fails {
                LatencyKind::FailedLater
            } else {
                LatencyKind::PassedLater
            };
            self[later].record(response_ns(sample));
        }
    }

    /// Counts the final verdict on a request that was entered; times count from `origin`.
    pub(crate) fn conclude(&mut self, sample: &Sample<'_>, origin: Instant) {
        let ns = response_ns(sample);
        if sample.failure.is_some() {
            self.counts.failed.record(ns);
            self[LatencyKind::Failed].record(ns);
        } else {
            self.counts.ok.record(ns);
        }
        self.slowest.consider(sample, ns, origin);
        NameTraces::consider(&mut self.traced, sample, ns, origin);
    }

    /// Clears the counters and keeps their memory.
    pub(crate) fn clear(&mut self) {
        let RequestDelta {
            counts,
            opened,
            latencies,
            filled,
            waiting,
            slowest,
            traced,
            part_times,
        } = self;
        *opened = 0;
        *waiting = WaitingRequests::default();
        counts.clear();
        slowest.clear();
        for burst in latencies {
            burst.clear();
        }
        for timed in filled
            .as_deref_mut()
            .into_iter()
            .chain(part_times.0.values_mut())
        {
            timed.clear();
        }
        if let Some(traced) = traced {
            traced.clear();
        }
    }
}

/// Returns the latency in nanoseconds, from the scheduled start in a run at a rate, else from the actual one.
fn response_ns(sample: &Sample<'_>) -> u64 {
    let delay = sample.delay.map_or(0, nanoseconds);
    nanoseconds(sample.latency).saturating_add(delay)
}

/// Plain counters of one request name, in a slice or over a whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestCounts {
    pub(crate) all: ExactFigures,
    /// Latencies of the requests that finally succeeded, and of those that finally failed.
    pub(crate) ok: ExactFigures,
    pub(crate) failed: ExactFigures,
    /// Failures as far as they are known; in a slice also the failures that a later verdict takes back.
    #[serde(deserialize_with = "plausible::change")]
    failures: i64,
    /// Whether a verdict was changed: the request itself may have been handed over before.
    revised: bool,
    /// Latencies from the actual start, where `all` counts from the scheduled one.
    pub(crate) service: ExactFigures,
    pub(crate) traffic: Traffic,
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) redirects: u64,
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) retries: u64,
    #[serde(deserialize_with = "status_counts")]
    pub(crate) status: Vec<(u16, u64)>,
    pub(crate) phases: [PhaseSum; 6],
}

impl RequestCounts {
    pub(crate) fn count(&self) -> u64 {
        self.all.count
    }

    /// Returns the number of failures.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.max(0) as u64
    }

    /// Returns by how much it changes the number of failures; may be negative.
    pub(crate) fn failures_change(&self) -> i64 {
        self.failures
    }

    /// Returns whether it counts neither a request nor a verdict on one.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.count + self.ok.count + self.failed.count == 0 && !self.revised
    }

    pub(crate) fn add_status(&mut self, status: u16, count: u64) {
        match self.status.iter_mut().find(|(other, _)| *other == status) {
            Some((_, sum)) => *sum += count,
            None => self.status.push((status, count)),
        }
    }

    pub(crate) fn add(&mut self, other: &RequestCounts) {
        self.all = self.all.merged(&other.all);
        self.ok = self.ok.merged(&other.ok);
        self.failed = self.failed.merged(&other.failed);
        self.failures += other.failures;
        self.revised |= other.revised;
        self.service = self.service.merged(&other.service);
        self.traffic += other.traffic;
        self.redirects += other.redirects;
        self.retries += other.retries;
        for (status, count) in &other.status {
            self.add_status(*status, *count);
        }
        for (sum, more) in self.phases.iter_mut().zip(other.phases) {
            sum.ns = sum.ns.saturating_add(more.ns);
            sum.count += more.count;
        }
    }

    /// Clears the counters and keeps their memory.
    pub(crate) fn clear(&mut self) {
        let mut status = std::mem::take(&mut self.status);
        status.clear();
        *self = RequestCounts {
            status,
            ..RequestCounts::default()
        };
    }
}

/// Total time of one phase, and how many requests had it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PhaseSum {
    pub(crate) ns: u64,
    #[serde(deserialize_with = "plausible::count")]
    pub(crate) count: u64,
}

/// Reads counts by status, of which each occurs once.
fn status_counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u16, u64)>, D::Error> {
    plausible::checked(deserializer, |counts: &Vec<(u16, u64)>| {
        counts.is_sorted_by(|a, b| a.0 < b.0)
            && counts
                .iter()
                .all(|(_, count)| *count <= plausible::MOST_COUNT)
    })
}
