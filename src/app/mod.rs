//! Assembles the modules into a test, from its plan to its verdict, for programs that embed lgoose and for the command.
//! The only module that knows all others.

mod client;
#[cfg(feature = "cli")]
mod command;
mod embed;
#[cfg(feature = "cli")]
mod gaggle;
mod loading;
#[cfg(feature = "cli")]
mod log;
mod places;
mod preflight;
mod prepare;
mod reload;
mod retained_logs;
#[cfg(feature = "cli")]
mod signal_handler;
mod signals;
mod sites;
mod supervisor;
#[cfg(feature = "cli")]
mod suspension;
#[cfg(test)]
mod tests;
#[cfg(feature = "cli")]
mod writable;

#[cfg(feature = "cli")]
pub use command::main;
pub use embed::{Outcome, Running, Test};
pub use supervisor::Supervisor;

use lgoose_base::error::Error;

/// Makes the runtime of a thread that carries on a run.
fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::cannot("start the runtime", error))
}
