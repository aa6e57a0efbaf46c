//! `lgoose PLAN`: a run from its flags to its exit code. Typed flags describe a [test](flags::test), which is
//! [prepared](prepare), run within a [slot](Slot) of the supervisor, and concluded.

use super::context::RunContext;
use super::screen::{
    self, announce, print_last, print_reason, report_error, report_news, report_progress,
    send_reason, terminal_width, warn, writes_to_stdout,
};
use super::services::{OpenServices, RunServices};
use super::summary::Summary;
use super::view::{TerminalView, ViewThread};
use super::workers;
use super::{flags, outputs, summary};
use crate::app::prepare::{PreparedRun, prepare};
use crate::app::reload::ReloadSource;
use crate::app::signal_handler::SignalHandler;
use crate::app::signals::Signals;
use crate::app::supervisor::{Slot, Supervisor};
use crate::app::{log, preflight, runtime, writable};
use crate::cli;
use lgoose_base::console::{self, ConsoleState};
use lgoose_base::error::{Diagnostic, Error, exit};
use lgoose_engine::Outcome;
use lgoose_metrics::control::Handle;
use lgoose_plan::config::{Config, SummaryExtent};
use std::path::Path;
use std::time::Duration;

/// Time without progress at the end of the process, after which the rest of standard output is given up.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The same after a signal: a reader that reads gets all.
const HURRIED: Duration = Duration::from_millis(200);

/// Runs the plan at that path, and returns the exit code.
///
/// # Errors
/// A mistake in the plan or in a flag, or trouble that keeps the run from starting.
pub(super) fn run(path: &Path, flags: &cli::RunArgs, handler: &SignalHandler) -> Result<u8, Error> {
    can_resume(flags)?;
    let supervisor = Supervisor::new(Signals::Obeyed(handler.clone()));
    let (slot, mut prepared) = supervisor.start_test(|| prepare(flags::test(path, flags)?))?;
    writable::try_places(&flags.outputs.output, &prepared.run.local.logs)?;
    if let Some(path) = &flags.screen.log_file {
        log::write_to(path)?;
    }
    announce_run(&prepared, flags);
    let opened = OpenServices::open(flags)?;
    let teardown = workers::recruit(&mut prepared, slot.handle(), flags, handler)?;
    let source = Some(flags::source(path, flags));
    conduct(flags, handler, slot, prepared, opened, source, || {
        if let Some(teardown) = teardown {
            teardown.now();
        }
    })
}

/// Checks that a run that begins paused can be resumed.
fn can_resume(flags: &cli::RunArgs) -> Result<(), Diagnostic> {
    if !flags.load.paused || screen::can_steer(flags) {
        return Ok(());
    }
    let message = "'--paused' waits for a command, and nothing could send one";
    let help = "run lgoose on a terminal without '--headless', or serve the run with '--web'";
    Err(Diagnostic::new(message).help(help))
}

/// Announces the run, after warnings about shortages of this machine.
fn announce_run(prepared: &PreparedRun, flags: &cli::RunArgs) {
    if !on_workers(flags) {
        for shortage in preflight::preflight(prepared) {
            warn(&shortage);
        }
    }
    let unset = lgoose_lua::unset_variables(&prepared.run.plan_version.program);
    unset.iter().for_each(warn);
    for note in &prepared.notes {
        warn(&Diagnostic::new(note));
    }
    let thresholds = &prepared.run.config.thresholds;
    for ambiguous in prepared.plan().ambiguous_thresholds(thresholds) {
        warn(&Diagnostic::new(ambiguous));
    }
    for (name, url) in prepared.sites.served() {
        announce(flags, &format!("{name} is served at {url} for this run"));
    }
    announce(flags, &prepared.announcement());
}

/// Drives a run to its end, calls `release`, writes the outputs, and returns the exit code.
///
/// # Errors
/// Trouble that keeps the run from starting.
pub(super) fn conduct(
    flags: &cli::RunArgs,
    handler: &SignalHandler,
    slot: Slot,
    prepared: PreparedRun,
    opened: OpenServices,
    source: Option<ReloadSource>,
    release: impl FnOnce(),
) -> Result<u8, Error> {
    let (config, handle) = (prepared.config(), slot.handle().clone());
    let context = RunContext {
        flags,
        handler,
        handle: &handle,
    };
    let mut services = match opened.start(context, &prepared) {
        Ok(services) => services,
        Err(error) => {
            release();
            return Err(error);
        }
    };
    inform(context);
    let mut view = open_view(context, &prepared, &services);
    let over = over(context, view.as_mut());
    let running = slot.run(prepared, source, |handle| {
        show(handle, over, &config, context.flags)
    });
    let runtime = runtime()?;
    let outcome = runtime.block_on(running);
    release();
    let mut outcome = outcome?;
    services.finish(&mut outcome.report);
    let written = runtime.block_on(outputs::write_until(context, &outcome.report));
    let summary = runtime.block_on(summary::write(context, &outcome, &config));
    if let Some(view) = view {
        let leaving = view.leave(&outcome, context.interrupted(), context.flags.screen.exit);
        for line in runtime.block_on(leaving) {
            screen::aside(&line);
        }
    }
    let code = runtime.block_on(conclude(context, &outcome, &config, summary, written));
    runtime.block_on(services.leave(context));
    // Do not wait for a plan that is being reloaded.
    runtime.shutdown_background();
    Ok(code)
}

/// Informs the signal handler about the run.
fn inform(context: RunContext<'_>) {
    let from_afar = screen::is_steered_from_afar(context.flags);
    context.handler.note_steered_from_afar(from_afar);
    context.handler.note_outputs_due();
}

/// Opens the view of the run, if the flags and the terminal allow one.
fn open_view(
    context: RunContext<'_>,
    prepared: &PreparedRun,
    services: &RunServices,
) -> Option<ViewThread> {
    if !screen::shows_view(context.flags) {
        return None;
    }
    let (plan, host) = (prepared.run.name.clone(), prepared.run.target.clone());
    let view = TerminalView::open(plan, host, context.flags, context.handle.clone())?;
    let view = match services.page() {
        Some(url) => view.note(format!("page of this run: {url}")),
        None => view,
    };
    ViewThread::start(view, runtime().ok()?)
}

/// Returns whether users run on other machines, which have their own limits.
pub(super) fn on_workers(flags: &cli::RunArgs) -> bool {
    flags.gaggle.workers.is_some()
}

/// Waits until the view has ended because its terminal has gone.
async fn over(context: RunContext<'_>, view: Option<&mut ViewThread>) {
    if let Some(view) = view {
        view.over().await;
        if let Some(notice) = context.handler.without_terminal(context.handle).await {
            tracing::warn!("{notice}");
        }
    }
}

/// Prints the progress of a run line by line, once the future `view` is ready.
async fn show(
    handle: Handle,
    view: impl Future<Output = ()>,
    config: &Config,
    flags: &cli::RunArgs,
) -> Error {
    view.await;
    tokio::select! {
        error = report_progress(handle.snapshots(), config, flags) => error,
        error = report_news(handle.news()) => error,
    }
}

/// Prints the tables, and returns the exit code: that of the verdict, or that of trouble if outputs could not be
/// `written`. Waits for standard output only as long as it makes progress.
pub(super) async fn conclude(
    context: RunContext<'_>,
    outcome: &Outcome,
    config: &Config,
    summary: Summary,
    written: Result<(), Vec<Error>>,
) -> u8 {
    let flags = context.flags;
    let report = &outcome.report;
    let mut troubles = written.err().unwrap_or_default();
    let to_stdout = writes_to_stdout(flags);
    let shows_tables = !flags.screen.quiet && !to_stdout;
    if shows_tables {
        let options = lgoose_report::text::TableOptions {
            status_codes: config.screen.status_codes,
            backtrace: flags.screen.backtrace,
            is_short: config.screen.summary == SummaryExtent::Short,
        };
        print_last(&lgoose_report::text::tables(
            report,
            terminal_width(),
            options,
        ));
    }
    summary.show(flags);
    let state = tokio::select! {
        state = console::out().settled_within(FLUSH_TIMEOUT) => state,
        () = context.interrupted() => console::out().settled_within(HURRIED).await,
    };
    troubles.extend(screen::written(state).err());
    troubles.extend(summary.troubles);
    if to_stdout && state == ConsoleState::Busy {
        let stuck = "standard output is blocked: the report there is incomplete";
        troubles.push(Error::trouble(stuck));
    }
    let verdict = report.verdict.as_ref();
    let settings = report.settings.as_ref();
    let is_once = settings.is_some_and(|settings| settings.once);
    match &outcome.trouble {
        Some(trouble) => report_error(trouble, flags.screen.backtrace),
        None => {
            let reasons = verdict.iter().flat_map(|verdict| &verdict.reasons);
            // The table of errors and the verdict below it have just named them.
            let put = if shows_tables && is_once {
                send_reason
            } else {
                print_reason
            };
            reasons.for_each(|reason| put(reason));
        }
    }
    for trouble in &troubles {
        report_error(trouble, false);
    }
    let code = if context.handle.is_aborted() && outcome.trouble.is_none() {
        // Whoever aborts the wait after the run gets no verdict either.
        exit::ABORTED
    } else if troubles.is_empty() {
        verdict.map_or(exit::TROUBLE, |verdict| verdict.exit_code)
    } else {
        exit::TROUBLE
    };
    context.handler.note_outputs_written(code);
    code
}
