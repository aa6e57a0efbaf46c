//! Commands of the program, each from its flags to its exit code.

mod audit;
mod capacity;
mod check;
mod compare;
mod context;
mod demo_site;
mod doctor;
mod env_file;
mod export;
mod flags;
mod hosted;
mod import;
mod list;
mod outputs;
mod repeat;
mod run;
mod screen;
mod serve;
mod services;
mod starter;
mod summary;
mod target_plan;
mod url_plan;
mod view;
mod web;
mod workers;

use super::gaggle;
use super::signal_handler::SignalHandler;
use super::{log, preflight};
use crate::cli::{self, Cli};
use hosted::HostedTask;
use lgoose_base::console;
use lgoose_base::error::{Diagnostic, Error, exit};
use run::run;
use screen::{print_text, put, report_error, warn};
use std::process::ExitCode;
use std::time::Duration;

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
            Some(cli::CliCommand::Check(cli::CheckArgs {
                backtrace: true,
                ..
            }))
        );
    let code = match dispatch(cli, &SignalHandler::default()) {
        Ok(code) => code,
        Err(error) => {
            report_error(&error, backtrace);
            error.exit_code()
        }
    };
    let code = match log::end() {
        Ok(()) => code,
        Err(error) => {
            report_error(&error, backtrace);
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

fn dispatch(cli: Cli, handler: &SignalHandler) -> Result<u8, Error> {
    if !cli.run.screen.quiet && !is_hosted(&cli) {
        for misspelt in cli::misspelt_variables() {
            warn(&misspelt);
        }
    }
    preflight::descriptors()?;
    if has_signal_handler(&cli) {
        handler.listen()?;
    }
    match cli.command {
        Some(cli::CliCommand::Check(flags)) => check::check(&flags),
        Some(cli::CliCommand::New(flags)) => {
            print_text(&starter::start(&flags.dir, flags.template)?)?;
            Ok(exit::OK)
        }
        Some(cli::CliCommand::Import(flags)) => import::import(&flags),
        Some(cli::CliCommand::Demo(demo)) => demo_site::serve(&demo),
        Some(cli::CliCommand::Report(saved)) => outputs::report(&saved),
        Some(cli::CliCommand::Compare(flags)) => compare::compare(&flags, handler),
        Some(cli::CliCommand::Audit(flags)) => audit::audit(&flags),
        Some(cli::CliCommand::Doctor(flags)) => doctor::doctor(&flags),
        Some(cli::CliCommand::Capacity(options)) => capacity::capacity(&options, handler),
        Some(cli::CliCommand::Worker(flags)) => gaggle::work(&flags, handler),
        Some(cli::CliCommand::Gather(flags)) => gaggle::gather(&flags, handler),
        Some(cli::CliCommand::Gaggle(flags)) => {
            print_text(&gaggle::list(&flags)?)?;
            Ok(exit::OK)
        }
        Some(cli::CliCommand::Attach(flags)) => workers::attach(&flags, &cli.run, handler),
        Some(cli::CliCommand::Serve(flags)) => serve::serve(&flags),
        Some(cli::CliCommand::Hosted) => match hosted::take()? {
            HostedTask::Run(plan, flags) => run(&plan, &flags, handler),
            HostedTask::Done(code) => Ok(code),
        },
        Some(cli::CliCommand::Completions { shell }) => {
            put(cli::completions(shell))?;
            Ok(exit::OK)
        }
        Some(cli::CliCommand::Man) => {
            let page = cli::manual().map_err(|error| Error::cannot("write the page", error))?;
            put(page)?;
            Ok(exit::OK)
        }
        Some(cli::CliCommand::Help(what)) => {
            print_text(cli::explain(&what, screen::terminal_width())?.trim_end())?;
            Ok(exit::OK)
        }
        None if cli.brief => {
            print_text(&cli::overview())?;
            Ok(exit::OK)
        }
        None => match &cli.run.plan {
            Some(plan) if cli.run.screen.list => list::list(plan, &cli.run),
            Some(plan) => run(plan, &cli.run, handler),
            // Options without what they are for.
            None if std::env::args_os().len() > 1 => {
                let help = "name a Lua file or a URL, as in 'lgoose plan.lua -u 5'; 'lgoose new load-test' writes a plan to start from";
                Err(Diagnostic::new("no plan is given").help(help).into())
            }
            None => {
                print_text(&cli::overview())?;
                Ok(exit::MISTAKE)
            }
        },
    }
}

/// Returns whether another lgoose process started this one; it has already warned about the environment.
fn is_hosted(cli: &Cli) -> bool {
    matches!(cli.command, Some(cli::CliCommand::Hosted))
}

/// Returns whether the signal handler handles Ctrl-C: `serve` stops its run first.
fn has_signal_handler(cli: &Cli) -> bool {
    !matches!(cli.command, Some(cli::CliCommand::Serve(_)))
}
