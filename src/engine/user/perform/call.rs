//! A call of a protocol other than HTTP under way: counted as such from its beginning, and recorded as aborted when it is
//! dropped before its end.

use crate::engine::user::finished_call::FinishedCall;
use crate::engine::user::in_flight::{Flight, responded};
use crate::engine::user::task_requests::TaskRequests;
use crate::http::{ErrorClass, Failure};
use crate::metrics::RequestId;
use crate::protocols::{CallOp, Meter};
use std::time::Duration;
use tokio::time::Instant;

/// A call under way.
pub(super) struct CallInFlight<'a> {
    requests: &'a TaskRequests,
    op: &'a CallOp,
    row: RequestId,
    delay: Option<Duration>,
    meter: Meter,
    flight: Flight<'a>,
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
            flight: Flight::new(&requests.shared, start),
        }
    }

    /// Performs it, for as long as its timeout allows.
    pub(super) async fn perform(mut self) -> FinishedCall {
        let shared = &self.requests.shared;
        let timeout = self.op.timeout.unwrap_or(shared.config.timeout);
        let outcome = tokio::select! {
            biased;
            outcome = self.op.call.perform(&self.requests.channels, &self.meter) => outcome,
            () = shared.timers.wait(timeout) => Err(Failure::new(ErrorClass::Timeout, "")),
        };
        let now = Instant::now();
        let took = now - self.flight.start();
        let lost = self.flight.lost(now).min(took);
        let (start, latency) = (self.flight.start() + lost, took - lost);
        self.flight.end(start, latency, responded(&outcome));
        FinishedCall {
            start,
            latency,
            lost,
            phases: self.meter.phases().without(lost),
            failure: outcome.as_ref().err().map(ToString::to_string),
            outcome,
            ..self.so_far()
        }
    }

    /// Returns what has been measured of it so far, as of a call that was aborted.
    fn so_far(&self) -> FinishedCall {
        FinishedCall {
            row: self.row,
            delay: self.delay,
            start: self.flight.start(),
            latency: Duration::ZERO,
            lost: Duration::ZERO,
            phases: self.meter.phases(),
            traffic: self.meter.traffic(),
            outcome: Err(Failure::new(ErrorClass::Aborted, "")),
            failure: Some(ErrorClass::Aborted.name().to_owned()),
        }
    }
}

impl Drop for CallInFlight<'_> {
    fn drop(&mut self) {
        if let Some((start, latency)) = self.flight.cut_off() {
            let aborted = FinishedCall {
                start,
                latency,
                ..self.so_far()
            };
            self.requests.record_call(self.op, &aborted);
        }
    }
}
