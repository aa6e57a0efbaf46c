//! The knee of a curve of latency over load.

use crate::{CapacityStep, StepResult};

/// The fewest loads that have a knee.
const FEWEST: usize = 4;

/// How far below the chord the knee lies at least, of a square of 1.
const DEEPEST_FLAT: f64 = 0.15;

/// How much slower the slowest of the loads is at least than the fastest, as a share of it: less is no sign of a limit.
const LEAST_RISE: f64 = 0.2;

/// How many standard errors of both figures the rise has at least.
const BEYOND_CHANCE: f64 = 4.0;

/// Returns the load beyond which the 95th percentile grows faster than before: where the curve lies farthest below the line
/// from its first to its last point, both scaled to 1. That is the knee of Satopää, Albrecht, Irwin and Raghavan ("Finding
/// a 'Kneedle' in a Haystack", 2011), without the smoothing that few points do not bear. The curve ends with the least load
/// that failed: how slow responses are beyond it depends on how long one waits.
pub(super) fn knee(steps: &[CapacityStep]) -> Option<f64> {
    let points = curve(steps);
    let (first, last) = (*points.first()?, *points.last()?);
    let rise = last.p95 - first.p95;
    let chance = BEYOND_CHANCE * first.error.hypot(last.error);
    if points.len() < FEWEST || rise <= chance.max(LEAST_RISE * first.p95) {
        return None;
    }
    let below = |point: &CurvePoint| {
        (point.load - first.load) / (last.load - first.load) - (point.p95 - first.p95) / rise
    };
    let deepest = points.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    (below(deepest) >= DEEPEST_FLAT).then_some(deepest.load)
}

/// A load, and the 95th percentile of latencies with it.
#[derive(Debug, Clone, Copy)]
struct CurvePoint {
    load: f64,
    p95: f64,
    /// The standard error of the percentile.
    error: f64,
}

/// Returns the standard error of a step's 95th percentile: √(p (1 − p) / n) over the density there, estimated from the
/// distance to the 99th (<https://en.wikipedia.org/wiki/Order_statistic#Large_sample_sizes>). Zero where neither is known.
fn error_of_p95(step: &CapacityStep, p95: f64) -> f64 {
    let beyond = step.p99_ms.map_or(0.0, |p99| (p99 - p95).max(0.0));
    match step.count {
        0 => 0.0,
        count => (0.95 * 0.05 / count as f64).sqrt() * beyond / 0.04,
    }
}

/// Returns loads and the 95th percentile of the last step with each, in ascending order, up to the least that failed.
fn curve(steps: &[CapacityStep]) -> Vec<CurvePoint> {
    let mut points: Vec<(CurvePoint, bool)> = Vec::new();
    for step in steps {
        let held = match step.result {
            StepResult::Held => true,
            StepResult::Failed => false,
            StepResult::Generator | StepResult::TooShort | StepResult::Stopped => continue,
        };
        let Some(p95) = step.p95_ms else { continue };
        points.retain(|(point, _)| point.load != step.load);
        let point = CurvePoint {
            load: step.load,
            p95,
            error: error_of_p95(step, p95),
        };
        points.push((point, held));
    }
    points.sort_by(|(a, _), (b, _)| a.load.total_cmp(&b.load));
    let most_held = points.iter().rposition(|(_, held)| *held);
    let end = most_held.map_or(0, |at| at + 2).min(points.len());
    points.truncate(end);
    points.into_iter().map(|(point, _)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(load: f64, p95: f64, result: StepResult) -> CapacityStep {
        CapacityStep {
            load,
            result,
            p95_ms: Some(p95),
            ..CapacityStep::default()
        }
    }

    #[test]
    fn the_knee_of_a_queue_lies_shortly_before_its_capacity() {
        let loads = [10.0, 20.0, 40.0, 60.0, 80.0, 85.0, 90.0, 94.0, 97.0];
        let held = StepResult::Held;
        // The time in a system with one worker that does 100 a second.
        let mut steps: Vec<CapacityStep> = loads
            .iter()
            .map(|load| step(*load, 3e3 / (100.0 - load), held))
            .collect();
        steps.push(step(160.0, 9e3, StepResult::Failed));
        steps.push(step(99.0, 3e3, StepResult::Failed));
        assert_eq!(knee(&steps), Some(90.0));
    }

    #[test]
    fn noise_has_no_knee() {
        let held = StepResult::Held;
        let steps = |figures: [f64; 4], spread: f64, count: u64| -> Vec<CapacityStep> {
            let loads = [10.0, 20.0, 40.0, 60.0].into_iter().zip(figures);
            let steps = loads.map(|(load, p95)| CapacityStep {
                count,
                p99_ms: Some(p95 * spread),
                ..step(load, p95, held)
            });
            steps.collect()
        };
        assert_eq!(knee(&steps([83.0, 87.0, 82.0, 87.0], 1.2, 100_000)), None);
        // Half as slow again, of thirty requests whose slowest are three times as slow: chance.
        assert_eq!(knee(&steps([80.0, 82.0, 81.0, 120.0], 3.0, 30)), None);
        assert_eq!(
            knee(&steps([80.0, 82.0, 81.0, 120.0], 1.2, 3_000)),
            Some(40.0)
        );
    }

    #[test]
    fn a_line_and_too_few_points_have_none() {
        let line = [10.0, 20.0, 40.0, 80.0, 100.0];
        let line = line.map(|load| step(load, load, StepResult::Held));
        assert_eq!(knee(&line), None);
        assert_eq!(knee(&line[..2]), None);
        assert_eq!(knee(&[]), None);
    }
}
