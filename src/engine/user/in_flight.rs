//! A request under way: counted as such from its beginning, and recorded as aborted when it is dropped before its
//! end.

use crate::engine::user::User;
use crate::engine::user::open_requests::RequestOutcome;
use crate::http::{ErrorClass, Exchange};
use crate::lua::RequestOp;
use crate::metrics::{Failure, Flight, Phases, RequestId, Sample};
use crate::trace::{Trace, TraceContext};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) struct InFlight<'a> {
    user: &'a User,
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
    /// Begins the request of `user` at `place` in its open operation; `trace` is its trace, if it has one.
    pub(crate) fn new(
        user: &'a User,
        op: &'a RequestOp,
        place: usize,
        begin: Instant,
        trace: Option<&Trace>,
    ) -> Self {
        user.shared.see(begin);
        let mut recorder = user.shared.recorder.borrow_mut();
        InFlight {
            user,
            op,
            row: user.open.rows[place],
            begin,
            lost: user.shared.lost(),
            flight: Some(recorder.request_begins(begin.into_std())),
            trace: trace.map(|trace| (trace.first, trace.given)),
        }
    }

    /// Ends the request. Takes the time in which the process stood still out of the exchange, and returns it.
    pub(crate) fn end(mut self, exchange: &mut Exchange) -> Duration {
        self.user.shared.see(exchange.begin + exchange.latency);
        let lost = self.user.shared.lost() - self.lost;
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
            let mut recorder = self.user.shared.recorder.borrow_mut();
            recorder.request_ends(flight, begin, latency, answered);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.flight.is_none() {
            return;
        }
        self.user.shared.see(Instant::now());
        let lost = self.user.shared.lost() - self.lost;
        self.begin += lost;
        let latency = self.begin.elapsed();
        self.land(latency, false);
        let user = self.user;
        let trace = self.trace.map(|(first, given)| Trace::new(first, given));
        let told = RequestOutcome {
            session: &user.session,
            base: user.open.base.as_deref(),
            op: self.op,
            finished: None,
            trace: trace.as_ref(),
        };
        user.shared.recorder.borrow_mut().record(&Sample {
            request: self.row,
            begin: self.begin.into_std(),
            latency,
            delay: user.open.delay,
            phases: Phases::default(),
            status: 0,
            redirects: 0,
            retries: 0,
            bytes: 0,
            failure: Some(Failure {
                message: ErrorClass::Aborted.name(),
                line: None,
            }),
            context: Some(user.identity().context(None, &told)),
        });
    }
}
