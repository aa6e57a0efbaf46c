//! Pauses of a user before its next request to a host where connections fail: a site that is down must not turn the
//! generator into a busy loop. A pause ends early when anybody has a response of that host. Knows no requests, only
//! how they ended.

use crate::messages::host_recovery::HostRecovery;
use crate::timing::timers::Timers;
use lgoose_http::Failure;
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::Instant;

/// Wait of a user after its first failed connection to a host, and its longest; each further failure doubles it.
const FIRST_BACK_OFF: Duration = Duration::from_millis(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// The most failing hosts that a user waits for; the first is forgotten for a further one.
const MOST_HOSTS: usize = 16;

/// The pauses of a user before its next requests.
#[derive(Debug, Default)]
pub(super) struct BackOff {
    failing: RefCell<Vec<FailingHost>>,
}

/// A host to which connections failed.
#[derive(Debug)]
struct FailingHost {
    name: Box<str>,
    /// Failed connections in a row.
    refusals: u32,
    /// Time to wait before the next request; `None` once somebody waits it out.
    pause: Option<Duration>,
}

impl BackOff {
    /// Decides by how a request to a host has ended, with its failure if it got no response, how long the user waits
    /// before its next one.
    pub(super) fn record(&self, host: &str, failure: Option<&Failure>, recoveries: &HostRecovery) {
        let Some(failure) = failure else {
            self.failing.borrow_mut().retain(|one| *one.name != *host);
            recoveries.responded(host);
            return;
        };
        if !failure.is_connect() {
            return;
        }
        let mut failing = self.failing.borrow_mut();
        let at = failing.iter().position(|one| *one.name == *host);
        let at = at.unwrap_or_else(|| {
            if failing.len() == MOST_HOSTS {
                failing.remove(0);
            }
            failing.push(FailingHost {
                name: host.into(),
                refusals: 0,
                pause: None,
            });
            failing.len() - 1
        });
        let pause = FIRST_BACK_OFF * 2u32.pow(failing[at].refusals.min(7));
        failing[at].refusals += 1;
        failing[at].pause = Some(pause.min(LONGEST_BACK_OFF));
    }

    /// Returns whether the next request goes out at once and its outcome changes nothing if it gets a response, as is
    /// usual.
    pub(super) fn is_idle(&self) -> bool {
        self.failing.borrow().is_empty()
    }

    /// Waits if connections to the host failed; returns how long. Done before the next request: by then the plan has the latest
    /// one, which is counted even if the user is cut off during the wait.
    pub(super) async fn pass(
        &self,
        host: &str,
        timers: &Timers,
        recoveries: &HostRecovery,
    ) -> Duration {
        let pause = {
            let mut failing = self.failing.borrow_mut();
            let own = failing.iter_mut().find(|one| *one.name == *host);
            own.and_then(|own| own.pause.take())
        };
        let Some(pause) = pause else {
            return Duration::ZERO;
        };
        let (start, lost) = (Instant::now(), timers.standstill.lost());
        // Also after a stop: a site that is down gets no more requests then than before.
        recoveries.wait(host, timers.wait(pause)).await;
        start
            .elapsed()
            .saturating_sub(timers.standstill.lost() - lost)
    }

    /// Makes the next pause before a request to a host as long as it gets.
    #[cfg(test)]
    pub(super) fn has_failed_for_long(&self, host: &str) {
        self.failing.borrow_mut().push(FailingHost {
            name: host.into(),
            refusals: 7,
            pause: None,
        });
    }
}
