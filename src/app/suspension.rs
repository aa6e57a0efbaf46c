//! Suspends the process on Ctrl-Z (SIGTSTP) until it is continued (SIGCONT): first pauses the run and restores the
//! terminal, so that the suspended time does not count and makes no user late.

use lgoose_base::console;
use lgoose_base::machine;
use lgoose_metrics::control::{Command, Done, Handle};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

/// Time limit for the terminal to restore its former contents.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(1);

/// The most time that shards need to notice a pause.
const AHEAD: Duration = Duration::from_millis(50);

/// Wakes the listener for a key. A key that is pressed before there is one waits for it: the signal would stop the
/// process with the terminal as it is.
static REQUESTED: Notify = Notify::const_new();

/// Requests the listener of the run to suspend the process, as the signal does.
pub(super) fn request() {
    REQUESTED.notify_one();
}

/// Listener for both signals.
#[derive(Debug)]
pub(super) struct Suspension {
    stop: Signal,
    go_on: Signal,
}

impl Suspension {
    /// Starts to listen; `None` if that is not possible, in which case the kernel acts by itself.
    pub(super) fn listen() -> Option<Suspension> {
        let stop = rustix::process::Signal::TSTP.as_raw();
        let go_on = rustix::process::Signal::CONT.as_raw();
        Some(Suspension {
            stop: signal(SignalKind::from_raw(stop)).ok()?,
            go_on: signal(SignalKind::from_raw(go_on)).ok()?,
        })
    }

    /// Waits for a request to suspend the process. Cancel safe.
    pub(super) async fn wait_for_request(&mut self) {
        tokio::select! {
            // A stream of signals never ends.
            _ = self.stop.recv() => {}
            () = REQUESTED.notified() => {}
        }
    }

    /// Stops the process, and the clock of a running test, until the process is continued.
    pub(super) async fn suspend(&mut self, handle: &Handle) {
        if machine::leads_session() {
            let alone = "Ctrl-Z has no effect: there is no shell that could continue lgoose";
            tracing::warn!(target: "lgoose::app", "{alone}");
            return;
        }
        let paused = matches!(handle.send(Command::Pause).await, Ok(Done::Paused));
        let had_terminal = lgoose_tui::hand_back();
        console::out().settled_within(RESTORE_TIMEOUT).await;
        tokio::time::sleep(AHEAD).await;
        let own = rustix::process::getpid();
        // SIGTSTP has a listener now, so only SIGSTOP stops the process.
        if rustix::process::kill_process(own, rustix::process::Signal::STOP).is_ok() {
            let _signal = self.go_on.recv().await;
        }
        if had_terminal {
            // A view without a terminal ends by itself.
            let _gone = lgoose_tui::take_again();
        }
        if paused {
            // The run may have ended meanwhile.
            let _response = handle.send(Command::Resume).await;
        }
    }
}
