//! Counters and latencies of one request name within a slice.
//!
//! A request is *entered* when it ends and *concluded* when its verdict is final; most are both at once. In between
//! the plan may overrule the verdict, so the exact figures of successes and failures wait for the conclusion.

use super::filled::Filled;
use super::latency::{Burst, Exact, MOST_COUNT, nanoseconds};
use super::names::Label;
use super::phase_times::PhaseDeltas;
use super::sample::Sample;
use super::traced::Traced;
use crate::phases::Phase;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// Requests of one name within one slice.
#[derive(Debug)]
pub(super) struct RequestDelta {
    pub(super) label: Arc<Label>,
    pub(super) counts: RequestCounts,
    pub(super) all: Burst,
    /// Latencies of the failed requests, so that those of the successful ones can be found by subtracting.
    pub(super) failures: Burst,
    /// Latencies of the requests that had failed when they ended, whatever the plan says later: points over time
    /// cannot wait.
    pub(super) failed_at_once: Burst,
    /// Latencies of all requests from their actual start, where `all` counts from the scheduled one; else empty.
    pub(super) service: Burst,
    /// Latencies filled in for late users; allocated with the first.
    pub(super) filled: Option<Box<Filled>>,
    /// Sampled traces; allocated with the first.
    pub(super) traced: Option<Box<Traced>>,
    /// Times of the phases that thresholds look at.
    pub(super) phase_times: PhaseDeltas,
}

impl RequestDelta {
    pub(super) fn new(label: Arc<Label>) -> Self {
        RequestDelta {
            label,
            counts: RequestCounts::default(),
            all: Burst::default(),
            failures: Burst::default(),
            failed_at_once: Burst::default(),
            service: Burst::default(),
            filled: None,
            traced: None,
            phase_times: PhaseDeltas::default(),
        }
    }

    /// Returns whether nothing was counted.
    pub(super) fn is_empty(&self) -> bool {
        let filled = self.filled.as_ref();
        self.counts.is_empty() && filled.is_none_or(|filled| filled.exact.count == 0)
    }

    /// Counts a request that has ended; the times of the phases that are `watched` are kept one by one.
    pub(super) fn enter(&mut self, sample: &Sample<'_>, watched: &[Phase]) {
        let mut ns = nanoseconds(sample.latency);
        let counts = &mut self.counts;
        if sample.delay.is_some() {
            self.service.record(ns);
            counts.service.record(ns);
            ns = response_ns(sample);
        }
        self.all.record(ns);
        counts.all.record(ns);
        counts.failures += i64::from(sample.failure.is_some());
        if sample.failure.is_some() {
            self.failed_at_once.record(ns);
        }
        counts.bytes += sample.bytes;
        counts.redirects += u64::from(sample.redirects);
        counts.retries += u64::from(sample.retries);
        counts.add_status(sample.status, 1);
        for (sum, phase) in counts.phases.iter_mut().zip(sample.phases.in_order()) {
            sum.ns += nanoseconds(phase);
            sum.count += u64::from(!phase.is_zero());
        }
        let answered = sample.status != 0;
        self.phase_times.record(&sample.phases, answered, watched);
    }

    /// Corrects a request that was entered as `failed` or not to what the sample says now.
    pub(super) fn revise(&mut self, sample: &Sample<'_>, failed: bool) {
        let fails = sample.failure.is_some();
        if fails != failed {
            self.counts.failures += i64::from(fails) - i64::from(failed);
            self.counts.revised = true;
        }
    }

    /// Counts the final verdict on a request that was entered; times count from `origin`.
    pub(super) fn conclude(&mut self, sample: &Sample<'_>, origin: Instant) {
        let ns = response_ns(sample);
        if sample.failure.is_some() {
            self.counts.failed.record(ns);
            self.failures.record(ns);
        } else {
            self.counts.ok.record(ns);
        }
        Traced::consider(&mut self.traced, sample, ns, origin);
    }
}

/// Returns the latency in nanoseconds, from the scheduled start in a run at a rate, else from the actual one.
fn response_ns(sample: &Sample<'_>) -> u64 {
    let delay = sample.delay.map_or(0, nanoseconds);
    nanoseconds(sample.latency).saturating_add(delay)
}

/// Plain counters of one request name, in a slice or over a whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestCounts {
    pub(super) all: Exact,
    /// Latencies of the requests that finally succeeded, and of those that finally failed.
    pub(super) ok: Exact,
    pub(super) failed: Exact,
    /// Failures as far as they are known; in a slice also the failures that a later verdict takes back.
    failures: i64,
    /// Whether a verdict was changed: the request itself may have been handed over before.
    revised: bool,
    /// Latencies from the actual start, where `all` counts from the scheduled one.
    pub(super) service: Exact,
    pub(super) bytes: u64,
    pub(super) redirects: u64,
    pub(super) retries: u64,
    pub(super) status: Vec<(u16, u64)>,
    pub(super) phases: [PhaseSum; 6],
}

impl RequestCounts {
    pub(super) fn count(&self) -> u64 {
        self.all.count
    }

    /// Returns the number of failures.
    pub(super) fn failures(&self) -> u64 {
        self.failures.max(0) as u64
    }

    /// Returns by how much it changes the number of failures; may be negative.
    pub(super) fn failures_change(&self) -> i64 {
        self.failures
    }

    /// Returns whether it counts neither a request nor a verdict on one.
    pub(super) fn is_empty(&self) -> bool {
        self.all.count + self.ok.count + self.failed.count == 0 && !self.revised
    }

    pub(super) fn add_status(&mut self, status: u16, count: u64) {
        match self.status.iter_mut().find(|(known, _)| *known == status) {
            Some((_, sum)) => *sum += count,
            None => self.status.push((status, count)),
        }
    }

    pub(super) fn add(&mut self, other: &RequestCounts) {
        self.all = self.all.merged(&other.all);
        self.ok = self.ok.merged(&other.ok);
        self.failed = self.failed.merged(&other.failed);
        self.failures += other.failures;
        self.revised |= other.revised;
        self.service = self.service.merged(&other.service);
        self.bytes += other.bytes;
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

    /// Returns whether a run can have counted this: a file may be damaged.
    pub(super) fn is_plausible(&self) -> bool {
        let exact = [&self.all, &self.ok, &self.failed, &self.service];
        let status = self.status.iter().map(|(_, count)| *count);
        let phases = self.phases.iter().map(|sum| sum.count);
        let plain = [
            self.failures.unsigned_abs(),
            self.redirects,
            self.retries,
            // There may be more bytes than that, but their sum must fit into 64 bits.
            self.bytes >> 10,
        ];
        let mut counts = plain.into_iter().chain(status).chain(phases);
        exact.into_iter().all(Exact::is_plausible) && counts.all(|count| count <= MOST_COUNT)
    }

    /// Clears the counters and keeps their memory.
    pub(super) fn clear(&mut self) {
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
pub(super) struct PhaseSum {
    pub(super) ns: u64,
    pub(super) count: u64,
}
