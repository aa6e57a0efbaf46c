//! Keeps the slowest requests of a name.

use super::failures::{MOST_URL, start_of};
use crate::delta::plausible;
use crate::latencies::nanoseconds;
use crate::record::{Context, Sample};
use crate::report::{SlowRequest, TraceRow};
use serde::{Deserialize, Deserializer, Serialize};
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// Number of requests that are kept.
const MOST: usize = 3;

/// The slowest requests of a name, slowest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slowest(#[serde(deserialize_with = "few")] Vec<SlowRequest>);

impl Slowest {
    /// Keeps a request if it is the slowest of all so far, and forgets the one before: within a slice, one is enough, since
    /// others in the same second seldom have a reason of their own. `response_ns` is its latency as its name counts it.
    pub(crate) fn consider(&mut self, sample: &Sample<'_>, response_ns: u64, origin: Instant) {
        let slowest = self.0.first();
        if slowest.is_some_and(|slowest| slowest.response_ms() >= response_ns as f64 / 1e6) {
            return;
        }
        if let Some(context) = &sample.context {
            self.0.clear();
            self.0.push(SlowRequest::of(sample, context, origin));
        }
    }

    /// Returns whether a request that took so long is among the slowest.
    pub(crate) fn takes(&self, response_ms: f64) -> bool {
        let last = self.0.get(MOST - 1);
        last.is_none_or(|last| last.response_ms() <= response_ms)
    }

    pub(crate) fn add(&mut self, request: SlowRequest) {
        let before = |other: &SlowRequest| other.place(&request).is_lt();
        let place = self.0.partition_point(before);
        if place < MOST {
            self.0.insert(place, request);
            self.0.truncate(MOST);
        }
    }

    /// Adds those of another shard, or of another time.
    pub(crate) fn merge(&mut self, other: &Slowest) {
        for request in &other.0 {
            if self.takes(request.response_ms()) {
                self.add(request.clone());
            }
        }
    }

    /// Forgets all requests and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the requests.
    pub(crate) fn list(&self) -> Vec<SlowRequest> {
        self.0.clone()
    }
}

fn few<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SlowRequest>, D::Error> {
    plausible::checked(deserializer, |slowest: &Vec<_>| slowest.len() <= MOST)
}

impl SlowRequest {
    pub(crate) fn of(sample: &Sample<'_>, context: &Context<'_>, origin: Instant) -> Self {
        let ms = |time: Duration| nanoseconds(time) as f64 / 1e6;
        let mut url = String::new();
        context
            .details
            .url(&mut |origin, path| url = format!("{origin}{path}"));
        SlowRequest {
            start_ns: nanoseconds(sample.start.saturating_duration_since(origin)),
            user: context.user,
            scenario: context.scenario.to_owned(),
            task: context.task.to_owned(),
            url: start_of(&url, MOST_URL).to_owned(),
            status: sample.response.status(),
            error: sample.failure.map(|failure| failure.message.to_owned()),
            latency_ms: ms(sample.latency),
            delay_ms: sample.delay.map_or(0.0, ms),
            trace: context.trace.map(|trace| TraceRow::of(trace, origin)),
        }
    }

    pub(crate) fn response_ms(&self) -> f64 {
        self.latency_ms + self.delay_ms
    }

    /// Orders the slowest first; among equally slow ones the order is always the same.
    fn place(&self, other: &SlowRequest) -> Ordering {
        let slower = other.response_ms().total_cmp(&self.response_ms());
        let began = |of: &SlowRequest| (of.start_ns, of.user);
        slower
            .then(began(self).cmp(&began(other)))
            .then_with(|| self.ids().cmp(&other.ids()))
    }

    /// Returns the ids of its trace, if it has one.
    fn ids(&self) -> Option<(&str, &str)> {
        let trace = self.trace.as_ref()?;
        Some((&trace.trace_id, &trace.span_id))
    }
}
