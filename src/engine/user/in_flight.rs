//! A request under way: counted as such from its beginning, and recorded as aborted when it is dropped before its
//! end.

use crate::engine::user::open_requests::RequestOutcome;
use crate::engine::user::shared::ShardState;
use crate::engine::user::task_requests::TaskRequests;
use crate::http::{ErrorClass, Exchange, Failure, TransferMeter};
use crate::lua::RequestOp;
use crate::metrics::{
    InFlightSlot, Phases, RequestId, Sample, SampleFailure, SampleResponse, Traffic,
};
use crate::trace::{Trace, TraceContext};
use std::ops::Deref;
use std::time::Duration;
use tokio::time::Instant;

/// The flight of a request or call, from its beginning to its end.
#[derive(Debug)]
pub(super) struct Flight<S> {
    shared: S,
    start: Instant,
    /// Time for which the shard had stood still before.
    lost: Duration,
    /// `None` once it has ended.
    slot: Option<InFlightSlot>,
}

impl<S: Deref<Target = ShardState>> Flight<S> {
    /// Begins it.
    pub(super) fn new(shared: S, start: Instant) -> Flight<S> {
        shared.see(start);
        let slot = shared.recorder.borrow_mut().start_request(start.into_std());
        Flight {
            start,
            lost: shared.lost(),
            slot: Some(slot),
            shared,
        }
    }

    /// Returns when it began.
    pub(super) fn start(&self) -> Instant {
        self.start
    }

    /// Returns how long the process has stood still since it began, until `now`.
    pub(super) fn lost(&self, now: Instant) -> Duration {
        self.shared.see(now);
        self.shared.lost() - self.lost
    }

    /// Ends it: it began then and took so long.
    pub(super) fn end(&mut self, start: Instant, latency: Duration, responded: bool) {
        if let Some(slot) = self.slot.take() {
            let mut recorder = self.shared.recorder.borrow_mut();
            recorder.end_request(slot, start.into_std(), latency, responded);
        }
    }

    /// Ends it with its exchange. Takes the time in which the process stood still out of that, and returns it.
    pub(super) fn end_exchange(&mut self, exchange: &mut Exchange) -> Duration {
        let lost = self.lost(exchange.start + exchange.latency);
        if !lost.is_zero() {
            let lost = lost.min(exchange.latency);
            exchange.start += lost;
            exchange.latency -= lost;
            exchange.timings = exchange.timings.without(lost);
        }
        let responded = responded(&exchange.outcome);
        self.end(exchange.start, exchange.latency, responded);
        lost
    }

    /// Ends it where it is dropped, and returns when it began and how long it took; `None` if it has ended before.
    pub(super) fn cut_off(&mut self) -> Option<(Instant, Duration)> {
        self.slot.as_ref()?;
        let start = self.start + self.lost(Instant::now());
        let latency = start.elapsed();
        self.end(start, latency, false);
        Some((start, latency))
    }
}

/// Returns whether the other side was heard of, if only by a refusal.
pub(super) fn responded<T>(outcome: &Result<T, Failure>) -> bool {
    let silent = |class| matches!(class, ErrorClass::Timeout | ErrorClass::ConnectTimeout);
    match outcome {
        Ok(_) => true,
        Err(failure) => !silent(failure.class),
    }
}

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
            flight: Flight::new(&*requests.shared, start),
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
