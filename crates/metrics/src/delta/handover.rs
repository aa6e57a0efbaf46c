//! Handovers: the time up to which a shard has handed over its figures, and its state then.

use crate::generator::Effort;
use crate::record::QuietTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Handovers of any number of shards, by how far each had handed over and by shard.
pub(crate) type Handovers = BTreeMap<(Covered, u64), ShardHandover>;

/// State of a shard when it handed over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShardHandover {
    /// Resources used since the handover before.
    pub(crate) effort: Effort,
    /// The time without a response up to that moment, however short.
    pub(crate) quiet: Option<QuietTime>,
    /// When the first request ended whose verdict the plan may still change, in nanoseconds since the run began.
    pub(crate) undecided: Option<u64>,
}

/// The longest time, in nanoseconds, for which the verdict on a request keeps the interval in which the request ended from
/// being judged.
pub(crate) const UNDECIDED: u64 = 10_000_000_000;

/// Time up to which a shard has handed over its figures.
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
