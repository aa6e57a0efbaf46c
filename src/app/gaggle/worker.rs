//! `lgoose worker`: serves runs of other processes, until a signal ends it.

use super::job::{WorkerTerms, load};
use super::{address, connect};
use crate::app::loading::MemoryLimits;
use crate::app::runtime;
use crate::app::signal_handler::SignalHandler;
use crate::cli;
use lgoose_base::error::{Error, exit};
use lgoose_base::machine;
use lgoose_base::units::counted;
use lgoose_gaggle::{WorkerPresence, identity, inbox, serve};
use lgoose_metrics::control::Control;
use std::sync::Arc;

/// Works until a signal ends the process, or for one run with `--once`; returns the exit code.
///
/// # Errors
/// Returns trouble with the broker.
pub(in crate::app) fn work(flags: &cli::WorkerArgs, handler: &SignalHandler) -> Result<u8, Error> {
    machine::raise_descriptor_limit();
    let threads = flags.threads.unwrap_or_else(machine::cores);
    let name = flags.name.clone().unwrap_or_else(machine::host_name);
    let presence = WorkerPresence {
        id: identity(&name, rand::random()),
        name,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: flags.label.iter().cloned().collect(),
        threads: threads as u64,
        cores: machine::cores() as u64,
        run: None,
        wall: 0,
        process: rand::random(),
    };
    let terms = WorkerTerms {
        memory: MemoryLimits {
            process: flags.memory,
            data: flags.data_memory,
        },
        allowed: flags.allow_host.clone(),
    };
    let mut address = address(&flags.broker.url, &flags.broker.reached)?;
    address.inbox = Some(inbox(&presence.id));
    let runtime = runtime()?;
    let name = format!("lgoose worker {}", presence.name);
    let broker = runtime.block_on(connect(&address, &name))?;
    tracing::info!(
        target: "lgoose::gaggle",
        "worker '{}' waits for runs at {} with {}",
        presence.name,
        broker.url(),
        counted(threads as u64, "thread")
    );
    let (handle, control) = Control::open();
    handler.attend(&handle);
    let loading = move |offer| load(&offer, &terms);
    runtime.block_on(serve(
        broker,
        presence,
        Arc::new(loading),
        flags.once,
        control.calls,
    ))?;
    Ok(exit::OK)
}
