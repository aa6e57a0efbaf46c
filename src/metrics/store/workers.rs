//! Workers in the store: a tally of each, and exact figures of each of their labels.
//!
//! A label's figures are a store of their own, into which the same slices are merged: it has the histograms of a run,
//! but no series of single names, and merging a delta takes as long again for each label of its worker.

use super::super::by_name::ByName;
use super::super::delta::{Covered, SliceDelta};
use super::super::detail::Detail;
use super::super::gathered::GatheredDelta;
use super::super::portable::{PortableDelta, Slice, Stand};
use super::super::report::{LabelRow, ThresholdRow, WorkerRow};
use super::super::sketch::Sketcher;
use super::super::snapshot::LiveWorker;
use super::super::workers::{WorkerIdentity, WorkerTally};
use super::Store;
use super::judging::Verdicts;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The most labels that have figures of their own.
const MOST_LABELS: usize = 50;
/// Number of workers up to which every snapshot has new rows; with more, rows are renewed once a second.
const FEW: usize = 100;

/// Workers of a run.
#[derive(Debug, Default)]
pub(super) struct Workers {
    tallies: Vec<WorkerTally>,
    /// Number of the worker of each shard.
    by_shard: BTreeMap<usize, usize>,
    labels: Vec<Label>,
    sketcher: Option<Box<Sketcher>>,
    /// Rows for live views, and when they were made.
    live: Arc<[LiveWorker]>,
    live_at: Duration,
}

/// Figures of the workers with one label.
#[derive(Debug)]
struct Label {
    /// `region=eu`
    text: String,
    /// Its workers by their numbers, in rising order.
    members: Vec<usize>,
    store: Box<Store>,
}

impl Workers {
    /// Applies a change to the store of every label.
    pub(super) fn each_store(&mut self, mut change: impl FnMut(&mut Store)) {
        for label in &mut self.labels {
            change(&mut label.store);
        }
    }

    fn each_store_of(&mut self, worker: usize, mut change: impl FnMut(&mut Store)) {
        let labels = self.labels.iter_mut();
        for label in labels.filter(|label| label.members.binary_search(&worker).is_ok()) {
            change(&mut label.store);
        }
    }

    fn tally_of_shard(&mut self, shard: usize) -> Option<&mut WorkerTally> {
        self.tallies.get_mut(*self.by_shard.get(&shard)?)
    }

    /// Returns whether a label has figures of its own.
    pub(super) fn knows(&self, text: &str) -> bool {
        self.labels.iter().any(|label| label.text == text)
    }

    /// Returns whether the run has no workers.
    pub(super) fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    /// Returns the labels that have figures of their own.
    pub(super) fn label_texts(&self) -> impl Iterator<Item = String> {
        self.labels.iter().map(|label| label.text.clone())
    }

    /// Returns the first broken threshold of a label that ends the run.
    pub(super) fn stopping_threshold(&self) -> Option<ThresholdRow> {
        let mut labels = self.labels.iter();
        labels.find_map(|label| label.store.stopping_threshold())
    }

    /// Returns the thresholds of each label with their current figures.
    pub(super) fn current_thresholds(&self) -> Vec<Vec<ThresholdRow>> {
        let labels = self.labels.iter();
        labels.map(|label| label.store.judges.current()).collect()
    }

    /// Ends a tick at `now` since the start of the run.
    pub(super) fn tick(&mut self, now: Duration) {
        for tally in &mut self.tallies {
            tally.tick();
        }
        self.each_store(|store| store.advance(now));
    }

    /// Returns the rows for a snapshot at `now`; the measurement began at `origin`.
    pub(super) fn live(&mut self, now: Duration, origin: Duration) -> Arc<[LiveWorker]> {
        let many = self.tallies.len() > FEW;
        let since = now.saturating_sub(self.live_at);
        let stale = self.live.len() != self.tallies.len() || since >= Duration::from_secs(1);
        if stale || !many && !self.tallies.is_empty() {
            let second = now.saturating_sub(origin).as_secs();
            let rows = self.tallies.iter().map(|tally| tally.live(second));
            (self.live, self.live_at) = (rows.collect(), now);
        }
        self.live.clone()
    }

    pub(super) fn rows(&self, origin: Duration) -> Vec<WorkerRow> {
        self.tallies.iter().map(|tally| tally.row(origin)).collect()
    }

    /// Returns the rows of labels up to `elapsed` since the start of the run, in alphabetical order, and the verdicts
    /// on them. For [`Detail::Whole`], it first closes everything that is over by then.
    pub(super) fn labels(
        &mut self,
        elapsed: Duration,
        detail: Detail,
    ) -> (Vec<LabelRow>, Vec<Verdicts>) {
        let reports = self.labels.iter_mut().map(|label| {
            let mut shown = detail;
            if detail == Detail::Whole {
                label.store.close_at(elapsed);
                shown = Detail::Live;
            }
            let report = label.store.build(elapsed, shown);
            let row = LabelRow {
                label: label.text.clone(),
                workers: label.members.len() as u64,
                requests: report.requests,
                aggregated: report.aggregated,
                series: report.series,
            };
            (row, label.store.verdicts(elapsed))
        });
        let (mut rows, verdicts): (Vec<LabelRow>, Vec<Verdicts>) = reports.unzip();
        rows.sort_by(|a, b| a.label.cmp(&b.label));
        (rows, verdicts)
    }

    /// Drops the figures; the measurement begins anew at `now`.
    pub(super) fn reset(&mut self, now: Duration, epoch: u64) {
        for tally in &mut self.tallies {
            tally.reset();
        }
        self.each_store(|store| store.reset(now, epoch));
    }
}

impl Store {
    /// Adds a worker, whose figures come by [`Store::merge_worker`]. Workers are numbered in the order of the calls.
    pub(crate) fn add_worker(&mut self, identity: WorkerIdentity) {
        let number = self.workers.tallies.len();
        for text in identity.label_texts() {
            let known = self
                .workers
                .labels
                .iter()
                .position(|label| label.text == text);
            let at = match known {
                Some(at) => at,
                None if self.workers.labels.len() == MOST_LABELS => {
                    self.warn(format!(
                        "workers have more than {MOST_LABELS} labels: the first {MOST_LABELS} have figures of their own"
                    ));
                    continue;
                }
                None => {
                    let store = Box::new(self.store_of_label(&text));
                    self.workers.labels.push(Label {
                        text,
                        members: Vec::new(),
                        store,
                    });
                    self.workers.labels.len() - 1
                }
            };
            let label = &mut self.workers.labels[at];
            label.members.push(number);
            // Other shards have nothing to add to it.
            label.store.time.expect_of(identity.shards.clone());
        }
        let shards = identity.shards.clone();
        self.workers
            .by_shard
            .extend(shards.map(|shard| (shard, number)));
        self.workers.tallies.push(WorkerTally::new(identity));
    }

    /// Makes the store of a label, at this moment of the run.
    fn store_of_label(&self, label: &str) -> Store {
        let mut store = Store::new(self.identity.clone());
        store.judges = self.judges.of_label(label);
        store.measured.requests.series_by_name = ByName::nothing();
        store.time = self.time.without_shards();
        store
    }

    /// Lets the stores of labels judge what names them.
    pub(super) fn judge_labels(&mut self) {
        for label in &mut self.workers.labels {
            label.store.judges = self.judges.of_label(&label.text);
        }
    }

    /// Adds what the shards of one worker measured to the run, to that worker and to each of its labels.
    pub(crate) fn merge_worker(&mut self, worker: usize, delta: &PortableDelta) {
        let mut workers = std::mem::take(&mut self.workers);
        let mut sketcher = workers.sketcher.take().unwrap_or_default();
        if let Some(tally) = workers.tallies.get(worker) {
            tally.begin(&mut sketcher);
        }
        self.merge_slices_of(&mut workers, worker, delta, |workers, rows| {
            if let Some(tally) = workers.tallies.get_mut(worker) {
                tally.add_slice(rows, &mut sketcher);
            }
        });
        if let Some(tally) = workers.tallies.get_mut(worker) {
            tally.end(&mut sketcher);
        }
        self.merge_stands_of(&mut workers, worker, delta);
        workers.sketcher = Some(sketcher);
        self.workers = workers;
    }

    /// Adds the figures of several workers with the same labels, which a gather has added up.
    pub(crate) fn merge_gathered(&mut self, gathered: &GatheredDelta) {
        let mut workers = std::mem::take(&mut self.workers);
        let mut sketcher = workers.sketcher.take().unwrap_or_default();
        for (worker, share) in &gathered.shares {
            let Some(tally) = workers.tallies.get_mut(*worker as usize) else {
                continue;
            };
            for counts in share.0.range(self.time.epoch()..).map(|(_, counts)| counts) {
                tally.add_counts(counts, &mut sketcher);
            }
        }
        // All have the same labels.
        let any = gathered.shares.keys().next();
        let any = any.map_or(usize::MAX, |worker| *worker as usize);
        self.merge_slices_of(&mut workers, any, &gathered.delta, |_, _| {});
        self.merge_stands_of(&mut workers, any, &gathered.delta);
        workers.sketcher = Some(sketcher);
        self.workers = workers;
    }

    /// Adds slices of workers with the labels of worker `like` to the run and to those labels, and their users to
    /// each worker; `each` gets the rows of each slice.
    fn merge_slices_of(
        &mut self,
        workers: &mut Workers,
        like: usize,
        delta: &PortableDelta,
        mut each: impl FnMut(&mut Workers, &SliceDelta),
    ) {
        for ((epoch, from), slice) in &delta.slices {
            if *epoch < self.time.epoch() {
                continue;
            }
            let rows = slice.to_delta(*epoch, *from);
            self.merge_slice_of_shards(slice, &rows);
            each(workers, &rows);
            for (shard, row) in slice.populations() {
                let scenario = self.measured.scenarios.number_of(&row.name);
                if let Some(tally) = workers.tally_of_shard(shard) {
                    tally.add_users(shard, scenario, row.change, row.rise);
                }
            }
            workers.each_store_of(like, |store| store.merge_slice_of_shards(slice, &rows));
        }
    }

    /// Adds the states of shards and the warnings of workers with the labels of worker `like`.
    fn merge_stands_of(&mut self, workers: &mut Workers, like: usize, delta: &PortableDelta) {
        for ((covered, shard), stand) in &delta.stands {
            let shard = *shard as usize;
            self.merge_stand_of(shard, *covered, stand);
            if let Some(tally) = workers.tally_of_shard(shard) {
                let ended = covered.at(self.time.now_ns());
                tally.add_effort(shard, ended, &stand.effort);
            }
        }
        workers.each_store_of(like, |store| {
            for ((covered, shard), stand) in &delta.stands {
                store.merge_stand_of(*shard as usize, *covered, stand);
            }
        });
        for warning in &delta.warnings {
            self.warn(warning.clone());
        }
    }

    /// Adds a slice of several shards; `rows` are the parts of it that add up over shards.
    pub(super) fn merge_slice_of_shards(&mut self, slice: &Slice, rows: &SliceDelta) {
        self.merge_slice(None, rows);
        for (shard, row) in slice.populations() {
            self.measured.scenarios.merge(shard, &row);
        }
        for (shard, quiet) in slice.quiets() {
            self.silences.add(shard, &[quiet]);
        }
    }

    pub(super) fn merge_stand_of(&mut self, shard: usize, covered: Covered, stand: &Stand) {
        self.merge_stand(shard, covered, &stand.effort, stand.quiet);
    }

    /// Notes that a worker is no longer heard from, `at` that time since the start of the run. What it has delivered
    /// counts.
    pub(crate) fn worker_away(&mut self, worker: usize, at: Duration) {
        let Some(tally) = self.workers.tallies.get_mut(worker) else {
            return;
        };
        tally.lose(at);
        let shards = tally.identity.shards.clone();
        self.workers.each_store_of(worker, |store| {
            shards.clone().for_each(|shard| store.lose(shard))
        });
    }

    /// Notes that a worker that was away is back.
    pub(crate) fn worker_back(&mut self, worker: usize) {
        let Some(tally) = self.workers.tallies.get_mut(worker) else {
            return;
        };
        tally.find();
        let shards = tally.identity.shards.clone();
        self.workers.each_store_of(worker, |store| {
            shards.clone().for_each(|shard| store.find(shard))
        });
    }

    /// Notes that a worker has handed everything over.
    pub(crate) fn worker_ended(&mut self, worker: usize) {
        if let Some(tally) = self.workers.tallies.get_mut(worker) {
            tally.finish();
        }
    }
}
