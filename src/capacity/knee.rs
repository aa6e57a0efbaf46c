//! The knee of a curve of latency over load.

use crate::metrics::{CapacityStep, StepResult};

/// The fewest loads that have a knee.
const FEWEST: usize = 4;

/// How far below the chord the knee lies at least, of a square of 1.
const DEEPEST_FLAT: f64 = 0.15;

/// Returns the load beyond which the 95th percentile grows faster than before: where the curve lies farthest below the line
/// from its first to its last point, both scaled to 1. That is the knee of Satopää, Albrecht, Irwin and Raghavan ("Finding
/// a 'Kneedle' in a Haystack", 2011), without the smoothing that few points do not bear. The curve ends with the least load
/// that failed: how slow answers are beyond it depends on how long one waits.
pub(super) fn knee(steps: &[CapacityStep]) -> Option<f64> {
    let points = curve(steps);
    let ((first, low), (last, high)) = (*points.first()?, *points.last()?);
    if points.len() < FEWEST || high <= low {
        return None;
    }
    let below =
        |(load, p95): &(f64, f64)| (load - first) / (last - first) - (p95 - low) / (high - low);
    let deepest = points.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    (below(deepest) >= DEEPEST_FLAT).then_some(deepest.0)
}

/// Returns loads and the 95th percentile of the last step with each, in ascending order, up to the least that failed.
fn curve(steps: &[CapacityStep]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64, bool)> = Vec::new();
    for step in steps {
        let held = match step.result {
            StepResult::Held => true,
            StepResult::Failed => false,
            StepResult::Generator | StepResult::TooShort | StepResult::Stopped => continue,
        };
        let Some(p95) = step.p95_ms else { continue };
        points.retain(|(load, ..)| *load != step.load);
        points.push((step.load, p95, held));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most_held = points.iter().rposition(|(.., held)| *held);
    let end = most_held.map_or(0, |at| at + 2).min(points.len());
    points[..end]
        .iter()
        .map(|(load, p95, _)| (*load, *p95))
        .collect()
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
    fn a_line_and_too_few_points_have_none() {
        let line = [10.0, 20.0, 40.0, 80.0, 100.0];
        let line = line.map(|load| step(load, load, StepResult::Held));
        assert_eq!(knee(&line), None);
        assert_eq!(knee(&line[..2]), None);
        assert_eq!(knee(&[]), None);
    }
}
