//! Figures of many workers that the manager reads itself, added up for a moment before they are passed on. This costs
//! less than a third of merging each delivery into the store of the run and those of its labels.

use super::pump::Pump;
use crate::engine::SignalKind;
use crate::metrics::{Delivery, GatheredDelta, PortableDelta};
use std::collections::BTreeMap;

/// Number of workers up to which each delivery is passed on at once.
const FEW: usize = 32;

/// Figures that are not passed on yet, by the labels of their workers.
#[derive(Debug, Default)]
pub(super) struct Folding(BTreeMap<BTreeMap<String, String>, Folded>);

#[derive(Debug, Default)]
struct Folded {
    figures: GatheredDelta,
    /// The latest measurement of each worker.
    reached: BTreeMap<usize, u64>,
}

impl Folding {
    /// Adds the delivery of the worker with that number and these labels.
    fn add(
        &mut self,
        labels: &BTreeMap<String, String>,
        worker: usize,
        reached: u64,
        delta: &PortableDelta,
    ) {
        if !self.0.contains_key(labels) {
            self.0.insert(labels.clone(), Folded::default());
        }
        if let Some(folded) = self.0.get_mut(labels) {
            folded.figures.add(worker as u64, delta);
            let latest = folded.reached.entry(worker).or_default();
            *latest = (*latest).max(reached);
        }
    }
}

impl Pump {
    /// Adds up a worker's figures if the run has many workers; returns whether it did.
    pub(super) fn fold(&mut self, number: usize, reached: u64, bytes: &[u8]) -> bool {
        if self.roll.0.len() <= FEW {
            return false;
        }
        let Ok(delta) = PortableDelta::decode(bytes) else {
            return false;
        };
        let labels = &self.roll.0[number].presence.labels;
        self.folding.add(labels, number, reached, &delta);
        true
    }

    /// Passes what was added up on to the director.
    pub(super) fn pass_on(&mut self) {
        for Folded { figures, reached } in std::mem::take(&mut self.folding.0).into_values() {
            let delivery = Delivery::Gathered {
                delta: Box::new(figures),
                reached: reached.into_iter().collect(),
            };
            self.signal(0, SignalKind::Gathered(delivery));
        }
    }
}
