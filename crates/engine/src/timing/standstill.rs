//! Notices that the whole process stood still, stopped by a signal or frozen with its machine: such time does not
//! count against the target. Each thread has one, which it updates whenever it does something, at least at every tick.

use lgoose_base::machine::thread_time;
use std::cell::Cell;
use std::time::Duration;
use tokio::time::Instant;

/// Least time to notice: a thread is woken at every tick, twice as often. One that was neither on a core nor ready for one for so
/// long has stood still; any other was away.
const LEAST: Duration = Duration::from_millis(500);

/// Time for which a thread could not look at anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The process stood still.
    Standstill(Duration),
    /// The thread was busy, or kept off the cores.
    Away(Duration),
}

/// Detector of the time for which one thread stood still.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    /// Time at which the thread was last at work; `None` before its first tick.
    seen: Cell<Option<Instant>>,
    /// The thread's time on a core and ready for one, as of the last tick.
    used: Cell<Duration>,
    lost: Cell<Duration>,
}

impl Standstill {
    /// Notes that the thread is at work and returns the gap before, if there was one. Notices nothing before the first tick.
    pub(crate) fn see(&self, now: Instant) -> Option<Gap> {
        let seen = self.seen.get()?;
        let gap = now.saturating_duration_since(seen);
        self.seen.set(Some(now.max(seen)));
        (gap >= LEAST).then(|| self.gap(gap))
    }

    #[cold]
    fn gap(&self, gap: Duration) -> Gap {
        let used = used();
        // If the thread was on a core or ready for one, say to read the plan's data or because others had the core,
        // the delay is lgoose's own.
        if used.saturating_sub(self.used.replace(used)) < gap / 2 {
            self.lost.set(self.lost.get() + gap);
            Gap::Standstill(gap)
        } else {
            Gap::Away(gap)
        }
    }

    /// Notes a tick of the thread; otherwise like [`Standstill::see`].
    pub(crate) fn tick(&self, now: Instant) -> Option<Gap> {
        let gap = self.see(now);
        self.seen.set(Some(now));
        self.used.set(used());
        gap
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
        let stood = |s| Some(Gap::Standstill(Duration::from_secs(s)));
        let standstill = Standstill::default();
        assert_eq!(standstill.see(at(9_000)), None, "no tick yet");
        assert_eq!(standstill.tick(at(9_000)), None);
        assert_eq!(standstill.see(at(9_200)), None);
        assert_eq!(standstill.see(at(16_200)), stood(7));
        assert_eq!(standstill.see(at(16_201)), None);
        assert_eq!(standstill.tick(at(16_450)), None);
        assert_eq!(standstill.tick(at(18_450)), stood(2));
        assert_eq!(standstill.lost(), Duration::from_secs(9));
    }

    #[test]
    fn a_gap_full_of_work_is_no_standstill() {
        let standstill = Standstill::default();
        standstill.tick(Instant::now());
        let start = used();
        while used() - start < LEAST {
            std::hint::spin_loop();
        }
        assert!(matches!(standstill.see(Instant::now()), Some(Gap::Away(_))));
        assert_eq!(standstill.lost(), Duration::ZERO);
    }
}
