//! Error of a figure by a moving-block bootstrap: Künsch, "The jackknife and the bootstrap for general stationary
//! observations", Annals of Statistics 17 (1989).
//!
//! Each round draws blocks of seconds with replacement from every run of a side, as many as the run is long, and finds
//! the figure of those; the spread of the rounds is the figure's error. That spread is a little too small where
//! blocks are few: blocks vary around the mean of the run and not around the truth, which a factor of n / (n - l)
//! corrects; what they cut apart depends on each other, which is corrected as if the series were autoregressive of the
//! first order; and the error itself is an estimate, which Student's t accounts for with the degrees of freedom below.

use super::block_length::block_length;
use super::figure::Figure;
use super::student::StudentsT;
use super::track::{IntervalBlock, LatencyScale, Track};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The error of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureError {
    /// The variance, on the figure's scale.
    pub(super) variance: f64,
    /// The degrees of freedom with which the variance is known.
    pub(super) freedom: f64,
}

impl FigureError {
    /// Returns the confidence interval of a difference that misses the true one with that probability.
    pub(super) fn interval(self, difference: f64, missing: f64) -> (f64, f64) {
        let reach = self.variance.sqrt() * self.student().exceeded_with(missing);
        (difference - reach, difference + reach)
    }

    /// Returns how often chance alone makes so great a difference either way.
    pub(super) fn probability(self, difference: f64) -> f64 {
        if difference == 0.0 {
            return 1.0;
        }
        if self.variance <= 0.0 {
            return 0.0;
        }
        self.student()
            .beyond(difference.abs() / self.variance.sqrt())
    }

    fn student(self) -> StudentsT {
        StudentsT::new(self.freedom.max(1.0))
    }
}

/// Share of rounds that may draw nothing of a rare name.
const MOST_EMPTY: f64 = 0.05;

/// Estimates the error of a figure over the runs of a side; `None` if too many rounds find nothing.
pub(super) fn spread(
    figure: Figure,
    tracks: &[Track],
    scale: &LatencyScale,
    rounds: usize,
    seed: u64,
) -> Option<FigureError> {
    let whole: Vec<(usize, IntervalBlock)> = tracks.iter().map(Track::whole).enumerate().collect();
    let (value, place) = figure.over(tracks, scale, &whole, scale.middle())?;
    let pulls: Vec<Vec<f64>> = tracks
        .iter()
        .map(|track| figure.pull(track, value, place))
        .collect();
    let lengths: Vec<usize> = pulls.iter().map(|pull| block_length(pull)).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut choice = Vec::new();
    let (mut found, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for _ in 0..rounds {
        choice.clear();
        for (run, (track, length)) in tracks.iter().zip(&lengths).enumerate() {
            draw(track.intervals(), *length, run, &mut random, &mut choice);
        }
        let drawn = figure.over(tracks, scale, &choice, place);
        let drawn = drawn.map(|(value, _)| figure.scaled(value));
        if let Some(drawn) = drawn.filter(|drawn| drawn.is_finite()) {
            found += 1.0;
            let off = drawn - mean;
            mean += off / found;
            squares += off * (drawn - mean);
        }
    }
    if found < (1.0 - MOST_EMPTY) * rounds as f64 || found < 2.0 {
        return None;
    }
    let sizes = || tracks.iter().map(Track::intervals).zip(&lengths);
    let corrections = pulls.iter().zip(&lengths).map(|(pull, length)| {
        let n = pull.len() as f64;
        n / (n - *length as f64).max(1.0) * recoloured(autocorrelation(pull), *length)
    });
    let correction = corrections.sum::<f64>() / tracks.len() as f64;
    Some(FigureError {
        variance: squares / (found - 1.0) * correction,
        freedom: sizes().map(|(n, length)| freedom(n, *length)).sum::<f64>(),
    })
}

/// Appends moving blocks of a run of `n` intervals, as long as the run together.
fn draw(
    n: usize,
    length: usize,
    run: usize,
    random: &mut Xoshiro256PlusPlus,
    choice: &mut Vec<(usize, IntervalBlock)>,
) {
    let mut remaining = n;
    while remaining > 0 {
        let from = random.random_range(0..=n - length);
        let taken = length.min(remaining);
        let to = from + taken;
        choice.push((run, IntervalBlock { from, to }));
        remaining -= taken;
    }
}

/// The autocorrelation of a series from one interval to the next, without the bias that a short one has (Kendall,
/// Biometrika 41, 1954), from 0 to 0.9.
fn autocorrelation(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let off: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let variance: f64 = off.iter().map(|value| value * value).sum();
    let pairs: f64 = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let found = if variance > 0.0 {
        pairs / variance
    } else {
        0.0
    };
    (found + (1.0 + 3.0 * found) / n).clamp(0.0, 0.9)
}

/// Returns by how much a variance is greater than blocks of that length show, in an autoregressive series of the first
/// order; the idea is that of Andrews & Monahan, Econometrica 60 (1992).
fn recoloured(autocorrelation: f64, length: usize) -> f64 {
    let l = length as f64;
    let seen: f64 = (1..length)
        .map(|lag| (1.0 - lag as f64 / l) * autocorrelation.powi(lag as i32))
        .sum();
    (1.0 + autocorrelation) / (1.0 - autocorrelation) / (1.0 + 2.0 * seen)
}

/// Degrees of freedom of a variance that overlapping blocks of that length estimate: they weigh autocorrelations by
/// (1 - lag / length), and such an estimate has n over the sum of the squared weights of all lags, negative ones
/// included (Priestley, Spectral Analysis and Time Series, 1981, section 6.2.4, at frequency zero). One more is lost to
/// the mean.
fn freedom(n: usize, length: usize) -> f64 {
    let (n, l) = (n as f64, length as f64);
    let squares = 1.0 + (l - 1.0) * (2.0 * l - 1.0) / (3.0 * l);
    (n / squares - 1.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::autoregressive;
    use super::super::track::IntervalCounts;
    use super::*;

    /// The error that is estimated of the mean of a series, on average over many of them, beside the true one.
    fn errors(dependence: f64, n: usize) -> (f64, f64) {
        let (mut estimated, mut means) = (0.0, Vec::new());
        for seed in 0..300 {
            let series = autoregressive(n, dependence, seed);
            let intervals: Vec<IntervalCounts> = series
                .iter()
                .map(|value| IntervalCounts {
                    seconds: 1.0,
                    count: 1_000.0,
                    failures: 100.0 + value,
                    ..IntervalCounts::default()
                })
                .collect();
            let scale = LatencyScale::default();
            let tracks = [Track::of(&intervals, &scale)];
            let spread = spread(Figure::Failures, &tracks, &scale, 200, seed);
            estimated += spread.expect("every round finds something").variance / 300.0;
            means.push(series.iter().sum::<f64>() / n as f64 / 1_000.0);
        }
        let mean = means.iter().sum::<f64>() / 300.0;
        let true_variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 299.0;
        (estimated.sqrt(), true_variance.sqrt())
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_independent_and_of_dependent_seconds() {
        for (dependence, n, within) in [(0.0, 60, 0.15), (0.5, 60, 0.2), (0.5, 600, 0.15)] {
            let (estimated, truth) = errors(dependence, n);
            let off = (estimated / truth - 1.0).abs();
            assert!(
                off < within,
                "{dependence}, {n}: {estimated} is not {truth}"
            );
        }
    }

    #[test]
    fn fewer_blocks_estimate_the_error_with_fewer_degrees_of_freedom() {
        assert_eq!(freedom(60, 1), 59.0);
        assert!((freedom(60, 4) - 20.8).abs() < 0.1, "{}", freedom(60, 4));
        assert!((freedom(600, 60) - 14.0).abs() < 0.5);
        assert_eq!(freedom(4, 4), 1.0);
    }

    #[test]
    fn what_blocks_cut_apart_is_made_good() {
        assert_eq!(recoloured(0.0, 4), 1.0);
        // 3 / (1 + 2 (0.75 · 0.5 + 0.5 · 0.25 + 0.25 · 0.125))
        assert!((recoloured(0.5, 4) - 3.0 / 2.0625).abs() < 1e-9);
        assert!(recoloured(0.5, 40) < 1.05);
        let strong = autocorrelation(&autoregressive(2_000, 0.6, 1));
        assert!((strong - 0.6).abs() < 0.06, "{strong}");
        assert!(autocorrelation(&[1.0, 1.0, 1.0]) < 0.34 + 1e-9);
    }

    #[test]
    fn a_draw_is_as_long_as_its_run() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for (n, length) in [(60, 7), (1, 1), (13, 13), (10, 3)] {
            let mut choice = Vec::new();
            draw(n, length, 0, &mut random, &mut choice);
            let sizes = choice.iter().map(|(_, block)| block.to - block.from);
            assert_eq!(sizes.sum::<usize>(), n);
            assert!(choice.iter().all(|(_, block)| block.to <= n));
        }
    }

    #[test]
    fn an_interval_of_few_degrees_of_freedom_is_wide() {
        let error = |freedom| FigureError {
            variance: 0.01,
            freedom,
        };
        let (low, high) = error(10.0).interval(1.0, 0.05);
        assert!(
            (low - 0.777).abs() < 0.001 && (high - 1.223).abs() < 0.001,
            "{low} {high}"
        );
        let (low, _) = error(2.0).interval(1.0, 0.05);
        assert!((low - 0.570).abs() < 0.001, "{low}");
        assert!((error(10.0).probability(0.2228) - 0.05).abs() < 0.001);
        assert_eq!(error(3.0).probability(0.0), 1.0);
        let none = FigureError {
            variance: 0.0,
            freedom: 3.0,
        };
        assert_eq!(none.probability(0.1), 0.0);
    }
}
