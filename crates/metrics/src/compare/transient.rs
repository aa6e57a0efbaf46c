//! The initial transient of a run: its first seconds, in which users start, connections open and caches fill, as far as a
//! trend shows them.
//!
//! The border is that of the marginal standard error rule (MSER; White, "An effective truncation heuristic for bias
//! reduction in simulation output", Simulation 69, 1997): the one after which the mean of the rest has the smallest
//! standard error. The rule always finds one, in noise as well. So its border counts only if the seconds before differ
//! from the rest by more than noise does.

use crate::Report;

/// Standard errors by which the start differs from the rest.
const SIGNIFICANT: f64 = 4.0;
/// The least difference of the start, as a logarithm: a smaller one changes no figure of a run.
const LEAST: f64 = 0.05;
/// Intervals that are too few for a rest to be known.
const FEW: usize = 20;

/// Returns how many seconds at the start of a run its latencies or its rate show as a transient; 0 without a trend.
pub(super) fn transient_s(report: &Report) -> u64 {
    let series: [fn(f64, f64, f64) -> f64; 2] = [
        |_, count, sum_ms| (sum_ms / count).ln(),
        |seconds, count, _| (count / seconds).ln(),
    ];
    let of = |value: fn(f64, f64, f64) -> f64| {
        let points = report.series.iter().filter_map(|point| {
            let value = value(point.seconds, point.count as f64, point.latency.sum_ms);
            // A fragment at the end, and a time without requests, say nothing.
            (point.seconds >= 0.5 && value.is_finite()).then_some((point.second, value))
        });
        let (seconds, values): (Vec<u64>, Vec<f64>) = points.unzip();
        match transient(&values) {
            0 => 0,
            border => seconds[border],
        }
    };
    series.map(of).into_iter().max().unwrap_or_default()
}

/// Returns how many values at the start of a series are its transient, less than a quarter; 0 if there is none, or if the
/// series has not settled by then.
fn transient(series: &[f64]) -> usize {
    let n = series.len();
    if n < FEW {
        return 0;
    }
    let mut border = (0, f64::INFINITY);
    // From the end, so that sums need no second pass: mean and squares of what follows a border.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (at, value) in series.iter().enumerate().rev() {
        count += 1.0;
        let off = value - mean;
        mean += off / count;
        squares += off * (value - mean);
        if at <= n / 4 {
            let error = squares / (count * count);
            if error <= border.1 {
                border = (at, error);
            }
        }
    }
    let (border, _) = border;
    if border == 0 || border == n / 4 {
        return 0;
    }
    let (start, rest) = series.split_at(border);
    let (start_n, rest_n) = (start.len() as f64, rest.len() as f64);
    let mean = rest.iter().sum::<f64>() / rest_n;
    let off: Vec<f64> = rest.iter().map(|value| value - mean).collect();
    let squares: f64 = off.iter().map(|value| value * value).sum();
    let pairs: f64 = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let dependence = if squares > 0.0 {
        (pairs / squares).clamp(0.0, 0.9)
    } else {
        0.0
    };
    // The mean of dependent values varies more, but not by more than a single one does.
    let inflation = (1.0 + dependence) / (1.0 - dependence);
    let of_start = inflation.min(start_n) / start_n;
    let error = (squares / rest_n * (of_start + inflation / rest_n)).sqrt();
    let mut sorted = start.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The median: one second that stood still is no trend.
    let apart = (sorted[sorted.len() / 2] - mean).abs();
    if apart > LEAST.max(SIGNIFICANT * error) {
        border
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::autoregressive;
    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let series = autoregressive(n, 0.5, seed);
        series.into_iter().map(|value| 0.03 * value).collect()
    }

    #[test]
    fn a_start_that_differs_is_found_and_what_is_steady_has_none() {
        let (mut found, mut steady) = (0, 0);
        for seed in 0..200 {
            let mut series = noise(60, seed);
            steady += usize::from(transient(&series) == 0);
            // Twice as slow at first, half as much slower every two seconds.
            for (second, value) in series.iter_mut().enumerate() {
                *value += (1.0 + 0.5_f64.powf(second as f64 / 2.0)).ln();
            }
            found += usize::from((3..=14).contains(&transient(&series)));
        }
        assert!(found >= 170, "{found} of 200");
        assert!(steady >= 190, "{steady} of 200");
    }

    #[test]
    fn neither_a_standstill_nor_a_drift_nor_a_short_run_is_a_transient() {
        let mut standstill = noise(60, 1);
        standstill[4] += 3.0;
        assert_eq!(transient(&standstill), 0);
        let drift: Vec<f64> = (0..60).map(|second| f64::from(second) / 10.0).collect();
        assert_eq!(transient(&drift), 0);
        assert_eq!(transient(&[1.0; 60]), 0, "what never changes");
        let mut short = vec![0.0; 19];
        short[0] = 1.0;
        assert_eq!(transient(&short), 0);
    }

    #[test]
    fn users_that_start_one_after_another_are_a_transient_of_the_rate() {
        // Ten users in ten seconds.
        let mut series = noise(60, 3);
        for (second, value) in series.iter_mut().enumerate() {
            *value += (second.min(9) as f64 + 1.0).ln();
        }
        let found = transient(&series);
        assert!((6..=14).contains(&found), "{found}");
    }
}
