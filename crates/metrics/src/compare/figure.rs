//! Figures that are compared, and how each is computed from the counts of some blocks of a run.

use super::track::{Choice, LatencyScale, Track, quantile, sums};
use serde::Serialize;

/// The fewest requests of a side, and the fewest that must lie beyond a percentile.
const FEWEST_REQUESTS: f64 = 30.0;
const FEWEST_BEYOND: f64 = 10.0;

/// Requests that a figure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// All of them, failed ones at the time they took.
    All,
    /// The successful ones alone: a site that fails at once is quick in the others.
    Ok,
}

/// A figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The median latency in milliseconds.
    Median,
    /// The 95th percentile in milliseconds.
    P95,
    /// The 99th percentile in milliseconds.
    P99,
    /// The mean latency in milliseconds.
    Mean,
    /// The median latency of the successful requests in milliseconds.
    OkMedian,
    /// The 95th percentile of the successful requests.
    OkP95,
    /// The 99th percentile of the successful requests.
    OkP99,
    /// The share of failed requests, from 0 to 1.
    Failures,
    /// Requests per second.
    Rate,
}

impl Figure {
    /// All figures, in the order of rows.
    pub const ALL: [Figure; 9] = [
        Figure::Median,
        Figure::P95,
        Figure::P99,
        Figure::Mean,
        Figure::OkMedian,
        Figure::OkP95,
        Figure::OkP99,
        Figure::Failures,
        Figure::Rate,
    ];

    /// Returns the name of the figure in tables and limits.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Median => "median",
            Figure::P95 => "p95",
            Figure::P99 => "p99",
            Figure::Mean => "mean",
            Figure::OkMedian => "ok median",
            Figure::OkP95 => "ok p95",
            Figure::OkP99 => "ok p99",
            Figure::Failures => "failures",
            Figure::Rate => "rate",
        }
    }

    /// Returns the quantile, if the figure is a percentile.
    pub(super) fn quantile(self) -> Option<f64> {
        match self {
            Figure::Median | Figure::OkMedian => Some(0.5),
            Figure::P95 | Figure::OkP95 => Some(0.95),
            Figure::P99 | Figure::OkP99 => Some(0.99),
            Figure::Mean | Figure::Failures | Figure::Rate => None,
        }
    }

    /// Returns the same figure of the successful requests alone, if that is compared.
    pub(super) fn of_ok(self) -> Option<Figure> {
        match self {
            Figure::Median => Some(Figure::OkMedian),
            Figure::P95 => Some(Figure::OkP95),
            Figure::P99 => Some(Figure::OkP99),
            _ => None,
        }
    }

    /// Returns which requests the figure is about.
    pub(super) fn among(self) -> Among {
        match self {
            Figure::OkMedian | Figure::OkP95 | Figure::OkP99 => Among::Ok,
            _ => Among::All,
        }
    }

    /// Returns whether so many requests of a side are enough for a verdict.
    pub(super) fn has_enough(self, requests: f64) -> bool {
        let beyond = self
            .quantile()
            .map_or(f64::INFINITY, |quantile| 1.0 - quantile);
        requests >= FEWEST_REQUESTS && requests * beyond >= FEWEST_BEYOND
    }

    /// Returns whether a higher value is better.
    pub(super) fn is_better_high(self) -> bool {
        self == Figure::Rate
    }

    /// Returns whether a change is the ratio of two values; for shares it is their difference.
    pub fn is_ratio(self) -> bool {
        self != Figure::Failures
    }

    /// Returns the value on the scale on which changes are differences: the logarithm, if changes are ratios.
    pub(super) fn scaled(self, value: f64) -> f64 {
        if self.is_ratio() { value.ln() } else { value }
    }

    /// Returns the change for a difference on that scale: 0.05 is 5 % more.
    pub(super) fn change(self, difference: f64) -> f64 {
        if self.is_ratio() {
            difference.exp_m1()
        } else {
            difference
        }
    }

    /// Returns the figure over the chosen blocks, and the bucket of a percentile, near which a search begins. `None`
    /// without requests.
    pub(super) fn over(
        self,
        tracks: &[Track],
        scale: &LatencyScale,
        choice: &Choice,
        near: usize,
    ) -> Option<(f64, usize)> {
        if let Some(requested) = self.quantile() {
            return quantile(tracks, scale, choice, requested, near);
        }
        let sums = sums(tracks, choice);
        let (part, whole) = match self {
            Figure::Mean => (sums.sum_ms, sums.count),
            Figure::Failures => (sums.failures, sums.count),
            _ => (sums.count, sums.seconds),
        };
        (sums.count > 0.0 && whole > 0.0).then(|| (part / whole, 0))
    }

    /// Returns how much each interval of a run pulls the figure up or down, in no unit: the series whose dependence
    /// decides how long blocks must be. `value` and `place` are those that [`Figure::over`] found for the whole.
    pub(super) fn pull(self, track: &Track, value: f64, place: usize) -> Vec<f64> {
        let requested = self.quantile();
        let each = track.each(requested.map(|_| place));
        each.map(|(sums, no_longer)| match (self, requested) {
            (_, Some(requested)) => requested * sums.count - no_longer,
            (Figure::Failures, None) => sums.failures - value * sums.count,
            (Figure::Rate, None) => sums.count - value * sums.seconds,
            (_, None) => sums.sum_ms - value * sums.count,
        })
        .collect()
    }
}
