//! Latencies in the form of monitoring systems: counts below fixed borders, and in buckets each of which is wider than the one
//! before by the same factor, as native histograms of Prometheus
//! (<https://prometheus.io/docs/specs/native_histograms/>) and exponential histograms of OpenTelemetry have them.

use hdrhistogram::Histogram;
use lgoose_metrics::BORDERS;
use std::collections::BTreeMap;

/// Scale of exponential buckets, Prometheus' schema: 2^6 of them for each power of two, each 1.1 % wide.
pub const SCALE: i32 = 6;

/// Latencies in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Counts up to each of [`BORDERS`] and beyond the one before.
    pub classic: Vec<(f64, u64)>,
    /// Values beyond the last border.
    pub beyond: u64,
    /// Latencies of less than half a microsecond.
    pub zero: u64,
    /// Counts of exponential buckets by index. That of index `i` ends with 2^(i / 2^[`SCALE`]), which belongs to it.
    pub exponential: BTreeMap<i32, u64>,
}

impl Distribution {
    /// Makes it from microseconds; `sum` is exact, in seconds.
    pub fn of(histogram: &Histogram<u64>, sum: f64) -> Distribution {
        let mut classic: Vec<(f64, u64)> = BORDERS.iter().map(|border| (*border, 0)).collect();
        let (mut zero, mut beyond) = (0, 0);
        let mut exponential = BTreeMap::<i32, u64>::new();
        for value in histogram.iter_recorded() {
            let (us, count) = (value.value_iterated_to(), value.count_at_value());
            let seconds = histogram.median_equivalent(us) as f64 / 1e6;
            match classic.iter_mut().find(|(border, _)| seconds <= *border) {
                Some((_, below)) => *below += count,
                None => beyond += count,
            }
            if seconds > 0.0 {
                *exponential.entry(index(seconds)).or_default() += count
            } else {
                zero += count
            }
        }
        Distribution {
            count: histogram.len(),
            sum,
            classic,
            beyond,
            zero,
            exponential,
        }
    }
}

/// Returns the exponential bucket of a value: the one whose upper border is the first not below it.
fn index(value: f64) -> i32 {
    (value.log2() * f64::from(1 << SCALE)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits");
        for value in values {
            histogram.record(value).expect("it grows");
        }
        histogram
    }

    /// Returns a quantile as `histogram_quantile` estimates it, by a straight line within a bucket.
    fn quantile(distribution: &Distribution, q: f64) -> f64 {
        let rank = q * distribution.count as f64;
        let mut below = distribution.zero as f64;
        for (&index, &count) in &distribution.exponential {
            let border = |index: i32| (f64::from(index) / f64::from(1 << SCALE)).exp2();
            if below + count as f64 >= rank {
                let (from, to) = (border(index - 1), border(index));
                return from + (to - from) * (rank - below) / count as f64;
            }
            below += count as f64;
        }
        panic!("no bucket has rank {rank}")
    }

    #[test]
    fn a_value_is_in_the_bucket_whose_upper_border_is_not_below_it() {
        for (seconds, expected) in [
            (1.0, 0),
            (2.0, 64),
            (0.5, -64),
            (1.000_001, 1),
            (0.999_999, 0),
            (1.01, 1),
            (1.011, 2),
        ] {
            assert_eq!(index(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn quantiles_of_exponential_buckets_are_within_two_per_cent() {
        let mut chance = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(7);
        for spread in [1.01_f64, 3.0, 100.0, 10_000.0] {
            let values: Vec<u64> = (0..20_000)
                .map(|_| (300.0 * spread.powf(chance.random::<f64>())) as u64)
                .collect();
            let histogram = histogram(values);
            let distribution = Distribution::of(&histogram, 0.0);
            for q in [0.01, 0.5, 0.9, 0.95, 0.99, 0.999] {
                let exact = histogram.value_at_quantile(q) as f64 / 1e6;
                let found = quantile(&distribution, q);
                let off = (found / exact - 1.0).abs();
                assert!(off < 0.02, "p{}: {found} instead of {exact}", q * 100.0);
            }
        }
    }

    #[test]
    fn every_latency_is_in_one_bucket_of_each_kind() {
        let distribution = Distribution::of(
            &histogram([0, 1, 999, 1_001, 1_100, 2_000_000, 3_000_000_000]),
            1.5,
        );
        let exponential: u64 = distribution.exponential.values().sum();
        assert_eq!(
            (distribution.count, distribution.zero, exponential),
            (7, 1, 6)
        );
        let classic: u64 = distribution.classic.iter().map(|(_, count)| count).sum();
        assert_eq!((classic, distribution.beyond), (6, 1));
        assert_eq!(distribution.classic[0], (0.001, 3));
        assert_eq!(distribution.classic[1], (0.002_5, 2));
        let none = Distribution::of(&histogram([]), 0.0);
        assert!(none.exponential.is_empty());
    }
}
