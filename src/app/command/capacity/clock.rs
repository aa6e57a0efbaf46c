//! The time of a search: the time that is left, the steps that fit into it, and the likely end of the search.
//! Driven by the search between its runs.

use lgoose_base::units;
use lgoose_metrics::capacity::SearchTime;
use std::time::{Duration, Instant};

/// Time that a run needs beside its own, to begin and to end.
const RUN: Duration = Duration::from_secs(2);

/// Typical time between two steps, half of which are followed by a pause.
const PAUSE: Duration = Duration::from_secs(3);

/// Ratio of an average step to the shortest one: steps near the limit are judged for longer.
const LONGER: f64 = 1.6;

/// The clock of a search.
#[derive(Debug)]
pub(super) struct SearchClock {
    began: Instant,
    /// The time of the whole search, if it is limited.
    limit: Option<Duration>,
}

/// Times of the runs that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunTimes {
    /// A step, at least: until its figures count, and the time that is judged.
    pub(super) step: Duration,
    /// The confirming run.
    pub(super) confirm: Duration,
}

impl SearchClock {
    pub(super) fn start(limit: Option<Duration>) -> SearchClock {
        SearchClock {
            began: Instant::now(),
            limit,
        }
    }

    /// Returns the time until the search has to be over; `None` if it may take any time.
    pub(super) fn left(&self) -> Option<Duration> {
        let limit = self.limit?;
        Some(limit.saturating_sub(self.began.elapsed()))
    }

    /// Returns the time that the next step or the pause before it may take; `None` for any.
    pub(super) fn left_for_step(&self, times: RunTimes) -> Option<Duration> {
        Some(self.left()?.saturating_sub(times.confirm + RUN + RUN))
    }

    /// Returns the steps that the remaining time allows.
    pub(super) fn allows(&self, times: RunTimes) -> SearchTime {
        allowed(self.left(), times)
    }

    /// Returns how long a search with so many steps before its confirming run is likely to go on.
    pub(super) fn forecast(&self, steps: u32, times: RunTimes) -> Duration {
        let likely = likely(steps, times);
        self.left().map_or(likely, |left| left.min(likely))
    }

    /// Returns the announcement of the time at the start of a search.
    pub(super) fn announcement(
        &self,
        steps: u32,
        times: RunTimes,
        longest_step: Duration,
    ) -> String {
        let likely = likely(steps, times);
        let slow = longest_step * steps + times.confirm;
        match self.limit {
            Some(limit) if limit < slow => format!("takes {} at most", units::show_long(limit)),
            _ => format!(
                "takes about {}, or up to {} if the figures are slow to become steady ('--time' limits it)",
                shown(likely),
                shown(slow)
            ),
        }
    }
}

fn allowed(left: Option<Duration>, times: RunTimes) -> SearchTime {
    let confirm = times.confirm + RUN;
    match left {
        Some(left) if left < confirm => SearchTime::Up,
        Some(left) if left < confirm + RUN + times.step => SearchTime::ToConfirm,
        _ => SearchTime::Enough,
    }
}

fn likely(steps: u32, times: RunTimes) -> Duration {
    (times.step.mul_f64(LONGER) + PAUSE) * steps + times.confirm + RUN
}

/// Formats a forecast: its seconds are a guess.
pub(super) fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    let unit = if seconds < 60 { 10 } else { 60 };
    units::show_long(Duration::from_secs(seconds.div_ceil(unit).max(1) * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: RunTimes = RunTimes {
        step: Duration::from_secs(13),
        confirm: Duration::from_secs(63),
    };

    #[test]
    fn the_time_of_the_confirming_run_is_kept_for_it() {
        for (left_s, expected) in [
            (180, SearchTime::Enough),
            (80, SearchTime::Enough),
            (79, SearchTime::ToConfirm),
            (65, SearchTime::ToConfirm),
            (64, SearchTime::Up),
            (0, SearchTime::Up),
        ] {
            let left = Some(Duration::from_secs(left_s));
            assert_eq!(allowed(left, TIMES), expected, "{left_s} s");
        }
        assert_eq!(allowed(None, TIMES), SearchTime::Enough);
    }

    #[test]
    fn a_search_says_how_long_it_may_take() {
        let longest = Duration::from_secs(90);
        let unlimited = SearchClock::start(None).announcement(9, TIMES, longest);
        assert_eq!(
            unlimited,
            "takes about 5m, or up to 15m if the figures are slow to become steady ('--time' limits it)"
        );
        let limited = SearchClock::start(Some(Duration::from_secs(180)));
        assert_eq!(limited.announcement(9, TIMES, longest), "takes 3m at most");
        assert_eq!(shown(Duration::from_secs(41)), "50s");
        assert_eq!(shown(Duration::from_secs(61)), "2m");
        assert_eq!(shown(Duration::ZERO), "10s");
    }
}
