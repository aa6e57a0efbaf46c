//! An exchange that the plan has begun and not ended: its row, and its flight.

use crate::user::finished_call::FinishedCall;
use crate::user::flight::Flight;
use crate::user::shared::ShardState;
use lgoose_http::{ErrorClass, Failure};
use lgoose_lua::ExchangeEnd;
use lgoose_metrics::RequestId;
use lgoose_protocols::{CallOp, CallValue};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// An exchange under way.
#[derive(Debug)]
pub(super) struct OpenExchange {
    pub(super) number: u64,
    pub(super) op: Box<CallOp>,
    /// Whether it is a function of the plan, from its call to its end.
    pub(super) is_timed: bool,
    /// Why a socket has failed meanwhile.
    pub(super) failure: Option<Failure>,
    row: RequestId,
    delay: Option<Duration>,
    flight: Flight<Rc<ShardState>>,
}

impl OpenExchange {
    /// Begins the exchange, which is counted in that row.
    pub(super) fn begin(
        (number, is_timed): (u64, bool),
        op: Box<CallOp>,
        (row, delay): (RequestId, Option<Duration>),
        shared: &Rc<ShardState>,
    ) -> OpenExchange {
        OpenExchange {
            number,
            op,
            is_timed,
            failure: None,
            row,
            delay,
            flight: Flight::new(shared.clone(), Instant::now(), row),
        }
    }

    /// Ends it as the plan says.
    pub(super) fn end(&mut self, end: ExchangeEnd) -> FinishedCall {
        let now = Instant::now();
        let mut reason = None;
        let (at, outcome) = match end {
            ExchangeEnd::At(at) => (at.min(now), Ok(CallValue::Nothing)),
            ExchangeEnd::TimedOut => (now, Err(Failure::new(ErrorClass::Timeout, ""))),
            ExchangeEnd::Closed => {
                let failure = Failure::new(ErrorClass::ClosedEarly, "the socket has ended");
                (now, Err(failure))
            }
            ExchangeEnd::Done => (now, Ok(CallValue::Nothing)),
            ExchangeEnd::Failed(given) => {
                let failure = self.failure.take();
                let is_same = |failure: &Failure| {
                    let given = given.as_deref();
                    given.is_none_or(|given| given == failure.to_string())
                };
                let outcome = match failure.filter(is_same) {
                    Some(failure) => Err(failure),
                    None => Ok(CallValue::Nothing),
                };
                reason = given.filter(|_| outcome.is_ok());
                (now, outcome)
            }
        };
        let ended = self.flight.end_at(at, outcome.is_ok());
        let mut finished = FinishedCall::new((self.row, self.delay), ended, outcome);
        if let Some(reason) = reason {
            finished.failure = Some(reason.into());
        }
        finished
    }

    /// Ends it where it has not come to its end, which counts as a request that is aborted.
    pub(super) fn abort(&mut self) -> Option<FinishedCall> {
        let (start, latency) = self.flight.cut_off()?;
        Some(FinishedCall::new(
            (self.row, self.delay),
            (start, latency, Duration::ZERO),
            Err(Failure::new(ErrorClass::Aborted, "")),
        ))
    }
}
