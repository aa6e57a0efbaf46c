//! Length of the blocks of a moving-block bootstrap.
//!
//! Seconds of a run are not independent: a busy second follows a busy one. Blocks must be long enough to keep that, and
//! as many as possible. The length is chosen from the series itself: Politis & White, "Automatic block-length selection
//! for the dependent bootstrap", Econometric Reviews 23 (2004), with the correction of Patton, Politis & White, ibid. 28
//! (2009). It is never below n^(1/3), the order that Künsch (Annals of Statistics 17, 1989) and Hall, Horowitz & Jing
//! (Biometrika 82, 1995) find best, since a short series may hide its dependence, and never above a quarter of the
//! series, so that there are some blocks to draw from.

/// Standard errors of an autocorrelation that count as zero; Politis & White suggest two.
const INSIGNIFICANT: f64 = 2.0;

/// Returns the length of blocks for a series of that many intervals; at least 1.
pub(super) fn block_length(series: &[f64]) -> usize {
    let n = series.len();
    let most = (n / 4).max(1);
    let least = ((n as f64).cbrt().ceil() as usize).max(1);
    let estimate = optimal(series).unwrap_or(0.0).ceil();
    (estimate.min(most as f64) as usize).max(least).min(most)
}

/// The length that makes the mean squared error of the bootstrap's variance smallest, estimated; `None` of a series that
/// is too short or does not vary.
fn optimal(series: &[f64]) -> Option<f64> {
    let n = series.len();
    if n < 8 {
        return None;
    }
    let mean = series.iter().sum::<f64>() / n as f64;
    let off: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let covariance = |lag: usize| -> f64 {
        let pairs = off.iter().zip(&off[lag..]);
        pairs.map(|(a, b)| a * b).sum::<f64>() / n as f64
    };
    let variance = covariance(0);
    if variance <= f64::EPSILON * mean * mean {
        return None;
    }
    // The first lag after which so many autocorrelations in a row are insignificant.
    let run = (n as f64).log10().sqrt().ceil().max(5.0) as usize;
    let most = ((n as f64).sqrt().ceil() as usize + run).min(n - 1);
    let bound = INSIGNIFICANT * ((n as f64).log10() / n as f64).sqrt();
    let covariances: Vec<f64> = (0..=most).map(covariance).collect();
    let significant = |lag: usize| covariances[lag].abs() / variance >= bound;
    let last_significant = (1..=most).rev().find(|lag| significant(*lag));
    let quiet_from = (0..=most - run).find(|from| (1..=run).all(|k| !significant(from + k)));
    let lags = quiet_from.or(last_significant).unwrap_or(1).max(1);
    let window = (2 * lags).min(most);
    // The flat-top window: 1 up to half of its length, then down to 0.
    let flat_top = |lag: usize| (2.0 * (1.0 - lag as f64 / window as f64)).clamp(0.0, 1.0);
    let weighted = |factor: fn(f64) -> f64| -> f64 {
        let lags = (1..=window).map(|lag| flat_top(lag) * factor(lag as f64) * covariances[lag]);
        2.0 * lags.sum::<f64>()
    };
    let slope = weighted(|lag| lag);
    let spectrum = variance + weighted(|_| 1.0);
    let d = 4.0 / 3.0 * spectrum * spectrum;
    Some((2.0 * slope * slope / d.max(f64::MIN_POSITIVE) * n as f64).cbrt())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::autoregressive;
    use super::*;

    fn mean_length(n: usize, dependence: f64) -> f64 {
        let lengths = (0..100).map(|seed| block_length(&autoregressive(n, dependence, seed)));
        lengths.sum::<usize>() as f64 / 100.0
    }

    #[test]
    fn blocks_grow_with_the_dependence_and_with_the_length_of_the_series() {
        let [none, some, strong] = [0.0, 0.5, 0.8].map(|dependence| mean_length(600, dependence));
        assert!(none < some && some < strong, "{none} {some} {strong}");
        // For an autoregressive series of 0.5 the optimum is (1.5 (1 / 0.75)^2 600)^(1/3), which is 11.7.
        assert!((9.0..16.0).contains(&some), "{some}");
        assert!(mean_length(2_400, 0.5) > 1.3 * some);
    }

    #[test]
    fn the_length_stays_within_its_bounds() {
        assert_eq!(block_length(&[]), 1);
        assert_eq!(block_length(&[1.0; 60]), 4, "of what never changes");
        let trend: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(block_length(&trend) >= 12, "{}", block_length(&trend));
        assert_eq!(block_length(&[1.0, 2.0, 3.0]), 1);
    }
}
