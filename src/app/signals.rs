//! Ctrl-C and the other signals that end a run, as interrupts.

use crate::control::{Command, Done, Handle, Interrupt};
use crate::error::Error;
use crate::machine;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Who obeys the signals to this process while a test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    /// The test: the first stops it, the second aborts it.
    Obeyed,
    /// The program that lgoose is embedded in.
    Left,
}

impl Signals {
    /// Turns SIGINT, SIGTERM and the end of the terminal into interrupts. Ends only with an error.
    pub(super) async fn listen(self, handle: &Handle) -> Error {
        match self {
            Signals::Obeyed => listen(handle).await,
            Signals::Left => std::future::pending().await,
        }
    }

    /// Waits for Ctrl-C after a run.
    pub(super) async fn interrupted(self) {
        match self {
            // Without a listener there will be none.
            Signals::Obeyed => drop(tokio::signal::ctrl_c().await),
            Signals::Left => std::future::pending().await,
        }
    }
}

async fn listen(handle: &Handle) -> Error {
    let listened = |kind| signal(kind).map_err(|error| Error::cannot("listen for Ctrl-C", error));
    let (mut interrupt, mut terminate) = match (
        listened(SignalKind::interrupt()),
        listened(SignalKind::terminate()),
    ) {
        (Ok(interrupt), Ok(terminate)) => (interrupt, terminate),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    // What 'nohup' started goes on when its terminal is closed.
    let mut hangup = match machine::ignores_hangup() {
        true => None,
        false => listened(SignalKind::hangup()).ok(),
    };
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = hung_up(&mut hangup) => {}
        }
        let answer = handle.ask(Command::Interrupt(Interrupt::Signal)).await;
        if matches!(answer, Ok(Done::Stopping)) {
            tell_of_interrupt();
        }
    }
}

/// Waits for a signal that ends a program, after a run.
pub(super) async fn ended() {
    let listened = |kind| signal(kind).ok();
    let (mut terminate, mut hangup) = (
        listened(SignalKind::terminate()),
        listened(SignalKind::hangup()),
    );
    tokio::select! {
        // Without a listener there will be none.
        _ = tokio::signal::ctrl_c() => {}
        () = hung_up(&mut terminate) => {}
        () = hung_up(&mut hangup) => {}
    }
}

async fn hung_up(hangup: &mut Option<Signal>) {
    match hangup {
        // A stream of signals has no end.
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// Says in the log what the first Ctrl-C has done.
pub(super) fn tell_of_interrupt() {
    tracing::info!(
        target: "lgoose::app",
        "stopping: running tasks finish, press Ctrl-C again to abort them"
    );
}
