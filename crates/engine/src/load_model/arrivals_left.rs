//! Arrivals that are left where the number of iterations at a rate is limited: all shards of a process count them down
//! together, since an arrival of one may be served by another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The arrivals of this process that were neither served nor dropped yet, by lane; `None` for a lane without a limit.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalsLeft(Arc<[Option<AtomicU64>]>);

impl ArrivalsLeft {
    /// Makes the counts from the number of arrivals in each lane.
    pub(crate) fn new(lanes: impl IntoIterator<Item = Option<u64>>) -> ArrivalsLeft {
        ArrivalsLeft(
            lanes
                .into_iter()
                .map(|count| count.map(AtomicU64::new))
                .collect(),
        )
    }

    /// Counts arrivals of a lane that were served or dropped.
    pub(crate) fn settle(&self, lane: usize, count: u64) {
        if let Some(left) = &self.0[lane] {
            left.fetch_sub(count, Ordering::Relaxed);
        }
    }

    /// Returns whether every arrival of a lane was served or dropped; never without a limit.
    pub(crate) fn is_settled(&self, lane: usize) -> bool {
        let left = self.0[lane].as_ref();
        left.is_some_and(|left| left.load(Ordering::Relaxed) == 0)
    }
}
