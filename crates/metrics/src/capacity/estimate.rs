//! An estimate of the capacity from the steps so far, by which the search chooses loads. It decides nothing: only steps do.

use crate::{CapacityStep, LoadKind, StepResult};
use lgoose_base::threshold::Threshold;

/// Share of its load from which on a step that failed was served all of it: what the site can do at most is not known then.
const SERVED: f64 = 0.98;

/// The least excess of a latency over that of an idle site, as a share of what its limit allows: less is noise.
const LEAST_EXCESS: f64 = 0.01;

/// Figures of a step.
#[derive(Debug, Clone, PartialEq)]
struct StepFigures {
    load: f64,
    held: bool,
    /// Successful requests per second, in all of the step and in its last seconds.
    throughput: f64,
    last_throughput: f64,
    /// The figure of each limit.
    figures: Vec<Option<f64>>,
}

/// Steps to estimate the capacity from.
#[derive(Debug, Clone)]
pub struct CapacityEstimate<'a> {
    by: LoadKind,
    slo: &'a [Threshold],
    steps: Vec<StepFigures>,
}

impl CapacityEstimate<'_> {
    /// Begins without a step.
    pub fn new(by: LoadKind, slo: &[Threshold]) -> CapacityEstimate<'_> {
        CapacityEstimate {
            by,
            slo,
            steps: Vec::new(),
        }
    }

    /// Notes a step, and how many requests per second succeeded at its end.
    pub fn note(&mut self, step: &CapacityStep, last_throughput: f64) {
        let held = match step.result {
            StepResult::Held => true,
            StepResult::Failed => false,
            StepResult::Generator | StepResult::TooShort | StepResult::Stopped => return,
        };
        self.steps.retain(|other| other.load != step.load);
        self.steps.push(StepFigures {
            load: step.load,
            held,
            throughput: step.throughput,
            last_throughput,
            figures: step.figures.clone(),
        });
    }

    /// Returns the estimate between a load that held and one that failed; `None` where the steps say nothing, and in a search
    /// by users, who wait for responses and so do not show what the site can do at most.
    ///
    /// An overloaded site serves what it can. Up to there, the time that requests wait grows with 1 / (what the site can do −
    /// the load), as in most queues: its inverse is a line over the load, from the greatest load that held to where it is
    /// 0, or to the least load that failed. The estimate is where that line passes the limit.
    pub fn between(&self, low: f64, high: f64) -> Option<f64> {
        let step = |load: f64| self.steps.iter().find(|step| step.load == load);
        let (below, above) = (step(low)?, step(high)?);
        let held = self.steps.iter().filter(|step| step.held);
        let idle = held.min_by(|a, b| a.load.total_cmp(&b.load))?;
        if self.by == LoadKind::Users || below.throughput <= 0.0 {
            return None;
        }
        let iterations = |throughput: f64| throughput * below.load / below.throughput;
        let most = iterations(above.last_throughput);
        // The last seconds alone may have had fewer by chance.
        let is_overloaded = most.max(iterations(above.throughput)) < above.load * SERVED;
        let limits = self
            .slo
            .iter()
            .enumerate()
            .filter(|(_, limit)| limit.is_upper() && limit.unit.per_millisecond().is_some());
        let at_limits = limits.filter_map(|(place, limit)| {
            let figure = |step: &StepFigures| step.figures.get(place).copied().flatten();
            let usual = figure(idle)?;
            let allowed = limit.limit - usual;
            let inverse = |value: f64| 1.0 / (value - usual).max(allowed * LEAST_EXCESS);
            let begin = inverse(figure(below)?);
            let (load, end) = if is_overloaded {
                (most, 0.0)
            } else {
                (above.load, inverse(figure(above)?))
            };
            let share = (begin - 1.0 / allowed) / (begin - end);
            (allowed > 0.0 && begin > end).then_some(low + (load - low) * share)
        });
        let found = at_limits.chain(is_overloaded.then_some(most));
        let least = found.min_by(f64::total_cmp)?;
        Some(least.clamp(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slo() -> Vec<Threshold> {
        ["failures < 1%", "p95 < 300ms"]
            .map(|text| Threshold::read(text).expect("a limit"))
            .to_vec()
    }

    /// Returns a step with two requests in an iteration.
    fn step(load: f64, result: StepResult, served: f64, p95_ms: f64) -> CapacityStep {
        CapacityStep {
            load,
            result,
            throughput: served * 2.0,
            figures: vec![Some(0.0), Some(p95_ms)],
            ..CapacityStep::default()
        }
    }

    fn estimate(steps: &[CapacityStep], low: f64, high: f64) -> Option<f64> {
        let slo = slo();
        let mut estimate = CapacityEstimate::new(LoadKind::Rate, &slo);
        for step in steps {
            estimate.note(step, step.throughput);
        }
        estimate.between(low, high)
    }

    #[test]
    fn a_queue_whose_latency_does_not_grow_is_estimated_by_what_it_serves() {
        let steps = [
            step(10.0, StepResult::Held, 10.0, 50.0),
            step(80.0, StepResult::Held, 80.0, 51.0),
            step(160.0, StepResult::Failed, 101.0, 2_000.0),
        ];
        let found = estimate(&steps, 80.0, 160.0).expect("there is one");
        assert!((100.0..=101.0).contains(&found), "{found}");
    }

    #[test]
    fn a_queue_whose_latency_grows_is_estimated_below_what_it_serves() {
        // 20 ms, and 1 s / (100 - load) of waiting: the limit is passed at 96.4.
        let p95 = |load: f64| 20.0 + 1e3 / (100.0 - load);
        let held = |load: f64| step(load, StepResult::Held, load, p95(load));
        let failed = step(160.0, StepResult::Failed, 100.0, 5_000.0);
        let found = estimate(&[held(10.0), held(80.0), failed], 80.0, 160.0);
        let found = found.expect("there is one");
        assert!((96.0..=97.5).contains(&found), "{found}");
        // One that failed and still was served all of its load.
        let failed = step(98.0, StepResult::Failed, 98.0, p95(98.0));
        let found = estimate(&[held(10.0), held(80.0), failed], 80.0, 98.0);
        let found = found.expect("there is one");
        assert!((96.0..=97.5).contains(&found), "{found}");
    }

    #[test]
    fn steps_that_say_nothing_and_users_have_none() {
        let held = step(10.0, StepResult::Held, 10.0, 50.0);
        let failed = step(20.0, StepResult::Failed, 20.0, 40.0);
        assert_eq!(estimate(&[held.clone(), failed.clone()], 10.0, 20.0), None);
        assert_eq!(estimate(std::slice::from_ref(&held), 10.0, 20.0), None);
        let slo = slo();
        let mut by_users = CapacityEstimate::new(LoadKind::Users, &slo);
        by_users.note(&held, 20.0);
        by_users.note(&step(20.0, StepResult::Failed, 12.0, 900.0), 24.0);
        assert_eq!(by_users.between(10.0, 20.0), None);
    }
}
