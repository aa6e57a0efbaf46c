//! A request under way: counted as such from its beginning, and recorded as aborted when it is dropped before its
//! end.

use crate::engine::user::open_requests::RequestOutcome;
use crate::engine::user::task_requests::TaskRequests;
use crate::http::{ErrorClass, Exchange};
use crate::lua::RequestOp;
use crate::metrics::{InFlightSlot, Phases, RequestId, Sample, SampleFailure};
use crate::trace::{Trace, TraceContext};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) struct InFlight<'a> {
    requests: &'a TaskRequests,
    op: &'a RequestOp,
    row: RequestId,
    start: Instant,
    /// Time for which the shard had stood still before.
    lost: Duration,
    /// Flight of the request; `None` once it has ended.
    flight: Option<InFlightSlot>,
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
        requests.shared.see(start);
        let mut recorder = requests.shared.recorder.borrow_mut();
        InFlight {
            requests,
            op,
            row: requests.open.rows[place],
            start,
            lost: requests.shared.lost(),
            flight: Some(recorder.start_request(start.into_std())),
            trace: trace.map(|trace| (trace.first, trace.set_by_plan)),
        }
    }

    /// Ends the request. Takes the time in which the process stood still out of the exchange, and returns it.
    pub(crate) fn end(mut self, exchange: &mut Exchange) -> Duration {
        self.requests.shared.see(exchange.start + exchange.latency);
        let lost = self.requests.shared.lost() - self.lost;
        if !lost.is_zero() {
            let lost = lost.min(exchange.latency);
            exchange.start += lost;
            exchange.latency -= lost;
            exchange.timings = exchange.timings.without(lost);
        }
        self.start = exchange.start;
        let silent = |class| matches!(class, ErrorClass::Timeout | ErrorClass::ConnectTimeout);
        let responded = match &exchange.outcome {
            Ok(_) => true,
            Err(failure) => !silent(failure.class),
        };
        self.land(exchange.latency, responded);
        lost
    }

    fn land(&mut self, latency: Duration, responded: bool) {
        if let Some(flight) = self.flight.take() {
            let start = self.start.into_std();
            let mut recorder = self.requests.shared.recorder.borrow_mut();
            recorder.end_request(flight, start, latency, responded);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.flight.is_none() {
            return;
        }
        self.requests.shared.see(Instant::now());
        let lost = self.requests.shared.lost() - self.lost;
        self.start += lost;
        let latency = self.start.elapsed();
        self.land(latency, false);
        let requests = self.requests;
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
            start: self.start.into_std(),
            latency,
            delay: requests.open.delay,
            phases: Phases::default(),
            status: 0,
            redirects: 0,
            retries: 0,
            bytes: 0,
            failure: Some(SampleFailure {
                message: ErrorClass::Aborted.name(),
                line: None,
            }),
            context: Some(requests.identity().context(None, &outcome)),
        });
    }
}
