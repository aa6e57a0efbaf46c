//! Commands of the program, each from its flags to its exit code.

mod beside;
mod capacity;
mod check;
mod compare;
mod demo_site;
mod doctor;
mod env_file;
#[cfg(feature = "otlp")]
mod export;
mod flags;
#[cfg(feature = "web")]
mod hosted;
mod import;
mod list;
mod outputs;
mod repeat;
mod screen;
#[cfg(feature = "web")]
mod serve;
mod starter;
mod summary;
mod url_plan;
#[cfg(feature = "tui")]
mod view;
#[cfg(feature = "web")]
mod web;
#[cfg(feature = "gaggle")]
mod workers;

#[cfg(feature = "gaggle")]
use super::gaggle;
use super::guard::Guard;
use super::reload::Source;
use super::signals::Signals;
use super::supervisor::{Begun, Supervisor};
use super::{log, preflight, runtime, writable};
use crate::cli::{self, Cli};
use crate::config::Config;
use crate::console::{self, State};
use crate::control::Handle;
use crate::engine::Outcome;
use crate::error::{Diagnostic, Error, exit};
use crate::{lua, output};
use beside::Opened;
#[cfg(feature = "web")]
use hosted::Hosted;
use screen::{
    announcement, complain, give_reason, put, report_news, report_progress, say, say_last, tell,
    terminal_width, warn, writes_to_stdout,
};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use summary::Summary;
#[cfg(feature = "tui")]
use view::{View, ViewThread};

/// Time without progress at the end of the process, after which the rest of standard output is given up.
const FAREWELL: Duration = Duration::from_secs(5);

/// The same after a signal: whoever reads gets all.
const HURRIED: Duration = Duration::from_millis(200);

/// Time for standard error, which comes after standard output and is often the same terminal.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs the command of this process, and returns its exit code.
pub fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return code.into(),
    };
    let screen = &cli.run.screen;
    log::start(screen.verbose, screen.quiet, screen.log_file.is_some());
    let backtrace = cli.run.screen.backtrace
        || matches!(
            cli.command,
            Some(cli::Command::Check(cli::Check {
                backtrace: true,
                ..
            }))
        );
    let code = match dispatch(cli, &Guard::default()) {
        Ok(code) => code,
        Err(error) => {
            complain(&error, backtrace);
            error.exit_code()
        }
    };
    let code = match log::end() {
        Ok(()) => code,
        Err(error) => {
            complain(&error, backtrace);
            if code == exit::OK {
                exit::TROUBLE
            } else {
                code
            }
        }
    };
    console::err().settle(Some(LAST_WORDS));
    code.into()
}

fn dispatch(cli: Cli, guard: &Guard) -> Result<u8, Error> {
    if !cli.run.screen.quiet && !is_hosted(&cli) {
        for misspelt in cli::misspelt_variables() {
            warn(&misspelt);
        }
    }
    preflight::descriptors()?;
    if has_guard(&cli) {
        guard.listen()?;
    }
    match cli.command {
        Some(cli::Command::Check(flags)) => check::check(&flags),
        Some(cli::Command::New(flags)) => {
            say(&starter::start(&flags.dir, flags.template)?)?;
            Ok(exit::OK)
        }
        Some(cli::Command::Import(flags)) => import::import(&flags),
        Some(cli::Command::Demo(demo)) => demo_site::serve(&demo),
        Some(cli::Command::Report(saved)) => outputs::report(&saved),
        Some(cli::Command::Compare(flags)) => compare::compare(&flags, guard),
        Some(cli::Command::Doctor(flags)) => doctor::doctor(&flags),
        Some(cli::Command::Capacity(options)) => capacity::capacity(&options, guard),
        #[cfg(feature = "gaggle")]
        Some(cli::Command::Worker(flags)) => gaggle::work(&flags, guard),
        #[cfg(feature = "gaggle")]
        Some(cli::Command::Gather(flags)) => gaggle::gather(&flags, guard),
        #[cfg(feature = "gaggle")]
        Some(cli::Command::Gaggle(flags)) => {
            say(&gaggle::list(&flags)?)?;
            Ok(exit::OK)
        }
        #[cfg(feature = "gaggle")]
        Some(cli::Command::Attach(flags)) => workers::attach(&flags, &cli.run, guard),
        #[cfg(feature = "web")]
        Some(cli::Command::Serve(flags)) => serve::serve(&flags),
        #[cfg(feature = "web")]
        Some(cli::Command::Hosted) => match hosted::take()? {
            Hosted::Run(plan, flags) => run(&plan, &flags, guard),
            Hosted::Done(code) => Ok(code),
        },
        Some(cli::Command::Completions { shell }) => {
            put(cli::completions(shell))?;
            Ok(exit::OK)
        }
        Some(cli::Command::Man) => {
            let page = cli::manual().map_err(|error| Error::cannot("write the page", error))?;
            put(page)?;
            Ok(exit::OK)
        }
        None if cli.brief => {
            say(&cli::overview())?;
            Ok(exit::OK)
        }
        None => match &cli.run.plan {
            Some(plan) if cli.run.screen.list => list::list(plan, &cli.run),
            Some(plan) => run(plan, &cli.run, guard),
            None => {
                say(&cli::overview())?;
                Ok(exit::MISTAKE)
            }
        },
    }
}

/// Returns whether another lgoose process started this one; it has already warned about the environment.
fn is_hosted(cli: &Cli) -> bool {
    #[cfg(feature = "web")]
    return matches!(cli.command, Some(cli::Command::Hosted));
    #[cfg(not(feature = "web"))]
    {
        let _alone = cli;
        false
    }
}

/// Returns whether the guard handles Ctrl-C: `serve` stops its run first.
fn has_guard(cli: &Cli) -> bool {
    match cli.command {
        #[cfg(feature = "web")]
        Some(cli::Command::Serve(_)) => false,
        _ => true,
    }
}

fn run(path: &Path, flags: &cli::Run, guard: &Guard) -> Result<u8, Error> {
    if flags.load.paused && !screen::can_steer(flags) {
        return Err(
            Diagnostic::new("'--paused' waits for a command, and nothing could send one")
                .help(
                    "run lgoose on a terminal without '--headless', or serve the run with '--web'",
                )
                .into(),
        );
    }
    let supervisor = Supervisor::new(Signals::Obeyed(guard.clone()));
    #[cfg_attr(
        not(feature = "gaggle"),
        expect(unused_mut, reason = "users stay here")
    )]
    let mut begun = supervisor.begin(|| flags::prepare(path, flags))?;
    let prepared = begun.prepared();
    writable::try_places(&flags.outputs.output, &prepared.config)?;
    if let Some(path) = &flags.screen.log_file {
        log::write_to(path)?;
    }
    if !on_workers(flags) {
        for shortage in preflight::preflight(prepared) {
            warn(&shortage);
        }
    }
    let unset = lua::unset_variables(&prepared.program);
    unset.iter().for_each(warn);
    for (name, url) in prepared.sites.served() {
        tell(flags, &format!("{name} is served at {url} for this run"));
    }
    tell(flags, &announcement(prepared));
    let config = prepared.config.clone();
    let opened = Opened::open(flags)?;
    #[cfg(feature = "gaggle")]
    let dismissal = workers::hire(&mut begun, flags, guard)?;
    let source = Some(flags::source(path, flags));
    conduct((begun, opened), &config, source, (flags, guard), || {
        #[cfg(feature = "gaggle")]
        if let Some(dismissal) = dismissal {
            dismissal.now();
        }
    })
}

/// Drives a run to its end, calls `dismiss`, writes the outputs, and returns the exit code.
fn conduct(
    (begun, opened): (Begun, Opened),
    config: &Config,
    source: Option<Source>,
    (flags, guard): (&cli::Run, &Guard),
    dismiss: impl FnOnce(),
) -> Result<u8, Error> {
    let handle = begun.handle().clone();
    let beside = match opened.start(flags, &begun) {
        Ok(beside) => beside,
        Err(error) => {
            dismiss();
            return Err(error);
        }
    };
    let to_files = flags.outputs.output.iter().any(|one| one.path.is_some());
    guard.note_steered_from_afar(screen::is_steered_from_afar(flags));
    guard.note_files_due(to_files || config.local.logs.files().next().is_some());
    #[cfg(feature = "tui")]
    let mut view = {
        let run = (begun.prepared().name.clone(), begun.target());
        let view = if screen::wants_view(flags) {
            View::open(run, flags, begun.handle().clone())
        } else {
            None
        };
        #[cfg(feature = "web")]
        let view = view.map(|view| match &beside.web {
            Some(web) => view.note(format!("page of this run: {}", web.url)),
            None => view,
        });
        view.and_then(|view| view.start(runtime().ok()?))
    };
    #[cfg(feature = "tui")]
    let over = over(view.as_mut(), guard, &handle);
    #[cfg(not(feature = "tui"))]
    let over = std::future::ready(());
    let running = begun.run(source, |handle| show(handle, over, config, flags));
    let runtime = runtime()?;
    let outcome = runtime.block_on(running);
    dismiss();
    #[cfg_attr(
        not(feature = "otlp"),
        expect(unused_mut, reason = "nothing is exported")
    )]
    let mut outcome = outcome?;
    #[cfg(feature = "otlp")]
    export::finish(beside.exporter, &mut outcome.report);
    #[cfg(feature = "web")]
    if let Some(web) = &beside.web {
        web.thread.finish(Some(&outcome.report));
    }
    let written = runtime.block_on(outputs::write_until(
        (guard, &handle),
        &flags.outputs.output,
        &outcome.report,
    ));
    let summary = summary::write(&outcome, config, flags);
    #[cfg(feature = "tui")]
    if let Some(view) = view {
        let signals = Signals::Obeyed(guard.clone());
        let interrupted = signals.interrupted(&handle);
        for line in runtime.block_on(view.leave(&outcome, interrupted, flags.screen.exit)) {
            screen::aside(&line);
        }
    }
    let code = runtime.block_on(conclude(
        (&outcome, summary),
        written,
        (guard, &handle),
        config,
        flags,
    ));
    #[cfg(feature = "web")]
    if let Some(web) = beside.web {
        runtime.block_on(web.thread.leave());
    }
    // Do not wait for a plan that is being reloaded.
    runtime.shutdown_background();
    Ok(code)
}

/// Returns whether users run on other machines, which have their own limits.
fn on_workers(flags: &cli::Run) -> bool {
    #[cfg(feature = "gaggle")]
    return flags.gaggle.workers.is_some();
    #[cfg(not(feature = "gaggle"))]
    {
        let _here = flags;
        false
    }
}

/// Waits until the view has ended because its terminal has gone.
#[cfg(feature = "tui")]
async fn over(view: Option<&mut ViewThread>, guard: &Guard, run: &Handle) {
    if let Some(view) = view {
        view.over().await;
        if let Some(told) = guard.without_terminal(run).await {
            tracing::warn!("{told}");
        }
    }
}

/// Prints the progress of a run line by line, once the future `view` is ready.
async fn show(
    handle: Handle,
    view: impl Future<Output = ()>,
    config: &Config,
    flags: &cli::Run,
) -> Error {
    view.await;
    tokio::select! {
        error = report_progress(handle.snapshots(), config, flags) => error,
        error = report_news(handle.news()) => error,
    }
}

/// Prints the tables, and returns the exit code: that of the verdict, or that of trouble if outputs could not be
/// `written`. Waits for standard output only as long as it makes progress.
async fn conclude(
    (outcome, summary): (&Outcome, Summary),
    written: Result<(), Vec<Error>>,
    (guard, run): (&Guard, &Handle),
    config: &Config,
    flags: &cli::Run,
) -> u8 {
    let report = &outcome.report;
    let mut troubles = written.err().unwrap_or_default();
    let to_stdout = writes_to_stdout(flags);
    if !flags.screen.quiet && !to_stdout {
        let options = output::text::TableOptions {
            status_codes: config.screen.status_codes,
        };
        say_last(&output::text::tables(report, terminal_width(), options));
    }
    summary.show(flags);
    let signals = Signals::Obeyed(guard.clone());
    let state = tokio::select! {
        state = console::out().settled_within(FAREWELL) => state,
        () = signals.interrupted(run) => console::out().settled_within(HURRIED).await,
    };
    troubles.extend(screen::written(state).err());
    troubles.extend(summary.troubles);
    if to_stdout && state == State::Busy {
        let stuck = "standard output is blocked: the report there is incomplete";
        troubles.push(Error::trouble(stuck));
    }
    let verdict = report.verdict.as_ref();
    match &outcome.trouble {
        Some(trouble) => complain(trouble, flags.screen.backtrace),
        None => {
            for reason in verdict.iter().flat_map(|verdict| &verdict.reasons) {
                give_reason(reason);
            }
        }
    }
    for trouble in &troubles {
        complain(trouble, false);
    }
    match troubles.is_empty() {
        // Whoever aborts the wait after the run gets no verdict either.
        _ if run.is_aborted() => exit::ABORTED,
        true => verdict.map_or(exit::TROUBLE, |verdict| verdict.exit_code),
        false => exit::TROUBLE,
    }
}
