//! Pauses of a user between its requests where a site is down or nothing was sent. Knows no requests, only how they
//! ended.

use crate::engine::timing::timers::Timers;
use crate::http::Failure;
use std::time::Duration;

/// Wait of a user after its first failed connection, and its longest; each further failure doubles it. A site that is
/// down must not turn the generator into a busy loop.
const FIRST_BACK_OFF: Duration = Duration::from_millis(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// The pause of a user before its next request.
#[derive(Debug, Default)]
pub(super) struct BackOff {
    /// Failed connections in a row.
    pub(super) refusals: u32,
    /// Time to wait before the next request; `None` after a request that got a response.
    rest: Option<Duration>,
}

impl BackOff {
    /// Decides by how requests have ended, each with its failure if it got no response, how long the user waits before its
    /// next one.
    pub(super) fn record<'a>(&mut self, failures: impl Iterator<Item = Option<&'a Failure>>) {
        let mut refused = false;
        for failure in failures {
            let Some(failure) = failure else {
                self.refusals = 0;
                self.rest = None;
                return;
            };
            refused |= failure.is_connect();
        }
        self.rest = Some(Duration::ZERO);
        if refused {
            let pause = FIRST_BACK_OFF * 2u32.pow(self.refusals.min(7));
            self.refusals += 1;
            self.rest = Some(pause.min(LONGEST_BACK_OFF));
        }
    }

    /// Lets other tasks run before the next request: the ones before waited for nothing.
    pub(super) fn yield_next(&mut self) {
        self.rest = Some(Duration::ZERO);
    }

    /// Lets other tasks run after requests that may have waited for nothing, those without a response or from the cache,
    /// and waits if a connection failed. Done before the next request: by then the plan has the latest one, which is
    /// counted even if the user is cut off during the wait.
    pub(super) async fn pass(&mut self, timers: &Timers) {
        if let Some(pause) = self.rest.take() {
            if pause.is_zero() {
                tokio::task::yield_now().await
            } else {
                // Also after a stop: a site that is down gets no more requests then than before.
                timers.wait(pause).await
            }
        }
    }
}
