//! Whether the server of a connection of HTTP/2 is still there. A request that is given up ends its stream and not the
//! connection, which may be dead without anybody having closed it: the next request asks first. Knows nothing of requests.

use h2::{Ping, PingPong};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time within which a server answers a ping. One that takes longer costs a new connection, nothing else.
const PONG_TIMEOUT: Duration = Duration::from_secs(1);

/// Knowledge of whether a server is still there.
#[derive(Debug)]
pub(super) struct Liveness {
    doubtful: Cell<bool>,
    /// Time at which the unanswered ping was sent.
    asked: Cell<Option<Instant>>,
    // Borrowed only within one poll.
    ping: RefCell<Option<PingPong>>,
}

impl Liveness {
    /// The liveness of a new connection.
    pub(super) fn new(ping: Option<PingPong>) -> Liveness {
        Liveness {
            doubtful: Cell::new(false),
            asked: Cell::new(None),
            ping: RefCell::new(ping),
        }
    }

    /// Whether a request was given up since the server last showed that it is there.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubtful.get()
    }

    /// Whether the server answers a ping in time. Who asks while a ping is under way waits for the same.
    pub(super) async fn answers(&self) -> bool {
        let asked = self.asked.get().unwrap_or_else(|| self.ask());
        let pong = poll_fn(|cx| match &mut *self.ping.borrow_mut() {
            Some(ping) => ping.poll_pong(cx).map(|pong| pong.is_ok()),
            None => std::task::Poll::Ready(false),
        });
        let alive = timeout_at(asked + PONG_TIMEOUT, pong).await == Ok(true);
        if alive {
            self.doubtful.set(false);
            self.asked.set(None);
        }
        alive
    }

    fn ask(&self) -> Instant {
        let now = Instant::now();
        self.asked.set(Some(now));
        if let Some(ping) = &mut *self.ping.borrow_mut() {
            // A connection that has ended says so when it is waited for.
            let _ended = ping.send_ping(Ping::opaque());
        }
        now
    }
}

/// A request under way. Dropped before it has ended, it leaves the connection in doubt.
#[derive(Debug)]
pub(super) struct Unfinished(Option<Rc<Liveness>>);

impl Unfinished {
    /// A request on that connection.
    pub(super) fn on(liveness: &Rc<Liveness>) -> Unfinished {
        Unfinished(Some(liveness.clone()))
    }

    /// Notes that the request was answered or failed.
    pub(super) fn ended(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(liveness) = &self.0 {
            liveness.doubtful.set(true);
        }
    }
}
