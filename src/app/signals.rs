//! Signals that end or suspend a run: Ctrl-C, SIGTERM and the end of the terminal as interrupts, which the signal handler handles;
//! and Ctrl-Z.

use lgoose_base::error::Error;
use lgoose_metrics::control::Handle;
#[cfg(feature = "cli")]
use {
    super::{signal_handler::SignalHandler, suspension::Suspension},
    std::time::Duration,
};

/// Time limit for a wait after a run that was aborted.
#[cfg(feature = "cli")]
const AFTER_ABORT: Duration = Duration::from_millis(200);

/// Owner of the signals of this process while a test runs.
#[derive(Debug, Clone)]
pub(super) enum Signals {
    /// The test: the first stops it, the second aborts it.
    #[cfg(feature = "cli")]
    Obeyed(SignalHandler),
    /// The same for a test that is one of several: without a terminal, nobody could stop them all.
    #[cfg(feature = "cli")]
    ObeyedByAll(SignalHandler),
    /// The program that embeds lgoose.
    Ignored,
}

impl Signals {
    /// Turns SIGINT and SIGTERM into interrupts, and lets the run pause while the process is stopped (SIGTSTP). The end
    /// of the terminal (SIGHUP) interrupts a run, too, unless it is the only one and ends by itself. Returns only with
    /// an error.
    pub(super) async fn listen(&self, handle: &Handle, has_end: bool) -> Error {
        #[cfg(not(feature = "cli"))]
        let _ends_by_itself = has_end;
        match self {
            #[cfg(feature = "cli")]
            Signals::Obeyed(handler) if has_end => {
                handler.attend_without_terminal(handle);
                listen(handle).await
            }
            #[cfg(feature = "cli")]
            Signals::Obeyed(handler) | Signals::ObeyedByAll(handler) => {
                handler.attend(handle);
                listen(handle).await
            }
            Signals::Ignored => std::future::pending().await,
        }
    }

    /// Waits for Ctrl-C or SIGTERM after a run; only for a short time if the run was aborted.
    pub(super) async fn interrupted(&self, run: &Handle) {
        match self {
            #[cfg(feature = "cli")]
            Signals::Obeyed(handler) | Signals::ObeyedByAll(handler) => {
                let aborted = async {
                    run.aborted().await;
                    tokio::time::sleep(AFTER_ABORT).await;
                };
                tokio::select! {
                    () = handler.interrupted() => {}
                    () = aborted => {}
                }
            }
            Signals::Ignored => {
                let _waits_for_all = run;
                std::future::pending().await
            }
        }
    }
}

#[cfg(feature = "cli")]
async fn listen(handle: &Handle) -> Error {
    let mut suspension = Suspension::listen();
    loop {
        wait_for_request(&mut suspension).await;
        if let Some(suspension) = &mut suspension {
            suspension.suspend(handle).await;
        }
    }
}

#[cfg(feature = "cli")]
async fn wait_for_request(suspension: &mut Option<Suspension>) {
    match suspension {
        Some(suspension) => suspension.wait_for_request().await,
        None => std::future::pending().await,
    }
}

/// Logs the effect of the first Ctrl-C.
#[cfg(feature = "cli")]
pub(super) fn log_interrupt() {
    log_notice("stopping: running tasks finish, press Ctrl-C again to abort them");
}

#[cfg(feature = "cli")]
pub(super) fn log_notice(text: &str) {
    tracing::info!(target: "lgoose::app", "{text}");
}
