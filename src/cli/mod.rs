//! The command line as it was typed. Every option is optional here and also an environment variable `LGOOSE_*`;
//! `config` decides what the options mean together.

mod brief;
mod check;
mod compare;
mod elsewhere;
#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "gaggle")]
mod gaggle;
mod import;
mod load;
mod one_request;
mod outputs;
mod run;
#[cfg(feature = "web")]
mod serve;
mod traces;
mod values;
#[cfg(feature = "web")]
mod web;
mod words;

pub(crate) use check::Check;
pub(crate) use compare::Compare;
#[cfg(feature = "otlp")]
pub(crate) use export::Export;
#[cfg(feature = "gaggle")]
pub(crate) use gaggle::{Attach, Broker, Gather, Nats, OnLoss, Worker, Workers};
pub(crate) use import::Import;
pub(crate) use one_request::OneRequest;
pub(crate) use run::Run;
#[cfg(feature = "web")]
pub(crate) use serve::Serve;
pub(crate) use traces::Traces;
#[cfg(feature = "web")]
pub(crate) use web::{Web, WebPlace};
pub(crate) use words::misspelt_variables;

use crate::config::Output;
use crate::error::exit;
use crate::units;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{
    Arg, ArgAction, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
};
use clap_complete::Shell;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  lgoose new load-test                           write a plan to start from
  lgoose check plan.lua                          look for mistakes, send nothing
  lgoose plan.lua -H http://127.0.0.1 --once     one user, every request shown
  lgoose plan.lua -H http://127.0.0.1 -u 12 -t 10m   twelve users, ten minutes
  lgoose http://127.0.0.1/page -u 50 -t 3s       one page, without a plan
";

/// Flags of a single call, which have no environment variable.
const NOT_FROM_ENVIRONMENT: [&str; 14] = [
    "plan",
    "plans",
    "data",
    "method",
    "body",
    "once",
    "http_debug",
    "list",
    "env",
    "env_allow",
    "allow_files",
    "brief",
    "help",
    "version",
];

const ENVIRONMENT: &str = "\
Every option of a run is also read from the environment: LGOOSE_USERS, LGOOSE_HATCH_RATE and so on.
A plan may set them too; the command line comes first, then the environment, then the plan.";

/// A load tester whose test plans are Lua scripts.
#[derive(Debug, Parser)]
#[command(name = "lgoose", version, before_help = EXAMPLES, args_conflicts_with_subcommands = true, disable_help_flag = true)]
#[command(override_usage = "lgoose <PLAN.lua | URL> [options]\n       lgoose <COMMAND>")]
pub(crate) struct Cli {
    /// A command other than running a plan.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The plan and how to run it.
    #[command(flatten)]
    pub run: Run,
    /// List the options on one screen
    #[arg(short = 'h', help_heading = "Help")]
    pub brief: bool,
    /// Explain them
    #[arg(long, help_heading = "Help", action = ArgAction::HelpLong)]
    help: Option<bool>,
}

/// The commands beside running a plan.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load a plan, show its scenarios and one iteration, send nothing
    Check(Check),
    /// Write a first plan with what an editor needs to complete and check it
    New {
        /// The folder to write into, made if it is not there
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Write the plan of a visit that a browser has recorded (HAR), of curl command lines, a Postman collection or an OpenAPI document
    Import(Import),
    /// Run one of the built-in sites, drupal, umami or api, until Ctrl-C
    Demo(Demo),
    /// Show a run that was saved with '-o json=FILE', or write it in other formats
    Report(Saved),
    /// Compare runs before a change with runs after it: what is slower, what is faster, what is chance
    Compare(Compare),
    /// Work for runs of others ('--workers'), one after another, until Ctrl-C
    #[cfg(feature = "gaggle")]
    Worker(Worker),
    /// Add up the figures of many workers, so that a manager has less to do
    #[cfg(feature = "gaggle")]
    Gather(Gather),
    /// List the workers, the gathers and the runs at a broker
    #[cfg(feature = "gaggle")]
    Gaggle(Broker),
    /// Watch a run on workers from anywhere, or go on with one whose manager is lost
    #[cfg(feature = "gaggle")]
    Attach(Attach),
    /// Run plans for whoever asks over HTTP, one after another, and keep the runs, until Ctrl-C
    #[cfg(feature = "web")]
    Serve(Serve),
    /// Do what 'lgoose serve' says over standard input.
    #[cfg(feature = "web")]
    #[command(hide = true)]
    Hosted,
    /// Print what a shell needs to complete lgoose's options, such as: lgoose completions bash >>~/.bashrc
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, as in: lgoose man >lgoose.1
    Man,
}

/// `lgoose demo`.
#[derive(Debug, Args)]
#[command(
    after_help = "Accounts: drupal has user2 to user5001 and api user1 to user1000, all with the password 12345; umami has \
        admin with the password admin, and takes five messages an hour from an address. What a site has received, by method and path, is told as JSON at \
        /_demo/served."
)]
pub(crate) struct Demo {
    /// Which site: 'drupal', a Drupal 7 of 10,000 articles; 'umami', a Drupal 8 in English and Spanish; 'api', a shop
    /// with an API in JSON and GraphQL
    pub site: String,
    /// The port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Answer no sooner than after this time
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub latency: Duration,
    /// Spread the latency by up to this much both ways
    #[arg(long, value_parser = units::duration, default_value = "0", value_name = "D")]
    pub jitter: Duration,
    /// Answer this share of the requests with a 500
    #[arg(long, value_parser = units::share, default_value = "0", value_name = "SHARE")]
    pub errors: f64,
}

/// `lgoose report`.
#[derive(Debug, Args)]
#[command(
    after_help = "The verdict shown is the run's: here the exit code is 0 when all was shown and written."
)]
pub(crate) struct Saved {
    /// The JSON report of a run, or those of all parts of one ('--part'); '-' reads it from standard input
    #[arg(required = true)]
    pub file: Vec<PathBuf>,
    /// Write it as json, yaml, csv, hdr, html, md or junit, such as md=run.md or csv=- (repeatable)
    #[arg(short, long, value_name = "FORMAT=PATH", value_parser = Output::parse)]
    pub output: Vec<Output>,
    /// Show the table of status codes also when all are the same
    #[arg(long)]
    pub status_codes: bool,
}

/// Parses the command line of this process. Help and version (`--help`, `--version`) and errors are printed here.
///
/// # Errors
/// The exit code, if nothing is left for the process to do.
pub(crate) fn parse() -> Result<Cli, u8> {
    // A path that is no text is not one that could be mistaken for a word.
    let texts = std::env::args_os().map(|word| word.into_string().ok());
    let arguments = texts
        .collect::<Option<Vec<String>>>()
        .map(words::without_run);
    let matches = match &arguments {
        Some(arguments) => command().try_get_matches_from(arguments),
        None => command().try_get_matches(),
    };
    matches
        .and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches)?;
            fitting(&matches, &cli.run)?;
            apart(&cli)?;
            Ok(with_flags_of_command(cli))
        })
        .map_err(|error| {
            let error = match &arguments {
                Some(arguments) => words::with_remedy(error, arguments),
                None => error,
            };
            // Nothing is left to tell if the terminal is gone.
            let _gone = error.print();
            if error.use_stderr() {
                exit::MISTAKE
            } else {
                exit::OK
            }
        })
}

/// Parses the arguments of a run that 'lgoose serve' hosts.
///
/// # Errors
/// What is wrong with them, as it would be printed, without the usage.
#[cfg(feature = "web")]
pub(crate) fn parse_hosted(arguments: Vec<String>) -> Result<Run, String> {
    let all = std::iter::once("lgoose".to_owned()).chain(arguments);
    let parsed = command().try_get_matches_from(all).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        fitting(&matches, &cli.run)?;
        Ok(cli.run)
    });
    parsed.map_err(|error| {
        let text = error.to_string();
        let told = text.split("\n\nUsage:").next().unwrap_or_default();
        let told = told.split("\n\nFor more information").next();
        told.unwrap_or_default().to_owned()
    })
}

/// Makes what a command has in common with a run an option of that.
#[cfg_attr(
    not(feature = "gaggle"),
    expect(unused_mut, reason = "no command has any")
)]
fn with_flags_of_command(mut cli: Cli) -> Cli {
    #[cfg(feature = "gaggle")]
    match &cli.command {
        Some(Command::Worker(worker)) => cli.run.screen.verbose |= worker.verbose,
        Some(Command::Attach(attach)) => {
            cli.run.outputs.output.clone_from(&attach.output);
            let screen = &mut cli.run.screen;
            screen.headless |= attach.headless;
            screen.exit |= attach.exit;
            screen.quiet |= attach.quiet;
        }
        _ => {}
    }
    cli
}

/// Checks that the options fit what is run: no `--host` beside a URL, no `--method` and `--body` without one.
fn fitting(matches: &ArgMatches, run: &Run) -> Result<(), clap::Error> {
    let typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    if run.screen.http_debug && !run.load.once {
        let told = "'--http-debug' shows the requests of one iteration: add '--once'; \
                    '--debug-log FILE' keeps the failed ones of a whole run";
        return Err(command().error(ErrorKind::MissingRequiredArgument, told));
    }
    let (url, host) = (run.url().is_some(), typed("host"));
    let lonely = ["method", "body"].into_iter().find(|name| typed(name));
    #[cfg(any(feature = "gaggle", feature = "web"))]
    let none_of = |names: &[&str], told: &str| match names.iter().find(|name| typed(name)) {
        Some(flag) => {
            let told = format!("'--{}' is for {told}", flag.replace('_', "-"));
            Err(command().error(ErrorKind::MissingRequiredArgument, told))
        }
        None => Ok(()),
    };
    #[cfg(feature = "gaggle")]
    if run.gaggle.workers.is_none() {
        none_of(
            &["nats", "nats_listen", "workers_timeout", "on_worker_loss"],
            "a run on workers: say how many with '--workers'",
        )?;
    }
    #[cfg(feature = "web")]
    if run.web.web.is_none() {
        none_of(
            &[
                "web_token",
                "web_read_only",
                "web_insecure",
                "web_cert",
                "web_key",
                "open",
            ],
            "a run that is served over HTTP: add '--web'",
        )?;
    }
    let told = match (url, host, lonely) {
        (true, true, _) => "a URL and '--host' both say whom to load: give one of them".to_owned(),
        (false, _, Some(name)) => {
            format!(
                "'--{name}' is for a URL in the place of a plan, as in 'lgoose http://127.0.0.1:8080/ --{name} …'"
            )
        }
        _ => return Ok(()),
    };
    Err(command().error(ErrorKind::ArgumentConflict, told))
}

/// Checks that no two reports go to one place.
fn apart(cli: &Cli) -> Result<(), clap::Error> {
    let outputs = match &cli.command {
        Some(Command::Report(saved)) => &saved.output,
        Some(Command::Compare(compare)) => &compare.output,
        #[cfg(feature = "gaggle")]
        Some(Command::Attach(attach)) => &attach.output,
        _ => &cli.run.outputs.output,
    };
    match Output::clash(outputs) {
        Some(told) => Err(command().error(ErrorKind::ArgumentConflict, told)),
        None => Ok(()),
    }
}

/// Returns the one-screen help.
pub(crate) fn overview() -> String {
    brief::brief(&command())
}

/// Returns the script with which a shell completes options.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command(), "lgoose", &mut out);
    out
}

/// Returns the manual page in roff, the language of man.
///
/// # Errors
/// None that writing to memory can have.
pub(crate) fn manual() -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    clap_mangen::Man::new(command()).render(&mut out)?;
    Ok(out)
}

/// Returns the command line, with an environment variable for each option of a run: `LGOOSE_` and its name. Naming
/// it at each option would double the help.
fn command() -> clap::Command {
    Cli::command()
        .mut_args(from_environment)
        .mut_subcommands(|command| {
            let command = command.arg(help());
            match command.get_name() {
                "serve" => command.mut_args(from_environment),
                _ => command,
            }
        })
        .after_help(ENVIRONMENT)
}

fn from_environment(arg: Arg) -> Arg {
    let name = arg.get_id().as_str().to_owned();
    match NOT_FROM_ENVIRONMENT.contains(&name.as_str()) {
        true => arg,
        false => arg
            .env(format!("LGOOSE_{}", name.to_uppercase()))
            .hide_env(true),
    }
}

/// Returns the help flag of a command, whose options are few: `-h` and `--help` say the same.
fn help() -> Arg {
    let help = Arg::new("help").short('h').long("help");
    help.action(ArgAction::HelpShort)
        .help("Explain the options of this command")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
