//! A test for drift: whether a series of figures goes up or down beyond chance.
//!
//! The test of Mann (1945) and Kendall (1975) counts how many of all pairs go up. Neighbouring seconds of a queue are alike,
//! so they count as fewer than they are: by the first autocorrelation of what is left beside the line, as Yue and Wang
//! (2004) do. The line is that of Theil (1950) and Sen (1968).

/// Deviation from which on a trend is no chance: once in some 200 series without one, to each side.
const SIGNIFICANT: f64 = 2.6;

/// The fewest figures that say anything of a trend.
const FEWEST: usize = 6;

/// The fewest figures that are a transient; one alone may be chance.
const FEWEST_TRANSIENT: usize = 2;

/// The greatest autocorrelation that is taken for one; more is a trend.
const MOST_ALIKE: f64 = 0.9;

/// Direction of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trend {
    /// Neither up nor down, or not by so much that it matters.
    Steady,
    Rising,
    Falling,
}

/// Returns the trend of figures at equal distances. One of less than `matters` from their beginning to their end, or of a
/// tenth of their median, is none.
pub(super) fn trend(figures: &[f64], matters: f64) -> Trend {
    let count = figures.len();
    if count < FEWEST {
        return Trend::Steady;
    }
    let slope = slope(figures);
    let change = slope * (count - 1) as f64;
    let level = median(figures.to_vec());
    if change.abs() < matters.max(level.abs() / 10.0) || deviation(figures, slope) < SIGNIFICANT {
        return Trend::Steady;
    }
    if change > 0.0 {
        Trend::Rising
    } else {
        Trend::Falling
    }
}

/// Returns whether a series begins above or below what follows, which is a transient: its beginning up to where the rest has the
/// smallest standard error (MSER, White 1997), if that is at least three deviations of the rest away and matters. A curve that
/// levels off is no line, and not always found as a trend.
pub(super) fn transient(figures: &[f64], matters: f64) -> Trend {
    let count = figures.len();
    let error = |from: usize| variance(&figures[from..]) / (count - from) as f64;
    let cut = (0..=count / 2).min_by(|a, b| error(*a).total_cmp(&error(*b)));
    let Some(cut) = cut.filter(|cut| *cut >= FEWEST_TRANSIENT && count >= FEWEST) else {
        return Trend::Steady;
    };
    let (level, rest) = (mean(&figures[..cut]), mean(&figures[cut..]));
    let least = matters
        .max(rest.abs() / 10.0)
        .max(3.0 * variance(&figures[cut..]).sqrt());
    match level - rest {
        above if above > least => Trend::Falling,
        below if -below > least => Trend::Rising,
        _ => Trend::Steady,
    }
}

fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len().max(1) as f64
}

fn variance(figures: &[f64]) -> f64 {
    let mean = mean(figures);
    let squares = figures.iter().map(|figure| (figure - mean).powi(2));
    squares.sum::<f64>() / figures.len().max(1) as f64
}

/// Returns how far the number of pairs that go up is from chance, in standard deviations.
fn deviation(figures: &[f64], slope: f64) -> f64 {
    let n = figures.len() as f64;
    let sign = |one: &f64, other: &f64| match other.total_cmp(one) {
        std::cmp::Ordering::Less => -1.0,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => 1.0,
    };
    let mut sum = 0.0;
    for (at, one) in figures.iter().enumerate() {
        sum += figures[at + 1..]
            .iter()
            .map(|other| sign(one, other))
            .sum::<f64>();
    }
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    (sum.abs() - 1.0).max(0.0) / (variance * inflation(figures, slope)).sqrt()
}

/// Returns by how much the autocorrelation of neighbours widens the variance.
fn inflation(figures: &[f64], slope: f64) -> f64 {
    let count = figures.len();
    let level = median(figures.to_vec());
    let middle = (count - 1) as f64 / 2.0;
    let rest = figures.iter().enumerate();
    let rest: Vec<f64> = rest
        .map(|(at, figure)| figure - level - slope * (at as f64 - middle))
        .collect();
    let mean = rest.iter().sum::<f64>() / count as f64;
    let square: f64 = rest.iter().map(|one| (one - mean).powi(2)).sum();
    if square <= 0.0 {
        return 1.0;
    }
    let pairs = rest.windows(2);
    let together: f64 = pairs.map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    let alike = (together / square).clamp(0.0, MOST_ALIKE);
    let terms = 1..count;
    let sum: f64 = terms
        .map(|lag| (1.0 - lag as f64 / count as f64) * alike.powi(lag as i32))
        .sum();
    1.0 + 2.0 * sum
}

/// Returns the median slope of all pairs.
pub(super) fn slope(figures: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(figures.len() * figures.len() / 2);
    for (at, one) in figures.iter().enumerate() {
        let later = figures[at + 1..].iter().enumerate();
        slopes.extend(later.map(|(more, other)| (other - one) / (more + 1) as f64));
    }
    median(slopes)
}

/// Returns the median; 0 of nothing.
pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match (figures.len() % 2, figures.get(middle)) {
        (_, None) => 0.0,
        (1, Some(one)) => *one,
        (_, Some(one)) => (one + figures[middle - 1]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    /// Returns figures around 100, each like the one before by `alike`, that rise by `slope` each.
    fn series(random: &mut StdRng, count: usize, alike: f64, slope: f64) -> Vec<f64> {
        let mut last = 0.0;
        let figures = (0..count).map(|at| {
            let noise: f64 = random.random_range(-10.0..10.0);
            last = last * alike + noise;
            100.0 + last + slope * at as f64
        });
        figures.collect()
    }

    fn called(count: usize, alike: f64, slope: f64, expected: Trend) -> usize {
        let mut random = StdRng::seed_from_u64(7);
        let all = (0..400).map(|_| trend(&series(&mut random, count, alike, slope), 0.0));
        all.filter(|found| *found == expected).count()
    }

    #[test]
    fn noise_is_called_a_trend_once_in_a_hundred_series_also_where_neighbours_are_alike() {
        for (count, alike, most) in [(10, 0.0, 8), (30, 0.0, 8), (30, 0.5, 16), (60, 0.7, 24)] {
            let steady = called(count, alike, 0.0, Trend::Steady);
            assert!(400 - steady <= most, "{steady} of {count} with {alike}");
        }
    }

    #[test]
    fn a_line_beyond_the_noise_is_found() {
        for (count, slope) in [(10, 5.0), (20, 2.0), (30, 1.5)] {
            let found = called(count, 0.0, slope, Trend::Rising);
            assert!(found >= 320, "{found} of {count}");
            let found = called(count, 0.0, -slope, Trend::Falling);
            assert!(found >= 320, "{found} of {count}");
        }
    }

    #[test]
    fn a_beginning_that_levels_off_is_a_transient_and_noise_has_none() {
        let mut random = StdRng::seed_from_u64(7);
        let mut called = [0, 0];
        for _ in 0..400 {
            let noise = series(&mut random, 20, 0.3, 0.0);
            called[0] += usize::from(transient(&noise, 0.0) != Trend::Steady);
            let above = noise.iter().enumerate();
            let above: Vec<f64> = above
                .map(|(at, figure)| figure + 300.0 * (-(at as f64) / 3.0).exp())
                .collect();
            called[1] += usize::from(transient(&above, 0.0) == Trend::Falling);
            assert_eq!(transient(&above, 1e3), Trend::Steady);
        }
        assert!(called[0] <= 12 && called[1] >= 380, "{called:?}");
    }

    #[test]
    fn a_trend_that_does_not_matter_is_none() {
        let rising: Vec<f64> = (0..20).map(|at| 100.0 + f64::from(at) * 0.1).collect();
        assert_eq!(trend(&rising, 0.0), Trend::Steady);
        let rising: Vec<f64> = (0..20).map(|at| 1.0 + f64::from(at) * 0.1).collect();
        assert_eq!(trend(&rising, 0.0), Trend::Rising);
        assert_eq!(trend(&rising, 5.0), Trend::Steady);
        assert_eq!(trend(&[1.0, 2.0, 3.0], 0.0), Trend::Steady);
    }
}
