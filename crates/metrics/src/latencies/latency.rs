//! Latencies: exact figures, the latencies of one tick, and histograms.
//!
//! Histograms hold microseconds up to an hour with three significant digits. Nanoseconds are kept beside
//! them for the exact minimum, maximum and mean, which also bound every percentile.

use super::counted::Counted;
use crate::delta::{Implausible, MOST_COUNT};
use crate::report::Latency;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest latency that a histogram holds, in microseconds: one hour. Longer ones count as an hour.
pub(crate) const LONGEST_US: u64 = 3_600_000_000;
/// The most latencies of one name that a tick keeps as they are. Up to here merging costs one record each; a
/// histogram costs 5–13 µs to add and 16 KiB and more to hold, whatever is in it.
pub(crate) const FEW: usize = 1_024;

/// Makes an empty histogram of microseconds that grows with its values.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are within what a histogram can hold")
}

/// Records a latency in microseconds, at most an hour.
pub(crate) fn record(histogram: &mut Histogram<u64>, us: u32) {
    histogram
        .record(u64::from(us).min(LONGEST_US))
        .expect("a growing histogram takes an hour");
}

/// Records a latency in microseconds as if it had come that many times.
pub(crate) fn record_many(histogram: &mut Histogram<u64>, us: u64, times: u64) {
    histogram
        .record_n(us.min(LONGEST_US), times)
        .expect("a growing histogram takes an hour");
}

/// Adds one histogram to another.
pub(crate) fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    to.add(from)
        .expect("a growing histogram takes what another one holds");
}

/// Returns one histogram without the values of another, as far as it has them: a verdict on a request may be counted
/// elsewhere than the request.
pub(crate) fn less(all: &Histogram<u64>, others: &Histogram<u64>) -> Histogram<u64> {
    let mut left = histogram();
    each_recorded(all, |us, count| {
        let count = count.saturating_sub(others.count_at(us));
        if count > 0 {
            record_many(&mut left, us, count);
        }
    });
    left
}

/// Passes each value of a histogram with its count to `visit`, in rising order.
pub(crate) fn each_recorded(histogram: &Histogram<u64>, mut visit: impl FnMut(u64, u64)) {
    for value in histogram.iter_recorded() {
        visit(value.value_iterated_to(), value.count_at_value());
    }
}

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

    /// Returns the histogram's value at each of the rising `quantiles`, never outside the exact extremes.
    pub(crate) fn quantiles<const N: usize>(
        &self,
        of: &Histogram<u64>,
        quantiles: [f64; N],
    ) -> [Duration; N] {
        let mut found = [Duration::ZERO; N];
        if self.count > 0 {
            for (slot, us) in found.iter_mut().zip(of.value_at_quantiles(quantiles)) {
                *slot = Duration::from_micros(us).clamp(self.min(), self.max());
            }
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

/// Latencies of one name within one tick: a short list, and a histogram for those that do not fit.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    few: Vec<u32>,
    many: Option<Histogram<u64>>,
}

impl Burst {
    /// Rebuilds a burst from the counts of [`Burst::counted`].
    pub(crate) fn of(counted: &Counted) -> Burst {
        let mut burst = Burst::default();
        let all = counted.total();
        for (us, times) in counted.iter() {
            let us = us.min(LONGEST_US);
            if all <= FEW as u64 {
                let same = std::iter::repeat_n(us as u32, times as usize);
                burst.few.extend(same);
            } else {
                record_many(burst.many.get_or_insert_with(histogram), us, times);
            }
        }
        burst
    }

    /// Returns counts by latency in microseconds: exact while there are few, else as precise as a histogram.
    pub(crate) fn counted(&self) -> Counted {
        let mut counted = Counted::default();
        self.each(|us, count| counted.add(us, count));
        counted
    }

    /// Records a latency in nanoseconds, rounded to the nearest microsecond.
    pub(crate) fn record(&mut self, ns: u64) {
        self.store(rounded_us(ns));
    }

    /// Records a latency in nanoseconds as if it had come that many times.
    pub(crate) fn record_many(&mut self, ns: u64, times: u64) {
        let us = rounded_us(ns);
        if self.few.len() as u64 + times <= FEW as u64 {
            self.few.extend(std::iter::repeat_n(us, times as usize));
        } else {
            let many = self.many.get_or_insert_with(histogram);
            record_many(many, u64::from(us), times);
        }
    }

    fn store(&mut self, us: u32) {
        if self.few.len() < FEW {
            self.few.push(us);
        } else {
            record(self.many.get_or_insert_with(histogram), us);
        }
    }

    /// Adds the latencies of another burst.
    pub(crate) fn merge(&mut self, other: &Burst) {
        for us in &other.few {
            self.store(*us);
        }
        if let Some(many) = other.many.as_ref().filter(|many| !many.is_empty()) {
            add(self.many.get_or_insert_with(histogram), many);
        }
    }

    /// Returns the value at each of the rising `quantiles`, zero when there is none: exact while there are few, else
    /// the histogram's. Changes only the form in which the latencies are kept.
    pub(crate) fn quantiles<const N: usize>(&mut self, quantiles: [f64; N]) -> [Duration; N] {
        if let Some(many) = self.many.as_mut().filter(|many| !many.is_empty()) {
            for us in self.few.drain(..) {
                record(many, us);
            }
            let mut found = [Duration::ZERO; N];
            for (slot, us) in found.iter_mut().zip(many.value_at_quantiles(quantiles)) {
                *slot = Duration::from_micros(us);
            }
            return found;
        }
        self.few.sort_unstable();
        quantiles.map(|quantile| {
            let rank = (quantile * self.few.len() as f64).ceil() as usize;
            let us = self.few.get(rank.max(1) - 1).copied().unwrap_or(0);
            Duration::from_micros(us.into())
        })
    }

    pub(crate) fn add_to(&self, to: &mut Histogram<u64>) {
        for us in &self.few {
            record(to, *us);
        }
        if let Some(many) = &self.many {
            add(to, many);
        }
    }

    /// Passes each latency in microseconds with its count to `visit`, in no order.
    pub(crate) fn each(&self, mut visit: impl FnMut(u64, u64)) {
        for us in &self.few {
            visit(u64::from(*us), 1);
        }
        if let Some(many) = &self.many {
            each_recorded(many, visit);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.as_ref().is_none_or(Histogram::is_empty)
    }

    /// Clears the latencies and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.few.clear();
        if let Some(many) = self.many.as_mut().filter(|many| !many.is_empty()) {
            many.reset();
        }
    }
}

/// Returns nanoseconds as the nearest microsecond, an hour at most.
fn rounded_us(ns: u64) -> u32 {
    (ns.saturating_add(500) / 1_000).min(LONGEST_US) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_longer_than_its_list_loses_nothing() {
        let mut burst = Burst::default();
        let mut direct = histogram();
        for us in 0..3 * FEW as u64 {
            burst.record(us * 1_000);
            record(&mut direct, us as u32);
        }
        let mut merged = histogram();
        burst.add_to(&mut merged);
        assert_eq!(merged, direct);
        burst.clear();
        merged.reset();
        burst.add_to(&mut merged);
        assert!(merged.is_empty() && burst.is_empty());
    }

    #[test]
    fn merged_bursts_have_the_percentiles_of_all_their_latencies() {
        let quantiles = [0.5, 0.95, 0.99];
        for each in [1, FEW / 4, FEW, 3 * FEW] {
            let (mut exact, mut all) = (ExactFigures::default(), histogram());
            let mut merged = Burst::default();
            for part in 0..3 {
                let mut burst = Burst::default();
                for n in 0..each {
                    let us = (500 + n * 7_919 % 40_000 + part * 13_000) as u64;
                    burst.record(us * 1_000);
                    exact.record(us * 1_000);
                    record(&mut all, us as u32);
                }
                merged.merge(&burst);
            }
            let expected = exact.quantiles(&all, quantiles);
            for _again in 0..2 {
                for (found, expected) in merged.quantiles(quantiles).iter().zip(expected) {
                    let off = found.abs_diff(expected).as_secs_f64() / expected.as_secs_f64();
                    assert!(off <= 0.001, "{found:?} is not {expected:?} of {each}");
                }
            }
        }
        assert_eq!(Burst::default().quantiles(quantiles), [Duration::ZERO; 3]);
    }

    #[test]
    fn the_standard_deviation_is_that_of_the_latencies() {
        let (mut exact, mut all) = (ExactFigures::default(), histogram());
        // Of 1 to 1,000 ms: sqrt((1000² − 1) / 12).
        for ms in 1..=1_000 {
            exact.record(ms * 1_000_000);
            record(&mut all, (ms * 1_000) as u32);
        }
        let stdev = |exact, all| summary(exact, all).and_then(|latency| latency.stdev);
        let found = stdev(&exact, &all).expect("there are latencies");
        let expected = ((1e6_f64 - 1.0) / 12.0).sqrt();
        assert!(
            (found / expected - 1.0).abs() < 0.001,
            "{found}, not {expected}"
        );
        let (mut exact, mut all) = (ExactFigures::default(), histogram());
        exact.record_many(123_456_789, 40);
        record_many(&mut all, 123_457, 40);
        assert_eq!(stdev(&exact, &all), Some(0.0));
    }

    #[test]
    fn a_percentile_never_leaves_the_exact_extremes() {
        for ns in [1, 499, 1_499, 874_400, 65_535_123, 3_600_000_000_001] {
            let mut exact = ExactFigures::default();
            let mut burst = Burst::default();
            exact.record(ns);
            burst.record(ns);
            let mut all = histogram();
            burst.add_to(&mut all);
            assert_eq!(
                exact.quantiles(&all, [0.5, 1.0]),
                [Duration::from_nanos(ns); 2]
            );
        }
    }

    #[test]
    fn more_than_an_hour_counts_as_an_hour() {
        let mut burst = Burst::default();
        burst.record(u64::MAX);
        let mut all = histogram();
        burst.add_to(&mut all);
        assert_eq!(all.len(), 1);
        assert!(all.equivalent(all.max(), LONGEST_US));
    }
}
