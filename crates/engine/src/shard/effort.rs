//! Measures a shard's use of the machine between two hand-overs of its figures, on the shard's own thread.

use lgoose_base::machine::thread_time;
use lgoose_metrics::{Effort, Lateness};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The meter of one shard; belongs to its thread.
#[derive(Debug)]
pub(crate) struct EffortMeter {
    since: Instant,
    /// Time for which the process had stood still by then.
    lost: Duration,
    on_core: Duration,
    waited: Duration,
    lag: Option<Duration>,
    /// Delays that the shard's probe notes.
    lateness: Rc<RefCell<Lateness>>,
    /// Returns how long the thread was on a core, and how long it waited for one.
    thread_time: fn() -> (Duration, Duration),
}

impl EffortMeter {
    pub(crate) fn new() -> EffortMeter {
        EffortMeter::beside(Rc::default(), thread_time)
    }

    /// Makes the meter of a shard in simulated time, beside which a thread takes no time.
    #[cfg(any(test, feature = "test-support"))]
    pub(crate) fn idle() -> EffortMeter {
        EffortMeter::beside(Rc::default(), <(Duration, Duration)>::default)
    }

    fn beside(
        lateness: Rc<RefCell<Lateness>>,
        thread_time: fn() -> (Duration, Duration),
    ) -> EffortMeter {
        let (on_core, waited) = thread_time();
        EffortMeter {
            since: Instant::now(),
            lost: Duration::ZERO,
            on_core,
            waited,
            lag: None,
            lateness,
            thread_time,
        }
    }

    /// Returns the place where the shard's probe notes its delays.
    pub(crate) fn lateness(&self) -> Rc<RefCell<Lateness>> {
        self.lateness.clone()
    }

    /// Records that the shard's timer was due at `due` and woke it now; the process has stood still for `lost` in all.
    pub(crate) fn woke(&mut self, due: Instant, lost: Duration) {
        self.lag = Some(due.elapsed().saturating_sub(lost - self.lost));
    }

    /// Returns the shard's use of the machine since the last call, without the time `lost` in which the process stood still.
    pub(crate) fn take(&mut self, connections: u64, lost: Duration) -> Effort {
        let now = EffortMeter {
            lost,
            ..EffortMeter::beside(self.lateness.clone(), self.thread_time)
        };
        let last = std::mem::replace(self, now);
        let starved = self.waited.saturating_sub(last.waited);
        let wall = self.since.duration_since(last.since);
        Effort {
            wall: wall.saturating_sub(lost - last.lost),
            busy: self.on_core.saturating_sub(last.on_core) + starved,
            starved,
            lag: last.lag,
            lateness: self.lateness.take(),
            connections,
        }
    }
}
