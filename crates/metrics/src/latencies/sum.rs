//! Latencies of one name over a whole run. Most names have few different ones, so they are counted in a sorted list, and in a
//! histogram, which takes 16 to 130 KiB, only once there are many. Their figures are the same either way.

use super::burst::Burst;
use super::counted::round;
use super::exact::Quantiles;
use super::histogram::{self, LONGEST_US};
use hdrhistogram::Histogram;
use std::borrow::Cow;

/// The most different latencies in a list, which takes 32 KiB then.
const MOST_LISTED: usize = 2_048;

/// Counts by latency in microseconds, as precise as a histogram of three digits.
#[derive(Debug, Clone)]
pub(crate) enum LatencySum {
    /// Rising, with the count of each.
    Listed(Vec<(u32, u64)>),
    Counted(Box<Histogram<u64>>),
}

impl Default for LatencySum {
    fn default() -> Self {
        LatencySum::Listed(Vec::new())
    }
}

impl LatencySum {
    /// Adds those of a slice.
    pub(crate) fn add(&mut self, slice: &Burst) {
        match self {
            LatencySum::Counted(all) => slice.add_to(all),
            LatencySum::Listed(_) => slice.each(|us, count| self.record(us, count)),
        }
    }

    pub(crate) fn merge(&mut self, other: &LatencySum) {
        match other {
            LatencySum::Listed(listed) => {
                for (us, count) in listed {
                    self.record(u64::from(*us), *count);
                }
            }
            LatencySum::Counted(all) => self.merge_histogram(all),
        }
    }

    pub(crate) fn merge_histogram(&mut self, all: &Histogram<u64>) {
        histogram::add(self.counted(), all);
    }

    /// Adds them to a histogram.
    pub(crate) fn add_to(&self, to: &mut Histogram<u64>) {
        match self {
            LatencySum::Counted(all) => histogram::add(to, all),
            LatencySum::Listed(listed) => {
                for (us, count) in listed {
                    histogram::record_many(to, u64::from(*us), *count);
                }
            }
        }
    }

    /// Returns them as a histogram.
    pub(crate) fn histogram(&self) -> Cow<'_, Histogram<u64>> {
        match self {
            LatencySum::Counted(all) => Cow::Borrowed(all),
            LatencySum::Listed(_) => {
                let mut all = histogram::empty();
                self.add_to(&mut all);
                Cow::Owned(all)
            }
        }
    }

    fn record(&mut self, us: u64, count: u64) {
        let us = us.min(LONGEST_US);
        match self {
            LatencySum::Counted(all) => return histogram::record_many(all, us, count),
            LatencySum::Listed(listed) => {
                // An hour, rounded up, is below 2^32.
                let rounded = round(us) as u32;
                match listed.binary_search_by_key(&rounded, |(other, _)| *other) {
                    Ok(place) => return listed[place].1 += count,
                    Err(place) if listed.len() < MOST_LISTED => {
                        return listed.insert(place, (rounded, count));
                    }
                    Err(_) => {}
                }
            }
        }
        histogram::record_many(self.counted(), us, count);
    }

    /// Goes over to a histogram.
    fn counted(&mut self) -> &mut Histogram<u64> {
        if let LatencySum::Listed(_) = self {
            *self = LatencySum::Counted(Box::new(self.histogram().into_owned()));
        }
        match self {
            LatencySum::Counted(all) => all,
            LatencySum::Listed(_) => unreachable!("it has just gone over"),
        }
    }
}

impl Quantiles for LatencySum {
    fn values_at<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N] {
        let listed = match self {
            LatencySum::Counted(all) => return all.values_at(quantiles),
            LatencySum::Listed(listed) => listed,
        };
        let total: u64 = listed.iter().map(|(_, count)| count).sum();
        let (mut found, mut sum) = ([0; N], 0);
        let mut counts = listed.iter();
        let mut latest = 0;
        for (slot, quantile) in found.iter_mut().zip(quantiles) {
            // As HdrHistogram has it.
            let rank = ((quantile * total as f64).ceil() as u64).max(1);
            while sum < rank
                && let Some((us, count)) = counts.next()
            {
                (latest, sum) = (u64::from(*us), sum + count);
            }
            *slot = latest;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTILES: [f64; 8] = [0.01, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

    /// Adds the same latencies to a sum and to a histogram, in bursts.
    fn both(values: impl Iterator<Item = u64>) -> (LatencySum, Histogram<u64>) {
        let (mut sum, mut all) = (LatencySum::default(), histogram::empty());
        let values: Vec<u64> = values.collect();
        for part in values.chunks(700) {
            let mut burst = Burst::default();
            for us in part {
                burst.record(us * 1_000);
                histogram::record(&mut all, (*us).min(LONGEST_US) as u32);
            }
            sum.add(&burst);
        }
        (sum, all)
    }

    #[test]
    fn a_list_has_the_figures_of_a_histogram_and_becomes_one() {
        for (count, spread, is_listed) in [
            (0_u64, 1, true),
            (1, 1, true),
            (50, 90_000, true),
            (1_500, 700, true),
            (40_000, 2_000, true),
            (40_000, 4_000_000, false),
            (300, 9_000_000_000, true),
        ] {
            let (sum, all) = both((0..count).map(|n| n * n * 7_919 % spread + 300));
            assert_eq!(matches!(sum, LatencySum::Listed(_)), is_listed, "{count}");
            assert_eq!(*sum.histogram(), all);
            assert_eq!(sum.values_at(QUANTILES), all.values_at(QUANTILES));
            let mut added = histogram::empty();
            sum.add_to(&mut added);
            assert_eq!(added, all);
        }
    }

    #[test]
    fn sums_of_both_forms_are_merged() {
        let few = || (0..500).map(|n| n * 3 + 100);
        let many = || (0..30_000).map(|n| n * n * 7_919 % 3_000_000);
        let (expected, all) = both(few().chain(many()));
        for (first, second) in [
            (both(few()).0, both(many()).0),
            (both(many()).0, both(few()).0),
        ] {
            let mut merged = first;
            merged.merge(&second);
            assert_eq!(*merged.histogram(), all);
            assert_eq!(merged.values_at(QUANTILES), expected.values_at(QUANTILES));
        }
    }
}
