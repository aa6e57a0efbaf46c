//! Data in the report of a part (`--part 2/4`) in addition to its figures: all that is needed to join the parts.

use super::omission::Cadence;
use crate::delta::plausible;
use serde::{Deserialize, Serialize};

/// The part of a load that a report covers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct PartRow {
    /// Number of the part, from 1.
    #[serde(deserialize_with = "plausible::count")]
    pub number: u64,
    /// Number of parts.
    #[serde(deserialize_with = "plausible::count")]
    pub of: u64,
    /// Number of threads that drove the users of the part.
    #[serde(deserialize_with = "plausible::count")]
    pub shards: u64,
    /// Number of the measurement that the figures belong to, from 0.
    #[serde(deserialize_with = "plausible::count")]
    pub epoch: u64,
    /// Start of that measurement, in nanoseconds since the start of the load.
    #[serde(deserialize_with = "plausible::large")]
    pub origin_ns: u64,
    /// When the report was made, on the same clock.
    #[serde(deserialize_with = "plausible::large")]
    pub ended_ns: u64,
    /// Cadence that late users were compared with, and whether the correction was explicitly requested.
    pub co_mitigation: Option<(Cadence, bool)>,
    /// Scenarios and tasks, in the order of the plan.
    pub order: Vec<(String, String)>,
    /// Warnings given during the run.
    pub warnings: Vec<String>,
    /// Everything that was measured, in portable pieces in base64.
    pub measured: Vec<String>,
    /// The same for `test_start` and `test_stop`.
    pub start_stop: Vec<String>,
}

/// Limits of a plausible part: more parts than a load has, more threads than any machine has, and a longer run than
/// anyone would wait for, two years in nanoseconds.
const MOST_PARTS: u64 = 100_000;
const MOST_SHARDS: u64 = 100_000;
const LONGEST_NS: u64 = 2 * 366 * 24 * 3_600 * 1_000_000_000;

impl PartRow {
    /// Returns whether a run could have written this: a file may be damaged.
    pub(crate) fn is_plausible(&self) -> bool {
        (1..=MOST_PARTS).contains(&self.of)
            && (1..=self.of).contains(&self.number)
            && (1..=MOST_SHARDS).contains(&self.shards)
            && (self.origin_ns..=LONGEST_NS).contains(&self.ended_ns)
    }
}
