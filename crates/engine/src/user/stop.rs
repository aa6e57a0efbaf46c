//! Stop signal of a user: flags to look at and notices that end waits. The user stops after its task or, where a user
//! with another version of the plan is to replace it, after its iteration.

use crate::timing::timers::Timers;
use std::cell::Cell;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Share of `--stop-timeout` that waits inside tasks may take; the rest is for `on_stop`.
const SHARE_OF_WAITS: f64 = 0.9;

/// Stop signal of one user, which looks at it between tasks and waits on it.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    requested: Cell<bool>,
    /// Time of the stop.
    requested_at: Cell<Option<Instant>>,
    notice: Notify,
    requested_at_iteration_end: Cell<bool>,
    later: Notify,
}

impl StopSignal {
    pub(crate) fn request(&self) {
        self.requested.set(true);
        self.requested_at
            .set(self.requested_at.get().or(Some(Instant::now())));
        self.notice.notify_waiters();
    }

    /// Stops the user when the current iteration has ended; its waits keep their length.
    pub(crate) fn request_at_iteration_end(&self) {
        self.requested_at_iteration_end.set(true);
        self.later.notify_waiters();
    }

    /// Returns whether the user is to stop at the end of an iteration, or before.
    pub(crate) fn is_requested_at_iteration_end(&self) -> bool {
        self.requested_at_iteration_end.get() || self.requested.get()
    }

    /// Waits until the user is to stop, now or at the end of an iteration; for users between two iterations.
    pub(crate) async fn at_iteration_end(&self) {
        if !self.is_requested_at_iteration_end() {
            tokio::select! {
                () = self.later.notified() => {}
                () = self.notice.notified() => {}
            }
        }
    }

    /// Waits until the user is to stop.
    pub(crate) async fn requested(&self) {
        if !self.requested.get() {
            self.notice.notified().await;
        }
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.requested.get()
    }

    /// Waits this long, or until a stop. For waits that no request follows once the user stops.
    pub(crate) async fn wait(&self, time: Duration, timers: &Timers) {
        tokio::select! {
            () = timers.wait(time) => {}
            () = self.requested() => {}
        }
    }

    /// Waits this long inside a task, also after a stop: the next step of the task comes no faster than before. A
    /// wait that would end too late for `stop_timeout` and `on_stop` ends at once with false, and its task with it.
    /// Always lets other tasks run, so that an abort gets through even where a plan waits in a loop.
    pub(crate) async fn wait_in_task(
        &self,
        time: Duration,
        stop_timeout: Duration,
        timers: &Timers,
    ) -> bool {
        let end = Instant::now().checked_add(time);
        if !time.is_zero() {
            tokio::select! {
                () = timers.wait(time) => return true,
                () = self.requested() => {}
            }
        }
        tokio::task::yield_now().await;
        let latest = self
            .requested_at
            .get()
            .and_then(|requested| requested.checked_add(stop_timeout.mul_f64(SHARE_OF_WAITS)));
        let in_time = match (end, latest) {
            (Some(end), Some(latest)) => end <= latest,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if let Some(remaining) = end.filter(|_| in_time).map(|end| end - Instant::now()) {
            timers.wait(remaining).await;
        }
        in_time
    }
}
