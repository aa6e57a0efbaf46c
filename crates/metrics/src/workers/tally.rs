//! Tally of one worker: some hundred bytes, and a sketch of its latencies.

use super::WorkerIdentity;
use super::lately::{RecentRate, WorkerEffort};
use crate::delta::{LatencyKind, SliceDelta, WorkerCounts};
use crate::generator::Effort;
use crate::latencies::{ExactFigures, Sketch, Sketcher};
use crate::report::{WorkerRow, WorkerState};
use crate::snapshot::LiveWorker;
use crate::store::UserCounts;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Figures of one worker.
#[derive(Debug)]
pub(crate) struct WorkerTally {
    pub(crate) identity: WorkerIdentity,
    /// Name and version, and the labels, as live views share them.
    shown: [Arc<str>; 2],
    labels: Arc<BTreeMap<String, String>>,
    state: WorkerState,
    /// When it was lost last, since the run began.
    lost_at: Option<Duration>,
    users: UserCounts,
    exact: ExactFigures,
    /// Failures; negative where a verdict was taken back.
    failures: i64,
    bytes: u64,
    sketch: Sketch,
    /// Median and 95th percentile of its latencies.
    p50: Duration,
    p95: Duration,
    rate: RecentRate,
    strain: WorkerEffort,
}

impl WorkerTally {
    pub(crate) fn new(identity: WorkerIdentity) -> WorkerTally {
        WorkerTally {
            shown: [
                identity.name.as_str().into(),
                identity.version.as_str().into(),
            ],
            labels: Arc::new(identity.labels.clone()),
            identity,
            state: WorkerState::Running,
            lost_at: None,
            users: UserCounts::default(),
            exact: ExactFigures::default(),
            failures: 0,
            bytes: 0,
            sketch: Sketch::default(),
            p50: Duration::ZERO,
            p95: Duration::ZERO,
            rate: RecentRate::default(),
            strain: WorkerEffort::default(),
        }
    }

    /// Adds the requests of some slices.
    pub(crate) fn add_slices<'a>(
        &mut self,
        slices: impl Iterator<Item = &'a SliceDelta>,
        sketcher: &mut Sketcher,
    ) {
        sketcher.start(&self.sketch);
        for slice in slices {
            let second = slice.span.second();
            let rows = slice.requests.iter().map(|row| &row.figures);
            for row in rows.filter(|row| !row.counts.is_empty()) {
                self.exact = self.exact.merged(&row.counts.all);
                self.failures += row.counts.failures_change();
                self.bytes += row.counts.traffic.received;
                self.rate.add(second, row.counts.count());
                sketcher.more(&row[LatencyKind::All]);
            }
        }
        self.end(sketcher);
    }

    /// Adds its share of figures that a gather added up.
    pub(crate) fn add_counts(&mut self, counts: &WorkerCounts, sketcher: &mut Sketcher) {
        sketcher.start(&self.sketch);
        self.exact = self.exact.merged(&counts.exact);
        self.failures += counts.failures;
        self.bytes += counts.bytes;
        for (second, requests) in &counts.seconds {
            self.rate.add(*second, *requests);
        }
        sketcher.more_coarse(&counts.latencies);
        self.end(sketcher);
    }

    /// Takes over the latencies that `sketcher` has gathered.
    fn end(&mut self, sketcher: &mut Sketcher) {
        let (sketch, [p50, p95]) = sketcher.end(&self.exact, [0.5, 0.95]);
        (self.sketch, self.p50, self.p95) = (sketch, p50, p95);
    }

    /// Adds the users of a scenario on one of its shards, as [`UserCounts::add`] does.
    pub(crate) fn add_users(&mut self, shard: usize, scenario: usize, change: i64, rise: i64) {
        self.users.add((shard, scenario), change, rise);
    }

    /// Adds the effort of one of its shards in a tick that ended so many nanoseconds after the run began.
    pub(crate) fn add_effort(&mut self, shard: usize, ended: u64, effort: &Effort) {
        let shard = shard.saturating_sub(self.identity.shards.start);
        let most = self.identity.shards.len().saturating_sub(1);
        // Where all requests fail, no latency is the site's.
        let all_failed = self.failures() >= self.exact.count;
        let median = if all_failed { Duration::ZERO } else { self.p50 };
        effort.by_second(ended, |second, part| {
            self.strain.add(shard.min(most), second, part, median);
        });
    }

    pub(crate) fn tick(&mut self) {
        self.users.tick();
    }

    /// Drops all counts so far; its users and its state stay.
    pub(crate) fn reset(&mut self) {
        self.users.reset();
        self.exact = ExactFigures::default();
        (self.failures, self.bytes) = (0, 0);
        self.sketch = Sketch::default();
        (self.p50, self.p95) = (Duration::ZERO, Duration::ZERO);
        self.rate = RecentRate::default();
        self.strain.reset();
    }

    pub(crate) fn lose(&mut self, at: Duration) {
        (self.state, self.lost_at) = (WorkerState::Lost, Some(at));
        for shard in self.identity.shards.clone() {
            self.users.lose(shard);
        }
    }

    pub(crate) fn find(&mut self) {
        self.state = WorkerState::Running;
        for shard in self.identity.shards.clone() {
            self.users.find(shard);
        }
    }

    pub(crate) fn finish(&mut self) {
        self.find();
        self.state = WorkerState::Done;
    }

    /// Returns the row for reports; the measurement began at `origin` since the start of the run.
    pub(crate) fn row(&self, origin: Duration) -> WorkerRow {
        let identity = &self.identity;
        let since = |at: Duration| at.as_secs_f64() - origin.as_secs_f64();
        WorkerRow {
            name: identity.name.clone(),
            labels: identity.labels.clone(),
            version: identity.version.clone(),
            threads: identity.threads as u64,
            users: self.users.peak(),
            requests: self.exact.count,
            failures: self.failures(),
            bytes: self.bytes,
            p95_ms: (self.exact.count > 0).then_some(self.p95.as_secs_f64() * 1e3),
            busy: self.strain.whole.share(),
            lag_ms: self.strain.whole.mean_lag().as_secs_f64() * 1e3,
            saturated_s: self.strain.saturated.as_secs_f64(),
            offset_ms: identity.offset as f64 / 1e6,
            offset_within_ms: identity.uncertainty.as_secs_f64() * 1e3,
            lost_at_s: self.lost_at.map(since),
            state: self.state,
        }
    }

    /// Returns the row for live views; `second` is that of the measurement that is under way.
    pub(crate) fn live(&self, second: u64) -> LiveWorker {
        let [name, version] = self.shown.clone();
        let identity = &self.identity;
        let works = self.state == WorkerState::Running;
        LiveWorker {
            name,
            labels: self.labels.clone(),
            version,
            threads: identity.threads as u64,
            users: self.users.now(),
            requests: self.exact.count,
            failures: self.failures(),
            rate_now: self.rate.rate(second),
            p95: self.p95,
            busy: if works { self.strain.busy } else { 0.0 },
            lag: self.strain.lag,
            saturated: works && self.strain.saturated_now,
            offset_ms: identity.offset as f64 / 1e6,
            offset_within_ms: identity.uncertainty.as_secs_f64() * 1e3,
            state: self.state,
        }
    }

    fn failures(&self) -> u64 {
        self.failures.max(0) as u64
    }
}
