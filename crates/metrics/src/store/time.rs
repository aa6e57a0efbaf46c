//! The time of a run as the store knows it: how far the run has come, when the measurement began, its
//! pauses, and up to which moment each shard has handed over. Driven by the store; moments are since the run began.

use crate::delta::{Covered, UNDECIDED};
use crate::latencies::nanoseconds;
use crate::over_time::Pauses;
use crate::record::SECOND;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// How long the closing of a second waits for a shard that has not handed over: a shard that is stuck must not hide
/// the figures of the others. Its own, handed over later, still count where they belong.
const PATIENCE: u64 = 2 * SECOND;

/// Time of the run and of the measurement under way.
#[derive(Debug, Default)]
pub(super) struct MeasuredTime {
    /// Number of the measurement under way.
    epoch: u64,
    /// The last tick, and where the measurement begins.
    now: Duration,
    origin: Duration,
    pauses: Pauses,
    /// How far each shard has handed over.
    covered: Vec<Covered>,
    /// When the first request of each shard ended whose verdict may still change.
    undecided: BTreeMap<usize, u64>,
}

impl MeasuredTime {
    /// Sets the number of shards that hand over.
    pub(super) fn expect(&mut self, shards: usize) {
        self.covered = vec![Covered::default(); shards];
    }

    /// Raises the number of shards that hand over: more take part from now on.
    pub(super) fn expect_more(&mut self, shards: usize) {
        let now = Covered::Until(self.now_ns());
        self.covered.resize(shards.max(self.covered.len()), now);
    }

    /// Expects these shards to hand over from now on. New ones with lower numbers are not expected to.
    pub(super) fn expect_of(&mut self, shards: Range<usize>) {
        let now = Covered::Until(self.now_ns());
        self.covered
            .resize(shards.end.max(self.covered.len()), Covered::Whole);
        self.covered[shards].fill(now);
    }

    /// Returns the same time for figures that no shard adds to yet.
    pub(super) fn without_shards(&self) -> MeasuredTime {
        MeasuredTime {
            covered: Vec::new(),
            undecided: BTreeMap::new(),
            pauses: self.pauses.clone(),
            ..*self
        }
    }

    /// Returns where the measurement begins.
    pub(super) fn origin(&self) -> Duration {
        self.origin
    }

    /// Notes that a shard that counted as lost hands over again.
    pub(super) fn uncover(&mut self, shard: usize) {
        let now = Covered::Until(self.now_ns());
        if let Some(covered) = self.covered.get_mut(shard) {
            *covered = now.min(*covered);
        }
    }

    /// Returns the number of shards that hand over.
    pub(super) fn shards(&self) -> usize {
        self.covered.len()
    }

    /// Notes how far a shard has handed over.
    pub(super) fn cover(&mut self, shard: usize, covered: Covered) {
        if let Some(latest) = self.covered.get_mut(shard) {
            *latest = covered.max(*latest);
        }
    }

    /// Notes when the first request of a shard ended whose verdict may still change, if there is one.
    pub(super) fn undecided(&mut self, shard: usize, since: Option<u64>) {
        match since {
            Some(since) => self.undecided.insert(shard, since),
            None => self.undecided.remove(&shard),
        };
    }

    /// Notes that nothing more is expected of any shard.
    pub(super) fn cover_all(&mut self) {
        self.covered.fill(Covered::Whole);
        self.undecided.clear();
    }

    /// Returns the moment up to which all shards have handed over, in nanoseconds since the run began.
    pub(super) fn covered_ns(&self) -> u64 {
        let now = self.now_ns();
        self.covered.iter().min().map_or(now, |first| first.at(now))
    }

    /// Returns the moment up to which everything is known, or as good as, in nanoseconds since the run began.
    pub(super) fn complete_ns(&self) -> u64 {
        let now = self.now_ns();
        self.covered_ns().max(now.saturating_sub(PATIENCE))
    }

    /// Returns the moment up to which all verdicts are known, in nanoseconds since the measurement began; those on requests that
    /// ended long ago are not waited for.
    pub(super) fn decided_of_measurement_ns(&self) -> u64 {
        let complete = self.complete_ns();
        let first = self.undecided.values().min().copied();
        let decided = first.map_or(complete, |first| {
            first.clamp(complete.saturating_sub(UNDECIDED), complete)
        });
        decided.saturating_sub(self.origin_ns())
    }

    /// Returns how far the shard that is furthest behind lags at that moment; `None` if no shard is to hand over.
    pub(super) fn behind(&self, now: Duration) -> Option<Duration> {
        match self.covered.iter().min()? {
            Covered::Until(first) => Some(now.saturating_sub(Duration::from_nanos(*first))),
            Covered::Whole => None,
        }
    }

    /// Returns the moment up to which everything is known, in nanoseconds since the measurement began.
    pub(super) fn complete_of_measurement_ns(&self) -> u64 {
        self.complete_ns().saturating_sub(self.origin_ns())
    }

    /// Advances to that moment.
    pub(super) fn advance(&mut self, now: Duration) {
        self.now = now;
    }

    /// Begins measurement number `epoch` at that moment.
    pub(super) fn restart(&mut self, at: Duration, epoch: u64) {
        (self.origin, self.epoch) = (at, epoch);
        self.now = self.now.max(at);
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn now(&self) -> Duration {
        self.now
    }

    pub(super) fn now_ns(&self) -> u64 {
        nanoseconds(self.now)
    }

    /// Returns the beginning of the measurement in nanoseconds.
    pub(super) fn origin_ns(&self) -> u64 {
        nanoseconds(self.origin)
    }

    /// Begins a pause, unless one is under way.
    pub(super) fn pause(&mut self, at: Duration) {
        self.pauses.start(nanoseconds(at));
    }

    /// Ends the pause, and returns when it began in the measurement and how long it lasted, in nanoseconds.
    pub(super) fn resume(&mut self, at: Duration) -> Option<(u64, u64)> {
        let at = nanoseconds(at);
        let since = self.pauses.end(at)?.max(self.origin_ns());
        Some((since, at - since))
    }

    /// Returns how long the measurement has gone on until `elapsed`, pauses included.
    pub(super) fn measured(&self, elapsed: Duration) -> Duration {
        elapsed.saturating_sub(self.origin)
    }

    /// Returns how long the measurement has gone on without pauses, by which rates are divided.
    pub(super) fn active(&self, elapsed: Duration) -> Duration {
        self.lasted(0, nanoseconds(elapsed).saturating_sub(self.origin_ns()))
    }

    /// Returns how much of the time between two moments was not spent in a pause; both are nanoseconds since the
    /// measurement began.
    pub(super) fn lasted(&self, from: u64, to: u64) -> Duration {
        let origin = self.origin_ns();
        Duration::from_nanos(self.pauses.lasted(origin + from, origin + to))
    }
}
