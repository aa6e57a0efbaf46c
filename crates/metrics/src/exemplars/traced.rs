//! Keeps the sampled traces of a request name, those that the site is to keep too: of the slowest three requests, and
//! for metrics of the latest request in each bucket of latencies and of the latest failed one. Without `--trace` there
//! are none.

use super::slowest::Slowest;
use crate::delta::plausible;
use crate::latencies::nanoseconds;
use crate::record::Sample;
use crate::report::{HopRow, LatestTrace, SlowRequest, TraceRow};
use lgoose_base::trace::{Trace, TraceContext, span_id_text, trace_id_text};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// Borders of the buckets, in seconds; one bucket lies beyond the last.
pub const BORDERS: [f64; 17] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0,
    300.0, 1_800.0,
];

/// Traces of one name, in a slice or over a whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NameTraces {
    slowest: Slowest,
    /// The latest request by the number of its bucket.
    #[serde(deserialize_with = "latest")]
    latest: BTreeMap<u8, LatestRequest>,
    /// The latest failed request.
    failed: Option<LatestRequest>,
}

/// A request, ordered by its end; requests that ended at the same time are ordered by user and trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct LatestRequest {
    end_ns: u64,
    user: u64,
    trace_id: u128,
    response_ns: u64,
}

impl LatestRequest {
    fn shown(self) -> LatestTrace {
        LatestTrace {
            trace_id: self.trace_id,
            latency_s: self.response_ns as f64 / 1e9,
            end_ns: self.end_ns,
        }
    }
}

impl TraceRow {
    /// Makes the row of a trace; times count from `origin`.
    pub(crate) fn of(trace: &Trace, origin: Instant) -> TraceRow {
        let TraceContext {
            trace_id,
            span_id,
            sampled,
        } = trace.first;
        let hops = trace.hops.iter().map(|hop| HopRow {
            span_id: span_id_text(hop.span_id),
            start_ns: nanoseconds(hop.start.saturating_duration_since(origin)),
        });
        TraceRow {
            trace_id: trace_id_text(trace_id),
            span_id: span_id_text(span_id),
            sampled,
            hops: hops.collect(),
        }
    }
}

impl NameTraces {
    /// Keeps a request if its trace is sampled and it is among the slowest, or the latest of its bucket. `response_ns`
    /// is its latency as its name counts it.
    pub(crate) fn consider(
        traced: &mut Option<Box<NameTraces>>,
        sample: &Sample<'_>,
        response_ns: u64,
        origin: Instant,
    ) {
        let Some(context) = &sample.context else {
            return;
        };
        let Some(trace) = context.trace.filter(|trace| trace.first.sampled) else {
            return;
        };
        let traced = traced.get_or_insert_default();
        let end = sample.start + sample.latency;
        let latest = LatestRequest {
            end_ns: nanoseconds(end.saturating_duration_since(origin)),
            user: context.user,
            trace_id: trace.first.trace_id.get(),
            response_ns,
        };
        traced.see(bucket(response_ns), latest);
        if sample.failure.is_some() {
            traced.failed = traced.failed.max(Some(latest));
        }
        if traced.slowest.takes(response_ns as f64 / 1e6) {
            traced.slowest.add(SlowRequest::of(sample, context, origin));
        }
    }

    /// Adds what another shard, or another tick, has kept.
    pub(crate) fn merge(&mut self, other: &NameTraces) {
        self.slowest.merge(&other.slowest);
        for (bucket, latest) in &other.latest {
            self.see(*bucket, *latest);
        }
        self.failed = self.failed.max(other.failed);
    }

    fn see(&mut self, bucket: u8, latest: LatestRequest) {
        let existing = self.latest.entry(bucket).or_insert(latest);
        *existing = latest.max(*existing);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.latest.is_empty()
    }

    /// Forgets all requests and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.slowest.clear();
        self.latest.clear();
        self.failed = None;
    }

    /// Returns the slowest requests.
    pub(crate) fn slowest(&self) -> Vec<SlowRequest> {
        self.slowest.list()
    }

    /// Returns the latest request of each bucket that has one, by the bucket's number.
    pub(crate) fn latest(&self) -> BTreeMap<u8, LatestTrace> {
        let latest = self.latest.iter();
        latest
            .map(|(bucket, latest)| (*bucket, latest.shown()))
            .collect()
    }

    /// Returns the latest request that failed.
    pub(crate) fn latest_failed(&self) -> Option<LatestTrace> {
        self.failed.map(LatestRequest::shown)
    }
}

fn latest<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u8, LatestRequest>, D::Error> {
    plausible::checked(deserializer, |latest: &BTreeMap<u8, LatestRequest>| {
        let mut buckets = latest.keys();
        buckets.all(|bucket| usize::from(*bucket) <= BORDERS.len())
    })
}

/// Returns the number of the bucket of a latency: the first whose border is not below it.
fn bucket(ns: u64) -> u8 {
    let seconds = ns as f64 / 1e9;
    BORDERS.partition_point(|border| *border < seconds) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(start_ns: u64, latency_ms: f64) -> SlowRequest {
        SlowRequest {
            start_ns,
            latency_ms,
            ..SlowRequest::default()
        }
    }

    fn latest(end_ns: u64, trace_id: u128) -> LatestRequest {
        LatestRequest {
            end_ns,
            user: 1,
            trace_id,
            response_ns: 5,
        }
    }

    fn traced_of(all: &[(u64, f64)]) -> NameTraces {
        let mut traced = NameTraces::default();
        for (start_ns, latency_ms) in all {
            traced.slowest.add(request(*start_ns, *latency_ms));
            let bucket = bucket((latency_ms * 1e6) as u64);
            traced.see(bucket, latest(*start_ns, u128::from(*start_ns)));
        }
        traced
    }

    #[test]
    fn shards_merged_in_any_order_retain_the_same() {
        let (one, other) = (
            traced_of(&[(1, 4.0), (2, 9.0), (3, 700.0), (4, 2.0)]),
            traced_of(&[(5, 4.0), (6, 9.0), (7, 1.5)]),
        );
        let (mut forth, mut back) = (one.clone(), other.clone());
        forth.merge(&other);
        back.merge(&one);
        assert_eq!(forth, back);
        let slowest: Vec<u64> = forth.slowest().iter().map(|one| one.start_ns).collect();
        assert_eq!(slowest, [3, 2, 6]);
        let latest = forth.latest();
        let latest: Vec<_> = latest.iter().map(|(at, one)| (*at, one.trace_id)).collect();
        assert_eq!(latest, [(1, 7), (2, 5), (3, 6), (9, 3)]);
        forth.merge(&back.clone());
        assert_eq!(forth.latest, back.latest, "nothing is newer");
    }

    #[test]
    fn a_latency_is_in_the_bucket_whose_border_is_not_below_it() {
        for (ns, expected) in [
            (0, 0),
            (1_000_000, 0),
            (1_000_001, 1),
            (1_000_000_000, 9),
            (1_800_000_000_001, 17),
        ] {
            assert_eq!(bucket(ns), expected, "{ns}");
        }
    }
}
