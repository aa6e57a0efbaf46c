//! The store, which merges the deltas of all shards into one run.
//!
//! Driven by the owner of the run: [`Store::merge`] for each delta, [`Store::tick`] every 250 ms, [`Store::report`]
//! at the end. Rows are identified by name; a memo translates the numbers of each shard. A second is closed once
//! every shard has delivered its figures, or two seconds after its end.

mod by_tag;
mod errors;
mod group;
mod judging;
mod measured;
mod reporting;
mod requests;
mod scenarios;
mod showing;
mod table;
mod tally;
mod time;
mod users;
mod warnings;
mod workers;

pub use reporting::saturations;
pub(crate) use tally::RequestTally;
pub(crate) use users::UserCounts;

use crate::delta::{Covered, Delta, PortableDelta};
use crate::latencies::nanoseconds;
use crate::over_time::{EventKind, NameSeries};
use crate::parts::Recording;
use crate::report::{CpuLimitRow, Detail, PartRow, Report, RunIdentity, ThresholdRow};
use crate::snapshot::{Aim, LiveLoad, LiveTag, Progress, RunPhase, Snapshot};
use crate::thresholds::Judges;
use crate::workers::WorkerIdentity;
use group::ShardGroup;
use lgoose_base::error::cut;
use lgoose_base::threshold::Threshold;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use table::RowTable;
use workers::MeasuredWorkers;

/// Everything measured in a run; grows with the number of names, not of requests.
#[derive(Debug)]
pub struct Store {
    progress: Progress,
    loads: Arc<[LiveLoad]>,
    /// Figures of all shards.
    run: ShardGroup,
    /// The requests of `test_start` and `test_stop`.
    start_stop: RowTable<RequestTally>,
    /// Recording for the report of a part.
    recording: Option<Recording>,
    workers: MeasuredWorkers,
}

impl Store {
    /// Makes an empty store.
    pub fn new(identity: RunIdentity) -> Self {
        Store {
            progress: Progress::default(),
            loads: Arc::default(),
            run: ShardGroup::new(identity),
            start_stop: RowTable::new(),
            recording: None,
            workers: MeasuredWorkers::default(),
        }
    }

    /// Sets the number of shards that are to hand over their part of a second before it is closed.
    pub fn expect(&mut self, shards: usize) {
        self.run.time.expect(shards);
    }

    /// Raises the number of shards: more take part from now on.
    pub fn expect_more(&mut self, shards: usize) {
        self.run.time.expect_more(shards);
    }

    /// Notes that a shard will hand over nothing more: no second waits for it.
    pub fn lose(&mut self, shard: usize) {
        self.run.lose(shard);
    }

    /// Notes that a shard that counted as lost hands over again.
    pub fn find(&mut self, shard: usize) {
        self.run.find(shard);
    }

    /// Adds figures of shards to the run and, if they are those of workers, to the workers and their labels. Figures of
    /// an earlier measurement come too late and are left out. Returns the delta, emptied, for a shard's
    /// [`Recorder::recycle`](crate::Recorder::recycle).
    pub fn merge(&mut self, mut delta: Delta) -> Delta {
        if let Some(recording) = &mut self.recording {
            recording.add(&delta);
        }
        self.run.merge(&delta);
        self.workers.merge(&self.run, &delta);
        for warning in delta.warnings.drain(..) {
            self.warn(warning);
        }
        delta.clear();
        delta
    }

    /// Adds the figures of `test_start` or `test_stop`, whose requests have rows of their own.
    pub fn merge_event(&mut self, delta: Delta) {
        if let Some(recording) = &mut self.recording {
            recording.add_event(&delta);
        }
        let at = self.run.time.measured(self.run.time.now()).as_secs_f64();
        for slice in &delta.slices {
            for (id, row) in slice.requests.iter().enumerate() {
                if !row.figures.is_empty() {
                    let (at, _) = self.start_stop.row(delta.shard(), id, &row.label);
                    self.start_stop.rows[at].merge(&row.figures);
                }
            }
            self.run.measured.errors.merge(slice, at);
            self.run.measured.measures.merge(&slice.measures, at);
        }
        for warning in delta.warnings {
            self.warn(warning);
        }
    }

    /// Adds a whole run in the order of time, with a tick after each slice.
    pub(crate) fn replay(&mut self, whole: PortableDelta, ended: Duration) {
        let PortableDelta {
            mut handovers,
            slices,
            warnings,
        } = whole;
        for (key, slice) in slices {
            let to = slice.to;
            let mut next = PortableDelta::default();
            next.slices.insert(key, slice);
            // The shards that had handed over by then.
            while let Some(entry) = handovers
                .first_entry()
                .filter(|entry| entry.key().0 <= Covered::Until(to))
            {
                let (key, handover) = entry.remove_entry();
                next.handovers.insert(key, handover);
            }
            self.merge(Delta::from(&next));
            self.tick(Duration::from_nanos(to).min(ended));
        }
        let slices = BTreeMap::new();
        self.merge(Delta::from(&PortableDelta {
            handovers,
            slices,
            warnings,
        }));
        // Nothing more comes, so everything is judged: the parts may have ended at different times.
        self.run.time.cover_all();
        self.tick(ended);
    }

    /// Adds a worker, whose figures come by [`Store::merge`]. Workers are numbered in the order of the calls.
    pub fn add_worker(&mut self, identity: WorkerIdentity) {
        self.workers.add(&mut self.run, identity);
    }

    /// Notes that a worker was lost `at` that time since the start of the run. Its figures up to then count.
    pub fn worker_away(&mut self, worker: usize, at: Duration) {
        self.workers.lose(worker, at);
    }

    /// Notes that a worker that was away is back.
    pub fn worker_back(&mut self, worker: usize) {
        self.workers.find(worker);
    }

    /// Notes that a worker has handed everything over.
    pub fn worker_ended(&mut self, worker: usize) {
        self.workers.finish(worker);
    }

    /// Ends a tick at `now` since the start of the run, and returns a snapshot.
    pub fn tick(&mut self, now: Duration) -> Arc<Snapshot> {
        self.advance(now);
        Arc::new(self.snapshot())
    }

    fn snapshot(&mut self) -> Snapshot {
        let time = &self.run.time;
        let workers = self.workers.live(time.now(), time.origin());
        let thresholds = self.current_thresholds();
        Snapshot {
            workers,
            thresholds,
            ..showing::snapshot(&mut self.run, self.progress, self.loads.clone())
        }
    }

    /// Ends a tick at `now` since the start of the run, without a snapshot.
    pub fn advance(&mut self, now: Duration) {
        self.run.advance(now);
        if let Some(recording) = &mut self.recording {
            recording.tick(now);
        }
        self.workers.tick(now);
    }

    /// Returns how far the figures are behind that moment since the start of the run; `None` if no shard is to hand
    /// over.
    pub fn behind(&self, now: Duration) -> Option<Duration> {
        self.run.time.behind(now)
    }

    /// Forgets everything counted so far, except users at work, names, warnings and the requests of `test_start`.
    /// Figures cover the time from `now` on, which is measurement number `epoch`.
    pub fn reset(&mut self, now: Duration, epoch: u64) {
        self.run.reset(now, epoch);
        if let Some(recording) = &mut self.recording {
            recording.reset();
        }
        self.workers.reset(now, epoch);
    }

    /// Records everything measured from now on for the report, which is that of part `number` of `of`.
    pub fn record_part(&mut self, number: u64, of: u64) {
        self.recording = Some(Recording::of(number, of));
    }

    /// Applies a change to the figures of the run and to those of every label.
    fn each_group(&mut self, change: impl Fn(&mut ShardGroup)) {
        change(&mut self.run);
        self.workers.each_group(change);
    }

    /// Sets the order of rows from now on, as in [`RunIdentity::order`].
    pub fn order_by(&mut self, order: Vec<(String, String)>) {
        self.each_group(|group| group.identity.order = order.clone());
    }

    /// Sets the phase of the run, the load that it aims at and its time without pauses, for views.
    pub fn enter(&mut self, phase: RunPhase, aim: Aim, played: Duration) {
        (
            self.progress.phase,
            self.progress.wanted,
            self.progress.played,
        ) = (phase, aim, played);
    }

    /// Sets the loads of the run where there are several, for views.
    pub fn set_loads(&mut self, loads: Arc<[LiveLoad]>) {
        self.loads = loads;
    }

    /// Passes a warning on to every view and the report, once.
    pub fn warn(&mut self, warning: String) {
        self.run.warnings.add(cut(warning));
    }

    /// Notes the limit on the processor time of the process that drives users, and the time withheld for it so far.
    pub fn limit_generator(&mut self, limit: CpuLimitRow) {
        self.run.measured.generator.limit(limit);
    }

    /// Returns when the measurement under way began, in time since the run began.
    pub fn measured_from(&self) -> Duration {
        Duration::from_nanos(self.run.time.origin_ns())
    }

    /// Notes how many iterations were `due` in this measurement: of those that are not counted, nothing is known.
    pub fn set_arrivals_due(&mut self, due: Option<u64>) {
        let counted = self.run.measured.scenarios.arrivals().due();
        let missing = due.map_or(0, |due| due.saturating_sub(counted));
        self.run.measured.arrivals.set_missing(missing);
    }

    /// Sets the beginning of the load, as the time since the clock of the logs began.
    pub fn start_at(&mut self, since_origin: Duration) {
        self.run.identity.start_ns = nanoseconds(since_origin);
    }

    /// Records an event `at` that time since the start of the run.
    pub fn happened(&mut self, at: Duration, kind: EventKind, text: impl Into<String>) {
        let at = nanoseconds(at);
        self.run.events.add(at, None, kind, text.into());
    }

    /// Pauses the run at a moment: rates leave out the time from then on.
    pub fn pause(&mut self, at: Duration) {
        self.each_group(|group| group.time.pause(at));
    }

    /// Ends the pause.
    pub fn resume(&mut self, at: Duration) {
        self.each_group(|group| group.end_pause(at, "paused"));
    }

    /// Records that the process could not work between two moments, which counts as a pause.
    pub fn stood_still(&mut self, from: Duration, to: Duration) {
        self.pause(from);
        self.each_group(|group| group.end_pause(to, "the process stood still"));
    }

    /// Returns the wall clock at that time since the start of the run: `06:45:10 UTC`.
    pub fn wall_clock(&self, at: Duration) -> String {
        self.run.identity.wall_clock(at)
    }

    /// Declares counters of the plan, which are 0 until something is added.
    pub fn declare_counters(&mut self, names: &[String]) {
        self.run.measured.measures.declare_counters(names);
    }

    /// Sets the thresholds that are judged from now on.
    pub fn judge_by(&mut self, thresholds: Vec<Threshold>) {
        self.run.judges = Judges::new(thresholds);
        self.workers.judge_by(&self.run.judges);
    }

    /// Suspends judgement until the next reset: the figures up to then will be left out.
    pub fn hold_judgement(&mut self) {
        self.each_group(|group| group.judges.hold());
    }

    /// Notes that the load goes down from that time since the start of the run: nothing that follows breaks a
    /// stretch or stops the run.
    pub fn load_ended(&mut self, at: Duration) {
        self.each_group(|group| group.load_ended(at));
    }

    /// Returns the broken threshold that ends the run, if there is one.
    pub fn stopping_threshold(&self) -> Option<ThresholdRow> {
        let labels = self.workers.label_texts().unwrap_or_default();
        let own = self.run.judges.stopping(&labels);
        own.or_else(|| self.workers.stopping_threshold())
    }

    /// Returns all thresholds with their current figures.
    fn current_thresholds(&self) -> Vec<ThresholdRow> {
        let mut rows = self.run.judges.current();
        judging::put_rows_of_labels(&mut rows, self.workers.current_thresholds());
        rows
    }

    /// Reports the run up to `elapsed` since its start. Changes no figure, so it may be called at any time.
    pub fn report(&mut self, elapsed: Duration) -> Report {
        self.run.close_at(elapsed);
        self.complete(elapsed, Detail::Whole)
    }

    /// Reports the run up to the last tick.
    pub fn report_so_far(&mut self, detail: Detail) -> Report {
        self.complete(self.run.time.now(), detail)
    }

    /// Builds the report with its workers, their labels and the verdicts.
    fn complete(&mut self, elapsed: Duration, detail: Detail) -> Report {
        let mut report = self.run.build(elapsed, detail);
        if detail == Detail::Whole {
            report.part = self.part(elapsed);
        }
        report.start_stop = reporting::rows(self.start_stop.named(), Duration::ZERO, |_| {
            NameSeries::default()
        });
        let (by_label, labels) = self.workers.labels(elapsed, detail);
        report.workers = self.workers.rows(self.run.time.origin());
        report.by_label = by_label;
        let label_texts = self.workers.label_texts();
        let own = self.run.verdicts(elapsed, label_texts.as_deref());
        report.thresholds = own.rows;
        report.warnings.extend(own.warnings);
        for label in &labels {
            report.warnings.extend(label.warnings.iter().cloned());
        }
        let labels = labels.into_iter().map(|label| label.rows);
        judging::put_rows_of_labels(&mut report.thresholds, labels.collect());
        report
    }

    /// Returns the requests of one tag so far, in full if wanted; `None` if there are none.
    pub(crate) fn live_tag(&mut self, tag: &str, in_full: bool) -> Option<LiveTag> {
        showing::live_tag(&mut self.run, tag, in_full)
    }

    /// Returns the data for joining this report with those of the other parts; `None` if the run is no part.
    fn part(&mut self, elapsed: Duration) -> Option<PartRow> {
        let origin_ns = self.run.time.origin_ns();
        let recording = self.recording.as_mut()?;
        recording.close();
        Some(PartRow {
            number: recording.number,
            of: recording.of,
            shards: self.run.time.shards() as u64,
            epoch: self.run.time.epoch(),
            origin_ns,
            ended_ns: nanoseconds(elapsed),
            co_mitigation: self
                .run
                .identity
                .co_mitigation
                .map(|cadence| (cadence, self.run.identity.co_wanted)),
            order: self.run.identity.order.clone(),
            warnings: self.run.warnings.all().to_vec(),
            measured: recording.pieces.clone(),
            start_stop: recording.start_stop.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
