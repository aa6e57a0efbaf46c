//! Runs with users on workers: hires the workers, or attaches to a run of another manager.

use super::beside::Opened;
use super::{conduct, flags as run_flags};
use crate::app::gaggle;
use crate::app::guard::Guard;
use crate::app::places;
use crate::app::signals::Signals;
use crate::app::supervisor::{Begun, Site, Supervisor};
use crate::app::{log, runtime, writable};
use crate::cli;
use crate::error::Error;

/// Moves the users to workers, if the flags ask for it. The returned value is to be ended after the run.
pub(super) fn hire(
    begun: &mut Begun,
    flags: &cli::Run,
    guard: &Guard,
) -> Result<Option<gaggle::Dismissal>, Error> {
    let quiet = flags.screen.quiet;
    let tell = move |text: &str| {
        if !quiet {
            tracing::info!(target: "lgoose::gaggle", "{text}");
        }
    };
    let Some(workers) = flags.gaggle.workers else {
        return Ok(None);
    };
    // Claimed workers are let go before the process ends.
    guard.attend(begun.handle());
    let (interrupted, handle) = (guard.interrupted(), begun.handle().clone());
    let stop = async move {
        // A signal may have come before.
        if !handle.is_stopped() {
            interrupted.await;
        }
    };
    let hiring = gaggle::hire(workers, &flags.gaggle, begun.prepared(), tell, stop);
    let (manager, dismissal) = runtime()?.block_on(hiring)?;
    let threads = manager.link.threads();
    let run = manager.run;
    let site = Site {
        place: crate::engine::Place::Workers(manager.link),
        offers: manager.offers,
        versions: manager.versions,
        stand_in: None,
        logs: manager.logs,
    };
    begun.move_to(site, threads);
    let threads = crate::units::counted(threads as u64, "thread");
    tell(&format!("run {run} begins with {threads} on its workers"));
    Ok(Some(dismissal))
}

/// Watches a run on workers, and leads it once nobody else does.
pub(super) fn attach(attach: &cli::Attach, flags: &cli::Run, guard: &Guard) -> Result<u8, Error> {
    let read: Vec<_> = run_flags::broker_files(&attach.broker.reached).collect();
    places::apart(&read, &run_flags::other_files(flags).written)?;
    if let Some(path) = &flags.screen.log_file {
        log::write_to(path)?;
    }
    let opened = Opened::open(flags)?;
    let supervisor = Supervisor::new(Signals::Obeyed(guard.clone()));
    let stop = guard.interrupted();
    let attaching = gaggle::attach(&attach.run, &attach.broker, stop);
    let (run, dismissal) = runtime()?.block_on(attaching)?;
    if !flags.screen.quiet {
        tracing::info!(target: "lgoose::gaggle", "{}", run.told);
    }
    let mut begun = supervisor.begin(|| Ok(run.prepared))?;
    let threads = begun.prepared().config.local.threads;
    begun.move_to(run.site, threads);
    let config = begun.prepared().config.clone();
    writable::try_places(&flags.outputs.output, &config)?;
    conduct((begun, opened), &config, None, (flags, guard), || {
        dismissal.now()
    })
}
