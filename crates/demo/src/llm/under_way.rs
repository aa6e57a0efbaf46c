//! The requests whose responses are being sent: the more there are, the slower is each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A request under way, as long as this exists.
#[derive(Debug)]
pub(super) struct UnderWay {
    all: Arc<AtomicU32>,
}

impl UnderWay {
    /// Counts a request among all.
    pub(super) fn begin(all: &Arc<AtomicU32>) -> UnderWay {
        all.fetch_add(1, Ordering::Relaxed);
        UnderWay { all: all.clone() }
    }

    /// Returns the number of other requests under way.
    pub(super) fn others(&self) -> u32 {
        self.all.load(Ordering::Relaxed).saturating_sub(1)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_until_it_ends() {
        let all = Arc::default();
        let first = UnderWay::begin(&all);
        let second = UnderWay::begin(&all);
        assert_eq!((first.others(), second.others()), (1, 1));
        drop(first);
        assert_eq!(second.others(), 0);
    }
}
