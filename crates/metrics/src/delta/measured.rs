//! Deltas: figures of shards since their last tick, in the one form that a store merges.
//!
//! Filled by a [`Recorder`](crate::Recorder), merged and emptied by the [`Store`](crate::Store), then handed
//! back so that a tick reuses its memory; figures of other processes are converted to it. It consists of slices, each
//! within one second of a measurement, so that everything counts in the second in which it happened.

use super::handover::{Handovers, ShardHandover};
use super::share::WorkerShare;
use super::slice::SliceDelta;
use crate::generator::Effort;
use std::collections::BTreeMap;

/// Everything that shards measured within one tick. `Send`, opaque, reusable.
#[derive(Debug, Default)]
pub struct Delta {
    pub(crate) source: DeltaSource,
    /// Slices in order of time; the last one of a shard is still open, unless the shard has ended.
    pub(crate) slices: Vec<SliceDelta>,
    pub(crate) handovers: Handovers,
    pub(crate) warnings: Vec<String>,
}

/// Origin of the figures in a delta.
#[derive(Debug, Default)]
pub(crate) enum DeltaSource {
    /// One shard of this process, whose numbers the rows have.
    Shard(usize),
    /// Any shards.
    #[default]
    Shards,
    /// The shards of the worker of that number.
    Worker(usize),
    /// The shards of several workers with the same labels, with the share of each worker by its number.
    Workers(BTreeMap<u64, WorkerShare>),
}

impl Delta {
    pub(crate) fn new(shard: usize) -> Self {
        Delta {
            source: DeltaSource::Shard(shard),
            ..Delta::default()
        }
    }

    /// Returns the number of the shard that measured it; `None` if several may have.
    pub fn shard(&self) -> Option<usize> {
        match self.source {
            DeltaSource::Shard(shard) => Some(shard),
            _ => None,
        }
    }

    /// Returns whether the delta holds nothing at all.
    pub fn is_empty(&self) -> bool {
        self.slices.iter().all(SliceDelta::is_empty) && self.warnings.is_empty()
    }

    /// Returns whether the delta knows of measurement number `epoch` or a later one.
    pub fn reaches(&self, epoch: u64) -> bool {
        self.slices.iter().any(|slice| slice.span.epoch >= epoch)
    }

    /// Returns the number of the latest measurement that the delta knows of.
    pub fn epoch(&self) -> u64 {
        let epochs = self.slices.iter().map(|slice| slice.span.epoch);
        epochs.max().unwrap_or(0)
    }

    /// Returns the slices of measurement number `epoch` and of later ones.
    pub(crate) fn slices_from(&self, epoch: u64) -> impl Iterator<Item = &SliceDelta> {
        let slices = self.slices.iter();
        slices.filter(move |slice| slice.span.epoch >= epoch)
    }

    /// Empties the delta and keeps its rows and memory, for [`Recorder::recycle`](crate::Recorder::recycle).
    pub fn clear(&mut self) {
        for slice in &mut self.slices {
            slice.clear();
        }
        self.warnings.clear();
        self.handovers.clear();
    }

    /// Splits off everything that belongs to measurement number `epoch` or a later one.
    pub fn split_off(&mut self, epoch: u64) -> Delta {
        let later = self
            .slices
            .iter()
            .position(|slice| slice.span.epoch >= epoch);
        let at = later.unwrap_or(self.slices.len());
        let handovers = self.handovers.iter().map(|(key, handover)| {
            // The effort counts once.
            let effort = Effort::default();
            let handover = handover.clone();
            (*key, ShardHandover { effort, ..handover })
        });
        Delta {
            source: self.shard().map_or(DeltaSource::Shards, DeltaSource::Shard),
            handovers: handovers.collect(),
            slices: self.slices.split_off(at),
            warnings: Vec::new(),
        }
    }
}
