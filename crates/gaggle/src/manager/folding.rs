//! Figures of many workers that the manager reads itself, added up for a moment before they are passed on. This costs
//! less than a third of merging each delivery into the store of the run and those of its labels.

use super::registry::WorkerRegistry;
use lgoose_engine::ShardEventKind;
use lgoose_metrics::{Delivery, GatheredDelta, PortableDelta};
use std::collections::BTreeMap;

/// Number of workers up to which each delivery is passed on at once.
const FEW: usize = 32;

/// Figures that are not passed on yet, by the labels of their workers.
#[derive(Debug, Default)]
pub(super) struct PendingFigures(BTreeMap<BTreeMap<String, String>, LabelledSum>);

#[derive(Debug, Default)]
struct LabelledSum {
    figures: GatheredDelta,
    /// The latest measurement of each worker.
    reached: BTreeMap<usize, u64>,
}

impl PendingFigures {
    /// Adds up the figures of the worker with that number if the run has many workers; returns whether it did.
    pub(super) fn add(
        &mut self,
        registry: &WorkerRegistry,
        worker: usize,
        reached: u64,
        bytes: &[u8],
    ) -> bool {
        if registry.0.len() <= FEW {
            return false;
        }
        let Ok(delta) = PortableDelta::decode(bytes) else {
            return false;
        };
        let labels = &registry.0[worker].presence.labels;
        if !self.0.contains_key(labels) {
            self.0.insert(labels.clone(), LabelledSum::default());
        }
        if let Some(folded) = self.0.get_mut(labels) {
            folded.figures.add(worker as u64, &delta);
            let latest = folded.reached.entry(worker).or_default();
            *latest = (*latest).max(reached);
        }
        true
    }

    /// Takes out the sums, one signal for workers with the same labels.
    pub(super) fn take(&mut self) -> impl Iterator<Item = ShardEventKind> + use<> {
        std::mem::take(&mut self.0).into_values().map(|folded| {
            ShardEventKind::Gathered(Delivery::Gathered {
                delta: Box::new(folded.figures),
                reached: folded.reached.into_iter().collect(),
            })
        })
    }
}
