//! Runs with users on workers: recruits the workers, or attaches to a run of another manager.

use super::flags as run_flags;
use super::run::conduct;
use super::services::OpenServices;
use crate::app::gaggle;
use crate::app::places;
use crate::app::prepare::{Placement, PreparedRun};
use crate::app::signal_handler::SignalHandler;
use crate::app::signals::Signals;
use crate::app::supervisor::Supervisor;
use crate::app::{log, runtime, writable};
use crate::cli;
use lgoose_base::error::Error;
use lgoose_metrics::control::Handle;

/// Moves the users to workers, if the flags request it. The returned value is to be ended after the run.
pub(super) fn recruit(
    prepared: &mut PreparedRun,
    handle: &Handle,
    flags: &cli::RunArgs,
    handler: &SignalHandler,
) -> Result<Option<gaggle::RunTeardown>, Error> {
    let quiet = flags.screen.quiet;
    let announce = move |text: &str| {
        if !quiet {
            tracing::info!(target: "lgoose::gaggle", "{text}");
        }
    };
    let Some(workers) = flags.gaggle.workers else {
        return Ok(None);
    };
    // Claimed workers are let go before the process ends.
    handler.attend(handle);
    let (interrupted, handle) = (handler.interrupted(), handle.clone());
    let stop = async move {
        // A signal may have come before.
        if !handle.is_stopped() {
            interrupted.await;
        }
    };
    let recruiting = gaggle::recruit(workers, &flags.gaggle, prepared, announce, stop);
    let (manager, teardown) = runtime()?.block_on(recruiting)?;
    let threads = manager.link.threads();
    let run = manager.run;
    prepared.placement = Placement {
        place: lgoose_engine::ShardPlacement::Workers(manager.link),
        offers: manager.offers,
        versions: manager.versions,
        logs: manager.logs,
    };
    prepared.run.local.threads = threads;
    let threads = lgoose_base::units::counted(threads as u64, "thread");
    announce(&format!("run {run} begins with {threads} on its workers"));
    Ok(Some(teardown))
}

/// Watches a run on workers, and leads it once nobody else does.
pub(super) fn attach(
    attach: &cli::AttachArgs,
    flags: &cli::RunArgs,
    handler: &SignalHandler,
) -> Result<u8, Error> {
    let read: Vec<_> = run_flags::broker_files(&attach.broker.reached).collect();
    places::apart(&read, &run_flags::other_files(flags).written)?;
    if let Some(path) = &flags.screen.log_file {
        log::write_to(path)?;
    }
    let opened = OpenServices::open(flags)?;
    let supervisor = Supervisor::new(Signals::Obeyed(handler.clone()));
    let stop = handler.interrupted();
    let attaching = gaggle::attach(&attach.run, &attach.broker, stop);
    let (run, teardown) = runtime()?.block_on(attaching)?;
    if !flags.screen.quiet {
        tracing::info!(target: "lgoose::gaggle", "{}", run.introduction);
    }
    let (slot, prepared) = supervisor.start_test(|| Ok(run.prepared))?;
    writable::try_places(&flags.outputs.output, &prepared.run.local.logs)?;
    conduct(flags, handler, slot, prepared, opened, None, || {
        teardown.now()
    })
}
