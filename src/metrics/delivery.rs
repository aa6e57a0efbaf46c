//! Deliveries: what a participant of a run hands over at a time.

use super::delta::Delta;
use super::portable::PortableDelta;

/// Figures of one shard of this process, or of several of another one, added up.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// Figures of a shard of this process, which gets the memory back.
    Shard(Box<Delta>),
    /// Figures of shards elsewhere.
    Worker {
        /// Figures since the last delivery, with shard numbers of the whole run.
        delta: Box<PortableDelta>,
        /// The latest measurement that all of those shards have come to.
        reached: u64,
    },
}

impl Delivery {
    /// Returns whether all of its shards have come to measurement number `epoch`.
    pub(crate) fn reaches(&self, epoch: u64) -> bool {
        match self {
            Delivery::Shard(delta) => delta.reaches(epoch),
            Delivery::Worker { reached, .. } => *reached >= epoch,
        }
    }

    /// Splits off what belongs to measurement number `epoch` or a later one, if there is any.
    pub(crate) fn split_off(&mut self, epoch: u64) -> Option<Delivery> {
        match self {
            Delivery::Shard(delta) if delta.reaches(epoch) => {
                Some(Delivery::Shard(Box::new(delta.split_off(epoch))))
            }
            Delivery::Shard(_) => None,
            Delivery::Worker { delta, reached } => {
                let later = delta.split_off(epoch)?;
                Some(Delivery::Worker {
                    delta: Box::new(later),
                    reached: *reached,
                })
            }
        }
    }
}
