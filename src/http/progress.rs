//! What is known of a request while it is under way.

use super::watch::Watch;
use super::{ErrorClass, Exchange, Failure, Response};
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
}

impl Progress {
    pub(super) fn starting(begin: Instant) -> Self {
        Progress {
            watch: Watch::starting(begin),
            redirects: 0,
            retries: 0,
            bytes: 0,
            connecting: false,
        }
    }

    /// `outcome` is `None` if the time was up.
    pub(super) fn exchange(
        self,
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
            _ => Instant::now(),
        };
        Exchange {
            latency: end - begin,
            timings: self.watch.timings(),
            redirects: self.redirects,
            retries: self.retries,
            bytes: self.bytes,
            outcome: outcome.unwrap_or_else(|| Err(Failure::new(timeout, ""))),
        }
    }
}
