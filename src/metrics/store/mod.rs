//! The store, in which the deltas of all shards become one run.
//!
//! Driven by whoever owns the run: [`Store::merge`] for each delta, [`Store::tick`] every 250 ms,
//! [`Store::report`] at the end. Names are what counts here; a shard's numbers are translated by a memo.
//! A second is closed when every shard has handed over what belongs to it.

mod filling;
mod happening;
mod judging;
mod portable;
mod reporting;
mod showing;
mod table;
mod workers;

use super::arrivals::ArrivalLog;
use super::axis::SECOND;
use super::by_name::{self, ByName};
use super::delta::{Delta, ScenarioDelta, SliceDelta};
use super::errors::ErrorLog;
use super::events::{EventLog, Pauses};
use super::generator::{Effort, GeneratorLog};
use super::identity::RunIdentity;
use super::latency::{self, Exact};
use super::measures::MeasureLog;
use super::recent::{Counts, Recent};
use super::recorder::{TOO_MANY_MEASURES, TOO_MANY_TASKS, too_many_requests};
use super::recording::Recording;
use super::series::{self, Series};
use super::silence::{Silence, Silences};
use super::snapshot::{Aim, RunPhase, Snapshot};
use super::tally::{RequestTally, TaskTally};
use super::thresholds::Judges;
use super::under_way::Quiet;
use super::users::Users;
use hdrhistogram::Histogram;
use std::sync::Arc;
use std::time::Duration;
use table::Table;
use workers::Workers;

/// How long the closing of a second waits for a shard that has not handed over: one that is stuck must not hide
/// what the others do. What it hands over later still counts where it belongs.
const PATIENCE: u64 = 2 * SECOND;

/// Everything measured in a run; grows with the number of names, not of requests.
#[derive(Debug)]
pub(crate) struct Store {
    identity: RunIdentity,
    requests: Table<RequestTally>,
    tasks: Table<TaskTally>,
    scenarios: Vec<Scenario>,
    users: Users,
    total: RequestTally,
    /// Latencies of all names within a slice: gathered once, then added to the total and the series.
    fresh: Histogram<u64>,
    /// Likewise of those that failed.
    fresh_failed: Histogram<u64>,
    series: Series,
    by_name: ByName,
    /// The requests of `test_start` and `test_stop`.
    start_stop: Table<RequestTally>,
    silences: Silences,
    /// Silences that were reported as events, for the windows of thresholds.
    told: Vec<Silence>,
    events: EventLog,
    pauses: Pauses,
    /// The moment up to which each shard has handed over, in nanoseconds since the run began.
    covered: Vec<u64>,
    recent: Recent,
    measures: MeasureLog,
    arrivals: ArrivalLog,
    generator: GeneratorLog,
    errors: ErrorLog,
    /// Cadences of cycles that were late.
    late: Exact,
    warnings: Arc<[String]>,
    judges: Judges,
    /// Number of the measurement under way.
    epoch: u64,
    phase: RunPhase,
    /// Recording for the report of a part.
    recording: Option<Recording>,
    wanted: Aim,
    played: Duration,
    workers: Workers,
    /// The last tick, and where the measurement begins, both since the start of the run.
    now: Duration,
    origin: Duration,
}

/// Counts of one scenario over the whole run.
#[derive(Debug)]
struct Scenario {
    name: Arc<str>,
    users: Users,
    iterations: u64,
}

impl Store {
    /// Makes an empty store.
    pub(crate) fn new(identity: RunIdentity) -> Self {
        Store {
            identity,
            requests: Table::new(),
            tasks: Table::new(),
            scenarios: Vec::new(),
            users: Users::default(),
            total: RequestTally::default(),
            fresh: latency::histogram(),
            fresh_failed: latency::histogram(),
            series: Series::default(),
            by_name: ByName::default(),
            start_stop: Table::new(),
            silences: Silences::default(),
            told: Vec::new(),
            events: EventLog::default(),
            pauses: Pauses::default(),
            covered: Vec::new(),
            recent: Recent::default(),
            measures: MeasureLog::default(),
            arrivals: ArrivalLog::default(),
            generator: GeneratorLog::default(),
            errors: ErrorLog::default(),
            late: Exact::default(),
            warnings: Arc::new([]),
            judges: Judges::default(),
            epoch: 0,
            phase: RunPhase::Running,
            recording: None,
            wanted: Aim::default(),
            played: Duration::ZERO,
            workers: Workers::default(),
            now: Duration::ZERO,
            origin: Duration::ZERO,
        }
    }

    /// Sets the number of shards: no second is closed before so many have handed over what belongs to it.
    pub(crate) fn expect(&mut self, shards: usize) {
        self.covered = vec![0; shards];
    }

    /// Raises the number of shards: more take part from now on.
    pub(crate) fn expect_more(&mut self, shards: usize) {
        let now = self.now_ns();
        self.covered.resize(shards.max(self.covered.len()), now);
    }

    /// Notes that a shard will hand over nothing more: no second waits for it.
    pub(crate) fn lose(&mut self, shard: usize) {
        if let Some(covered) = self.covered.get_mut(shard) {
            *covered = u64::MAX;
        }
        self.silences.stands(shard, None);
        self.users.lose(shard);
        for scenario in &mut self.scenarios {
            scenario.users.lose(shard);
        }
    }

    /// Notes that a shard that counted as lost goes on to hand over.
    pub(crate) fn find(&mut self, shard: usize) {
        let now = self.now_ns();
        if let Some(covered) = self.covered.get_mut(shard) {
            *covered = (*covered).min(now);
        }
        self.users.find(shard);
        for scenario in &mut self.scenarios {
            scenario.users.find(shard);
        }
    }

    /// Adds what a shard measured. What belongs to an earlier measurement comes too late and is left out. Returns
    /// the delta, emptied, for that shard's [`Recorder::recycle`](super::Recorder::recycle).
    pub(crate) fn merge(&mut self, mut delta: Delta) -> Delta {
        if let Some(recording) = &mut self.recording {
            recording.add(&delta);
        }
        let shard = delta.shard;
        for slice in &delta.slices {
            if slice.span.epoch >= self.epoch {
                self.merge_slice(Some(shard), slice);
                for row in &slice.scenarios {
                    self.merge_scenario(shard, row);
                }
                self.silences.add(shard, &slice.quiet);
            }
        }
        self.merge_stand(shard, delta.covered, &delta.effort, delta.quiet);
        for warning in delta.warnings.drain(..) {
            self.warn(warning);
        }
        delta.clear();
        delta
    }

    /// Adds the parts of a slice that are common to all shards; `shard` is the one whose numbers its rows have, if
    /// any.
    fn merge_slice(&mut self, shard: Option<usize>, slice: &SliceDelta) {
        self.merge_requests(shard, slice);
        self.merge_filled(shard, slice);
        for (id, row) in slice.tasks.iter().enumerate() {
            if !row.is_empty() {
                let (at, overflow) = self.tasks.row(shard, id, &row.label);
                self.tasks.rows[at].merge(row);
                if overflow {
                    self.warn(TOO_MANY_TASKS.to_owned());
                }
            }
        }
        if self.measures.merge(&slice.measures) {
            self.warn(TOO_MANY_MEASURES.to_owned());
        }
        self.arrivals.merge(&slice.arrivals);
        let second = slice.span.from as f64 / SECOND as f64;
        self.errors.merge(slice, second);
        if let Some(border) = slice
            .border
            .filter(|_| slice.span.to.is_multiple_of(SECOND))
        {
            self.series.stood(slice.span.second(), &border);
        }
        self.judges.gather(slice);
    }

    /// Adds the users and iterations of one scenario on a shard.
    fn merge_scenario(&mut self, shard: usize, row: &ScenarioDelta) {
        let at = self
            .scenarios
            .iter()
            .position(|known| known.name == row.name);
        let at = at.unwrap_or_else(|| {
            self.scenarios.push(Scenario {
                name: row.name.clone(),
                users: Users::default(),
                iterations: 0,
            });
            self.scenarios.len() - 1
        });
        let source = (shard, at);
        self.users.add(source, row.change, row.rise);
        let scenario = &mut self.scenarios[at];
        scenario.users.add(source, row.change, row.rise);
        scenario.iterations += row.iterations;
    }

    /// Notes the state of a shard when it handed over. An effort is that of one tick; it counts in the second in
    /// which most of it was.
    fn merge_stand(&mut self, shard: usize, covered: u64, effort: &Effort, quiet: Option<Quiet>) {
        let half = latency::nanoseconds(effort.wall) / 2;
        let middle = covered.min(self.now_ns()).saturating_sub(half);
        let second = middle.saturating_sub(self.origin_ns()) / SECOND;
        self.generator.add(second, shard, effort);
        self.silences.stands(shard, quiet);
        if let Some(known) = self.covered.get_mut(shard) {
            *known = covered.max(*known);
        }
    }

    /// Adds what `test_start` or `test_stop` measured: its requests have rows of their own.
    pub(crate) fn merge_event(&mut self, mut delta: Delta) {
        if let Some(recording) = &mut self.recording {
            recording.add_event(&delta);
        }
        for slice in &delta.slices {
            self.merge_event_slice(Some(delta.shard), slice);
        }
        for warning in delta.warnings.drain(..) {
            self.warn(warning);
        }
    }

    fn merge_event_slice(&mut self, shard: Option<usize>, slice: &SliceDelta) {
        for (id, row) in slice.requests.iter().enumerate() {
            if !row.counts.is_empty() {
                let (at, _) = self.start_stop.row(shard, id, &row.label);
                self.start_stop.rows[at].merge(row);
            }
        }
        let measured = self.measured(self.now).as_secs_f64();
        self.errors.merge(slice, measured);
        self.measures.merge(&slice.measures);
    }

    /// Ends a tick at `now` since the start of the run, and returns a snapshot.
    pub(crate) fn tick(&mut self, now: Duration) -> Arc<Snapshot> {
        self.advance(now);
        Arc::new(self.snapshot())
    }

    /// Ends a tick.
    fn advance(&mut self, now: Duration) {
        self.now = now;
        self.users.tick();
        for scenario in &mut self.scenarios {
            scenario.users.tick();
        }
        self.recent.tick(now);
        if let Some(recording) = &mut self.recording {
            recording.tick(now);
        }
        self.workers.tick(now);
        self.close();
    }

    /// Closes the seconds of which everything is known, and examines them.
    fn close(&mut self) {
        let until = self.known().saturating_sub(self.origin_ns());
        let (pauses, origin) = (&self.pauses, self.origin_ns());
        let lasted = |from, to| Duration::from_nanos(pauses.lasted(origin + from, origin + to));
        self.series.close(until, lasted, &mut self.generator);
        self.by_name.close(until, lasted);
        self.hear_silences();
        self.look(until);
    }

    /// Returns the moment up to which everything is known, in nanoseconds since the run began.
    fn known(&self) -> u64 {
        let now = self.now_ns();
        let first = self.covered.iter().copied().min().unwrap_or(now);
        first.max(now.saturating_sub(PATIENCE)).min(now)
    }

    /// Forgets everything counted so far; users at work, names and warnings stay. Figures cover the time
    /// from `now` on, which is measurement number `epoch`.
    pub(crate) fn reset(&mut self, now: Duration, epoch: u64) {
        (self.origin, self.epoch) = (now, epoch);
        self.now = self.now.max(now);
        self.requests.clear();
        self.tasks.clear();
        self.users.reset();
        for scenario in &mut self.scenarios {
            scenario.users.reset();
            scenario.iterations = 0;
        }
        self.total = RequestTally::default();
        self.fresh.reset();
        self.fresh_failed.reset();
        self.series = Series::default();
        self.by_name.reset();
        self.recent = Recent::starting(now);
        self.measures.clear();
        self.arrivals = ArrivalLog::default();
        self.generator = GeneratorLog::default();
        self.errors = ErrorLog::default();
        self.late = Exact::default();
        self.events = EventLog::default();
        self.told.clear();
        self.judges.reset();
        if let Some(recording) = &mut self.recording {
            recording.reset();
        }
        self.workers.reset(now, epoch);
    }

    /// Records everything measured from now on for the report, which is that of part `number` of `of`.
    pub(crate) fn record_part(&mut self, number: u64, of: u64) {
        self.recording = Some(Recording::of(number, of));
    }

    /// Sets the order of rows from now on, as in [`RunIdentity::order`].
    pub(crate) fn order_by(&mut self, order: Vec<(String, String)>) {
        self.workers
            .each_store(|store| store.order_by(order.clone()));
        self.identity.order = order;
    }

    /// How far the run has come and what is wanted of it, for views.
    pub(crate) fn enter(&mut self, phase: RunPhase, wanted: Aim, played: Duration) {
        (self.phase, self.wanted, self.played) = (phase, wanted, played);
    }

    /// Passes a warning on to every view and the report, once.
    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings = self.warnings.iter().cloned().chain([warning]).collect();
        }
    }

    fn merge_requests(&mut self, shard: Option<usize>, slice: &SliceDelta) {
        let second = slice.span.second();
        let (mut exact, mut failures, mut bytes) = (Exact::default(), 0, 0);
        for (id, row) in slice.requests.iter().enumerate() {
            if row.counts.is_empty() {
                continue;
            }
            let (at, overflow) = self.requests.row(shard, id, &row.label);
            if overflow {
                self.warn(too_many_requests());
            }
            self.requests.rows[at].merge(row);
            self.total.merge_counts(row);
            row.all.add_to(&mut self.fresh);
            row.failed_at_once.add_to(&mut self.fresh_failed);
            self.generator.add_service(second, row);
            exact = exact.merged(&row.counts.all);
            failures += row.counts.failures_change();
            bytes += row.counts.bytes;
            let more = by_name::Addition {
                exact: row.counts.all,
                failures: row.counts.failures_change(),
                latencies: &row.all,
            };
            self.by_name.add(at, second, more);
            let counts = Counts {
                requests: row.counts.count(),
                failures: row.counts.failures_change(),
            };
            self.recent.add(at, counts);
        }
        if exact.count > 0 || failures != 0 {
            self.total.add_latencies(&self.fresh);
            let more = series::Addition {
                exact,
                failures,
                bytes,
                latencies: &self.fresh,
                failed: &self.fresh_failed,
            };
            self.series.add(second, more);
            self.fresh.reset();
            if !self.fresh_failed.is_empty() {
                self.fresh_failed.reset();
            }
        }
    }

    /// Returns how long the measurement has gone on, pauses included.
    fn measured(&self, elapsed: Duration) -> Duration {
        elapsed.saturating_sub(self.origin)
    }

    /// Returns how long the measurement has gone on without pauses, by which rates are divided.
    fn active(&self, elapsed: Duration) -> Duration {
        let elapsed = latency::nanoseconds(elapsed);
        Duration::from_nanos(self.pauses.lasted(self.origin_ns(), elapsed))
    }

    fn now_ns(&self) -> u64 {
        latency::nanoseconds(self.now)
    }

    fn origin_ns(&self) -> u64 {
        latency::nanoseconds(self.origin)
    }
}

#[cfg(test)]
mod tests;
