//! Distribution of a trend's values: percentiles of numbers of any size and sign.
//!
//! Does not use `hdrhistogram`, which counts non-negative whole numbers within a range known beforehand, and takes
//! about 131 KiB for three digits up to a minute: a plan's own numbers have neither unit nor range. Here the leading
//! bits of a value are its bucket, which is a logarithmic scale with 1,024 steps per doubling. Percentiles are within
//! a thousandth of those of the sorted values, which a test checks, as long as there are few enough distinct buckets:
//! values of more sizes than that get half as many steps, as often as needed.

use crate::delta::MOST_COUNT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bits of a double that are cut off: sign, exponent and ten binary digits remain.
const CUT: u32 = 42;

/// The highest number of times that the steps are halved: two binary digits of the exponent remain.
const COARSEST: u32 = 19;

/// The most buckets of one spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketLimit(usize);

impl BucketLimit {
    /// The room of the only one: eight doublings in full detail.
    pub(crate) const WHOLE: BucketLimit = BucketLimit(8192);

    /// Returns the room of one among that many, which together take some tens of MiB at most.
    pub(crate) fn among(spreads: usize) -> BucketLimit {
        const ALL: usize = 1 << 18;
        const LEAST: usize = 256;
        BucketLimit((ALL / spreads.max(1)).clamp(LEAST, BucketLimit::WHOLE.0))
    }
}

/// Counts by bucket. Merges exactly, in any order, within the same room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// How often the steps were halved.
    halved: u32,
    buckets: BTreeMap<i32, u64>,
    count: u64,
}

impl Spread {
    pub(crate) fn record(&mut self, value: f64, room: BucketLimit) {
        let bucket = coarser(bucket(value), self.halved);
        *self.buckets.entry(bucket).or_default() += 1;
        self.count += 1;
        self.fit(room);
    }

    pub(crate) fn add(&mut self, other: &Spread, room: BucketLimit) {
        if other.halved > self.halved {
            self.halve(other.halved - self.halved);
        }
        for (bucket, count) in &other.buckets {
            let bucket = coarser(*bucket, self.halved - other.halved);
            *self.buckets.entry(bucket).or_default() += count;
        }
        self.count += other.count;
        self.fit(room);
    }

    fn fit(&mut self, room: BucketLimit) {
        while self.buckets.len() > room.0 && self.halved < COARSEST {
            self.halve(1);
        }
    }

    /// Halves the number of steps per doubling so many times.
    fn halve(&mut self, times: u32) {
        self.halved += times;
        for (bucket, count) in std::mem::take(&mut self.buckets) {
            *self.buckets.entry(coarser(bucket, times)).or_default() += count;
        }
    }

    /// Returns whether a run can have counted this: a file may be damaged.
    pub(crate) fn is_plausible(&self) -> bool {
        let mut counts = self.buckets.values();
        let all = counts.try_fold(0_u64, |sum, count| sum.checked_add(*count));
        self.halved <= COARSEST && self.count <= MOST_COUNT && all == Some(self.count)
    }

    /// Returns, for each of the rising `quantiles`, the middle of the lowest bucket up to which at least that share
    /// of all values lies; unless steps were halved, it is within 0.05 % of a recorded value. Zero when there is none.
    pub(crate) fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [f64; N] {
        let mut buckets = self.buckets.iter();
        let (mut seen, mut value) = (0, 0.0);
        quantiles.map(|quantile| {
            let rank = ((quantile * self.count as f64).ceil() as u64).max(1);
            while seen < rank
                && let Some((bucket, count)) = buckets.next()
            {
                seen += count;
                value = middle(*bucket, self.halved);
            }
            value
        })
    }
}

/// Returns the bucket of a value: larger values have larger numbers, and the sign is that of the value.
fn bucket(value: f64) -> i32 {
    let head = (value.abs().to_bits() >> CUT) as i32;
    if value < 0.0 { -head } else { head }
}

/// Returns the bucket after the steps were halved so many times.
fn coarser(bucket: i32, times: u32) -> i32 {
    // Towards zero, so that both signs have the same steps.
    bucket / (1 << times.min(COARSEST))
}

/// Returns the middle of a bucket; zero for those around zero.
fn middle(bucket: i32, halved: u32) -> f64 {
    if bucket == 0 {
        return 0.0;
    }
    let cut = CUT + halved.min(COARSEST);
    let bits = u64::from(bucket.unsigned_abs()) << cut | 1 << (cut - 1);
    f64::from_bits(bits).copysign(f64::from(bucket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_any_size_and_sign_agree_with_sorting_within_a_thousandth() {
        for (from, scale) in [(0.0, 1e-9), (-500.0, 1.0), (0.0, 1e15), (-1e3, 0.25)] {
            let mut spread = Spread::default();
            let mut sorted = Vec::new();
            let mut state: u64 = 7;
            for _ in 0..5_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let value = (from + (state >> 54) as f64) * scale;
                spread.record(value, BucketLimit::WHOLE);
                sorted.push(value);
            }
            sorted.sort_unstable_by(f64::total_cmp);
            let quantiles = [0.001, 0.1, 0.5, 0.9, 0.99, 1.0];
            for (quantile, found) in quantiles.into_iter().zip(spread.quantiles(quantiles)) {
                let truth = sorted[(quantile * 5_000.0_f64).ceil() as usize - 1];
                let off = (found - truth).abs();
                assert!(off <= truth.abs() / 1_000.0, "{found} is not {truth}");
            }
        }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let (mut whole, mut parts) = (Spread::default(), [Spread::default(), Spread::default()]);
        for n in 0..1_000 {
            whole.record(f64::from(n) - 300.0, BucketLimit::WHOLE);
            parts[n as usize % 2].record(f64::from(n) - 300.0, BucketLimit::WHOLE);
        }
        let [mut sum, other] = parts;
        sum.add(&other, BucketLimit::WHOLE);
        assert_eq!(sum, whole);
        assert_eq!(Spread::default().quantiles([0.5]), [0.0]);
    }

    #[test]
    fn values_of_all_sizes_take_no_more_than_their_room() {
        let room = BucketLimit::among(100);
        let (mut whole, mut parts) = (Spread::default(), [Spread::default(), Spread::default()]);
        let mut sorted = Vec::new();
        for n in 0..20_000_u64 {
            // All bits but the sign and the last exponents, which are infinite and no number.
            let bits = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1;
            let value = f64::from_bits(bits % 0x7fe0_0000_0000_0000);
            let value = if n % 2 == 0 { value } else { -value };
            whole.record(value, room);
            // One part has few sizes, and the other all.
            let (part, value) = if value > 1.0 { (1, value) } else { (0, value) };
            parts[part].record(value, room);
            sorted.push(value);
        }
        assert!(whole.buckets.len() <= room.0 && whole.is_plausible());
        let [first, mut second] = parts;
        second.add(&first, room);
        assert_eq!(second, whole);
        sorted.sort_unstable_by(f64::total_cmp);
        let quantiles = [0.1, 0.6, 0.9];
        for (quantile, found) in quantiles.into_iter().zip(whole.quantiles(quantiles)) {
            let truth = sorted[(quantile * 20_000.0_f64).ceil() as usize - 1];
            // The sizes are 4,000 doublings: a step is four of them.
            assert!((truth.abs().log2() - found.abs().log2()).abs() <= 4.0);
            assert_eq!(found.is_sign_negative(), truth.is_sign_negative());
        }
    }
}
