//! How hard lgoose itself worked, second by second, and in which of them it and not the target set the
//! latency.

use super::report::GeneratorRow;
use std::collections::BTreeMap;
use std::time::Duration;

/// A thread that had less than a tenth of its time to itself served its users late.
const BUSY: f64 = 0.9;
/// Timers that woke later than this, and than a tenth of the median latency, on average.
const LATE: Duration = Duration::from_millis(10);
/// A shorter stretch says nothing.
const LEAST: Duration = Duration::from_millis(600);

/// What a shard took of the machine since it last told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// The time that this is about.
    pub wall: Duration,
    /// How much of it its thread was on a core, or ready for one without getting it.
    pub busy: Duration,
    /// How much later than due its timer woke it; `None` if that was not measured.
    pub lag: Option<Duration>,
    /// Connections that it has open now.
    pub connections: u64,
}

/// One shard's efforts within a stretch.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    wall: Duration,
    busy: Duration,
    lag: Duration,
    lags: u32,
    connections: u64,
}

/// The efforts of all shards.
#[derive(Debug, Default)]
pub(super) struct GeneratorLog {
    /// By second and shard, as far as seconds are not closed.
    open: BTreeMap<u64, Vec<Stretch>>,
    /// Over the whole run, by shard.
    whole: Vec<Stretch>,
    lag_max: Duration,
    busiest: f64,
    connections: u64,
    judged: Duration,
    saturated: Duration,
}

/// What a stretch of the run amounts to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Strain {
    /// How much of its time the busiest thread was busy, from 0 to 1.
    pub(super) busy: f64,
    /// How late the timers of the latest thread woke, on average.
    pub(super) lag: Duration,
    /// Whether lgoose and not the target set the latency.
    pub(super) saturated: bool,
}

impl Stretch {
    fn add(&mut self, effort: &Effort) {
        self.wall += effort.wall;
        self.busy += effort.busy;
        if let Some(lag) = effort.lag {
            self.lag += lag;
            self.lags += 1;
        }
        self.connections = effort.connections;
    }

    fn share(&self) -> f64 {
        match self.wall.is_zero() {
            true => 0.0,
            false => (self.busy.as_secs_f64() / self.wall.as_secs_f64()).min(1.0),
        }
    }

    fn mean_lag(&self) -> Duration {
        self.lag.checked_div(self.lags).unwrap_or_default()
    }
}

impl Strain {
    /// Adds the one after it: the worse of the two stands.
    pub(super) fn join(&mut self, next: &Strain) {
        self.busy = self.busy.max(next.busy);
        self.lag = self.lag.max(next.lag);
        self.saturated |= next.saturated;
    }
}

impl GeneratorLog {
    /// Adds what a shard took, most of it within a second of the measurement.
    pub(super) fn add(&mut self, second: u64, shard: usize, effort: &Effort) {
        for stretches in [self.open.entry(second).or_default(), &mut self.whole] {
            if stretches.len() <= shard {
                stretches.resize(shard + 1, Stretch::default());
            }
            stretches[shard].add(effort);
        }
        self.lag_max = self.lag_max.max(effort.lag.unwrap_or_default());
        self.connections = self.connections.max(self.connections_now());
    }

    /// What a second that is open amounts to, its requests having this median and 99th percentile.
    pub(super) fn strain(&self, second: u64, latencies: Option<[Duration; 2]>) -> Strain {
        let Some(open) = self.open.get(&second) else {
            return Strain::default();
        };
        let busy = open.iter().map(Stretch::share).fold(0.0, f64::max);
        let lag = open.iter().map(Stretch::mean_lag).max();
        let lag = lag.unwrap_or_default();
        let long_enough = open.iter().any(|stretch| stretch.wall >= LEAST);
        let late = lag >= LATE && latencies.is_some_and(|[median, _]| lag >= median / 10);
        Strain {
            busy,
            lag,
            saturated: long_enough && (busy >= BUSY || late),
        }
    }

    /// Closes a second, which lasted so long.
    pub(super) fn close(
        &mut self,
        second: u64,
        latencies: Option<[Duration; 2]>,
        lasted: Duration,
    ) -> Strain {
        let strain = self.strain(second, latencies);
        self.judged += lasted;
        self.busiest = self.busiest.max(strain.busy);
        if strain.saturated {
            self.saturated += lasted;
        }
        self.open = self.open.split_off(&(second + 1));
        strain
    }

    pub(super) fn connections_now(&self) -> u64 {
        self.whole.iter().map(|stretch| stretch.connections).sum()
    }

    /// None before any shard has told of itself.
    pub(super) fn row(&self) -> Option<GeneratorRow> {
        let sum = |of: fn(&Stretch) -> Duration| -> f64 {
            self.whole.iter().map(of).sum::<Duration>().as_secs_f64()
        };
        let wall = sum(|stretch| stretch.wall);
        let lags: u32 = self.whole.iter().map(|stretch| stretch.lags).sum();
        (wall > 0.0).then(|| GeneratorRow {
            threads: self.whole.len() as u64,
            busy: (sum(|stretch| stretch.busy) / wall).min(1.0),
            busiest: self.busiest,
            lag_avg_ms: sum(|stretch| stretch.lag) * 1e3 / f64::from(lags.max(1)),
            lag_max_ms: self.lag_max.as_secs_f64() * 1e3,
            connections: self.connections,
            saturated_s: self.saturated.as_secs_f64(),
            judged_s: self.judged.as_secs_f64(),
        })
    }
}

impl GeneratorRow {
    /// What a reader has to know before believing a latency, if it was lgoose that set it.
    pub(super) fn warning(&self) -> Option<String> {
        (self.saturated_s > 0.0).then(|| {
            format!(
                "lgoose itself was the bottleneck in {:.0} of {:.0} s (a thread up to {:.0}% busy, timers up to {:.1} ms \
                 late): latencies of that time are partly its own, and the site could answer more; use more cores \
                 ('--threads') or machines, or fewer users",
                self.saturated_s,
                self.judged_s.max(self.saturated_s),
                self.busiest * 100.0,
                self.lag_max_ms,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effort(busy_ms: u64, lag_ms: u64) -> Effort {
        Effort {
            wall: Duration::from_millis(250),
            busy: Duration::from_millis(busy_ms),
            lag: Some(Duration::from_millis(lag_ms)),
            connections: 7,
        }
    }

    /// A second of four ticks of a busy and of an idle shard.
    fn second(log: &mut GeneratorLog, busy_ms: u64, lag_ms: u64, median_ms: u64) -> Strain {
        for _ in 0..4 {
            log.add(0, 0, &effort(1, 0));
            log.add(0, 1, &effort(busy_ms, lag_ms));
        }
        let median = Duration::from_millis(median_ms);
        log.close(0, Some([median, median]), Duration::from_secs(1))
    }

    #[test]
    fn a_second_is_marked_when_a_thread_is_busy_or_timers_are_late() {
        for (busy_ms, lag_ms, median_ms, saturated) in [
            (250, 0, 1, true),
            (226, 0, 1, true),
            (220, 0, 1, false),
            (10, 12, 50, true),
            (10, 12, 150, false),
            (10, 9, 1, false),
        ] {
            let strain = second(&mut GeneratorLog::default(), busy_ms, lag_ms, median_ms);
            assert_eq!(
                strain.saturated, saturated,
                "{busy_ms} ms of 250 busy, {lag_ms} ms late, median {median_ms} ms"
            );
        }
    }

    #[test]
    fn a_run_adds_its_seconds_up_and_warns() {
        let mut log = GeneratorLog::default();
        assert_eq!(log.row(), None);
        second(&mut log, 50, 1, 5);
        assert_eq!(log.row().and_then(|row| row.warning()), None);
        second(&mut log, 250, 3, 5);
        let row = log.row().expect("two seconds");
        assert_eq!((row.saturated_s, row.judged_s), (1.0, 2.0));
        assert_eq!((row.busiest, row.lag_max_ms), (1.0, 3.0));
        assert_eq!((row.threads, row.connections), (2, 14));
        assert!((row.lag_avg_ms - 1.0).abs() < 1e-9, "{}", row.lag_avg_ms);
        assert!((row.busy - 0.302).abs() < 1e-9, "{}", row.busy);
        let warning = row.warning().expect("one second was marked");
        assert!(warning.contains("in 1 of 2 s"), "{warning}");
    }

    #[test]
    fn a_stretch_that_is_too_short_is_not_judged() {
        let mut log = GeneratorLog::default();
        log.add(0, 0, &effort(250, 100));
        assert!(!log.strain(0, Some([Duration::ZERO; 2])).saturated);
    }
}
