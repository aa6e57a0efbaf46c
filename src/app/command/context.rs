//! A run of this command with its flags and the signal handler of the process, as its view, outputs and services need them.

use crate::app::signal_handler::SignalHandler;
use crate::app::signals::Signals;
use crate::cli;
use lgoose_metrics::control::Handle;

/// A run of this command.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunContext<'a> {
    pub(super) flags: &'a cli::RunArgs,
    pub(super) handler: &'a SignalHandler,
    pub(super) handle: &'a Handle,
}

impl RunContext<'_> {
    /// Waits for Ctrl-C or SIGTERM after the run; only for a short time if the run was aborted.
    pub(super) async fn interrupted(self) {
        let signals = Signals::Obeyed(self.handler.clone());
        signals.interrupted(self.handle).await;
    }
}
