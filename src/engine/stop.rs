//! How a shard's users learn that they are to stop: a flag to look at and a notice that ends waits.

use std::cell::Cell;
use std::time::Duration;
use tokio::sync::Notify;

/// One per shard; users look at it between tasks and wait on it.
#[derive(Debug, Default)]
pub(super) struct Stop {
    told: Cell<bool>,
    notice: Notify,
}

impl Stop {
    pub(super) fn tell(&self) {
        self.told.set(true);
        self.notice.notify_waiters();
    }

    pub(super) fn is_told(&self) -> bool {
        self.told.get()
    }

    /// Waits this long, or until told to stop.
    pub(super) async fn wait(&self, time: Duration) {
        if self.told.get() {
            return;
        }
        if time.is_zero() {
            return tokio::task::yield_now().await;
        }
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.notice.notified() => {}
        }
    }
}
