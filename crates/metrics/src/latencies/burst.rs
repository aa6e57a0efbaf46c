//! Bursts: the latencies of one name within one tick, as a shard counts them.

use super::counted::Counted;
use super::histogram::{self, LONGEST_US};
use hdrhistogram::Histogram;
use std::time::Duration;

/// The most latencies of one name that a tick keeps as they are. Up to here merging costs one record each; a
/// histogram costs 5–13 µs to add and 16 KiB and more to hold, whatever is in it.
pub(crate) const FEW: usize = 1_024;

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
                histogram::record_many(burst.many.get_or_insert_with(histogram::empty), us, times);
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
            let many = self.many.get_or_insert_with(histogram::empty);
            histogram::record_many(many, u64::from(us), times);
        }
    }

    fn store(&mut self, us: u32) {
        if self.few.len() < FEW {
            self.few.push(us);
        } else {
            histogram::record(self.many.get_or_insert_with(histogram::empty), us);
        }
    }

    /// Adds the latencies of another burst.
    pub(crate) fn merge(&mut self, other: &Burst) {
        for us in &other.few {
            self.store(*us);
        }
        if let Some(many) = other.many.as_ref().filter(|many| !many.is_empty()) {
            histogram::add(self.many.get_or_insert_with(histogram::empty), many);
        }
    }

    /// Returns the value at each of the rising `quantiles`, zero when there is none: exact while there are few, else
    /// the histogram's. Changes only the form in which the latencies are kept.
    pub(crate) fn quantiles<const N: usize>(&mut self, quantiles: [f64; N]) -> [Duration; N] {
        if let Some(many) = self.many.as_mut().filter(|many| !many.is_empty()) {
            for us in self.few.drain(..) {
                histogram::record(many, us);
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
            histogram::record(to, *us);
        }
        if let Some(many) = &self.many {
            histogram::add(to, many);
        }
    }

    /// Passes each latency in microseconds with its count to `visit`, in no order.
    pub(crate) fn each(&self, mut visit: impl FnMut(u64, u64)) {
        for us in &self.few {
            visit(u64::from(*us), 1);
        }
        if let Some(many) = &self.many {
            histogram::each_recorded(many, visit);
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
    use super::super::exact::ExactFigures;
    use super::*;

    #[test]
    fn a_burst_longer_than_its_list_loses_nothing() {
        let mut burst = Burst::default();
        let mut direct = histogram::empty();
        for us in 0..3 * FEW as u64 {
            burst.record(us * 1_000);
            histogram::record(&mut direct, us as u32);
        }
        let mut merged = histogram::empty();
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
            let (mut exact, mut all) = (ExactFigures::default(), histogram::empty());
            let mut merged = Burst::default();
            for part in 0..3 {
                let mut burst = Burst::default();
                for n in 0..each {
                    let us = (500 + n * 7_919 % 40_000 + part * 13_000) as u64;
                    burst.record(us * 1_000);
                    exact.record(us * 1_000);
                    histogram::record(&mut all, us as u32);
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
    fn more_than_an_hour_counts_as_an_hour() {
        let mut burst = Burst::default();
        burst.record(u64::MAX);
        let mut all = histogram::empty();
        burst.add_to(&mut all);
        assert_eq!(all.len(), 1);
        assert!(all.equivalent(all.max(), LONGEST_US));
    }
}
