//! `lgoose gather`: adds up the figures of workers for runs of other processes, until a signal ends it.

use super::{address, connect};
use crate::app::runtime;
use crate::app::signal_handler::SignalHandler;
use crate::cli;
use lgoose_base::error::{Error, exit};
use lgoose_base::machine;
use lgoose_gaggle::{GatherPresence, serve_gather};
use lgoose_metrics::control::Control;
use lgoose_metrics::label_texts;

/// Serves runs as a gather until a signal ends the process; returns the exit code.
///
/// # Errors
/// Returns trouble with the broker.
pub(in crate::app) fn gather(
    flags: &cli::GatherArgs,
    handler: &SignalHandler,
) -> Result<u8, Error> {
    let presence = GatherPresence {
        id: format!("{:016x}", rand::random::<u64>()),
        name: flags.name.clone().unwrap_or_else(machine::host_name),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: label_texts(flags.label.iter().map(|(key, value)| (key, value))).collect(),
        runs: Vec::new(),
        wall: 0,
    };
    let address = address(&flags.broker.url, &flags.broker.reached)?;
    let runtime = runtime()?;
    let name = format!("lgoose gather {}", presence.name);
    let broker = runtime.block_on(connect(&address, &name))?;
    let labels: Vec<&str> = presence.labels.iter().map(String::as_str).collect();
    tracing::info!(
        target: "lgoose::gaggle",
        "gather '{}' waits for runs at {} to add up the workers with {}",
        presence.name,
        broker.url(),
        labels.join(" or ")
    );
    let (handle, control) = Control::open();
    handler.attend(&handle);
    runtime.block_on(serve_gather(broker, presence, control.calls))?;
    Ok(exit::OK)
}
