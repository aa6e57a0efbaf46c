//! Suspends the process on Ctrl-Z (SIGTSTP) until it is continued (SIGCONT): the run pauses first and the terminal is
//! given back, so that no second of it counts and no user is late for it.

use crate::console;
use crate::control::{Command, Done, Handle};
use crate::machine;
#[cfg(feature = "tui")]
use crate::tui;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Time that the terminal may take to show what was there before.
const FAREWELL: Duration = Duration::from_secs(1);

/// Time that shards need at most to learn of a pause.
const AHEAD: Duration = Duration::from_millis(50);

/// Listener for both signals.
#[derive(Debug)]
pub(super) struct Suspension {
    stop: Signal,
    go_on: Signal,
}

impl Suspension {
    /// Starts to listen; `None` where that is not possible, and the kernel then acts by itself.
    pub(super) fn listen() -> Option<Suspension> {
        let stop = rustix::process::Signal::TSTP.as_raw();
        let go_on = rustix::process::Signal::CONT.as_raw();
        Some(Suspension {
            stop: signal(SignalKind::from_raw(stop)).ok()?,
            go_on: signal(SignalKind::from_raw(go_on)).ok()?,
        })
    }

    /// Waits until the process is asked to suspend. Nothing is lost when it is dropped before.
    pub(super) async fn wanted(&mut self) {
        // A stream of signals has no end.
        let _signal = self.stop.recv().await;
    }

    /// Stops the process until it is continued, and the clock of the run, if one is under way.
    pub(super) async fn suspend(&mut self, handle: &Handle) {
        if machine::leads_session() {
            let alone = "Ctrl-Z has no effect: there is no shell that could continue lgoose";
            tracing::warn!(target: "lgoose::app", "{alone}");
            return;
        }
        let paused = matches!(handle.ask(Command::Pause).await, Ok(Done::Paused));
        #[cfg(feature = "tui")]
        let had_terminal = tui::hand_back();
        console::out().settled_within(FAREWELL).await;
        tokio::time::sleep(AHEAD).await;
        let own = rustix::process::getpid();
        // SIGTSTP has a listener now, so it is the other one that stops.
        if rustix::process::kill_process(own, rustix::process::Signal::STOP).is_ok() {
            let _signal = self.go_on.recv().await;
        }
        #[cfg(feature = "tui")]
        if had_terminal {
            // A view without a terminal ends by itself.
            let _gone = tui::take_again();
        }
        if paused {
            // It may have ended meanwhile.
            let _answer = handle.ask(Command::Resume).await;
        }
    }
}
