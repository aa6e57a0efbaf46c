//! The store, which merges the deltas of all shards into one run.
//!
//! Driven by the owner of the run: [`Store::merge`] for each delta, [`Store::tick`] every 250 ms, [`Store::report`]
//! at the end. Rows are identified by name; a memo translates the numbers of each shard. A second is closed once
//! every shard has delivered its figures, or two seconds after its end.

mod by_tag;
mod filling;
mod happening;
mod judging;
mod measured;
mod portable;
mod reporting;
mod requests;
mod scenarios;
mod showing;
mod table;
mod time;
mod warnings;
mod workers;

use super::delta::{Covered, Delta, SliceDelta};
use super::events::EventLog;
use super::generator::Effort;
use super::identity::RunIdentity;
use super::latency;
use super::recording::Recording;
use super::silence::Silences;
use super::snapshot::{Aim, LiveLoad, Progress, RunPhase, Snapshot};
use super::tally::RequestTally;
use super::thresholds::Judges;
use super::under_way::Quiet;
use measured::Measured;
use std::sync::Arc;
use std::time::Duration;
use table::Table;
use time::MeasuredTime;
use warnings::Warnings;
use workers::Workers;

/// Everything measured in a run; grows with the number of names, not of requests.
#[derive(Debug)]
pub(crate) struct Store {
    identity: RunIdentity,
    progress: Progress,
    loads: Arc<[LiveLoad]>,
    time: MeasuredTime,
    measured: Measured,
    /// The requests of `test_start` and `test_stop`.
    start_stop: Table<RequestTally>,
    silences: Silences,
    events: EventLog,
    judges: Judges,
    warnings: Warnings,
    /// Recording for the report of a part.
    recording: Option<Recording>,
    workers: Workers,
}

impl Store {
    /// Makes an empty store.
    pub(crate) fn new(identity: RunIdentity) -> Self {
        Store {
            identity,
            progress: Progress::default(),
            loads: Arc::default(),
            time: MeasuredTime::default(),
            measured: Measured::new(),
            start_stop: Table::new(),
            silences: Silences::default(),
            events: EventLog::default(),
            judges: Judges::default(),
            warnings: Warnings::default(),
            recording: None,
            workers: Workers::default(),
        }
    }

    /// Sets the number of shards that are to hand over what belongs to a second before it is closed.
    pub(crate) fn expect(&mut self, shards: usize) {
        self.time.expect(shards);
    }

    /// Raises the number of shards: more take part from now on.
    pub(crate) fn expect_more(&mut self, shards: usize) {
        self.time.expect_more(shards);
    }

    /// Notes that a shard will hand over nothing more: no second waits for it.
    pub(crate) fn lose(&mut self, shard: usize) {
        self.time.cover(shard, Covered::Whole);
        self.silences.stands(shard, None);
        self.measured.scenarios.lose(shard);
        self.measured.generator.lose(shard);
    }

    /// Notes that a shard that counted as lost hands over again.
    pub(crate) fn find(&mut self, shard: usize) {
        self.time.uncover(shard);
        self.measured.scenarios.find(shard);
    }

    /// Adds what a shard measured. What belongs to an earlier measurement comes too late and is left out. Returns the
    /// delta, emptied, for that shard's [`Recorder::recycle`](super::Recorder::recycle).
    pub(crate) fn merge(&mut self, mut delta: Delta) -> Delta {
        if let Some(recording) = &mut self.recording {
            recording.add(&delta);
        }
        let shard = delta.shard;
        for slice in &delta.slices {
            if slice.span.epoch >= self.time.epoch() {
                self.merge_slice(Some(shard), slice);
                for row in &slice.scenarios {
                    self.measured.scenarios.merge(shard, row);
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

    /// Adds the parts of a slice that add up over shards; `shard` is the one whose numbers the rows have, if they
    /// have any.
    fn merge_slice(&mut self, shard: Option<usize>, slice: &SliceDelta) {
        self.measured.merge(shard, slice, &mut self.warnings);
        self.judges.gather(slice);
    }

    /// Notes the state of a shard when it handed over; an effort is that of one tick.
    fn merge_stand(
        &mut self,
        shard: usize,
        covered: Covered,
        effort: &Effort,
        quiet: Option<Quiet>,
    ) {
        self.measured
            .merge_effort(shard, covered, effort, &self.time);
        self.silences.stands(shard, quiet);
        self.time.cover(shard, covered);
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
            if !row.figures.counts.is_empty() {
                let (at, _) = self.start_stop.row(shard, id, &row.label);
                self.start_stop.rows[at].merge(&row.figures);
            }
        }
        let at = self.time.measured(self.time.now()).as_secs_f64();
        self.measured.errors.merge(slice, at);
        self.measured.measures.merge(&slice.measures);
    }

    /// Ends a tick at `now` since the start of the run, and returns a snapshot.
    pub(crate) fn tick(&mut self, now: Duration) -> Arc<Snapshot> {
        self.advance(now);
        Arc::new(self.snapshot())
    }

    /// Ends a tick at `now` since the start of the run, without a snapshot.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.time.advance(now);
        self.measured.tick(now);
        if let Some(recording) = &mut self.recording {
            recording.tick(now);
        }
        self.workers.tick(now);
        self.close();
    }

    /// Returns how far the figures are behind that moment since the start of the run; `None` if no shard is to hand
    /// over.
    pub(crate) fn behind(&self, now: Duration) -> Option<Duration> {
        self.time.behind(now)
    }

    /// Closes the seconds of which everything is known, and examines them.
    fn close(&mut self) {
        self.measured.close(&self.time);
        self.hear_silences();
        self.look(self.time.known_of_measurement_ns());
    }

    /// Forgets everything counted so far, except users at work, names, warnings and the requests of `test_start`.
    /// Figures cover the time from `now` on, which is measurement number `epoch`.
    pub(crate) fn reset(&mut self, now: Duration, epoch: u64) {
        self.time.restart(now, epoch);
        self.measured.reset(now);
        self.events = EventLog::default();
        self.silences.forget_reported();
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

    /// Sets the phase of the run, the load that it aims at and its time without pauses, for views.
    pub(crate) fn enter(&mut self, phase: RunPhase, wanted: Aim, played: Duration) {
        (
            self.progress.phase,
            self.progress.wanted,
            self.progress.played,
        ) = (phase, wanted, played);
    }

    /// Sets the loads of the run where there are several, for views.
    pub(crate) fn set_loads(&mut self, loads: Arc<[LiveLoad]>) {
        self.loads = loads;
    }

    /// Passes a warning on to every view and the report, once.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.add(warning);
    }
}

#[cfg(test)]
mod tests;
