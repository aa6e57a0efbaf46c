//! Exact figures of latencies: nanoseconds beside a histogram, for the exact minimum, maximum and mean, which also bound
//! every percentile.

use crate::delta::{Implausible, MOST_COUNT};
use crate::report::Latency;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Converts a duration to nanoseconds; more than 584 years saturate.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(duration.subsec_nanos()))
}

/// Count, minimum, maximum and sum, exact to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ExactParts", into = "ExactParts")]
pub(crate) struct ExactFigures {
    pub(crate) count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

impl Default for ExactFigures {
    fn default() -> Self {
        ExactFigures {
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
        }
    }
}

/// Count, minimum, maximum and sum; `None` if nothing was recorded.
type ExactParts = Option<(u64, u64, u64, u128)>;

impl From<ExactFigures> for ExactParts {
    fn from(exact: ExactFigures) -> ExactParts {
        (exact.count > 0).then_some((exact.count, exact.min_ns, exact.max_ns, exact.sum_ns))
    }
}

impl TryFrom<ExactParts> for ExactFigures {
    type Error = Implausible;

    fn try_from(parts: ExactParts) -> Result<ExactFigures, Implausible> {
        let Some((count, min_ns, max_ns, sum_ns)) = parts else {
            return Ok(ExactFigures::default());
        };
        let sum_of = |ns: u64| u128::from(ns) * u128::from(count);
        let is_plausible = (1..=MOST_COUNT).contains(&count)
            && min_ns <= max_ns
            && (sum_of(min_ns)..=sum_of(max_ns)).contains(&sum_ns);
        is_plausible
            .then_some(ExactFigures {
                count,
                min_ns,
                max_ns,
                sum_ns,
            })
            .ok_or(Implausible)
    }
}

impl ExactFigures {
    pub(crate) fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    pub(crate) fn record_many(&mut self, ns: u64, times: u64) {
        self.count += times;
        self.sum_ns += u128::from(ns) * u128::from(times);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    pub(crate) fn merged(mut self, other: &ExactFigures) -> ExactFigures {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self
    }

    /// Returns the shortest latency, zero when nothing was recorded.
    pub(crate) fn min(&self) -> Duration {
        Duration::from_nanos(self.min_ns.min(self.max_ns))
    }

    pub(crate) fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }

    /// Returns the sum in milliseconds.
    pub(crate) fn sum_ms(&self) -> f64 {
        self.sum_ns as f64 / 1e6
    }

    /// Returns the mean in milliseconds, zero when nothing was recorded.
    pub(crate) fn mean_ms(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64 / 1e6
    }

    /// Returns the value of latencies at each of the rising `quantiles`, never outside the exact extremes.
    pub(crate) fn quantiles<const N: usize>(
        &self,
        of: &impl Quantiles,
        quantiles: [f64; N],
    ) -> [Duration; N] {
        if self.count == 0 {
            return [Duration::ZERO; N];
        }
        let exact = |us| Duration::from_micros(us).clamp(self.min(), self.max());
        of.values_at(quantiles).map(exact)
    }
}

/// Counted latencies whose quantiles can be found.
pub(crate) trait Quantiles {
    /// Returns the value in microseconds at each of the rising `quantiles`; zeros if there are none.
    fn values_at<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N];
}

impl Quantiles for Histogram<u64> {
    fn values_at<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N] {
        let mut found = [0; N];
        for (slot, us) in found.iter_mut().zip(self.value_at_quantiles(quantiles)) {
            *slot = us;
        }
        found
    }
}

/// Summarizes latencies for a report; `None` if there are none.
pub(crate) fn summary(exact: &ExactFigures, histogram: &Histogram<u64>) -> Option<Latency> {
    if exact.count == 0 {
        return None;
    }
    let values = exact.quantiles(histogram, [0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999]);
    let ms = |duration: Duration| duration.as_nanos() as f64 / 1e6;
    let [p50, p75, p90, p95, p98, p99, p99_9, p99_99] = values.map(ms);
    Some(Latency {
        avg: exact.mean_ms(),
        min: ms(exact.min()),
        max: ms(exact.max()),
        p50,
        p75,
        p90,
        p95,
        p98,
        p99,
        p99_9,
        p99_99,
        stdev: Some(histogram.stdev() / 1e3),
    })
}

#[cfg(test)]
mod tests {
    use super::super::burst::Burst;
    use super::super::histogram;
    use super::*;

    #[test]
    fn the_standard_deviation_is_that_of_the_latencies() {
        let (mut exact, mut all) = (ExactFigures::default(), histogram::empty());
        // Of 1 to 1,000 ms: sqrt((1000² − 1) / 12).
        for ms in 1..=1_000 {
            exact.record(ms * 1_000_000);
            histogram::record(&mut all, (ms * 1_000) as u32);
        }
        let stdev = |exact, all| summary(exact, all).and_then(|latency| latency.stdev);
        let found = stdev(&exact, &all).expect("there are latencies");
        let expected = ((1e6_f64 - 1.0) / 12.0).sqrt();
        assert!(
            (found / expected - 1.0).abs() < 0.001,
            "{found}, not {expected}"
        );
        let (mut exact, mut all) = (ExactFigures::default(), histogram::empty());
        exact.record_many(123_456_789, 40);
        histogram::record_many(&mut all, 123_457, 40);
        assert_eq!(stdev(&exact, &all), Some(0.0));
    }

    #[test]
    fn a_percentile_never_leaves_the_exact_extremes() {
        for ns in [1, 499, 1_499, 874_400, 65_535_123, 3_600_000_000_001] {
            let mut exact = ExactFigures::default();
            let mut burst = Burst::default();
            exact.record(ns);
            burst.record(ns);
            let mut all = histogram::empty();
            burst.add_to(&mut all);
            assert_eq!(
                exact.quantiles(&all, [0.5, 1.0]),
                [Duration::from_nanos(ns); 2]
            );
        }
    }
}
