//! An exchange that the plan has begun and not ended: its row, and its flight.

use crate::engine::user::finished_call::FinishedCall;
use crate::engine::user::flight::Flight;
use crate::engine::user::shared::ShardState;
use crate::http::{ErrorClass, Failure};
use crate::lua::ExchangeEnd;
use crate::metrics::{Phases, RequestId, Traffic};
use crate::protocols::{CallOp, CallValue};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// An exchange under way.
#[derive(Debug)]
pub(super) struct OpenExchange {
    pub(super) number: u64,
    pub(super) op: Box<CallOp>,
    row: RequestId,
    delay: Option<Duration>,
    flight: Flight<Rc<ShardState>>,
}

impl OpenExchange {
    /// Begins the exchange, which is counted in that row.
    pub(super) fn begin(
        number: u64,
        op: Box<CallOp>,
        (row, delay): (RequestId, Option<Duration>),
        shared: &Rc<ShardState>,
    ) -> OpenExchange {
        OpenExchange {
            number,
            op,
            row,
            delay,
            flight: Flight::new(shared.clone(), Instant::now()),
        }
    }

    /// Ends it as the plan says.
    pub(super) fn end(&mut self, end: ExchangeEnd) -> FinishedCall {
        let now = Instant::now();
        let (at, outcome) = match end {
            ExchangeEnd::At(at) => (at.min(now), Ok(CallValue::Nothing)),
            ExchangeEnd::TimedOut => (now, Err(Failure::new(ErrorClass::Timeout, ""))),
            ExchangeEnd::Closed => {
                let failure = Failure::new(ErrorClass::ClosedEarly, "the socket has ended");
                (now, Err(failure))
            }
        };
        let (start, latency, lost) = self.flight.end_at(at, outcome.is_ok());
        FinishedCall {
            row: self.row,
            delay: self.delay,
            start,
            latency,
            lost,
            phases: Phases::default(),
            traffic: Traffic::default(),
            failure: outcome.as_ref().err().map(ToString::to_string),
            outcome,
        }
    }
}

impl Drop for OpenExchange {
    /// One that the plan has left, or that a stop has ended, is no request: nobody waits for its end any more.
    fn drop(&mut self) {
        self.flight.cut_off();
    }
}
