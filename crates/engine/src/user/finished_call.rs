//! A call of a protocol other than HTTP that has ended: what is counted of it, and what logs know of it.

use lgoose_base::tags::Tags;
use lgoose_http::Failure;
use lgoose_metrics::{
    ExchangeDetails, Phases, RequestId, Sample, SampleFailure, SampleResponse, Traffic,
};
use lgoose_protocols::{CallOp, CallValue};
use std::time::Duration;
use tokio::time::Instant;

/// A call that has ended.
#[derive(Debug)]
pub(super) struct FinishedCall {
    pub(super) row: RequestId,
    pub(super) delay: Option<Duration>,
    pub(super) start: Instant,
    pub(super) latency: Duration,
    /// Time for which the process stood still meanwhile, which is not in the latency.
    pub(super) lost: Duration,
    pub(super) phases: Phases,
    pub(super) traffic: Traffic,
    pub(super) outcome: Result<CallValue, Failure>,
    /// Why it failed.
    pub(super) failure: Option<String>,
}

impl FinishedCall {
    /// Makes one of that row: its delay, when it began, how long it took and for how long the process stood still, and its
    /// outcome. It has neither phases nor traffic.
    pub(super) fn new(
        (row, delay): (RequestId, Option<Duration>),
        (start, latency, lost): (Instant, Duration, Duration),
        outcome: Result<CallValue, Failure>,
    ) -> FinishedCall {
        FinishedCall {
            row,
            delay,
            start,
            latency,
            lost,
            phases: Phases::default(),
            traffic: Traffic::default(),
            failure: outcome.as_ref().err().map(ToString::to_string),
            outcome,
        }
    }

    /// Returns its sample, without context.
    pub(super) fn sample(&self) -> Sample<'_> {
        let responds = self.outcome.is_ok();
        Sample {
            request: self.row,
            start: self.start.into_std(),
            latency: self.latency,
            delay: self.delay,
            phases: self.phases,
            response: if responds {
                SampleResponse::WithoutStatus
            } else {
                SampleResponse::Missing
            },
            redirects: 0,
            retries: 0,
            traffic: self.traffic,
            failure: self.failure.as_deref().map(|message| SampleFailure {
                message,
                line: None,
            }),
            context: None,
        }
    }
}

/// A call and how it ended, for logs and exemplars.
#[derive(Debug)]
pub(super) struct CallOutcome<'a> {
    pub(super) op: &'a CallOp,
    pub(super) finished: &'a FinishedCall,
}

impl ExchangeDetails for CallOutcome<'_> {
    fn method(&self) -> &str {
        self.op.call.kind()
    }

    fn tags(&self) -> Option<&Tags> {
        self.op.tags.as_deref()
    }

    fn url(&self, put: &mut dyn FnMut(&str, &str)) {
        put(self.op.call.target(), "");
    }

    fn class(&self) -> &str {
        let failure = self.finished.outcome.as_ref().err();
        failure.map_or("", |failure| failure.class.name())
    }
}
