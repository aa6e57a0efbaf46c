//! A request under way: counted as such from its beginning, and recorded as aborted when it is dropped before its
//! end.

use crate::user::flight::Flight;
use crate::user::open_requests::RequestOutcome;
use crate::user::shared::ShardState;
use crate::user::task_requests::TaskRequests;
use lgoose_base::trace::{Trace, TraceContext};
use lgoose_http::{ErrorClass, Exchange, TransferMeter};
use lgoose_lua::RequestOp;
use lgoose_metrics::{Phases, RequestId, Sample, SampleFailure, SampleResponse, Traffic};
use std::time::Duration;
use tokio::time::Instant;

/// A request of HTTP under way.
pub(crate) struct InFlight<'a> {
    requests: &'a TaskRequests,
    op: &'a RequestOp,
    row: RequestId,
    flight: Flight<&'a ShardState>,
    /// What flows for it.
    meter: TransferMeter,
    /// The trace context that its first hop carries, and whether the plan has set it.
    trace: Option<(TraceContext, bool)>,
}

impl<'a> InFlight<'a> {
    /// Begins the request at `place` of the open operation of `requests`; `trace` is its trace, if it has one.
    pub(crate) fn new(
        requests: &'a TaskRequests,
        op: &'a RequestOp,
        place: usize,
        start: Instant,
        trace: Option<&Trace>,
    ) -> Self {
        InFlight {
            requests,
            op,
            row: requests.open.rows[place],
            flight: Flight::new(&*requests.shared, start, requests.open.rows[place]),
            meter: TransferMeter::default(),
            trace: trace.map(|trace| (trace.first, trace.set_by_plan)),
        }
    }

    /// Returns the meter of what flows for it.
    pub(crate) fn meter(&self) -> &TransferMeter {
        &self.meter
    }

    /// Ends the request. Takes the time in which the process stood still out of the exchange, and returns it.
    pub(crate) fn end(mut self, exchange: &mut Exchange) -> Duration {
        self.flight.end_exchange(exchange)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let Some((start, latency)) = self.flight.cut_off() else {
            return;
        };
        // The future of the request is dropped by now: all that it received is counted.
        let (requests, transfer) = (self.requests, self.meter.so_far());
        let trace = self
            .trace
            .map(|(first, own_header)| Trace::new(first, own_header));
        let outcome = RequestOutcome {
            session: &requests.session,
            base: requests.open.base.as_deref(),
            op: self.op,
            finished: None,
            trace: trace.as_ref(),
        };
        requests.shared.recorder.borrow_mut().record(&Sample {
            request: self.row,
            start: start.into_std(),
            latency,
            delay: requests.open.delay,
            phases: Phases::default(),
            response: SampleResponse::Missing,
            redirects: transfer.redirects,
            retries: transfer.retries,
            traffic: Traffic::without_messages(transfer.received, transfer.sent),
            failure: Some(SampleFailure {
                message: ErrorClass::Aborted.name(),
                line: None,
            }),
            context: Some(requests.identity().context(None, &outcome)),
        });
    }
}
