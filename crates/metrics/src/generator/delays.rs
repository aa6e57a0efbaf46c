//! Delays that lgoose itself caused within a stretch, and their part of the latency.

use super::lateness::{Latencies, Lateness, OwnPart};
use crate::latencies::{Burst, ExactFigures, FilledLatencies};

/// One request in so many may have failed where late starts are estimated.
const FEW_FAILED: u64 = 100;

/// Delays of all shards within a stretch.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// How long responses waited for lgoose to look at them, as measured by the probes.
    responses: Lateness,
    /// Latencies from the actual start, in a run at a rate, where the others count from the scheduled one.
    service: Option<Box<FilledLatencies>>,
}

impl Delays {
    /// Adds how long responses waited on a shard.
    pub(super) fn add_responses(&mut self, lateness: &Lateness) {
        self.responses.merge(lateness);
    }

    /// Adds latencies from the actual start.
    pub(super) fn add_service(&mut self, exact: &ExactFigures, latencies: &Burst) {
        if exact.count > 0 {
            let service = self.service.get_or_insert_default();
            service.exact = service.exact.merged(exact);
            service.latencies.add(latencies);
        }
    }

    /// Returns whether there is a probe at all.
    pub(super) fn are_probed(&self) -> bool {
        self.responses.count() > 0
    }

    /// Estimates lgoose's own part of the latencies of the successful requests: responses that waited, and late starts.
    pub(super) fn part_of(&self, latencies: Option<&Latencies>) -> Option<OwnPart> {
        let service = self.service.as_ref();
        let service = service
            .and_then(|service| Latencies::of(&service.exact, &service.latencies.histogram()));
        let all = latencies?;
        // Latencies from the actual start are those of failed requests, too: where more than a few failed, how late the others
        // were started is not known.
        let service = service.filter(|service| {
            service.count - all.count.min(service.count) <= service.count / FEW_FAILED
        });
        let service = service.unwrap_or(*all);
        let responses = self.responses.part_of(&service)?;
        Some(OwnPart {
            p50: all.p50.saturating_sub(service.p50) + responses.p50,
            p99: all.p99.saturating_sub(service.p99) + responses.p99,
        })
    }

    pub(super) fn merge(&mut self, other: &Delays) {
        self.responses.merge(&other.responses);
        if let Some(service) = &other.service {
            self.service.get_or_insert_default().merge(service);
        }
    }
}
