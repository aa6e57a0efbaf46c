//! Recent work of a worker: its rate of requests, and the effort of its threads.

use crate::generator::{Effort, StretchEffort, is_strained};
use std::time::Duration;

/// Seconds over which a rate is taken.
const WINDOW: u64 = 10;
/// Seconds by which the figures of a worker may be late: they come once a second.
const DELAY: u64 = 2;
/// Seconds that are remembered.
const REMEMBERED: usize = 16;

/// Requests by second of the measurement, the last ones only.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentRate {
    seconds: [(u64, u64); REMEMBERED],
    newest: u64,
}

impl RecentRate {
    pub(super) fn add(&mut self, second: u64, requests: u64) {
        let (stored, count) = &mut self.seconds[second as usize % REMEMBERED];
        if second > *stored {
            (*stored, *count) = (second, 0);
        }
        if second == *stored {
            *count += requests;
        }
        self.newest = self.newest.max(second);
    }

    /// Returns the requests per second over the last ten complete seconds; `now` is the second of the measurement
    /// that is under way.
    pub(super) fn rate(&self, now: u64) -> f64 {
        let end = self.newest.max(now.saturating_sub(DELAY)).max(1);
        let from = end.saturating_sub(WINDOW);
        let within = self.seconds.iter();
        let within = within.filter(|(second, _)| (from..end).contains(second));
        let requests: u64 = within.map(|(_, count)| count).sum();
        requests as f64 / (end - from) as f64
    }
}

/// Efforts of a worker's threads: those of the whole measurement, and of its latest second.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkerEffort {
    /// All of its threads together.
    pub(super) whole: StretchEffort,
    /// Second of the run that is being gathered, and the efforts in it by shard.
    second: u64,
    open: Vec<StretchEffort>,
    /// Busy share of the busiest thread, and the lag of the thread that lags most, in the latest complete second.
    pub(super) busy: f64,
    pub(super) lag: Duration,
    /// Whether the worker itself set the latency in that second.
    pub(super) saturated_now: bool,
    /// Time in which it did.
    pub(super) saturated: Duration,
}

impl WorkerEffort {
    /// Adds the effort of one of its shards, counted from its first one. Most of it was in that second of the run.
    /// `median` is the worker's latency so far.
    pub(super) fn add(&mut self, shard: usize, second: u64, effort: &Effort, median: Duration) {
        if second > self.second {
            self.close(median);
            self.second = second;
        }
        self.whole.add(effort);
        if self.open.len() <= shard {
            self.open.resize(shard + 1, StretchEffort::default());
        }
        self.open[shard].add(effort);
    }

    fn close(&mut self, median: Duration) {
        let walls = self.open.iter().map(|stretch| stretch.wall);
        let lasted = walls.max().unwrap_or_default();
        if lasted.is_zero() {
            return;
        }
        let busy = self.open.iter().map(StretchEffort::share);
        self.busy = busy.fold(0.0, f64::max);
        let lag = self.open.iter().map(StretchEffort::mean_lag).max();
        self.lag = lag.unwrap_or_default();
        let median = (!median.is_zero()).then_some(median);
        self.saturated_now = is_strained(lasted, self.busy, self.lag, median);
        if self.saturated_now {
            self.saturated += lasted.min(Duration::from_secs(1));
        }
        self.open.clear();
    }

    /// Drops what belongs to an earlier measurement; the latest second stays.
    pub(super) fn reset(&mut self) {
        self.whole = StretchEffort::default();
        self.saturated = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_ten_complete_seconds() {
        let mut rate = RecentRate::default();
        for second in 0..30 {
            rate.add(second, 100 * (second + 1));
        }
        let last: u64 = (19..29).map(|second| 100 * (second + 1)).sum();
        assert_eq!(rate.rate(29), last as f64 / 10.0);
        rate.add(3, 7_000);
        assert_eq!(rate.rate(29), last as f64 / 10.0, "too old");
        assert_eq!(rate.rate(60), 0.0, "nothing came for long");
    }

    #[test]
    fn a_young_rate_is_that_of_the_seconds_there_were() {
        let mut rate = RecentRate::default();
        rate.add(0, 40);
        assert_eq!(rate.rate(0), 40.0);
        rate.add(1, 60);
        rate.add(2, 5);
        assert_eq!(rate.rate(2), 50.0);
    }

    fn effort(busy_ms: u64, lag_ms: u64) -> Effort {
        Effort {
            wall: Duration::from_millis(250),
            busy: Duration::from_millis(busy_ms),
            lag: Some(Duration::from_millis(lag_ms)),
            ..Effort::default()
        }
    }

    #[test]
    fn a_long_tick_counts_in_each_of_its_seconds() {
        let median = Duration::from_millis(50);
        let long = Effort {
            wall: Duration::from_millis(3_200),
            ..effort(3_190, 0)
        };
        let mut strain = WorkerEffort::default();
        // From 0.9 s to 4.1 s: three seconds as a whole.
        long.by_second(4_100_000_000, |second, part| {
            strain.add(0, second, part, median);
        });
        strain.add(0, 5, &effort(10, 0), median);
        let saturated_s = strain.saturated.as_secs_f64();
        assert!((2.99..3.01).contains(&saturated_s), "{saturated_s}");
        assert_eq!(strain.whole.wall, Duration::from_millis(3_450));
    }

    #[test]
    fn a_busy_thread_or_a_late_timer_is_reported_second_by_second() {
        let median = Duration::from_millis(50);
        for (busy_ms, lag_ms, median, expected) in [
            (100, 1, median, false),
            (240, 1, median, true),
            (100, 12, median, true),
            (100, 12, Duration::from_secs(1), false),
        ] {
            let mut strain = WorkerEffort::default();
            for second in 0..3 {
                for _ in 0..4 {
                    strain.add(0, second, &effort(10, 0), median);
                    strain.add(1, second, &effort(busy_ms, lag_ms), median);
                }
            }
            assert_eq!(strain.saturated_now, expected, "{busy_ms} {lag_ms}");
            assert_eq!(strain.busy, busy_ms as f64 / 250.0);
            assert_eq!(strain.lag, Duration::from_millis(lag_ms));
            let seconds = if expected { 2 } else { 0 };
            assert_eq!(strain.saturated, Duration::from_secs(seconds));
            assert_eq!(strain.whole.share(), (busy_ms + 10) as f64 / 500.0);
        }
    }
}
