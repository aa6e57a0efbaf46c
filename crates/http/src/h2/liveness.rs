//! Checks whether the server of an HTTP/2 connection is still there. A request that is given up ends its stream but
//! not the connection, which may be dead although nobody has closed it; so the next request pings first. Knows
//! nothing of requests.

use super::link::H2Connection;
use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Time limit for the response to a ping. A server that takes longer only costs a new connection.
const PONG_TIMEOUT: Duration = Duration::from_secs(1);

/// Knowledge of whether the server is still there.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    doubtful: Cell<bool>,
    /// The time at which the ping under way was sent.
    ping_sent: Cell<Option<Instant>>,
}

impl Liveness {
    /// Notes that a request was given up.
    pub(super) fn doubt(&self) {
        self.doubtful.set(true);
    }

    /// Whether a request was given up since the server last showed that it is there.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubtful.get()
    }

    /// Whether the server responds to a ping in time. While a ping is under way, further callers wait for the same one.
    pub(super) async fn is_alive(&self, link: &H2Connection) -> bool {
        let sent = self.ping_sent.get().unwrap_or_else(|| self.send_ping(link));
        let pong = poll_fn(|cx| {
            link.poll(cx);
            let mut engine = link.engine.borrow_mut();
            match engine.pong() {
                Some(alive) => Poll::Ready(alive),
                None => {
                    engine.pinger = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        });
        let alive = timeout_at(sent + PONG_TIMEOUT, pong).await == Ok(true);
        link.engine.borrow_mut().pinger = None;
        link.rest();
        if alive {
            self.doubtful.set(false);
            self.ping_sent.set(None);
        }
        alive
    }

    fn send_ping(&self, link: &H2Connection) -> Instant {
        let now = Instant::now();
        self.ping_sent.set(Some(now));
        link.engine.borrow_mut().ping();
        now
    }
}
