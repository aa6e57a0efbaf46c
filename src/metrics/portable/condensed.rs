//! Latencies rounded as a histogram rounds them, for figures of thousands of workers: counts of each microsecond
//! would grow with every worker that is added up.

use super::PortableDelta;
use super::rows::Counted;

/// Number of latencies of one name up to which a store keeps each as it is. Above it a store keeps a histogram, so
/// rounding them here loses nothing.
pub(in super::super) const FEW: usize = super::super::latency::FEW;

impl PortableDelta {
    /// Rounds latencies as histograms of three digits do, in each row that has more of them than a store keeps as
    /// they are. If `most` is above that number, rows with up to `most` different latencies are left as they are.
    pub(in super::super) fn condense(&mut self, most: usize) {
        for slice in self.slices.values_mut() {
            for row in slice.requests.values_mut() {
                for counted in row.latencies() {
                    condense(counted, most);
                }
            }
            for row in slice.tasks.values_mut() {
                condense(row.latencies(), most);
            }
            condense(slice.arrivals.latencies(), most);
        }
    }
}

fn condense(counted: &mut Counted, most: usize) {
    if counted.len() <= most && most > FEW {
        return;
    }
    if counted.values().sum::<u64>() <= FEW as u64 {
        return;
    }
    let mut rounded: Vec<(u64, u64)> = Vec::with_capacity(counted.len());
    for (us, count) in &*counted {
        let us = round(*us);
        match rounded.last_mut() {
            Some((last, known)) if *last == us => *known += count,
            _ => rounded.push((us, *count)),
        }
    }
    if rounded.len() < counted.len() {
        *counted = rounded.into_iter().collect();
    }
}

/// Returns the highest value that a histogram of three digits does not tell apart from this one.
fn round(us: u64) -> u64 {
    // The histogram has 2,048 steps at first, and 1,024 from each power of two to the next.
    let bits = (us >> 11).checked_ilog2().map_or(0, |more| more + 1);
    us | ((1 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::super::super::latency::histogram;
    use super::*;

    #[test]
    fn rounding_is_that_of_a_histogram() {
        let histogram = histogram();
        for us in (0..5_000).chain([65_535, 65_536, 1_000_003, 123_456_789, 3_599_999_999]) {
            assert_eq!(round(us), histogram.highest_equivalent(us), "{us}");
        }
    }

    #[test]
    fn few_latencies_stay_as_they_are_and_no_count_is_lost() {
        let mut few: Counted = (0..1_000).map(|n| (10_000 + n, 1)).collect();
        let before = few.clone();
        condense(&mut few, FEW);
        assert_eq!(few, before);
        few.insert(20_000, 100);
        condense(&mut few, FEW);
        assert!(few.len() < 200, "{}", few.len());
        assert_eq!(few.values().sum::<u64>(), 1_100);
    }
}
