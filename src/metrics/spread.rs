//! Distribution of a trend's values: percentiles of numbers of any size and sign.
//!
//! Does not use `hdrhistogram`, which counts non-negative whole numbers within a range known beforehand, and takes
//! about 131 KiB for three digits up to a minute: a plan's own numbers have neither unit nor range. Here the leading
//! bits of a value are its bucket, which is a logarithmic scale with 1,024 steps per doubling. Percentiles are within
//! a thousandth of those of the sorted values, which a test checks, and memory grows with the number of distinct
//! buckets.

use super::latency::MOST_COUNT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bits of a double that are cut off: sign, exponent and ten binary digits remain.
const CUT: u32 = 42;

/// Counts by bucket. Grows with the number of distinct buckets, merges exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spread {
    buckets: BTreeMap<i32, u64>,
    count: u64,
}

impl Spread {
    pub(super) fn record(&mut self, value: f64) {
        *self.buckets.entry(bucket(value)).or_default() += 1;
        self.count += 1;
    }

    pub(super) fn add(&mut self, other: &Spread) {
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
        self.count += other.count;
    }

    /// Returns whether a run can have counted this: a file may be damaged.
    pub(super) fn is_plausible(&self) -> bool {
        let mut counts = self.buckets.values();
        let all = counts.try_fold(0_u64, |sum, count| sum.checked_add(*count));
        self.count <= MOST_COUNT && all == Some(self.count)
    }

    /// Returns, for each of the rising `quantiles`, the middle of the lowest bucket up to which at least that share
    /// of all values lies; it is within 0.05 % of a recorded value. Zero when there is none.
    pub(super) fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [f64; N] {
        let mut buckets = self.buckets.iter();
        let (mut seen, mut value) = (0, 0.0);
        quantiles.map(|quantile| {
            let wanted = ((quantile * self.count as f64).ceil() as u64).max(1);
            while seen < wanted
                && let Some((bucket, count)) = buckets.next()
            {
                seen += count;
                value = middle(*bucket);
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

/// Returns the middle of a bucket; zero for those around zero.
fn middle(bucket: i32) -> f64 {
    if bucket == 0 {
        return 0.0;
    }
    let bits = u64::from(bucket.unsigned_abs()) << CUT | 1 << (CUT - 1);
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
                spread.record(value);
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
            whole.record(f64::from(n) - 300.0);
            parts[n as usize % 2].record(f64::from(n) - 300.0);
        }
        let [mut sum, other] = parts;
        sum.add(&other);
        assert_eq!(sum, whole);
        assert_eq!(Spread::default().quantiles([0.5]), [0.0]);
    }
}
