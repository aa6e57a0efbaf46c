//! Signals that end or suspend a run: Ctrl-C and SIGTERM as interrupts, which the guard handles; Ctrl-Z and the end of
//! the terminal.

use crate::control::Handle;
use crate::error::Error;
#[cfg(feature = "cli")]
use {
    super::{guard, suspension::Suspension},
    crate::control::{Command, Done, Interrupt},
    crate::machine,
    std::time::Duration,
    tokio::signal::unix::{Signal, SignalKind, signal},
};

/// Time limit for a wait after a run that was aborted.
#[cfg(feature = "cli")]
const AFTER_ABORT: Duration = Duration::from_millis(200);

/// Owner of the signals of this process while a test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    /// The test: the first stops it, the second aborts it.
    #[cfg(feature = "cli")]
    Obeyed,
    /// The program that embeds lgoose.
    Left,
}

impl Signals {
    /// Turns SIGINT and SIGTERM into interrupts, and lets the run pause while the process is stopped (SIGTSTP). The end
    /// of the terminal (SIGHUP) only interrupts a run without a planned end, which nobody could stop any more. Returns
    /// only with an error.
    pub(super) async fn listen(self, handle: &Handle, has_end: bool) -> Error {
        match self {
            #[cfg(feature = "cli")]
            Signals::Obeyed => listen(handle, has_end).await,
            Signals::Left => std::future::pending().await,
        }
    }

    /// Waits for Ctrl-C or SIGTERM after a run; only for a short time if the run was aborted.
    pub(super) async fn interrupted(self, run: &Handle) {
        match self {
            #[cfg(feature = "cli")]
            Signals::Obeyed => {
                let aborted = async {
                    run.aborted().await;
                    tokio::time::sleep(AFTER_ABORT).await;
                };
                tokio::select! {
                    () = guard::interrupted() => {}
                    () = aborted => {}
                }
            }
            Signals::Left => {
                let _waits_for_all = run;
                std::future::pending().await
            }
        }
    }
}

#[cfg(feature = "cli")]
async fn listen(handle: &Handle, has_end: bool) -> Error {
    guard::attend(handle);
    let listened = |kind| signal(kind).ok();
    // A run that was started by 'nohup' goes on when its terminal closes.
    let mut hangup = match machine::ignores_hangup() {
        true => None,
        false => listened(SignalKind::hangup()),
    };
    let mut suspension = Suspension::listen();
    loop {
        tokio::select! {
            () = received(&mut hangup) => {
                if has_end {
                    tell("the terminal has gone: the run goes on without it");
                    continue;
                }
            }
            () = wanted(&mut suspension) => {
                if let Some(suspension) = &mut suspension {
                    suspension.suspend(handle).await;
                }
                continue;
            }
        }
        let answer = handle.ask(Command::Interrupt(Interrupt::Signal)).await;
        if matches!(answer, Ok(Done::Stopping)) {
            tell_of_interrupt();
        }
    }
}

#[cfg(feature = "cli")]
async fn received(signals: &mut Option<Signal>) {
    match signals {
        // A stream of signals never ends.
        Some(signals) => drop(signals.recv().await),
        // Without a listener, no signal comes.
        None => std::future::pending().await,
    }
}

#[cfg(feature = "cli")]
async fn wanted(suspension: &mut Option<Suspension>) {
    match suspension {
        Some(suspension) => suspension.wanted().await,
        None => std::future::pending().await,
    }
}

/// Logs the effect of the first Ctrl-C.
#[cfg(feature = "cli")]
pub(super) fn tell_of_interrupt() {
    tell("stopping: running tasks finish, press Ctrl-C again to abort them");
}

#[cfg(feature = "cli")]
fn tell(text: &str) {
    tracing::info!(target: "lgoose::app", "{text}");
}
