//! Exchanges under way: each counts as such from its beginning to its end, without the time in which the process stood still,
//! and one that is dropped before its end is recorded as aborted.

use super::Sender;
use super::kind::{Ended, ExchangeOp, ExchangeRow};
use super::operation::Operation;
use crate::user::ShardState;
use lgoose_base::trace::{Trace, TraceContext};
use lgoose_http::{ErrorClass, Exchange, Failure, Target, TransferMeter};
use lgoose_lua::RequestOp;
use lgoose_metrics::InFlightSlot;
use lgoose_protocols::{CallOp, Meter};
use std::ops::Deref;
use std::time::Duration;
use tokio::time::Instant;

/// The warning about requests that no figure has.
const UNCOUNTED: &str = "requests of jobs that last as long as their user were under way when it ended: they are not counted";

/// The flight of an exchange, from its beginning to its end.
#[derive(Debug)]
pub(super) struct Flight<S> {
    shared: S,
    start: Instant,
    /// Time for which the shard had stood still before.
    lost: Duration,
    /// `None` once it has ended.
    slot: Option<InFlightSlot>,
}

/// When an exchange began and how long it took, without the time in which the process stood still, which is `lost`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flown {
    pub(super) start: Instant,
    pub(super) latency: Duration,
    pub(super) lost: Duration,
}

impl<S: Deref<Target = ShardState>> Flight<S> {
    /// Begins the flight of an exchange that is counted in that row.
    pub(super) fn new(shared: S, start: Instant, row: ExchangeRow) -> Flight<S> {
        shared.see(start);
        let mut recorder = shared.recorder.borrow_mut();
        let slot = recorder.start_request(start.into_std(), row.id);
        drop(recorder);
        Flight {
            start,
            lost: shared.lost(),
            slot: Some(slot),
            shared,
        }
    }

    /// Returns how long the process has stood still since it began, until `now`.
    fn lost(&self, now: Instant) -> Duration {
        self.shared.see(now);
        self.shared.lost() - self.lost
    }

    fn end(&mut self, start: Instant, latency: Duration, responded: bool) {
        if let Some(slot) = self.slot.take() {
            let mut recorder = self.shared.recorder.borrow_mut();
            recorder.end_request(slot, start.into_std(), latency, responded);
        }
    }

    /// Ends it when the head of a streamed response has arrived, since the wait for a response ends there.
    pub(super) fn end_at_head(&mut self) {
        self.end(self.start, self.start.elapsed(), true);
    }

    /// Ends it at a moment.
    pub(super) fn end_at(&mut self, at: Instant, responded: bool) -> Flown {
        let took = at.saturating_duration_since(self.start);
        let lost = self.lost(at).min(took);
        let (start, latency) = (self.start + lost, took - lost);
        self.end(start, latency, responded);
        Flown {
            start,
            latency,
            lost,
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

    /// Ends it where it is cut off; `None` if it has ended before.
    pub(super) fn cut_off(&mut self) -> Option<Flown> {
        self.slot.as_ref()?;
        let lost = self.lost(Instant::now());
        let start = self.start + lost;
        let latency = start.elapsed();
        self.end(start, latency, false);
        Some(Flown {
            start,
            latency,
            lost,
        })
    }
}

/// Returns whether the peer has reacted, even by a refusal.
pub(super) fn responded<T>(outcome: &Result<T, Failure>) -> bool {
    let silent = |class| matches!(class, ErrorClass::Timeout | ErrorClass::ConnectTimeout);
    match outcome {
        Ok(_) => true,
        Err(failure) => !silent(failure.class),
    }
}

/// Returns the failure of an exchange that was cut off.
pub(super) fn aborted<T>() -> Result<T, Failure> {
    Err(Failure::new(ErrorClass::Aborted, ""))
}

/// An exchange under way whose end its user waits for.
pub(crate) struct InFlight<'a, O: ExchangeOp> {
    sender: &'a Sender,
    op: &'a O,
    row: ExchangeRow,
    flight: Flight<&'a ShardState>,
    /// Measures it while it goes on.
    meter: O::Meter,
    base: Option<&'a Target>,
    /// The trace context that the first hop of a request carries, and whether the plan has set it. Boxed: few runs have traces.
    trace: Option<Box<(TraceContext, bool)>>,
}

impl<'a, O: ExchangeOp> InFlight<'a, O> {
    /// Begins the exchange, which `meter` measures; `base` is the base URL of a request.
    fn new(
        sender: &'a Sender,
        op: &'a O,
        row: ExchangeRow,
        start: Instant,
        meter: O::Meter,
        base: Option<&'a Target>,
    ) -> Self {
        InFlight {
            sender,
            op,
            row,
            flight: Flight::new(&*sender.shared, start, row),
            meter,
            base,
            trace: None,
        }
    }

    /// Ends it now with that outcome; returns the exchange, and how long the process stood still meanwhile.
    fn end(mut self, outcome: Result<O::Value, Failure>) -> (Ended<O>, Duration) {
        let flown = self.flight.end_at(Instant::now(), responded(&outcome));
        (self.ended(flown, outcome), flown.lost)
    }

    fn ended(&self, flown: Flown, outcome: Result<O::Value, Failure>) -> Ended<O> {
        let (phases, transfer) = O::so_far(&self.meter);
        Exchange {
            start: flown.start,
            connection: None,
            latency: flown.latency,
            timings: phases.without(flown.lost),
            transfer,
            trace: self
                .trace
                .as_deref()
                .map(|(first, set_by_plan)| Box::new(Trace::new(*first, *set_by_plan))),
            outcome,
        }
    }
}

impl<'a> InFlight<'a, RequestOp> {
    /// Begins the request at that place of an operation. Returns its trace, too, with which it is to be sent.
    pub(crate) fn begin(
        sender: &'a Sender,
        op: &'a RequestOp,
        operation: &'a Operation,
        place: usize,
    ) -> (Self, Option<Box<Trace>>) {
        let start = Instant::now();
        let trace = sender.session.start_trace(&op.request);
        let (row, base) = (operation.row_at(place), operation.base.as_deref());
        let mut in_flight = InFlight::new(sender, op, row, start, TransferMeter::default(), base);
        let first = trace.as_deref();
        in_flight.trace = first.map(|trace| Box::new((trace.first, trace.set_by_plan)));
        (in_flight, trace)
    }

    /// Sends the request. No future of its own, which would be one more layer to poll for each request.
    pub(crate) fn send(&self, trace: Option<Box<Trace>>) -> impl Future<Output = Box<Exchange>> {
        let (session, request) = (&self.sender.session, &self.op.request);
        session.send(request, self.flight.start, trace, &self.meter)
    }

    /// Ends a request with its exchange. Takes the time in which the process stood still out of that, and returns it.
    pub(crate) fn end_with(mut self, exchange: &mut Exchange) -> Duration {
        self.flight.end_exchange(exchange)
    }
}

impl<O: ExchangeOp> Drop for InFlight<'_, O> {
    fn drop(&mut self) {
        if let Some(flown) = self.flight.cut_off() {
            if self.sender.lasts_as_user {
                // Neither its latency nor a failure is the site's: the user has ended while it waited.
                self.sender
                    .shared
                    .recorder
                    .borrow_mut()
                    .warn(UNCOUNTED.to_owned());
                return;
            }
            // The future of the exchange is dropped by now: all that it received is counted.
            let ended = self.ended(flown, aborted());
            self.sender
                .record(self.op, self.row, &ended, self.base, None);
        }
    }
}

/// Performs a call of another protocol, for as long as its timeout allows. Returns the exchange, and how long the process
/// stood still meanwhile, which is no part of it.
pub(crate) async fn call(
    sender: &Sender,
    op: &CallOp,
    row: ExchangeRow,
) -> (Ended<CallOp>, Duration) {
    let start = Instant::now();
    let in_flight = InFlight::new(sender, op, row, start, Meter::new(start), None);
    let timeout = op.timeout.unwrap_or(sender.shared.config.timeout);
    let outcome = tokio::select! {
        biased;
        outcome = op.call.perform(&in_flight.meter) => outcome,
        () = sender.shared.timers.wait(timeout) => Err(Failure::new(ErrorClass::Timeout, "")),
    };
    in_flight.end(outcome)
}
