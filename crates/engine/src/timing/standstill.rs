//! Notices that the whole process stood still, stopped by a signal or frozen with its machine: such time does not
//! count against the target. Each thread has one, which it updates whenever it does something, at least at every tick.

use lgoose_base::machine::thread_time;
use std::cell::Cell;
use std::time::Duration;
use tokio::time::Instant;

/// Least time to notice: a thread is woken at every tick, twice as often. One that was neither on a core nor ready for one for so
/// long has stood still; any other was away.
const LEAST: Duration = Duration::from_millis(500);

/// Detector of the time for which one thread stood still.
#[derive(Debug)]
pub(crate) struct Standstill {
    /// Time at which the thread was last at work; `None` before its first tick.
    seen: Cell<Option<Instant>>,
    /// The thread's time on a core and ready for one, as of the last tick.
    used: Cell<Duration>,
    lost: Cell<Duration>,
    /// The time for which the thread could not look at anything, though the process did not stand still.
    away: Cell<Duration>,
}

impl Default for Standstill {
    fn default() -> Standstill {
        Standstill {
            seen: Cell::new(None),
            used: Cell::new(Duration::ZERO),
            lost: Cell::new(Duration::ZERO),
            away: Cell::new(Duration::ZERO),
        }
    }
}

impl Standstill {
    /// Notes that the thread is at work and returns how long it has just stood still. Notices nothing before the first
    /// tick.
    pub(crate) fn see(&self, now: Instant) -> Duration {
        let Some(seen) = self.seen.get() else {
            return Duration::ZERO;
        };
        let gap = now.saturating_duration_since(seen);
        if gap < LEAST {
            self.seen.set(Some(now.max(seen)));
            return Duration::ZERO;
        }
        self.seen.set(Some(now));
        let used = used();
        // If the thread was on a core or ready for one, say to read the plan's data or because others had the core,
        // the delay is lgoose's own.
        let stood = used.saturating_sub(self.used.replace(used)) < gap / 2;
        let lost = if stood { gap } else { Duration::ZERO };
        self.lost.set(self.lost.get() + lost);
        self.away.set(self.away.get() + gap - lost);
        lost
    }

    /// Notes a tick of the thread; otherwise like [`Standstill::see`].
    pub(crate) fn tick(&self, now: Instant) -> Duration {
        let lost = self.see(now);
        self.seen.set(Some(now));
        self.used.set(used());
        lost
    }

    /// Returns the time for which the thread has been away until now: busy, or kept off the cores.
    pub(crate) fn away(&self) -> Duration {
        self.away.get()
    }

    /// Returns the time for which it has stood still until now.
    pub(crate) fn lost(&self) -> Duration {
        self.lost.get()
    }
}

fn used() -> Duration {
    let (on_core, waited) = thread_time();
    on_core + waited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_without_work_is_a_standstill_and_a_thread_without_ticks_has_none() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let standstill = Standstill::default();
        assert_eq!(standstill.see(at(9_000)), Duration::ZERO, "no tick yet");
        assert_eq!(standstill.tick(at(9_000)), Duration::ZERO);
        assert_eq!(standstill.see(at(9_200)), Duration::ZERO);
        assert_eq!(standstill.see(at(16_200)), Duration::from_secs(7));
        assert_eq!(standstill.see(at(16_201)), Duration::ZERO);
        assert_eq!(standstill.tick(at(16_450)), Duration::ZERO);
        assert_eq!(standstill.tick(at(18_450)), Duration::from_secs(2));
        assert_eq!(standstill.lost(), Duration::from_secs(9));
    }

    #[test]
    fn a_gap_full_of_work_is_none() {
        let standstill = Standstill::default();
        standstill.tick(Instant::now());
        let start = used();
        while used() - start < LEAST {
            std::hint::spin_loop();
        }
        assert_eq!(standstill.see(Instant::now()), Duration::ZERO);
    }
}
