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
mod signals;
mod starter;
mod supervisor;
mod url_plan;
mod view;

use crate::cli::{self, Cli};
use crate::config::Config;
use crate::control::Handle;
use crate::demo::{Behaviour, Demo};
use crate::engine::Outcome;
use crate::error::{Error, exit};
use crate::tui::ViewContext;
use crate::{lua, machine, output, plan, tui};
use prepare::{prepare, site_named, target};
use reload::Source;
use screen::{
    announcement, complain, put, report_news, report_progress, say, tell, terminal_width, warn,
    writes_to_stdout,
};
use signals::Signals;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use view::View;

pub use embed::{Running, Test};
pub use supervisor::Supervisor;

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
    let supervisor = Supervisor::new(Signals::Obeyed);
    let begun = supervisor.begin(|| prepare(path, flags))?;
    let prepared = begun.prepared();
    for shortage in preflight::preflight(prepared) {
        warn(&shortage);
    }
    for (name, demo) in &prepared.demos {
        tell(
            flags,
            &format!("{name} is served at {} for this run", demo.url()),
        )?;
    }
    tell(flags, &announcement(prepared))?;
    let config = prepared.config.clone();
    let facts = ViewContext {
        plan: prepared.name.clone(),
        host: target(prepared),
        colours: screen::may_colour(flags),
        ascii: !tui::speaks_unicode(|name| std::env::var(name).ok()),
    };
    let source = Source { path, flags };
    let mut view = match screen::wants_view(flags) {
        true => View::open(facts, &flags.outputs.output, begun.handle().clone()),
        false => None,
    };
    let watched = view.as_mut();
    let running = begun.run(Some(source), |handle| show(handle, watched, &config, flags));
    let runtime = runtime()?;
    let outcome = runtime.block_on(running)?;
    let written = outputs::write_all(&flags.outputs.output, &outcome.report);
    if let Some(view) = view {
        for line in runtime.block_on(view.leave(&outcome, flags.screen.exit)) {
            put_aside(&line);
        }
    }
    conclude(&outcome, &written, &config, flags)
}

/// The runtime of a thread that carries on a run.
fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::cannot("start the runtime", error))
}

/// Shows a run as it goes on: in the live view if there is one, or line by line.
async fn show(handle: Handle, view: Option<&mut View>, config: &Config, flags: &cli::Run) -> Error {
    match view {
        Some(view) => view.show().await,
        None => tokio::select! {
            error = report_progress(handle.snapshots(), config, flags) => error,
            error = report_news(handle.news()) => error,
        },
    }
}

/// Prints the tables and gives the verdict's exit code, or that of outputs that could not be written.
fn conclude(
    outcome: &Outcome,
    written: &Result<(), Vec<Error>>,
    config: &Config,
    flags: &cli::Run,
) -> Result<u8, Error> {
    let report = &outcome.report;
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
    Ok(written.as_ref().map_or(exit::TROUBLE, |()| code))
}

/// Prints a reason of the verdict as the errors are printed: a verdict on the target is no error of lgoose's.
fn give_reason(reason: &str) {
    // Nothing is left to tell if standard error is gone.
    let _gone = writeln!(std::io::stderr(), "error: {reason}");
}

/// Prints a line of the log after the view.
fn put_aside(line: &str) {
    // Nothing is left to tell if standard error is gone.
    let _gone = writeln!(std::io::stderr(), "{line}");
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
