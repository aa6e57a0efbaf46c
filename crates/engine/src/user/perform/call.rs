//! A call of a protocol other than HTTP under way: counted as such from its beginning, and recorded as aborted when it is
//! dropped before its end.

use crate::user::finished_call::FinishedCall;
use crate::user::flight::{Flight, responded};
use crate::user::shared::ShardState;
use crate::user::task_requests::TaskRequests;
use lgoose_http::{ErrorClass, Failure};
use lgoose_metrics::RequestId;
use lgoose_protocols::{CallOp, CallValue, Meter};
use std::time::Duration;
use tokio::time::Instant;

/// A call under way.
pub(super) struct CallInFlight<'a> {
    requests: &'a TaskRequests,
    op: &'a CallOp,
    row: RequestId,
    delay: Option<Duration>,
    meter: Meter,
    flight: Flight<&'a ShardState>,
}

impl<'a> CallInFlight<'a> {
    /// Begins the call, which is counted in that row.
    pub(super) fn new(
        requests: &'a TaskRequests,
        op: &'a CallOp,
        row: RequestId,
        delay: Option<Duration>,
    ) -> Self {
        let start = Instant::now();
        CallInFlight {
            requests,
            op,
            row,
            delay,
            meter: Meter::new(start),
            flight: Flight::new(&*requests.shared, start, row),
        }
    }

    /// Performs it, for as long as its timeout allows.
    pub(super) async fn perform(mut self) -> FinishedCall {
        let shared = &self.requests.shared;
        let timeout = self.op.timeout.unwrap_or(shared.config.timeout);
        let outcome = tokio::select! {
            biased;
            outcome = self.op.call.perform(&self.meter) => outcome,
            () = shared.timers.wait(timeout) => Err(Failure::new(ErrorClass::Timeout, "")),
        };
        let ended = self.flight.end_at(Instant::now(), responded(&outcome));
        self.finished(ended, outcome)
    }

    fn finished(
        &self,
        ended: (Instant, Duration, Duration),
        outcome: Result<CallValue, Failure>,
    ) -> FinishedCall {
        let (_, _, lost) = ended;
        FinishedCall {
            phases: self.meter.phases().without(lost),
            traffic: self.meter.traffic(),
            ..FinishedCall::new((self.row, self.delay), ended, outcome)
        }
    }
}

impl Drop for CallInFlight<'_> {
    fn drop(&mut self) {
        if let Some((start, latency)) = self.flight.cut_off() {
            let aborted = Err(Failure::new(ErrorClass::Aborted, ""));
            let aborted = self.finished((start, latency, Duration::ZERO), aborted);
            self.requests.record_call(self.op, &aborted);
        }
    }
}
