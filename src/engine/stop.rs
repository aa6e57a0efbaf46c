//! How a user learns that it is to stop: a flag to look at and a notice that ends waits.

use std::cell::Cell;
use std::time::Duration;
use tokio::sync::Notify;

/// How long a wait takes once the user was told to stop.
const AFTER_STOP: Duration = Duration::from_millis(1);

/// One per user, who looks at it between tasks and waits on it.
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

    /// Until told to stop.
    pub(super) async fn told(&self) {
        if !self.told.get() {
            self.notice.notified().await;
        }
    }

    pub(super) fn is_told(&self) -> bool {
        self.told.get()
    }

    /// Waits this long, or until told to stop. Always lets other tasks run, an abort among them, also where
    /// a plan waits in a loop after the stop.
    pub(super) async fn wait(&self, time: Duration) {
        if time.is_zero() {
            return tokio::task::yield_now().await;
        }
        if self.told.get() {
            return tokio::time::sleep(time.min(AFTER_STOP)).await;
        }
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.notice.notified() => {}
        }
    }
}
