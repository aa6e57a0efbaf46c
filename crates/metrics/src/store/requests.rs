//! Requests in the store: counts and latencies of each name and of all together, over the whole measurement, over
//! time and of the last ten seconds. Every slice of a shard's delta is added to all of them at once. Latencies filled in
//! for late users are kept apart from the measured ones.

use super::by_tag::{self, ByTag};
use super::table::RowTable;
use super::tally::RequestTally;
use super::warnings::Warnings;
use crate::delta::{LatencyKind, NamedRow, SliceDelta};
use crate::generator::{GeneratorLog, Latencies};
use crate::latencies::{ExactFigures, histogram, summary};
use crate::over_time::{ByName, RecentCounts, RecentRequests, Series, by_name, series};
use crate::record::too_many_requests;
use crate::report::{CoMitigation, CoRow, Latency, RunIdentity};
use hdrhistogram::Histogram;
use std::time::Duration;

/// Requests of a measurement.
#[derive(Debug)]
pub(super) struct MeasuredRequests {
    pub(super) by_label: RowTable<RequestTally>,
    pub(super) by_tag: ByTag,
    pub(super) total: RequestTally,
    pub(super) series: Series,
    pub(super) series_by_name: ByName,
    pub(super) recent: RecentRequests,
    /// Cadences of cycles that were late.
    pub(super) late: ExactFigures,
    slice: SliceLatencies,
}

/// Latencies of all names within a slice: gathered once, then added to the total and the series.
#[derive(Debug)]
struct SliceLatencies {
    all: Histogram<u64>,
    failed: Histogram<u64>,
    finally_failed: Histogram<u64>,
}

impl MeasuredRequests {
    pub(super) fn new() -> Self {
        MeasuredRequests {
            by_label: RowTable::new(),
            by_tag: ByTag::default(),
            total: RequestTally::default(),
            series: Series::default(),
            series_by_name: ByName::default(),
            recent: RecentRequests::default(),
            late: ExactFigures::default(),
            slice: SliceLatencies {
                all: histogram::empty(),
                failed: histogram::empty(),
                finally_failed: histogram::empty(),
            },
        }
    }

    /// Adds the requests of a slice; `shard` is the one whose numbers the rows have, if they have any.
    pub(super) fn merge(
        &mut self,
        shard: Option<usize>,
        slice: &SliceDelta,
        generator: &mut GeneratorLog,
        warnings: &mut Warnings,
    ) {
        let second = slice.span.second();
        let (mut exact, mut failures, mut bytes) = (ExactFigures::default(), 0, 0);
        for (
            id,
            NamedRow {
                label,
                figures: row,
            },
        ) in slice.requests.iter().enumerate()
        {
            if row.is_empty() {
                continue;
            }
            let (at, overflow) = self.by_label.row(shard, id, label);
            if overflow {
                warnings.add(too_many_requests());
            }
            self.by_label.rows[at].merge(row);
            if self.by_tag.merge(at, label, row) {
                warnings.add(by_tag::TOO_MANY.to_owned());
            }
            self.total.merge_counts(row);
            if row.counts.is_empty() {
                // A stream that is open: its request is counted when it ends.
                continue;
            }
            row[LatencyKind::All].add_to(&mut self.slice.all);
            row[LatencyKind::FailedAtOnce].add_to(&mut self.slice.failed);
            row[LatencyKind::Failed].add_to(&mut self.slice.finally_failed);
            generator.add_service(second, row);
            exact = exact.merged(&row.counts.all);
            failures += row.counts.failures_change();
            bytes += row.counts.traffic.received;
            let more = by_name::NameAddition {
                exact: row.counts.all,
                failures: row.counts.failures_change(),
                latencies: &row[LatencyKind::All],
                failed: &row[LatencyKind::Failed],
            };
            self.series_by_name.add(at, second, more);
            let counts = RecentCounts {
                requests: row.counts.count(),
                failures: row.counts.failures_change(),
            };
            self.recent.add(at, counts);
        }
        if exact.count > 0 || failures != 0 || !self.slice.finally_failed.is_empty() {
            self.total.add_latencies(&self.slice.all);
            let more = series::SecondAddition {
                exact,
                failures,
                bytes,
                latencies: &self.slice.all,
                failed: &self.slice.failed,
                finally_failed: &self.slice.finally_failed,
            };
            self.series.add(second, more);
            self.slice.clear();
        }
        self.merge_filled(shard, slice);
    }

    /// Closes the seconds that are over at `until`, in nanoseconds since the measurement began; `lasted` says how
    /// much of a time was not spent in a pause.
    pub(super) fn close(
        &mut self,
        until: u64,
        lasted: impl Fn(u64, u64) -> Duration + Copy,
        generator: &mut GeneratorLog,
    ) {
        self.series.close(until, lasted, generator);
        self.series_by_name.close(until, lasted);
    }

    /// Forgets everything but the names; `now` is the moment since the start of the run.
    pub(super) fn reset(&mut self, now: Duration) {
        self.by_label.clear();
        self.by_tag.reset(now);
        self.total = RequestTally::default();
        self.series = Series::default();
        self.series_by_name.reset();
        self.recent = RecentRequests::starting(now);
        self.late = ExactFigures::default();
        self.slice.clear();
    }

    /// Summarizes the latencies of the successful requests, given the number of users and the measured time; `None` without any.
    pub(super) fn latencies(&self, users: u64, measured: Duration) -> Option<Latencies> {
        let whole = Latencies::of(&self.total.counts.ok, &self.total.ok_latencies())?;
        Some(whole.by(users, measured))
    }

    /// Adds the latencies that a shard filled in.
    pub(super) fn merge_filled(&mut self, shard: Option<usize>, delta: &SliceDelta) {
        if delta.late.count == 0 {
            return;
        }
        self.late = self.late.merged(&delta.late);
        for (id, row) in delta.requests.iter().enumerate() {
            let filled = row.figures.filled.as_deref();
            let Some(filled) = filled.filter(|filled| !filled.is_empty()) else {
                continue;
            };
            let (at, _) = self.by_label.row(shard, id, &row.label);
            for tally in [&mut self.by_label.rows[at], &mut self.total] {
                tally.filled.get_or_insert_default().add_slice(filled);
            }
            self.by_tag.merge_filled(at, &row.label, filled);
        }
    }

    /// Returns the figures with the latencies that were filled in, if the correction is on, and either was
    /// requested or makes a difference.
    pub(super) fn co_mitigation(&self, identity: &RunIdentity) -> Option<CoMitigation> {
        let cadence = identity.co_mitigation?;
        let aggregated = self.total.corrected();
        let differs = || {
            let measured = summary(&self.total.exact(), &self.total.all.histogram());
            let pair = measured.zip(aggregated.latency_ms);
            pair.is_some_and(|(measured, corrected)| differ(&measured, &corrected))
        };
        if !identity.co_wanted && !differs() {
            return None;
        }
        let rows = self.by_label.named();
        let mut requests: Vec<CoRow> = rows
            .filter(|(_, row)| row.filled.is_some())
            .map(|(label, row)| CoRow {
                method: label.group.to_string(),
                name: label.name.to_string(),
                figures: row.corrected(),
            })
            .collect();
        requests.sort_by_key(|row| identity.place_of_name(&row.name));
        Some(CoMitigation {
            cadence,
            late_cycles: self.late.count,
            cadence_ms: (self.late.count > 0).then(|| self.late.mean_ms()),
            measured_p99_ms: summary(&self.total.exact(), &self.total.all.histogram())
                .map(|all| all.p99),
            requests,
            aggregated,
        })
    }
}

impl SliceLatencies {
    fn clear(&mut self) {
        self.all.reset();
        if !self.finally_failed.is_empty() {
            self.finally_failed.reset();
        }
        if !self.failed.is_empty() {
            self.failed.reset();
        }
    }
}

/// Returns whether the correction matters to a reader: some corrected figure is more than a tenth above the measured
/// one.
fn differ(measured: &Latency, corrected: &Latency) -> bool {
    let pairs = [
        (measured.avg, corrected.avg),
        (measured.p50, corrected.p50),
        (measured.p90, corrected.p90),
        (measured.p95, corrected.p95),
        (measured.p99, corrected.p99),
        (measured.p99_9, corrected.p99_9),
    ];
    pairs
        .iter()
        .any(|(measured, corrected)| *corrected > 1.1 * measured)
}
