//! Offset between the clocks of a worker and its manager, measured by the fastest of several round trips.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Number of round trips made to compare two clocks.
pub(super) const ROUND_TRIPS: usize = 20;

/// Monotonic clock of one process, with its own origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessClock(Instant);

/// Time of a process, as it is sent to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClockReading {
    /// Nanoseconds on its monotonic clock.
    pub(super) monotonic: u64,
    /// Nanoseconds since 1970 on its wall clock.
    pub(super) wall: u64,
}

/// Distance between the clocks of a worker and of its manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClockOffset {
    /// Nanoseconds by which the manager's monotonic clock is ahead.
    pub(super) monotonic: i64,
    /// Nanoseconds by which the worker's wall clock is ahead.
    pub(crate) wall: i64,
    /// Nanoseconds by which both may be wrong: half of the round-trip time.
    pub(crate) uncertainty: u64,
}

impl ProcessClock {
    /// Makes a clock that begins now.
    pub(super) fn start() -> ProcessClock {
        ProcessClock(Instant::now())
    }

    pub(super) fn read(&self) -> ClockReading {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        ClockReading {
            monotonic: nanoseconds(self.0.elapsed()),
            wall: nanoseconds(since_1970.unwrap_or_default()),
        }
    }

    /// Returns the reading of the monotonic clock at a moment.
    pub(super) fn at(&self, moment: Instant) -> u64 {
        nanoseconds(moment.saturating_duration_since(self.0))
    }

    /// Returns the moment at which the manager's clock reads `manager` nanoseconds.
    pub(super) fn moment(&self, manager: u64, offset: &ClockOffset) -> Instant {
        let own = i128::from(manager) - i128::from(offset.monotonic);
        let ns = u64::try_from(own.unsigned_abs()).unwrap_or(u64::MAX);
        let distance = Duration::from_nanos(ns);
        let moment = if own < 0 {
            self.0.checked_sub(distance)
        } else {
            self.0.checked_add(distance)
        };
        moment.unwrap_or_else(Instant::now)
    }
}

impl ClockOffset {
    /// No distance.
    pub(super) const NONE: ClockOffset = ClockOffset {
        monotonic: 0,
        wall: 0,
        uncertainty: 0,
    };

    /// Computes the distance from one round trip: this clock before and after it, and the manager's in between.
    pub(super) fn of(
        before: ClockReading,
        manager: ClockReading,
        after: ClockReading,
    ) -> ClockOffset {
        let round_trip = after.monotonic.saturating_sub(before.monotonic);
        let middle = |before: u64, after: u64| (i128::from(before) + i128::from(after)) / 2;
        let own = middle(before.monotonic, after.monotonic);
        let own_wall = middle(before.wall, after.wall);
        let fitting = |distance: i128| i64::try_from(distance).unwrap_or(i64::MAX);
        ClockOffset {
            monotonic: fitting(i128::from(manager.monotonic) - own),
            wall: fitting(own_wall - i128::from(manager.wall)),
            uncertainty: round_trip / 2,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_round_trip_shows_the_distance() {
        let reading = |monotonic, wall| ClockReading { monotonic, wall };
        let offset = ClockOffset::of(
            reading(1_000, 50_000),
            reading(9_100, 40_100),
            reading(1_200, 50_200),
        );
        let expected = ClockOffset {
            monotonic: 8_000,
            wall: 10_000,
            uncertainty: 100,
        };
        assert_eq!(offset, expected);
    }

    #[test]
    fn a_moment_on_the_managers_clock_is_found_on_the_own_one() {
        let clock = ProcessClock::start();
        let offset = ClockOffset {
            monotonic: 5_000_000_000,
            wall: 0,
            uncertainty: 0,
        };
        let later = clock.moment(7_000_000_000, &offset);
        assert_eq!(later.duration_since(clock.0), Duration::from_secs(2));
        assert_eq!(clock.at(later), 2_000_000_000);
        let before = clock.moment(4_000_000_000, &offset);
        assert!(before < clock.0);
    }
}
