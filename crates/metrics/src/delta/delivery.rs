//! Deliveries: figures that a participant of a run hands over at a time.

use super::gathered::GatheredDelta;
use super::measured::Delta;
use super::portable::PortableDelta;

/// Figures of one shard of this process, of one worker, or of several workers added up.
#[derive(Debug)]
pub enum Delivery {
    /// Figures of a shard of this process, which gets the memory back.
    Shard(Box<Delta>),
    /// Figures of shards elsewhere.
    Worker {
        /// Figures since the last delivery, with shard numbers of the whole run.
        delta: Box<PortableDelta>,
        /// The latest measurement that all of those shards have come to.
        reached: u64,
    },
    /// Figures of several workers, added up by a gather.
    Gathered {
        /// The figures.
        delta: Box<GatheredDelta>,
        /// Number of each worker, and the latest measurement that all of its shards have come to.
        reached: Vec<(usize, u64)>,
    },
}

impl Delivery {
    /// Returns the participants whose shards have all come to measurement number `epoch`, if `from` delivered it.
    pub fn reached_by(&self, from: usize, epoch: u64) -> Vec<usize> {
        let reaches = match self {
            Delivery::Shard(delta) => delta.reaches(epoch),
            Delivery::Worker { reached, .. } => *reached >= epoch,
            Delivery::Gathered { reached, .. } => {
                let come = reached.iter().filter(|(_, reached)| *reached >= epoch);
                return come.map(|(worker, _)| *worker).collect();
            }
        };
        if reaches { vec![from] } else { Vec::new() }
    }

    /// Splits off the figures of measurement number `epoch` or a later one, if there is any.
    pub fn split_off(&mut self, epoch: u64) -> Option<Delivery> {
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
            Delivery::Gathered { delta, reached } => {
                let later = delta.split_off(epoch)?;
                Some(Delivery::Gathered {
                    delta: Box::new(later),
                    reached: reached.clone(),
                })
            }
        }
    }
}
