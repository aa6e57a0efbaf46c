//! Requests of one name over the intervals of a run, so arranged that any stretch of them is added up at once.
//!
//! For each latency that some interval has: how many requests took at most as long, summed up over time. A
//! percentile of any choice of blocks then takes a handful of look-ups a block and no histogram is ever added up.

use crate::latencies::{Bucket, buckets};

/// A stretch of a run's intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IntervalBlock {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Counts of one interval.
#[derive(Debug, Clone, Default)]
pub(super) struct IntervalCounts {
    pub(super) seconds: f64,
    pub(super) count: f64,
    pub(super) failures: f64,
    pub(super) sum_ms: f64,
    pub(super) buckets: Vec<Bucket>,
}

impl IntervalCounts {
    /// Returns the successful ones among these requests, without the sum of their latencies; `failed` is the histogram of
    /// the others. `None` if it does not have that many.
    pub(super) fn successful(self, failures: u64, failed: &str) -> Option<IntervalCounts> {
        let failed = buckets(failed)?;
        if counted(&failed) != failures {
            return None;
        }
        let ok = without(self.buckets, &failed)?;
        Some(IntervalCounts {
            seconds: self.seconds,
            count: counted(&ok) as f64,
            failures: 0.0,
            sum_ms: 0.0,
            buckets: ok,
        })
    }
}

/// Returns the requests that are not among `fewer`; `None` if there are some that `all` has not.
pub(super) fn without(mut all: Vec<Bucket>, fewer: &[Bucket]) -> Option<Vec<Bucket>> {
    for bucket in fewer {
        let ends = (bucket.from_us, bucket.to_us);
        let place = all
            .binary_search_by_key(&ends, |other| (other.from_us, other.to_us))
            .ok()?;
        all[place].count = all[place].count.checked_sub(bucket.count)?;
    }
    all.retain(|bucket| bucket.count > 0);
    Some(all)
}

/// Returns the number of requests.
pub(super) fn counted(buckets: &[Bucket]) -> u64 {
    let counts = buckets.iter().map(|bucket| bucket.count);
    counts.fold(0, u64::saturating_add)
}

/// Latencies that any interval of a name has, on both sides: their two ends in milliseconds.
#[derive(Debug, Default)]
pub(super) struct LatencyScale(Vec<(u64, u64)>);

impl LatencyScale {
    pub(super) fn of<'a>(intervals: impl Iterator<Item = &'a IntervalCounts>) -> LatencyScale {
        let buckets = intervals.flat_map(|interval| &interval.buckets);
        let mut ends: Vec<(u64, u64)> = buckets
            .map(|bucket| (bucket.from_us, bucket.to_us))
            .collect();
        ends.sort_unstable();
        ends.dedup();
        LatencyScale(ends)
    }

    /// Returns the number of the bucket.
    fn place(&self, bucket: &Bucket) -> usize {
        let ends = (bucket.from_us, bucket.to_us);
        self.0.partition_point(|end| *end < ends)
    }

    /// Returns the latency in milliseconds at a share of a bucket.
    fn latency_ms(&self, place: usize, share: f64) -> f64 {
        let (from, to) = self.0[place];
        (from as f64 + share * (to - from) as f64) / 1e3
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a bucket to begin a search at.
    pub(super) fn middle(&self) -> usize {
        self.0.len() / 2
    }
}

/// Requests of one name in one run. All sums are those of the intervals before the given one.
#[derive(Debug)]
pub(super) struct Track {
    intervals: usize,
    seconds: Vec<f64>,
    count: Vec<f64>,
    failures: Vec<f64>,
    sum_ms: Vec<f64>,
    /// By bucket and then by interval: the requests that took no longer.
    no_longer: Vec<u64>,
}

/// Sums over some blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BlockSums {
    pub(super) seconds: f64,
    pub(super) count: f64,
    pub(super) failures: f64,
    pub(super) sum_ms: f64,
}

impl Track {
    pub(super) fn of(intervals: &[IntervalCounts], scale: &LatencyScale) -> Track {
        let summed = |value: fn(&IntervalCounts) -> f64| {
            let mut sums = vec![0.0];
            for interval in intervals {
                sums.push(sums[sums.len() - 1] + value(interval));
            }
            sums
        };
        let row = intervals.len() + 1;
        let mut no_longer = vec![0_u64; row * scale.len()];
        for (at, interval) in intervals.iter().enumerate() {
            for bucket in &interval.buckets {
                no_longer[scale.place(bucket) * row + at + 1] += bucket.count;
            }
        }
        for place in 0..scale.len() {
            for at in 1..row {
                let before = no_longer[place * row + at - 1];
                let cell = place * row + at;
                no_longer[cell] += before;
            }
            if place > 0 {
                for at in 0..row {
                    let shorter = no_longer[(place - 1) * row + at];
                    let cell = place * row + at;
                    no_longer[cell] += shorter;
                }
            }
        }
        Track {
            intervals: intervals.len(),
            seconds: summed(|interval| interval.seconds),
            count: summed(|interval| interval.count),
            failures: summed(|interval| interval.failures),
            sum_ms: summed(|interval| interval.sum_ms),
            no_longer,
        }
    }

    /// Returns the number of intervals.
    pub(super) fn intervals(&self) -> usize {
        self.intervals
    }

    /// Returns the block of all intervals.
    pub(super) fn whole(&self) -> IntervalBlock {
        IntervalBlock {
            from: 0,
            to: self.intervals,
        }
    }

    fn no_longer(&self, place: usize, block: IntervalBlock) -> u64 {
        let row = &self.no_longer[place * (self.intervals + 1)..][..self.intervals + 1];
        row[block.to] - row[block.from]
    }

    /// Returns the sums of each interval alone, and the requests in it that took no longer than a bucket.
    pub(super) fn each(&self, place: Option<usize>) -> impl Iterator<Item = (BlockSums, f64)> {
        (0..self.intervals).map(move |at| {
            let block = IntervalBlock {
                from: at,
                to: at + 1,
            };
            let no_longer = place.map_or(0, |place| self.no_longer(place, block));
            (self.sums(block), no_longer as f64)
        })
    }

    fn sums(&self, block: IntervalBlock) -> BlockSums {
        let IntervalBlock { from, to } = block;
        BlockSums {
            seconds: self.seconds[to] - self.seconds[from],
            count: self.count[to] - self.count[from],
            failures: self.failures[to] - self.failures[from],
            sum_ms: self.sum_ms[to] - self.sum_ms[from],
        }
    }
}

/// Blocks chosen from the runs of a side, each with the number of its run.
pub(super) type Choice = [(usize, IntervalBlock)];

/// Adds up the chosen blocks.
pub(super) fn sums(tracks: &[Track], choice: &Choice) -> BlockSums {
    choice
        .iter()
        .fold(BlockSums::default(), |sum, (run, block)| {
            let more = tracks[*run].sums(*block);
            BlockSums {
                seconds: sum.seconds + more.seconds,
                count: sum.count + more.count,
                failures: sum.failures + more.failures,
                sum_ms: sum.sum_ms + more.sum_ms,
            }
        })
}

/// Returns a quantile of the latencies in the chosen blocks in milliseconds, and its bucket; within a bucket as if its
/// latencies lay evenly. `None` without any. The search begins at bucket `near`.
pub(super) fn quantile(
    tracks: &[Track],
    scale: &LatencyScale,
    choice: &Choice,
    quantile: f64,
    near: usize,
) -> Option<(f64, usize)> {
    let last = scale.len().checked_sub(1)?;
    let no_longer = |place: usize| -> u64 {
        let blocks = choice.iter();
        blocks
            .map(|(run, block)| tracks[*run].no_longer(place, *block))
            .sum()
    };
    let all = no_longer(last);
    if all == 0 {
        return None;
    }
    let rank = quantile * all as f64;
    let reaches = |place: usize| no_longer(place) as f64 >= rank;
    // Steps that double, away from a bucket that is near, then halves.
    let mut step = 1;
    let mut place = near.min(last);
    let (below, mut above) = if reaches(place) {
        loop {
            match place.checked_sub(step) {
                None => break (None, place),
                Some(next) if !reaches(next) => break (Some(next), place),
                Some(next) => (place, step) = (next, step * 2),
            }
        }
    } else {
        loop {
            let next = (place + step).min(last);
            if next == last || reaches(next) {
                break (Some(place), next);
            }
            (place, step) = (next, step * 2);
        }
    };
    let mut first = below.map_or(0, |below| below + 1);
    while first < above {
        let middle = first.midpoint(above);
        if reaches(middle) {
            above = middle
        } else {
            first = middle + 1
        }
    }
    let shorter = first.checked_sub(1).map_or(0, no_longer) as f64;
    let here = no_longer(first) as f64 - shorter;
    let share = if here > 0.0 {
        (rank - shorter) / here
    } else {
        1.0
    };
    Some((scale.latency_ms(first, share.clamp(0.0, 1.0)), first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(latencies: &[u64]) -> IntervalCounts {
        let mut sorted = latencies.to_vec();
        sorted.sort_unstable();
        let buckets = sorted.chunk_by(|a, b| a == b).map(|equal| Bucket {
            from_us: equal[0],
            to_us: equal[0] + 1,
            count: equal.len() as u64,
        });
        IntervalCounts {
            seconds: 1.0,
            count: latencies.len() as f64,
            failures: 1.0,
            sum_ms: latencies.iter().sum::<u64>() as f64 / 1e3,
            buckets: buckets.collect(),
        }
    }

    #[test]
    fn a_quantile_of_chosen_blocks_is_that_of_their_latencies_wherever_the_search_starts() {
        let latencies = |second: u64| -> Vec<u64> {
            (0..40 + second * 7)
                .map(|n| 1_000 + (n * n * 7_919 + second * 131) % 5_000)
                .collect()
        };
        let runs: Vec<Vec<IntervalCounts>> = [0..5, 5..9]
            .map(|seconds| seconds.map(|second| interval(&latencies(second))).collect())
            .into();
        let scale = LatencyScale::of(runs.iter().flatten());
        let tracks: Vec<Track> = runs.iter().map(|run| Track::of(run, &scale)).collect();
        let block = |from, to| IntervalBlock { from, to };
        // Second 1 twice, and of the second run its last two.
        let choice = [(0, block(1, 2)), (0, block(0, 2)), (1, block(2, 4))];
        let mut all: Vec<u64> = [1, 0, 1, 7, 8].into_iter().flat_map(latencies).collect();
        all.sort_unstable();
        for share in [0.001, 0.5, 0.95, 0.99, 1.0] {
            let rank = ((share * all.len() as f64).ceil() as usize).max(1);
            let truth = all[rank - 1] as f64 / 1e3;
            for near in [0, 17, 100, usize::MAX] {
                let (found, _) =
                    quantile(&tracks, &scale, &choice, share, near).expect("there are some");
                assert!((found - truth).abs() < 0.001_1, "{found} is not {truth}");
            }
        }
        let sum = sums(&tracks, &choice);
        assert_eq!((sum.seconds, sum.failures), (5.0, 5.0));
        assert_eq!(sum.count, all.len() as f64);
        assert!((sum.sum_ms - all.iter().sum::<u64>() as f64 / 1e3).abs() < 1e-6);
        assert_eq!(quantile(&tracks, &scale, &[], 0.5, 0), None);
        assert_eq!(
            quantile(&tracks, &LatencyScale::default(), &choice, 0.5, 0),
            None
        );
    }
}
