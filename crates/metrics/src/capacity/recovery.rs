//! The pause between two steps: until the site responds to a light load as quickly as at first.

use crate::{CapacityStep, SeriesPoint};

/// Seconds in a row that have to be as quick as at first.
const QUICK_SECONDS: usize = 2;

/// How much slower than at first is still as quick: a factor, and milliseconds.
const SLOWER: (f64, f64) = (1.5, 5.0);

/// Waiting for a site to recover.
#[derive(Debug, Clone, Copy)]
pub struct Recovery {
    usual_ms: f64,
    usual_failures: f64,
}

impl Recovery {
    /// Waits for figures like those of the first step that held, whose mean latency in its first seconds is `first_ms`: requests
    /// that come early in an iteration may be slower than the others.
    pub fn like(first: &CapacityStep, first_ms: Option<f64>) -> Recovery {
        let usual_ms = first.avg_ms.unwrap_or(f64::INFINITY);
        Recovery {
            usual_ms: first_ms.map_or(usual_ms, |first_ms| first_ms.max(usual_ms)),
            usual_failures: first.failures as f64 / first.count.max(1) as f64,
        }
    }

    /// Returns whether the site has recovered, by the whole seconds so far.
    pub fn is_over(&self, points: &[SeriesPoint]) -> bool {
        let had: Vec<&SeriesPoint> = points.iter().filter(|point| point.count > 0).collect();
        let Some(last) = had.len().checked_sub(QUICK_SECONDS).map(|at| &had[at..]) else {
            return false;
        };
        last.iter().all(|point| {
            let count = point.count as f64;
            let quick = point.latency.sum_ms / count <= self.usual_ms * SLOWER.0 + SLOWER.1;
            // One more than usual may be chance.
            quick
                && point.failures as f64 <= self.usual_failures * count + 1.0
                && point.failures < point.count
        })
    }

    /// Returns whether all requests of the last seconds failed.
    pub fn is_down(points: &[SeriesPoint]) -> bool {
        let last = &points[points.len().saturating_sub(5)..];
        last.iter().all(|point| point.failures == point.count)
    }
}
