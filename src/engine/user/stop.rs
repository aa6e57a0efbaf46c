//! Stop signal of a user: flags to look at and notices that end waits. The user stops after its task, or after its
//! iteration when it is to begin anew with another version of the plan.

use crate::engine::timing::timers::Timers;
use std::cell::Cell;
use std::time::Duration;
use tokio::sync::Notify;

/// Length of a wait once the user was told to stop.
const AFTER_STOP: Duration = Duration::from_millis(1);

/// Stop signal of one user, which looks at it between tasks and waits on it.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    told: Cell<bool>,
    notice: Notify,
    told_at_iteration_end: Cell<bool>,
    later: Notify,
}

impl Stop {
    pub(crate) fn tell(&self) {
        self.told.set(true);
        self.notice.notify_waiters();
    }

    /// Tells the user to stop when the current iteration has ended; its waits keep their length.
    pub(crate) fn tell_at_iteration_end(&self) {
        self.told_at_iteration_end.set(true);
        self.later.notify_waiters();
    }

    /// Returns whether the user is to stop at the end of an iteration, or before.
    pub(crate) fn is_told_at_iteration_end(&self) -> bool {
        self.told_at_iteration_end.get() || self.told.get()
    }

    /// Waits until the user is told to stop, now or at the end of an iteration; for users between two iterations.
    pub(crate) async fn at_iteration_end(&self) {
        if !self.is_told_at_iteration_end() {
            tokio::select! {
                () = self.later.notified() => {}
                () = self.notice.notified() => {}
            }
        }
    }

    /// Waits until the user is told to stop.
    pub(crate) async fn told(&self) {
        if !self.told.get() {
            self.notice.notified().await;
        }
    }

    pub(crate) fn is_told(&self) -> bool {
        self.told.get()
    }

    /// Waits this long, or until the user is told to stop. Always lets other tasks run, an abort among them, also
    /// where a plan waits in a loop after the stop.
    pub(crate) async fn wait(&self, time: Duration, timers: &Timers) {
        if time.is_zero() {
            return tokio::task::yield_now().await;
        }
        if self.told.get() {
            return tokio::time::sleep(time.min(AFTER_STOP)).await;
        }
        tokio::select! {
            () = timers.wait(time) => {}
            () = self.notice.notified() => {}
        }
    }
}
