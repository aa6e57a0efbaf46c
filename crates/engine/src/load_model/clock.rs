//! Clock of the timetable, which stands still while the run is paused.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time since the run began, without pauses, as the timetable counts it. Reads no machine's clock: it takes and
/// returns durations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunClock {
    /// Total length of the pauses that are over.
    behind: Duration,
    /// Beginning of the current pause.
    paused: Option<Duration>,
}

impl RunClock {
    /// Returns the time on the clock at `now`.
    pub(crate) fn elapsed(&self, now: Duration) -> Duration {
        self.paused.unwrap_or(now).saturating_sub(self.behind)
    }

    /// Returns when the clock will show `due`; `None` while the run is paused.
    pub(crate) fn moment(&self, due: Duration) -> Option<Duration> {
        match self.paused {
            Some(_) => None,
            None => self.behind.checked_add(due),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub(crate) fn pause(&mut self, now: Duration) {
        self.paused.get_or_insert(now);
    }

    pub(crate) fn resume(&mut self, now: Duration) {
        if let Some(paused) = self.paused.take() {
            self.behind += now.saturating_sub(paused);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_let_go_shows_nothing() {
        let s = Duration::from_secs;
        let mut clock = RunClock::default();
        clock.pause(s(0));
        assert_eq!((clock.elapsed(s(7)), clock.moment(s(0))), (s(0), None));
        clock.resume(s(7));
        assert_eq!(clock.elapsed(s(9)), s(2));
    }

    #[test]
    fn a_paused_clock_stands_still_and_goes_on_where_it_stood() {
        let s = Duration::from_secs;
        let mut clock = RunClock::default();
        assert_eq!(clock.elapsed(s(3)), s(3));
        clock.pause(s(4));
        clock.pause(s(5));
        assert_eq!(clock.elapsed(s(9)), s(4));
        assert_eq!(clock.moment(s(5)), None);
        clock.resume(s(10));
        clock.resume(s(11));
        assert_eq!(clock.elapsed(s(11)), s(5));
        assert_eq!(clock.moment(s(7)), Some(s(13)));
    }
}
