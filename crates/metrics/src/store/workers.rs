//! Workers in the store: a tally of each, and exact figures of each of their labels.
//!
//! A label's figures are a group of shards of their own, into which the same slices are merged: it has the histograms
//! of a run, but no series of single names, and merging a delta takes as long again for each label of its worker.

use super::group::ShardGroup;
use super::judging::Verdicts;
use crate::delta::{Delta, DeltaSource};
use crate::latencies::Sketcher;
use crate::report::{Detail, LabelRow, ThresholdRow, WorkerRow};
use crate::snapshot::LiveWorker;
use crate::thresholds::Judges;
use crate::workers::{WorkerIdentity, WorkerTally};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The most labels that have figures of their own.
const MOST_LABELS: usize = 50;
/// Number of workers up to which every snapshot has new rows; with more, rows are renewed once a second.
const FEW: usize = 100;

/// Workers of a run.
#[derive(Debug, Default)]
pub(super) struct MeasuredWorkers {
    tallies: Vec<WorkerTally>,
    /// Number of the worker of each shard.
    by_shard: BTreeMap<usize, usize>,
    labels: Vec<LabelFigures>,
    sketcher: Option<Box<Sketcher>>,
    /// Rows for live views, and when they were made.
    live: Arc<[LiveWorker]>,
    live_at: Duration,
}

/// Figures of the workers with one label.
#[derive(Debug)]
struct LabelFigures {
    /// `region=eu`
    text: String,
    /// Its workers by their numbers, in rising order.
    members: Vec<usize>,
    group: Box<ShardGroup>,
}

impl MeasuredWorkers {
    /// Applies a change to the figures of every label.
    pub(super) fn each_group(&mut self, mut change: impl FnMut(&mut ShardGroup)) {
        for label in &mut self.labels {
            change(&mut label.group);
        }
    }

    fn each_group_of(&mut self, worker: Option<usize>, mut change: impl FnMut(&mut ShardGroup)) {
        let Some(worker) = worker else {
            return;
        };
        let labels = self.labels.iter_mut();
        for label in labels.filter(|label| label.members.binary_search(&worker).is_ok()) {
            change(&mut label.group);
        }
    }

    fn tally_of_shard(&mut self, shard: usize) -> Option<&mut WorkerTally> {
        self.tallies.get_mut(*self.by_shard.get(&shard)?)
    }

    /// Returns the labels that have figures of their own; `None` if the run has no workers.
    pub(super) fn label_texts(&self) -> Option<Vec<String>> {
        let texts = self.labels.iter().map(|label| label.text.clone());
        (!self.tallies.is_empty()).then(|| texts.collect())
    }

    /// Returns the first broken threshold of a label that ends the run.
    pub(super) fn stopping_threshold(&self) -> Option<ThresholdRow> {
        let mut labels = self.labels.iter();
        labels.find_map(|label| label.group.judges.stopping(&[]))
    }

    /// Returns the thresholds of each label with their current figures.
    pub(super) fn current_thresholds(&self) -> Vec<Vec<ThresholdRow>> {
        let labels = self.labels.iter();
        labels.map(|label| label.group.judges.current()).collect()
    }

    /// Ends a tick at `now` since the start of the run.
    pub(super) fn tick(&mut self, now: Duration) {
        for tally in &mut self.tallies {
            tally.tick();
        }
        self.each_group(|group| group.advance(now));
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
                label.group.close_at(elapsed);
                shown = Detail::Live;
            }
            let report = label.group.build(elapsed, shown);
            let row = LabelRow {
                label: label.text.clone(),
                workers: label.members.len() as u64,
                requests: report.requests,
                aggregated: report.aggregated,
                series: report.series,
            };
            (row, label.group.verdicts(elapsed, None))
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
        self.each_group(|group| group.reset(now, epoch));
    }

    /// Adds a worker to the run, whose figures come by [`Self::merge`]. Workers are numbered in the order of the
    /// calls.
    pub(super) fn add(&mut self, run: &mut ShardGroup, identity: WorkerIdentity) {
        let number = self.tallies.len();
        for text in identity.label_texts() {
            let existing = self.labels.iter().position(|label| label.text == text);
            let at = match existing {
                Some(at) => at,
                None if self.labels.len() == MOST_LABELS => {
                    run.warnings.add(format!(
                        "workers have more than {MOST_LABELS} labels: the first {MOST_LABELS} have figures of their own"
                    ));
                    continue;
                }
                None => {
                    let group = Box::new(run.of_label(&text));
                    self.labels.push(LabelFigures {
                        text,
                        members: Vec::new(),
                        group,
                    });
                    self.labels.len() - 1
                }
            };
            let label = &mut self.labels[at];
            label.members.push(number);
            // Other shards have nothing to add to it.
            label.group.expect_of(identity.shards.clone());
        }
        let shards = identity.shards.clone();
        self.by_shard.extend(shards.map(|shard| (shard, number)));
        self.tallies.push(WorkerTally::new(identity));
    }

    /// Gives each label the judges of the run for the thresholds that name it.
    pub(super) fn judge_by(&mut self, judges: &Judges) {
        for label in &mut self.labels {
            label.group.judges = judges.of_label(&label.text);
        }
    }

    /// Adds figures of workers to the tally of each worker and to their labels; `run` has them already.
    pub(super) fn merge(&mut self, run: &ShardGroup, delta: &Delta) {
        let epoch = run.time.epoch();
        let sketcher = self.sketcher.get_or_insert_default();
        let any = match &delta.source {
            DeltaSource::Shard(_) | DeltaSource::Shards => return,
            DeltaSource::Worker(worker) => {
                if let Some(tally) = self.tallies.get_mut(*worker) {
                    tally.add_slices(delta.slices_from(epoch), sketcher);
                }
                Some(*worker)
            }
            DeltaSource::Workers(shares) => {
                for (worker, share) in shares {
                    if let Some(tally) = self.tallies.get_mut(*worker as usize) {
                        for (_, counts) in share.0.range(epoch..) {
                            tally.add_counts(counts, sketcher);
                        }
                    }
                }
                // All have the same labels.
                shares.keys().next().map(|worker| *worker as usize)
            }
        };
        for row in delta.slices_from(epoch).flat_map(|slice| &slice.scenarios) {
            let scenario = run.measured.scenarios.number_of(&row.name);
            if let Some(tally) = self.tally_of_shard(row.shard) {
                tally.add_users(row.shard, scenario, row.counts.change, row.counts.rise);
            }
        }
        for ((covered, shard), handover) in &delta.handovers {
            let shard = *shard as usize;
            if let Some(tally) = self.tally_of_shard(shard) {
                let ended = covered.at(run.time.now_ns());
                tally.add_effort(shard, ended, &handover.effort);
            }
        }
        self.each_group_of(any, |group| group.merge(delta));
    }

    /// Notes that a worker was lost `at` that time since the start of the run. Its figures up to then count.
    pub(super) fn lose(&mut self, worker: usize, at: Duration) {
        let Some(tally) = self.tallies.get_mut(worker) else {
            return;
        };
        tally.lose(at);
        let shards = tally.identity.shards.clone();
        self.each_group_of(Some(worker), |group| {
            shards.clone().for_each(|shard| group.lose(shard))
        });
    }

    /// Notes that a worker that was away is back.
    pub(super) fn find(&mut self, worker: usize) {
        let Some(tally) = self.tallies.get_mut(worker) else {
            return;
        };
        tally.find();
        let shards = tally.identity.shards.clone();
        self.each_group_of(Some(worker), |group| {
            shards.clone().for_each(|shard| group.find(shard))
        });
    }

    /// Notes that a worker has handed everything over.
    pub(super) fn finish(&mut self, worker: usize) {
        if let Some(tally) = self.tallies.get_mut(worker) {
            tally.finish();
        }
    }
}
