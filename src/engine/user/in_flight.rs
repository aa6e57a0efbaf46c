//! A request under way: counted as such from its beginning, and recorded as aborted when it is dropped before its
//! end.

use crate::engine::user::open_requests::RequestOutcome;
use crate::engine::user::task_requests::TaskRequests;
use crate::http::{ErrorClass, Exchange};
use crate::lua::RequestOp;
use crate::metrics::{Failure, Flight, Phases, RequestId, Sample};
use crate::trace::{Trace, TraceContext};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) struct InFlight<'a> {
    requests: &'a TaskRequests,
    op: &'a RequestOp,
    row: RequestId,
    begin: Instant,
    /// Time for which the shard had stood still before.
    lost: Duration,
    /// Flight of the request; `None` once it has ended.
    flight: Option<Flight>,
    /// The trace context that its first hop carries, and whether the plan has set it.
    trace: Option<(TraceContext, bool)>,
}

impl<'a> InFlight<'a> {
    /// Begins the request at `place` of the open operation of `requests`; `trace` is its trace, if it has one.
    pub(crate) fn new(
        requests: &'a TaskRequests,
        op: &'a RequestOp,
        place: usize,
        begin: Instant,
        trace: Option<&Trace>,
    ) -> Self {
        requests.shared.see(begin);
        let mut recorder = requests.shared.recorder.borrow_mut();
        InFlight {
            requests,
            op,
            row: requests.open.rows[place],
            begin,
            lost: requests.shared.lost(),
            flight: Some(recorder.request_begins(begin.into_std())),
            trace: trace.map(|trace| (trace.first, trace.given)),
        }
    }

    /// Ends the request. Takes the time in which the process stood still out of the exchange, and returns it.
    pub(crate) fn end(mut self, exchange: &mut Exchange) -> Duration {
        self.requests.shared.see(exchange.begin + exchange.latency);
        let lost = self.requests.shared.lost() - self.lost;
        if !lost.is_zero() {
            let lost = lost.min(exchange.latency);
            exchange.begin += lost;
            exchange.latency -= lost;
            exchange.timings = exchange.timings.without(lost);
        }
        self.begin = exchange.begin;
        let silent = |class| matches!(class, ErrorClass::Timeout | ErrorClass::ConnectTimeout);
        let answered = match &exchange.outcome {
            Ok(_) => true,
            Err(failure) => !silent(failure.class),
        };
        self.land(exchange.latency, answered);
        lost
    }

    fn land(&mut self, latency: Duration, answered: bool) {
        if let Some(flight) = self.flight.take() {
            let begin = self.begin.into_std();
            let mut recorder = self.requests.shared.recorder.borrow_mut();
            recorder.request_ends(flight, begin, latency, answered);
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
        self.begin += lost;
        let latency = self.begin.elapsed();
        self.land(latency, false);
        let requests = self.requests;
        let trace = self.trace.map(|(first, given)| Trace::new(first, given));
        let told = RequestOutcome {
            session: &requests.session,
            base: requests.open.base.as_deref(),
            op: self.op,
            finished: None,
            trace: trace.as_ref(),
        };
        requests.shared.recorder.borrow_mut().record(&Sample {
            request: self.row,
            begin: self.begin.into_std(),
            latency,
            delay: requests.open.delay,
            phases: Phases::default(),
            status: 0,
            redirects: 0,
            retries: 0,
            bytes: 0,
            failure: Some(Failure {
                message: ErrorClass::Aborted.name(),
                line: None,
            }),
            context: Some(requests.identity().context(None, &told)),
        });
    }
}
