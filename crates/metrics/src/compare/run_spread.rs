//! How much runs of one side differ from each other, where that is more than their seconds explain, and how many runs
//! would be enough to distinguish a change from it.

use super::bootstrap::FigureError;

/// Degrees of freedom of a variance that counts as known.
const KNOWN: f64 = 1e6;

/// A change of a figure beside the differences between runs, assumed to be alike on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunSpread {
    /// The change, on the figure's scale.
    pub(super) difference: f64,
    /// The variance of a run, on that scale.
    pub(super) of_run: f64,
    /// The degrees of freedom with which that is known.
    pub(super) freedom: f64,
    /// The variance of the change in variances of a run: the sum of 1 / runs of both sides.
    pub(super) share: f64,
}

impl RunSpread {
    /// Returns the error of the change.
    pub(super) fn error(&self) -> FigureError {
        FigureError {
            variance: self.of_run * self.share,
            freedom: self.freedom,
        }
    }

    /// Returns how often chance alone would make so great a change if the variance was known and not estimated from these
    /// runs.
    pub(super) fn chance_if_known(&self) -> f64 {
        let error = FigureError {
            freedom: KNOWN,
            ..self.error()
        };
        error.probability(self.difference)
    }

    /// Returns how often chance alone would make so great a change with that many runs of each side, two or more, that
    /// differ as these do.
    pub(super) fn chance_with(&self, runs: u64) -> f64 {
        let runs = runs as f64;
        let error = FigureError {
            variance: self.of_run * 2.0 / runs,
            freedom: 2.0 * (runs - 1.0),
        };
        error.probability(self.difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_shrinks_with_more_runs_and_with_what_is_known_of_them() {
        // Seven times as fast; runs differ by half or double.
        let spread = RunSpread {
            difference: -(7.0_f64.ln()),
            of_run: 2.0_f64.ln().powi(2) / 2.0,
            freedom: 2.0,
            share: 1.0,
        };
        let now = spread.error().probability(spread.difference);
        // Student's t of 3.970 with 2 degrees of freedom, of 4.862 with 4, and of 3.970 with 10^6.
        assert!((now - 0.057_979).abs() < 0.000_01, "{now}");
        assert_eq!(now, spread.chance_with(2));
        let three = spread.chance_with(3);
        assert!((three - 0.008_264).abs() < 0.000_01, "{three}");
        let known = spread.chance_if_known();
        assert!((known - 0.000_072).abs() < 0.000_002, "{known}");
    }
}
