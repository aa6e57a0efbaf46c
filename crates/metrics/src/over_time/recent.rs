//! Counts the last ten seconds of each name, for the current figures of live views.
//!
//! A ring of ticks lists only the names that had requests. Sums are updated as ticks come in and go out, so reading a
//! rate costs nothing.

use std::collections::VecDeque;
use std::time::Duration;

/// Length of the window that counts as "now".
const WINDOW: Duration = Duration::from_secs(10);

/// Requests and failures within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RecentCounts {
    pub(crate) requests: u64,
    /// Failures; negative where verdicts were taken back.
    pub(crate) failures: i64,
}

/// Requests and failures per second within the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RecentRates {
    pub(crate) requests: f64,
    pub(crate) failures: f64,
}

/// The window over all names, by the store's row numbers.
#[derive(Debug, Default)]
pub(crate) struct RecentRequests {
    ticks: VecDeque<(Duration, Vec<(usize, RecentCounts)>)>,
    /// Counts since the last tick.
    open: Vec<(usize, RecentCounts)>,
    rows: Vec<RecentCounts>,
    total: RecentCounts,
    /// Beginning and end of the window.
    from: Duration,
    to: Duration,
}

impl RecentRequests {
    /// Makes an empty window that begins at `now`.
    pub(crate) fn starting(now: Duration) -> Self {
        RecentRequests {
            from: now,
            to: now,
            ..RecentRequests::default()
        }
    }

    pub(crate) fn add(&mut self, row: usize, counts: RecentCounts) {
        self.open.push((row, counts));
        if self.rows.len() <= row {
            self.rows.resize(row + 1, RecentCounts::default());
        }
        for sum in [&mut self.rows[row], &mut self.total] {
            sum.requests += counts.requests;
            sum.failures += counts.failures;
        }
    }

    /// Ends a tick at `now` and drops the ticks that ended more than ten seconds ago.
    pub(crate) fn tick(&mut self, now: Duration) {
        self.to = now;
        let mut reused = Vec::new();
        let is_old =
            |tick: Option<&(Duration, _)>| tick.is_some_and(|(end, _)| *end + WINDOW <= now);
        while is_old(self.ticks.front())
            && let Some((end, mut gone)) = self.ticks.pop_front()
        {
            self.from = end;
            for (row, counts) in gone.drain(..) {
                for sum in [&mut self.rows[row], &mut self.total] {
                    sum.requests -= counts.requests;
                    sum.failures -= counts.failures;
                }
            }
            reused = gone;
        }
        let closed = std::mem::replace(&mut self.open, reused);
        self.ticks.push_back((now, closed));
    }

    /// Returns the rates of one row.
    pub(crate) fn rates(&self, row: usize) -> RecentRates {
        self.per_second(self.rows.get(row).copied().unwrap_or_default())
    }

    /// Returns the rates of all rows together.
    pub(crate) fn total_rates(&self) -> RecentRates {
        self.per_second(self.total)
    }

    fn per_second(&self, counts: RecentCounts) -> RecentRates {
        let seconds = self.to.saturating_sub(self.from).as_secs_f64();
        let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        RecentRates {
            requests: rate(counts.requests as f64),
            failures: rate(counts.failures.max(0) as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(requests: f64, failures: f64) -> RecentRates {
        RecentRates { requests, failures }
    }

    fn run(window: &mut RecentRequests, seconds: std::ops::Range<u64>, requests: u64) {
        for second in seconds {
            let counts = RecentCounts {
                requests,
                failures: 1,
            };
            window.add(3, counts);
            window.tick(Duration::from_secs(second + 1));
        }
    }

    #[test]
    fn a_short_run_divides_by_what_has_passed() {
        let mut window = RecentRequests::default();
        assert_eq!(window.rates(3), rates(0.0, 0.0));
        run(&mut window, 0..2, 50);
        assert_eq!(window.rates(3), rates(50.0, 1.0));
    }

    #[test]
    fn what_is_older_than_ten_seconds_no_longer_counts() {
        let mut window = RecentRequests::default();
        run(&mut window, 0..20, 500);
        run(&mut window, 20..30, 7);
        assert_eq!(window.rates(3), rates(7.0, 1.0));
        assert_eq!(window.total_rates(), rates(7.0, 1.0));
        assert_eq!(window.rates(4), rates(0.0, 0.0));
    }
}
