//! What is known of a request while it is under way.

use super::watch::Watch;
use super::{ErrorClass, Exchange, Failure, Response};
use std::num::NonZeroU64;
use tokio::time::Instant;

/// How far a request came, kept outside its future so that a timeout does not lose it.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) watch: Watch,
    pub(super) redirects: u32,
    /// Sent again after a kept-alive connection turned out to be closed.
    pub(super) retries: u32,
    pub(super) bytes: u64,
    pub(super) connecting: bool,
    /// The connection that the latest hop was sent over.
    pub(super) connection: Option<NonZeroU64>,
}

impl Progress {
    pub(super) fn starting(begin: Instant) -> Self {
        Progress {
            watch: Watch::starting(begin),
            redirects: 0,
            retries: 0,
            bytes: 0,
            connecting: false,
            connection: None,
        }
    }

    /// `outcome` is `None` if the time was up.
    pub(super) fn exchange(
        mut self,
        begin: Instant,
        outcome: Option<Result<Response, Failure>>,
    ) -> Exchange {
        let timeout = match self.connecting {
            true => ErrorClass::ConnectTimeout,
            false => ErrorClass::Timeout,
        };
        // A failure may come after the last phase that was stamped, an answer comes with one.
        let end = match &outcome {
            Some(Ok(_)) => self.watch.last(),
            Some(Err(_)) => Instant::now(),
            None => {
                let end = Instant::now();
                self.watch.break_off(end);
                end
            }
        };
        Exchange {
            begin,
            connection: self.connection,
            latency: end - begin,
            timings: self.watch.timings(),
            redirects: self.redirects,
            retries: self.retries,
            bytes: self.bytes,
            outcome: outcome.unwrap_or_else(|| Err(Failure::new(timeout, ""))),
        }
    }
}
