//! Latencies as they are added up over shards, sent and stored: counts by latency, of which only those that are there
//! take memory. A shard counts in a [`Burst`](super::burst::Burst) instead, which is faster.

use super::burst::FEW;
use crate::delta::{Implausible, MOST_COUNT};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts by latency in microseconds; many latencies are only as precise as in a histogram of three digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<u64, u64>")]
pub(crate) struct Counted(BTreeMap<u64, u64>);

impl TryFrom<BTreeMap<u64, u64>> for Counted {
    type Error = Implausible;

    fn try_from(counts: BTreeMap<u64, u64>) -> Result<Counted, Implausible> {
        let mut each = counts.values();
        let all = each.try_fold(0_u64, |sum, count| sum.checked_add(*count));
        match all {
            Some(all) if all <= MOST_COUNT => Ok(Counted(counts)),
            _ => Err(Implausible),
        }
    }
}

impl Counted {
    /// Adds a latency in microseconds that came that many times.
    pub(crate) fn add(&mut self, us: u64, times: u64) {
        *self.0.entry(us).or_default() += times;
    }

    pub(crate) fn merge(&mut self, other: &Counted) {
        for (us, times) in other.iter() {
            self.add(us, times);
        }
    }

    /// Returns each latency with its count, in rising order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(us, times)| (*us, *times))
    }

    /// Returns how many latencies there are.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Rounds the latencies as histograms of three digits do, if there are more of them than a store keeps as they
    /// are: so it loses nothing, and the counts of thousands of workers do not grow with every worker. If `most` is
    /// above that number, up to `most` different latencies are left as they are.
    pub(crate) fn condense(&mut self, most: usize) {
        if self.0.len() <= most && most > FEW || self.total() <= FEW as u64 {
            return;
        }
        let mut rounded: Vec<(u64, u64)> = Vec::with_capacity(self.0.len());
        for (us, count) in self.iter() {
            let us = round(us);
            match rounded.last_mut() {
                Some((last, sum)) if *last == us => *sum += count,
                _ => rounded.push((us, count)),
            }
        }
        if rounded.len() < self.0.len() {
            self.0 = rounded.into_iter().collect();
        }
    }
}

/// Returns the highest value that a histogram of three digits holds as equal to this one.
pub(super) fn round(us: u64) -> u64 {
    // The histogram has 2,048 steps at first, and 1,024 from each power of two to the next.
    let bits = (us >> 11).checked_ilog2().map_or(0, |more| more + 1);
    us | ((1 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::histogram;

    #[test]
    fn rounding_is_that_of_a_histogram() {
        let histogram = histogram::empty();
        for us in (0..5_000).chain([65_535, 65_536, 1_000_003, 123_456_789, 3_599_999_999]) {
            assert_eq!(round(us), histogram.highest_equivalent(us), "{us}");
        }
    }

    #[test]
    fn few_latencies_stay_as_they_are_and_no_count_is_lost() {
        let mut few = Counted((0..1_000).map(|n| (10_000 + n, 1)).collect());
        let before = few.clone();
        few.condense(FEW);
        assert_eq!(few, before);
        few.add(20_000, 100);
        few.condense(FEW);
        assert!(few.0.len() < 200, "{}", few.0.len());
        assert_eq!(few.total(), 1_100);
    }

    #[test]
    fn counts_that_no_run_reaches_are_refused() {
        for counts in [vec![u64::MAX], vec![u64::MAX, 1], vec![MOST_COUNT, 1]] {
            let counts: BTreeMap<u64, u64> = (1..).zip(counts).collect();
            assert_eq!(Counted::try_from(counts), Err(Implausible));
        }
        assert!(Counted::try_from(BTreeMap::from([(u64::MAX, MOST_COUNT)])).is_ok());
    }
}
