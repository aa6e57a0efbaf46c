//! How one request name went over time, as columns of equal length.
//!
//! Columns and not points: with 100 names there are hundreds of thousands of them, and a table of numbers is
//! what scripts want.

use serde::{Deserialize, Serialize};

/// The requests of one name over time. A stretch without any is left out, so times are told and not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NameSeries {
    /// Whole seconds from the start of the measurement to the start of each stretch.
    pub second: Vec<u64>,
    /// How long each lasted: a second, more in long runs of many names; rates divide by it.
    pub seconds: Vec<f64>,
    /// Requests that ended in each.
    pub count: Vec<u64>,
    /// Of these, failed.
    pub failures: Vec<u64>,
    /// Median latency in milliseconds; where stretches were joined, the worse of them, as all three.
    pub p50_ms: Vec<f64>,
    /// 95th percentile.
    pub p95_ms: Vec<f64>,
    /// 99th percentile.
    pub p99_ms: Vec<f64>,
}

impl NameSeries {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.second.is_empty()
    }
}
