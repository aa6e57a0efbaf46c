//! Deltas: what one shard measured since its last tick, the unit in which metrics travel.
//!
//! Filled by a [`Recorder`](crate::Recorder), merged and emptied by the [`Store`](crate::Store), then handed
//! back so that a tick reuses its memory. It consists of slices, each within one second of a measurement, so that
//! everything counts in the second in which it happened.

use super::slice::SliceDelta;
use crate::generator::Effort;
use crate::record::QuietTime;
use serde::{Deserialize, Serialize};

/// Everything one shard measured within one tick. `Send`, opaque, reusable.
#[derive(Debug, Default)]
pub struct Delta {
    pub(crate) shard: usize,
    /// Slices in order of time; the last one is still open, unless the shard has ended.
    pub(crate) slices: Vec<SliceDelta>,
    pub(crate) warnings: Vec<String>,
    pub(crate) effort: Effort,
    /// How far everything was handed over.
    pub(crate) covered: Covered,
    /// The time without a response up to that moment, however short.
    pub(crate) quiet: Option<QuietTime>,
    /// When the first request ended whose verdict the plan may still change, in nanoseconds since the run began.
    pub(crate) undecided: Option<u64>,
}

impl Delta {
    pub(crate) fn new(shard: usize) -> Self {
        Delta {
            shard,
            ..Delta::default()
        }
    }

    /// Returns the number of the shard that measured it.
    pub fn shard(&self) -> usize {
        self.shard
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

    /// Empties the delta and keeps its rows and memory, for [`Recorder::recycle`](crate::Recorder::recycle).
    pub fn clear(&mut self) {
        for slice in &mut self.slices {
            slice.clear();
        }
        self.warnings.clear();
        self.effort = Effort::default();
    }

    /// Splits off everything that belongs to measurement number `epoch` or a later one.
    pub fn split_off(&mut self, epoch: u64) -> Delta {
        let later = self
            .slices
            .iter()
            .position(|slice| slice.span.epoch >= epoch);
        let at = later.unwrap_or(self.slices.len());
        Delta {
            slices: self.slices.split_off(at),
            covered: self.covered,
            quiet: self.quiet,
            undecided: self.undecided,
            ..Delta::new(self.shard)
        }
    }
}

/// The longest time, in nanoseconds, for which the verdict on a request keeps the interval in which the request ended from
/// being judged.
pub(crate) const UNDECIDED: u64 = 10_000_000_000;

/// How far a shard has handed over what it measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub(crate) enum Covered {
    /// Up to that moment, in nanoseconds since the run began.
    Until(u64),
    /// Completely: it has ended, or nothing more is expected of it.
    Whole,
}

impl Default for Covered {
    fn default() -> Self {
        Covered::Until(0)
    }
}

impl Covered {
    /// Returns the moment up to which everything is known at `now`; both are nanoseconds since the run began.
    pub(crate) fn at(self, now: u64) -> u64 {
        match self {
            Covered::Until(moment) => moment.min(now),
            Covered::Whole => now,
        }
    }

    /// Converts the moment to a clock that began `by` nanoseconds later.
    pub(crate) fn earlier(self, by: u64) -> Covered {
        match self {
            Covered::Until(moment) => Covered::Until(moment.saturating_sub(by)),
            Covered::Whole => Covered::Whole,
        }
    }
}

// Sent as one number, whose greatest value is no moment of a run.
impl From<u64> for Covered {
    fn from(number: u64) -> Covered {
        match number {
            u64::MAX => Covered::Whole,
            moment => Covered::Until(moment),
        }
    }
}

impl From<Covered> for u64 {
    fn from(covered: Covered) -> u64 {
        match covered {
            Covered::Until(moment) => moment,
            Covered::Whole => u64::MAX,
        }
    }
}
