//! The time for the expectations of one response: large bodies and many expectations multiply, and nobody else of the
//! thread runs meanwhile.

use crate::limits::processor_time;
use std::cell::Cell;
use std::time::Duration;

/// The time for all expectations of one response together, on the processor.
const LIMIT: Duration = Duration::from_secs(1);

/// The work between two looks at the clock, in bytes. Most responses take less in all.
const LOOK_WORK: u64 = 4 << 20;

/// The cost of comparing two short texts, in bytes.
pub(super) const STEP_BYTES: usize = 64;

/// The time that is left for the expectations of one response. It begins at the first look at the clock.
#[derive(Debug)]
pub(super) struct CheckTime {
    limit: Duration,
    work: Cell<u64>,
    start: Cell<Option<Duration>>,
    is_over: Cell<bool>,
}

impl CheckTime {
    pub(super) fn new() -> CheckTime {
        CheckTime::of(LIMIT)
    }

    fn of(limit: Duration) -> CheckTime {
        CheckTime {
            limit,
            work: Cell::new(0),
            start: Cell::new(None),
            is_over: Cell::new(false),
        }
    }

    /// Counts work, in bytes that are compared. Returns whether there is time for it.
    pub(super) fn spend(&self, bytes: usize) -> bool {
        let work = self.work.get().saturating_add(bytes as u64);
        self.work.set(work);
        if work >= LOOK_WORK {
            self.work.set(0);
            let now = processor_time();
            let start = self.start.get().unwrap_or(now);
            self.start.set(Some(start));
            if now - start >= self.limit {
                self.is_over.set(true);
            }
        }
        !self.is_over.get()
    }

    /// Returns the reason why the request failed, if the time was over before all was checked.
    pub(super) fn failure(&self) -> Option<String> {
        self.is_over.get().then(|| {
            format!(
                "its expectations take longer than {} s to check: expect less of so large a response",
                LIMIT.as_secs()
            )
        })
    }
}

#[cfg(test)]
impl CheckTime {
    /// Creates one whose time is over at the next look at the clock.
    pub(super) fn over() -> CheckTime {
        CheckTime::of(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_work_takes_no_time() {
        let time = CheckTime::over();
        assert!(time.spend(LOOK_WORK as usize - 1));
        assert_eq!(time.failure(), None);
        assert!(!time.spend(1) && !time.spend(0));
        let expected =
            "its expectations take longer than 1 s to check: expect less of so large a response";
        assert_eq!(time.failure().as_deref(), Some(expected));
        assert!(CheckTime::new().spend(LOOK_WORK as usize));
    }
}
