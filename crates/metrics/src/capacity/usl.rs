//! The universal scalability law, fitted to the steps of a search.
//!
//! N. J. Gunther, "A Simple Capacity Model of Massively Parallel Transaction Systems" (CMG 1993) and *Guerrilla Capacity
//! Planning* (Springer 2007): N requests under way get X(N) = λN / (1 + α(N − 1) + βN(N − 1)) responses a second. By Little's
//! law their mean latency is R = N / X, which is linear in 1/λ, α/λ and β/λ, so that least squares need no iteration. Each
//! error counts as a share of its latency. None of the coefficients is negative.

use crate::{CapacityStep, StepResult, Usl};
use lgoose_base::units::three_digits;

/// The fewest different loads that a law of three coefficients is fitted to.
const FEWEST: usize = 4;

/// How far beyond the greatest throughput of any step a peak may lie to be reported.
const FARTHEST: f64 = 1.5;

/// A contention or coherency below this is none that could be measured.
const NOTHING: f64 = 1e-9;

/// Fits the law to the steps that held: only they were steady. `None` if they are too few.
pub(super) fn usl(steps: &[CapacityStep]) -> Option<Usl> {
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for step in steps.iter().filter(|step| step.result == StepResult::Held) {
        let Some(avg_ms) = step.avg_ms.filter(|avg| *avg > 0.0) else {
            continue;
        };
        points.retain(|(load, ..)| *load != step.load);
        points.push((step.load, step.concurrency, avg_ms / 1e3));
    }
    let points: Vec<(f64, f64)> = points
        .iter()
        .map(|(_, n, latency)| (*n, *latency))
        .collect();
    if points.len() < FEWEST {
        return None;
    }
    // The whole law first, then without one of its terms, then a site without limits.
    let choices: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
    let fits = choices.iter().filter_map(|terms| fit(&points, terms));
    let possible = fits.filter(|fit| fit[0] > 0.0 && fit[1] >= 0.0 && fit[2] >= 0.0);
    let best = possible.min_by(|a, b| error(&points, a).total_cmp(&error(&points, b)))?;
    let most = steps.iter().map(|step| step.throughput).fold(0.0, f64::max);
    Some(to_usl(best, &points, most))
}

fn terms(n: f64) -> [f64; 3] {
    [1.0, n - 1.0, n * (n - 1.0)]
}

fn latency(fit: &[f64; 3], n: f64) -> f64 {
    terms(n)
        .iter()
        .zip(fit)
        .map(|(term, factor)| term * factor)
        .sum()
}

/// Returns the sum of the squared relative errors.
fn error(points: &[(f64, f64)], fit: &[f64; 3]) -> f64 {
    let one = |(n, measured): &(f64, f64)| (latency(fit, *n) / measured - 1.0).powi(2);
    points.iter().map(one).sum()
}

/// Fits some of the terms by least squares; the others are 0. `None` if the points do not separate them.
fn fit(points: &[(f64, f64)], chosen: &[usize]) -> Option<[f64; 3]> {
    let size = chosen.len();
    // The normal equations, with the right side as the last column.
    let mut rows = vec![vec![0.0; size + 1]; size];
    for (n, measured) in points {
        let all = terms(*n);
        let weighted: Vec<f64> = chosen.iter().map(|at| all[*at] / measured).collect();
        for (row, one) in rows.iter_mut().zip(&weighted) {
            for (cell, other) in row.iter_mut().zip(weighted.iter().chain([&1.0])) {
                *cell += one * other;
            }
        }
    }
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))?;
        rows.swap(at, pivot);
        let scale = rows[at][at];
        if scale.abs() < 1e-12 {
            return None;
        }
        let row = rows[at].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(n, _)| *n != at) {
            let factor = other[at] / scale;
            for (cell, term) in other.iter_mut().zip(&row) {
                *cell -= factor * term;
            }
        }
    }
    let mut fit = [0.0; 3];
    for (at, term) in chosen.iter().enumerate() {
        fit[*term] = rows[at][size] / rows[at][at];
    }
    Some(fit)
}

/// Tells of a fit; `most` is the greatest throughput that was seen.
fn to_usl(fit: [f64; 3], points: &[(f64, f64)], most: f64) -> Usl {
    let lambda = 1.0 / fit[0];
    let small = |value: f64| if value < NOTHING { 0.0 } else { value };
    let (alpha, beta) = (small(fit[1] * lambda), small(fit[2] * lambda));
    let throughput = |n: f64| n / latency(&fit, n);
    let (peak, peak_concurrency) = match (alpha, beta) {
        (alpha, beta) if beta > 0.0 && alpha < 1.0 => {
            let n = ((1.0 - alpha) / beta).sqrt().max(1.0);
            (Some(throughput(n)), Some(n))
        }
        (alpha, _) if alpha > 0.0 => (Some(lambda / alpha), None),
        _ => (None, None),
    };
    // What lies far beyond all that was measured is a guess.
    let near = peak.is_some_and(|peak| peak <= most * FARTHEST);
    let peak = peak.filter(|_| near);
    let peak_concurrency = peak_concurrency.filter(|_| near);
    let mean = points.iter().map(|(n, latency)| n / latency).sum::<f64>() / points.len() as f64;
    let (mut rest, mut all) = (0.0, 0.0);
    for (n, latency) in points {
        rest += (n / latency - throughput(*n)).powi(2);
        all += (n / latency - mean).powi(2);
    }
    let most = match (peak, peak_concurrency) {
        (Some(peak), Some(n)) => format!(
            "the site answers at most {} requests/s, with {} under way, and fewer with more",
            three_digits(peak),
            three_digits(n)
        ),
        (Some(peak), None) => format!(
            "the site approaches {} requests/s and never passes them",
            three_digits(peak)
        ),
        (None, _) => {
            "the loads that held show no peak; the site's limit comes suddenly, or beyond these loads"
                .to_owned()
        }
    };
    let text = format!(
        "{} of the work is serial (contention, α), each pair of requests under way costs {} of one \
         request's time (coherency, β): {most}",
        percent(alpha),
        percent(beta),
    );
    Usl {
        lambda,
        alpha,
        beta,
        r_squared: if all > 0.0 {
            (1.0 - rest / all).clamp(0.0, 1.0)
        } else {
            0.0
        },
        peak,
        peak_concurrency,
        text,
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "nothing".to_owned(),
        small if small < 0.001 => "less than 0.001 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.3} %"),
        percent => format!("{} %", three_digits(percent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lambda: f64, alpha: f64, beta: f64) -> Vec<CapacityStep> {
        let all = [0.2, 1.0, 2.0, 5.0, 12.0, 30.0, 60.0];
        let step = |n: f64| {
            let latency = (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0)) / lambda;
            CapacityStep {
                throughput: n / latency,
                load: n / latency,
                result: StepResult::Held,
                avg_ms: Some(latency * 1e3),
                concurrency: n,
                ..CapacityStep::default()
            }
        };
        all.map(step).to_vec()
    }

    #[test]
    fn the_coefficients_of_a_site_that_obeys_the_law_are_found() {
        for (lambda, alpha, beta) in [(50.0, 0.03, 0.0004), (9.0, 0.2, 0.0), (1_000.0, 0.0, 0.01)] {
            let found = usl(&steps(lambda, alpha, beta)).expect("seven points are enough");
            let near = |one: f64, other: f64| (one - other).abs() <= 1e-6 * other.max(1.0);
            let all =
                near(found.lambda, lambda) && near(found.alpha, alpha) && near(found.beta, beta);
            assert!(all && found.r_squared > 0.999, "{found:?}");
            if beta > 0.0 {
                let n = ((1.0 - alpha) / beta).sqrt();
                assert!(near(found.peak_concurrency.unwrap_or(0.0), n), "{found:?}");
            } else {
                assert!(near(found.peak.unwrap_or(0.0), lambda / alpha), "{found:?}")
            }
        }
    }

    #[test]
    fn a_site_that_seems_to_gain_has_no_negative_coefficients() {
        let mut all = steps(50.0, 0.0, 0.0);
        for step in &mut all {
            step.avg_ms = step
                .avg_ms
                .map(|avg| avg / (1.0 + step.concurrency / 100.0));
        }
        let found = usl(&all).expect("there are enough");
        assert_eq!((found.alpha, found.beta, found.peak), (0.0, 0.0, None));
        assert!(found.text.contains("show no peak"), "{}", found.text);
    }

    #[test]
    fn too_few_steps_and_failed_ones_have_no_fit() {
        let mut all = steps(50.0, 0.1, 0.0);
        assert_eq!(usl(&all[..3]), None);
        for step in &mut all {
            step.result = StepResult::Failed;
        }
        assert_eq!(usl(&all), None);
    }
}
