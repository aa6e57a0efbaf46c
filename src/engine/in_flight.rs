//! Requests under way when a run is aborted are counted too: their guard records them when it is dropped
//! before they came to an end.

use super::open::Told;
use super::user::User;
use crate::http::ErrorClass;
use crate::lua::RequestOp;
use crate::metrics::{Failure, Phases, Sample};
use tokio::time::Instant;

pub(super) struct InFlight<'a> {
    user: &'a User,
    ops: &'a [RequestOp],
    begin: Instant,
    ended: bool,
}

impl<'a> InFlight<'a> {
    /// For the requests that `user` has begun, which are open.
    pub(super) fn new(user: &'a User, ops: &'a [RequestOp], begin: Instant) -> Self {
        InFlight {
            user,
            ops,
            begin,
            ended: false,
        }
    }

    pub(super) fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let user = self.user;
        let mut recorder = user.shared.recorder.borrow_mut();
        for (request, op) in user.open.rows.iter().zip(self.ops) {
            let told = Told {
                session: &user.session,
                base: user.open.base.as_deref(),
                op,
                finished: None,
            };
            recorder.record(&Sample {
                request: *request,
                latency: self.begin.elapsed(),
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
                context: Some(user.identity().context(self.begin, None, &told)),
            });
        }
    }
}
