//! The command from flags to exit code; the only file that knows everyone.

mod client;
mod embed;
mod env_file;
mod log;
mod outputs;
mod preflight;
mod prepare;
mod reload;
mod screen;
mod starter;
mod url_plan;
mod view;

use crate::cli::{self, Cli};
use crate::config::Config;
use crate::control::Command;
use crate::demo::{Behaviour, Demo};
use crate::engine::{self, Outcome};
use crate::error::{Error, exit};
use crate::metrics::{Cause, Journals};
use crate::{lua, machine, output, plan};
use prepare::{Prepared, prepare, site_named, target};
use reload::Reloader;
use screen::{
    announcement, complain, put, report_progress, say, tell, terminal_width, warn, writes_to_stdout,
};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use tokio::sync::{mpsc, watch};
use view::{Reloads, View};

pub use embed::{Running, Test};

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return code.into(),
    };
    let screen = &cli.run.screen;
    if let Err(error) = log::start(screen.verbose, screen.quiet, screen.log_file.as_deref()) {
        complain(&error, false);
        return error.exit_code().into();
    }
    let backtrace = cli.run.screen.backtrace
        || matches!(
            cli.command,
            Some(cli::Command::Check {
                backtrace: true,
                ..
            })
        );
    match dispatch(cli) {
        Ok(code) => code.into(),
        Err(error) => {
            complain(&error, backtrace);
            error.exit_code().into()
        }
    }
}

fn dispatch(cli: Cli) -> Result<u8, Error> {
    match cli.command {
        Some(cli::Command::Check { plan, .. }) => check(&plan),
        Some(cli::Command::New { dir }) => {
            say(&starter::start(&dir)?)?;
            Ok(exit::OK)
        }
        Some(cli::Command::Demo(demo)) => serve(&demo),
        Some(cli::Command::Report(saved)) => outputs::report(&saved),
        Some(cli::Command::Completions { shell }) => {
            put(&cli::completions(shell))?;
            Ok(exit::OK)
        }
        Some(cli::Command::Man) => {
            let page = cli::manual().map_err(|error| Error::cannot("write the page", error))?;
            put(&page)?;
            Ok(exit::OK)
        }
        None if cli.brief => {
            say(&cli::overview())?;
            Ok(exit::OK)
        }
        None => match &cli.run.plan {
            Some(plan) if cli.run.screen.list => list(plan, &cli.run),
            Some(plan) => run(plan, &cli.run),
            None => {
                say(&cli::overview())?;
                Ok(exit::MISTAKE)
            }
        },
    }
}

fn run(path: &Path, flags: &cli::Run) -> Result<u8, Error> {
    let prepared = prepare(path, flags)?;
    for shortage in preflight::preflight(&prepared) {
        warn(&shortage);
    }
    for (name, demo) in &prepared.demos {
        tell(
            flags,
            &format!("{name} is served at {} for this run", demo.url()),
        )?;
    }
    tell(flags, &announcement(&prepared))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::cannot("start the runtime", error))?;
    let config = prepared.config.clone();
    let logs = output::log::LogWriter::start(&config.logs)?;
    let journals = logs.as_ref().map(output::log::LogWriter::journals);
    let outcome = runtime.block_on(drive(path, prepared, journals, flags));
    let written = logs.map(|logs| runtime.block_on(finish(logs)));
    let mut outcome = outcome?;
    if let Some(written) = written {
        enter_logs(written?, &mut outcome);
    }
    settle(&mut outcome);
    conclude(&outcome, &config, flags)
}

/// Writes what is left of the logs. Ctrl-C ends that too: a pipe may be read as slowly as its reader likes.
async fn finish(logs: output::log::LogWriter) -> Result<output::log::Written, Error> {
    let abandon = logs.abandon();
    let mut finishing = tokio::task::spawn_blocking(|| logs.finish());
    let written = tokio::select! {
        written = &mut finishing => written,
        _ = tokio::signal::ctrl_c() => {
            abandon.now();
            finishing.await
        }
    };
    written.map_err(|error| Error::cannot("end the logs", error))
}

/// Says in the report what became of the logs. A file that could not be written is trouble.
fn enter_logs(written: output::log::Written, outcome: &mut Outcome) {
    outcome.report.logs = written.rows;
    outcome.report.warnings.extend(written.warnings);
    for trouble in written.troubles {
        outcome.trouble.get_or_insert(trouble);
    }
}

/// Puts the verdict into the report, when all is known that it depends on.
fn settle(outcome: &mut Outcome) {
    let not_started = outcome
        .report
        .ending
        .as_ref()
        .is_some_and(|ending| ending.cause == Cause::NotStarted);
    // What 'test_start' raised is the plan's mistake or the target's failure: the verdict tells of it.
    let trouble = outcome.trouble.as_ref().filter(|_| !not_started);
    outcome.report.verdict = Some(output::judge(&outcome.report, trouble));
}

/// Runs the test, obeys signals and prints the running figures.
async fn drive(
    path: &Path,
    prepared: Prepared,
    journals: Option<Journals>,
    flags: &cli::Run,
) -> Result<Outcome, Error> {
    let (commands, obeyed) = mpsc::unbounded_channel();
    let (snapshots, pictures) = watch::channel(None);
    let config = prepared.config.clone();
    let (interrupt, interrupts) = mpsc::unbounded_channel();
    let (ask, asked) = mpsc::unbounded_channel();
    let (news, told) = mpsc::unbounded_channel();
    let (plan_versions, adopted) = mpsc::unbounded_channel();
    let facts = view::facts(
        &prepared.name,
        target(&prepared),
        &config,
        screen::may_colour(flags),
    );
    let view = match config.view {
        true => View::open(
            facts,
            &flags.outputs.output,
            engine::settings_of(&config, &prepared.program),
            interrupt.clone(),
            Reloads { ask, news: told },
        ),
        false => None,
    };
    let program = prepared.program.clone();
    let (run, demos) = prepared.into_run(journals);
    let reloader = Reloader::new(path, flags, config.clone(), program, demos);
    let news = view.is_some().then_some(news);
    let reloading = reloader.serve(asked, plan_versions, news);
    let shown = async {
        match view {
            Some(view) => view.show(pictures, commands.clone()).await,
            None => report_progress(pictures, &config, flags).await,
        }
    };
    let outcome = tokio::select! {
        outcome = engine::run(run, obeyed, adopted, snapshots) => outcome,
        error = reloading => Err(error),
        error = listen(commands.clone(), interrupts) => Err(error),
        error = shown => Err(error),
    };
    drop(interrupt);
    outcome
}

/// Turns Ctrl-C, SIGTERM and the end of the terminal into commands: the first stops, the second aborts. Ends
/// only with an error.
async fn listen(
    commands: mpsc::UnboundedSender<Command>,
    mut interrupts: mpsc::UnboundedReceiver<()>,
) -> Error {
    use tokio::signal::unix::{SignalKind, signal};
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
    let mut told = false;
    loop {
        let first = tokio::select! {
            _ = interrupt.recv() => Command::Interrupt,
            _ = terminate.recv() => Command::Interrupt,
            () = hung_up(&mut hangup) => Command::Interrupt,
            // Ctrl-C as a key of the view.
            Some(()) = interrupts.recv() => Command::Stop,
        };
        let command = match std::mem::replace(&mut told, true) {
            false => {
                tracing::info!("stopping: running tasks finish, press Ctrl-C again to abort them");
                first
            }
            true => Command::Abort,
        };
        // The run may be over already.
        let _over = commands.send(command);
    }
}

async fn hung_up(hangup: &mut Option<tokio::signal::unix::Signal>) {
    match hangup {
        // A stream of signals has no end.
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// Prints the tables, writes the outputs and gives the verdict's exit code.
fn conclude(outcome: &Outcome, config: &Config, flags: &cli::Run) -> Result<u8, Error> {
    let report = &outcome.report;
    let written = outputs::write_all(&flags.outputs.output, report);
    if !flags.screen.quiet && !writes_to_stdout(flags) {
        let options = output::text::TableOptions {
            status_codes: config.status_codes,
        };
        say(&output::text::tables(report, terminal_width(), options))?;
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
    for trouble in written.as_ref().err().into_iter().flatten() {
        complain(trouble, false);
    }
    let code = verdict.map_or(exit::TROUBLE, |verdict| verdict.exit_code);
    Ok(written.map_or(exit::TROUBLE, |()| code))
}

/// Prints a reason of the verdict as the errors are printed: a verdict on the target is no error of lgoose's.
fn give_reason(reason: &str) {
    // Nothing is left to tell if standard error is gone.
    let _gone = writeln!(std::io::stderr(), "error: {reason}");
}

fn check(path: &Path) -> Result<u8, Error> {
    let (name, source) = lua::read(path)?;
    let (program, plan, _) = lua::load(&name, &source, std::collections::BTreeMap::new(), 0)?;
    let warnings = lua::review(&program, &plan);
    let but = match warnings.len() {
        0 => String::new(),
        1 => ", with 1 warning".to_owned(),
        n => format!(", with {n} warnings"),
    };
    say(&format!("{name} is fine{but}\n\n{}", plan::outline(&plan)))?;
    for warning in &warnings {
        warn(warning);
    }
    Ok(exit::OK)
}

/// Scenarios, and below each its tasks, one per line.
fn list(path: &Path, flags: &cli::Run) -> Result<u8, Error> {
    let (name, source, _) = prepare::read(path, flags)?;
    let variables = prepare::variables(flags)?;
    let (_, plan, _) = prepare::load(
        &name,
        &source,
        variables,
        flags.load.seed,
        flags.load.seed.unwrap_or(0),
    )?;
    say(plan::list(&plan).trim_end())?;
    Ok(exit::OK)
}

fn serve(flags: &cli::Demo) -> Result<u8, Error> {
    let behaviour = Behaviour {
        latency: flags.latency,
        jitter: flags.jitter,
        errors: flags.errors,
    };
    let site = site_named(&flags.site)?;
    machine::raise_descriptor_limit();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let demo = Demo::start(site, flags.port, behaviour, threads)?;
    say(&format!(
        "demo:{} is served at {}; Ctrl-C ends it",
        flags.site,
        demo.url()
    ))?;
    demo.wait();
    Ok(exit::OK)
}
