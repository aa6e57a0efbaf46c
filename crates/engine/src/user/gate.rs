//! Gate where users wait before their next task while the run is paused, or until all users have been started. Open
//! unless closed.

use crate::user::stop::StopSignal;
use std::cell::Cell;
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: Cell<bool>,
    opened: Notify,
}

impl Gate {
    pub(crate) fn set(&self, closed: bool) {
        if self.closed.replace(closed) && !closed {
            self.opened.notify_waiters();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Waits until the gate is open or the user is to stop.
    pub(crate) async fn pass(&self, stop: &StopSignal) {
        while self.closed.get() && !stop.is_requested() {
            tokio::select! {
                () = self.opened.notified() => {}
                () = stop.requested() => {}
            }
        }
    }
}
