//! Exchanges that the plan's own code carries out and times: a message and its reply over a WebSocket, or a function.

use super::flight::{Flight, Flown, aborted};
use super::kind::{Ended, ExchangeRow};
use crate::user::ShardState;
use lgoose_http::{ErrorClass, Exchange, Failure, Phases};
use lgoose_lua::{ExchangeEnd, MeasuredExchange};
use lgoose_metrics::Traffic;
use lgoose_protocols::{CallOp, CallValue};
use std::rc::Rc;
use tokio::time::Instant;

/// An exchange that the plan has begun and not ended.
#[derive(Debug)]
pub(super) struct OpenExchange {
    pub(super) number: u64,
    pub(super) op: Box<CallOp>,
    /// Whether it is a function of the plan, from its call to its end.
    pub(super) is_timed: bool,
    /// Latest failure of a socket in it. A later success does not take it back: what follows may only close the socket.
    pub(super) socket_failure: Option<Failure>,
    pub(super) row: ExchangeRow,
    flight: Flight<Rc<ShardState>>,
}

impl OpenExchange {
    /// Begins the exchange, which is counted in that row.
    pub(super) fn begin(
        number: u64,
        op: Box<CallOp>,
        is_timed: bool,
        row: ExchangeRow,
        shared: &Rc<ShardState>,
    ) -> OpenExchange {
        OpenExchange {
            number,
            op,
            is_timed,
            socket_failure: None,
            row,
            flight: Flight::new(shared.clone(), Instant::now(), row),
        }
    }

    /// Ends it as the plan says. Returns the reason that the plan gives for a failure, too. A function that fails after a
    /// socket has failed in it has the failure of the socket.
    pub(super) fn end(&mut self, end: ExchangeEnd) -> (Ended<CallOp>, Flown, Option<Box<str>>) {
        let now = Instant::now();
        let (at, outcome, reason) = match end {
            ExchangeEnd::At(at) => (at.min(now), Ok(CallValue::Nothing), None),
            ExchangeEnd::Done => (now, Ok(CallValue::Nothing), None),
            ExchangeEnd::TimedOut => (now, Err(Failure::new(ErrorClass::Timeout, "")), None),
            ExchangeEnd::Closed => {
                let failure = Failure::new(ErrorClass::ClosedEarly, "the socket has ended");
                (now, Err(failure), None)
            }
            ExchangeEnd::Failed(reason) => {
                let failure = self.socket_failure.take();
                (now, failure.map_or(Ok(CallValue::Nothing), Err), reason)
            }
        };
        let flown = self.flight.end_at(at, outcome.is_ok());
        (ended(flown, outcome), flown, reason)
    }

    /// Ends it where it has not come to its end, as aborted.
    pub(super) fn abort(&mut self) -> Option<Ended<CallOp>> {
        let flown = self.flight.cut_off()?;
        Some(ended(flown, aborted()))
    }
}

/// Returns an exchange that the plan has measured and that ends now, as one that was under way as long as the plan says.
pub(super) fn measured(
    shared: &ShardState,
    measured: &MeasuredExchange,
    row: ExchangeRow,
) -> Ended<CallOp> {
    let now = Instant::now();
    let start = now.checked_sub(measured.time).unwrap_or(now);
    let flown = Flight::new(shared, start, row).end_at(now, true);
    Exchange {
        transfer: Traffic::received(measured.bytes),
        ..ended(flown, Ok(CallValue::Nothing))
    }
}

/// Returns an exchange that has ended and has neither phases nor traffic of its own.
pub(super) fn ended(flown: Flown, outcome: Result<CallValue, Failure>) -> Ended<CallOp> {
    Exchange {
        start: flown.start,
        connection: None,
        latency: flown.latency,
        timings: Phases::default(),
        transfer: Traffic::default(),
        trace: None,
        outcome,
    }
}
