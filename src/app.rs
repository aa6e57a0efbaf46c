//! The command from flags to exit code; the only file that knows everyone.

mod client;
mod env_file;
mod preflight;
mod prepare;
mod screen;
mod starter;
mod url_plan;

use crate::cli::{self, Cli};
use crate::config::{Config, Format, Output};
use crate::control::Command;
use crate::demo::{Behaviour, Demo};
use crate::engine::{self, Ending, Outcome};
use crate::error::{Error, exit};
use crate::metrics::Report;
use crate::{lua, machine, output, plan};
use prepare::{Prepared, prepare, site_named, target};
use screen::{
    announcement, complain, put, report_progress, say, start_log, tell, terminal_width, warn,
    writes_to_stdout,
};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return code.into(),
    };
    start_log(cli.run.screen.verbose, cli.run.screen.quiet);
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
        Some(cli::Command::Completions { shell }) => {
            put(&cli::completions(shell))?;
            Ok(exit::OK)
        }
        Some(cli::Command::Man) => {
            let page = cli::manual()
                .map_err(|error| Error::Trouble(format!("cannot write the page: {error}")))?;
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
        .map_err(|error| Error::Trouble(format!("cannot start the runtime: {error}")))?;
    let config = prepared.config.clone();
    let outcome = runtime.block_on(drive(prepared, flags))?;
    conclude(&outcome, &config, flags)
}

/// Runs the test, obeys signals and prints the running figures.
async fn drive(prepared: Prepared, flags: &cli::Run) -> Result<Outcome, Error> {
    let (commands, obeyed) = mpsc::unbounded_channel();
    let (snapshots, pictures) = watch::channel(None);
    let target = target(&prepared);
    let config = prepared.config;
    let run = engine::Run {
        program: prepared.program,
        plan: Arc::new(prepared.plan),
        config: config.clone(),
        hosts: prepared.hosts,
        name: prepared.name,
        client: prepared.client,
        resolver: Arc::new(prepared.resolver),
        target,
    };
    let outcome = tokio::select! {
        outcome = engine::run(run, obeyed, snapshots) => outcome,
        error = listen(commands) => Err(error),
        error = report_progress(pictures, &config, flags) => Err(error),
    };
    drop(prepared.demos);
    outcome
}

/// Turns Ctrl-C, SIGTERM and the end of the terminal into commands: the first stops, the second aborts. Ends
/// only with an error.
async fn listen(commands: mpsc::UnboundedSender<Command>) -> Error {
    use tokio::signal::unix::{SignalKind, signal};
    let listened = |kind| {
        signal(kind).map_err(|error| Error::Trouble(format!("cannot listen for Ctrl-C: {error}")))
    };
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
    let mut command = Command::Stop;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = hung_up(&mut hangup) => {}
        }
        if command == Command::Stop {
            tracing::info!("stopping: running tasks finish, press Ctrl-C again to abort them");
        }
        // The run may be over already.
        let _over = commands.send(command);
        command = Command::Abort;
    }
}

async fn hung_up(hangup: &mut Option<tokio::signal::unix::Signal>) {
    match hangup {
        // A stream of signals has no end.
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// Prints the tables, writes the outputs and gives the verdict.
fn conclude(outcome: &Outcome, config: &Config, flags: &cli::Run) -> Result<u8, Error> {
    let report = &outcome.report;
    let mut written = Ok(());
    for output in &flags.outputs.output {
        written = written.and(write_output(output, report));
    }
    if !flags.screen.quiet && !writes_to_stdout(flags) {
        let options = output::text::TableOptions {
            status_codes: config.status_codes,
        };
        say(&output::text::tables(report, terminal_width(), options))?;
    }
    written?;
    if let Some(trouble) = &outcome.trouble {
        complain(trouble, flags.screen.backtrace);
        return Ok(match outcome.ending {
            Ending::NotStarted => exit::VERDICT,
            _ => trouble.exit_code(),
        });
    }
    Ok(verdict(outcome, config))
}

fn verdict(outcome: &Outcome, config: &Config) -> u8 {
    let all = &outcome.report.aggregated;
    let task_failures: u64 = outcome.report.tasks.iter().map(|task| task.failures).sum();
    if outcome.ending == Ending::Aborted {
        return exit::ABORTED;
    }
    let nothing_succeeded = all.failures == all.count;
    if nothing_succeeded {
        let why = match all.count {
            0 => "no request was made",
            _ => "not one request succeeded",
        };
        complain(&Error::Trouble(why.to_owned()), false);
    }
    let broken: Vec<_> = outcome
        .report
        .thresholds
        .iter()
        .filter(|row| !row.passed)
        .collect();
    for row in &broken {
        complain(&Error::Trouble(output::text::broken_line(row)), false);
    }
    let saturated = config.fail_on_saturation
        && outcome
            .report
            .generator
            .is_some_and(|row| row.saturated_s > 0.0);
    if saturated {
        let why = "lgoose itself was the bottleneck ('--fail-on-saturation')";
        complain(&Error::Trouble(why.to_owned()), false);
    }
    match nothing_succeeded
        || saturated
        || !broken.is_empty()
        || (config.fail_on_error && all.failures + task_failures > 0)
    {
        true => exit::VERDICT,
        false => exit::OK,
    }
}

fn write_output(output: &Output, report: &Report) -> Result<(), Error> {
    let text = match output.format {
        Format::Json => output::json::to_json(report)?,
        Format::Html => output::html::to_html(report),
    };
    match &output.path {
        None => put(text.as_bytes()),
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Error::Trouble(format!(
                "cannot write the report to '{}': {error}",
                path.display()
            ))
        }),
    }
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
        flags,
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
